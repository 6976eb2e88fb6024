/**
 * Tap as tests of this house are run with it: in one file, so that a process begins in half the time (as it comes it is
 * hundreds of modules, and React), and with lists that are compared whole.
 */
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

/** Assertions compare with whole-lists.ts. */
const withWholeLists: Plugin = {
  name: 'with whole lists',
  setup(esbuild) {
    esbuild.onResolve({ filter: /^tcompare$/ }, ({ importer }) =>
      /@tapjs\/asserts\//.test(importer) ? { path: join(import.meta.dirname, 'whole-lists.ts') } : undefined,
    )
  },
}

/**
 * The core of tap is that of the checkout. Tap links its plugins to it by a whole path, which in a copy of a checkout
 * leads to where the copy was made from: two taps would be in the file.
 */
function withCoreOf(root: string): Plugin {
  return {
    name: 'with the core of this checkout',
    setup(esbuild) {
      esbuild.onResolve({ filter: /^@tapjs\/core$/ }, ({ path, kind, pluginData }) =>
        pluginData === root ? undefined : esbuild.resolve(path, { kind, resolveDir: root, pluginData: root }),
      )
    },
  }
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
    plugins: [withoutReact, withWholeLists, withCoreOf(root)],
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
