/** Tap in one file, so that a process of tests begins in half the time: as it comes it is hundreds of modules, and React. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

/** Under this name tap leaves lines of its own out of what it says of a failure. */
const FILE = 'node_modules/@tapjs/one-file.mjs'

/** Tests compare no elements of React; tap loads it with each start to be able to write them down. */
const withoutReact: Plugin = {
  name: 'without react',
  setup(esbuild) {
    esbuild.onLoad({ filter: /tcompare\/dist\/esm\/react-element-to-jsx-string\.js$/ }, () => ({
      contents: 'export default () => "an element of React"',
    }))
  },
}

/** Parts of tap are CommonJS, and ask for modules of Node by `require`. */
const BANNER =
  "import { createRequire as requireHere } from 'node:module'; const require = requireHere(import.meta.url);"

/**
 * Bundles the tap of a checkout into a file below `folder`.
 * @returns arguments for Node by which `tap` is that file to all that a process imports
 */
export async function bundleTap(root: string, folder = join(root, 'build')): Promise<string[]> {
  const { outputFiles } = await build({
    entryPoints: [join(root, 'node_modules/tap/dist/esm/index.js')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: { js: BANNER },
    plugins: [withoutReact],
    logLevel: 'error',
    write: false,
  })
  const file = join(folder, FILE)
  mkdirSync(dirname(file), { recursive: true })
  // Another run may be reading it.
  const part = `${file}.${process.pid}`
  writeFileSync(part, outputFiles[0]?.contents ?? '')
  renameSync(part, file)
  return ['--import', `data:text/javascript,${encodeURIComponent(hookFor(pathToFileURL(file).href))}`]
}

function hookFor(url: string): string {
  return `import { registerHooks } from 'node:module'
registerHooks({
  resolve: (name, context, next) => (name === 'tap' ? { url: '${url}', shortCircuit: true } : next(name, context)),
})`
}
