/**
 * Embeds a thread's code in its daemon's bundle: a daemon is a single file, with none beside it to start threads from.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'

/** How daemons name the file of a thread (kit/run/thread.ts). */
const THREAD = /new URL\('(\.\/[\w-]+-(?:thread|process)\.ts)', import\.meta\.url\)/g

/**
 * @param options of the daemon's bundle: a thread is built by the same rules, but as CommonJS, since it runs from its
 *   text
 * @param onInputs is told the paths of what a thread is made of
 */
export function threadsPlugin(options: BuildOptions, onInputs: (paths: string[]) => void): Plugin {
  return {
    name: 'threads',
    setup(esbuild) {
      esbuild.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        let contents = readFileSync(path, 'utf8')
        const threads = [...contents.matchAll(THREAD)]
        if (threads.length === 0) return undefined
        for (const [expression, file = ''] of threads) {
          const entry = join(dirname(path), file)
          const { metafile, outputFiles = [] } = await build({
            ...options,
            entryPoints: [entry],
            format: 'cjs',
            write: false,
            metafile: true,
            // Given by kit/run/thread.ts: text has no place of its own, from which it could find addons.
            define: { 'import.meta.url': 'process.env.THREAD_OF' },
          })
          onInputs(Object.values(metafile?.outputs ?? {}).flatMap(inputsOf))
          contents = contents.replace(expression, () => JSON.stringify(outputFiles[0]?.text))
        }
        return { contents, loader: 'ts' }
      })
    },
  }
}

/** Files of which something is in the output. */
export function inputsOf(output: Pick<Metafile['outputs'][string], 'inputs'> | undefined): string[] {
  const inputs = Object.entries(output?.inputs ?? {})
  return inputs.flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : []))
}
