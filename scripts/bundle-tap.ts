/**
 * Bundles tap for this project's tests: in one file, which halves the start of a process (unbundled it is hundreds of
 * modules, and React), with lists compared whole, and without hooks on every promise.
 */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

/** Under this path tap omits its own lines from stack traces. */
const FILE = 'node_modules/@tapjs/one-file.mjs'

/** Tests never compare React elements; tap loads React at each start to print them. */
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

/** Errors that nobody caught find their test through tap-domains.ts. */
const withLightDomains: Plugin = {
  name: 'with light domains',
  setup(esbuild) {
    const path = join(import.meta.dirname, 'tap-domains.ts')
    esbuild.onResolve({ filter: /^async-hook-domain$/ }, () => ({ path }))
  },
}

/**
 * Takes the core of tap from this checkout. Tap links its plugins to it by absolute path, which in a copied checkout
 * leads to the original: the file would contain tap twice.
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

/** Parts of tap are CommonJS, and load Node's modules with `require`. */
const BANNER =
  "import { createRequire as requireHere } from 'node:module'; const require = requireHere(import.meta.url);"

/**
 * Bundles the tap of a checkout into a file below `folder`.
 * @returns arguments for Node that make `tap` resolve to that file in the whole process
 */
export async function bundleTap(root: string, folder = join(root, 'build')): Promise<string[]> {
  const { outputFiles } = await build({
    entryPoints: [join(root, 'node_modules/tap/dist/esm/index.js')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: { js: BANNER },
    plugins: [withoutReact, withWholeLists, withLightDomains, withCoreOf(root)],
    logLevel: 'error',
    write: false,
  })
  const file = join(folder, FILE)
  mkdirSync(dirname(file), { recursive: true })
  // Another run may be reading the file, so it is replaced by renaming.
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
