/** Bundles a test's program into one file: from sources it starts five times slower, and such tests start dozens. */
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { buildSync } from 'esbuild'
import type { Owner } from './running-daemon.ts'

/** Some bundled packages are CommonJS, and load Node's modules with `require`. */
const BANNER =
  "import { createRequire as requireHere } from 'node:module'; const require = requireHere(import.meta.url);"

/** How a program names the file of a thread (kit/run/thread.ts). */
const THREAD = /new URL\('\.\/([\w-]+-thread\.ts)', import\.meta\.url\)/g

/** @param source full path of a module @returns path of the file, with the addons beside it; removed with the test */
export function builtProgram(t: Owner, source: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'plantroom-built-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  symlinkSync(join(import.meta.dirname, '../../native'), join(folder, 'native'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const outfile = join(folder, `${basename(source, '.ts')}.mjs`)
  for (const thread of bundle(source, outfile)) bundle(thread, join(folder, basename(thread)))
  return outfile
}

/** @returns files of the threads that it starts */
function bundle(source: string, outfile: string): string[] {
  const { metafile } = buildSync({
    entryPoints: [source],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: { js: BANNER },
    sourcemap: true,
    metafile: true,
    logLevel: 'error',
  })
  const own = Object.keys(metafile.inputs).filter((path) => path.endsWith('.ts') && !path.includes('node_modules'))
  return own.flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(THREAD)].map(([, name = '']) => join(dirname(path), name)),
  )
}
