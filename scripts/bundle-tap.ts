/**
 * Bundles tap for this project's tests: in one file, which halves the start of a process (unbundled it is hundreds of
 * modules, and React), with lists compared whole, and without hooks on every promise. Beside it typebox, which is 679
 * modules and comes with every setting: a quarter of a second for each process of tests.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

/** Under this path tap omits its own lines from stack traces. */
const FILE = 'node_modules/@tapjs/one-file.mjs'
const TYPEBOX = 'node_modules/@typebox-in-few-files'

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
 * Bundles the tap of a checkout, and its typebox, into files below `folder`.
 * @returns arguments for Node that make `tap` and `typebox` resolve to those files in the whole process
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
  replaceFile(file, outputFiles[0]?.contents ?? '')
  const files = { tap: file, ...(await bundleTypebox(root, join(folder, TYPEBOX))) }
  const urls = Object.entries(files).map(([name, path]) => [name, pathToFileURL(path).href])
  return ['--import', `data:text/javascript,${encodeURIComponent(hookFor(Object.fromEntries(urls)))}`]
}

/** All its ways in, with what they share in files of its own: a schema made by one is known to the others. */
async function bundleTypebox(root: string, folder: string): Promise<Record<string, string>> {
  const { exports } = JSON.parse(readFileSync(join(root, 'node_modules/typebox/package.json'), 'utf8'))
  const names = Object.keys(exports).map((way) => way.replace('.', 'typebox'))
  const fileOf = (name: string) => name.replace('/', '-')
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(names.map((name) => [fileOf(name), name])),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
    write: false,
  })
  const isShared = ({ path }: { path: string }) => basename(path).startsWith('chunk-')
  // Whoever reads a way in finds what it leads to.
  const inOrder = [...outputFiles.filter(isShared), ...outputFiles.filter((each) => !isShared(each))]
  for (const { path, contents } of inOrder) replaceFile(path, contents)
  return Object.fromEntries(names.map((name) => [name, join(folder, `${fileOf(name)}.mjs`)]))
}

/** Another run may be reading the file, so it is replaced by renaming. */
function replaceFile(file: string, contents: Uint8Array | string): void {
  mkdirSync(dirname(file), { recursive: true })
  const part = `${file}.${process.pid}`
  writeFileSync(part, contents)
  renameSync(part, file)
}

function hookFor(urls: Record<string, string>): string {
  return `import { registerHooks } from 'node:module'
const urls = ${JSON.stringify(urls)}
registerHooks({
  resolve: (name, context, next) =>
    Object.hasOwn(urls, name) ? { url: urls[name], shortCircuit: true } : next(name, context),
})`
}
