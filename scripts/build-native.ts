/**
 * Builds the addons, native/<addon>/prebuilds/linux-<arch>/<addon>.node, and the program that runs as root: for this
 * machine and, if the cross compiler is installed, for arm64 boards. Whatever is newer than its sources is skipped.
 *
 *     node scripts/build-native.ts                 this machine's and, if it can, arm64
 *     node scripts/build-native.ts --arch arm64    that one, and fails if it cannot
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isMain } from './is-main.ts'
import { linkedLibraries, makeStubs } from './stub-libraries.ts'

/** Architectures we ship for, by Node's names. */
export type Arch = 'x64' | 'arm64'

/** Debian's cross compilers (g++-aarch64-linux-gnu, g++-x86-64-linux-gnu), by the architecture they build for. */
const CROSS: Record<Arch, string> = { arm64: 'aarch64-linux-gnu', x64: 'x86_64-linux-gnu' }

/** Folders of native/ that build a program, with its name; all others build an addon. */
const PROGRAMS: Readonly<Record<string, string>> = { helper: 'plantroom-helper' }

/** Path of an addon's or a program's binary, below its own folder. */
export function prebuildOf(root: string, addon: string, arch: Arch): string {
  return join(root, 'native', addon, 'prebuilds', `linux-${arch}`, PROGRAMS[addon] ?? `${addon}.node`)
}

/** Folders of native/ with a binding.gyp, by name. */
export function addonsOf(root: string): string[] {
  return readdirSync(join(root, 'native')).filter((name) => existsSync(join(root, 'native', name, 'binding.gyp')))
}

/** Whether the binary exists and no source is newer. */
export function isFresh(root: string, addon: string, arch: Arch): boolean {
  const binary = prebuildOf(root, addon, arch)
  if (!existsSync(binary)) return false
  const folder = join(root, 'native', addon)
  const gyp = join(folder, 'binding.gyp')
  const sources = [gyp, ...[join(folder, 'src'), ...sharedFolders(root, readFileSync(gyp, 'utf8'))].flatMap(filesOf)]
  const builtMs = statSync(binary).mtimeMs
  return sources.every((source) => statSync(source).mtimeMs <= builtMs)
}

/** Other folders of native/ that an addon is built with, from its binding.gyp: `../common`, `../sound`. */
function sharedFolders(root: string, gyp: string): string[] {
  return [...new Set([...gyp.matchAll(/"\.\.\/([\w-]+)/g)].map(([, name]) => join(root, 'native', name ?? '')))]
}

function filesOf(folder: string): string[] {
  return readdirSync(folder).map((name) => join(folder, name))
}

/** Whether this machine has a compiler for that architecture. */
export function canBuild(arch: Arch): boolean {
  if (arch === process.arch) return true
  return spawnSync(`${CROSS[arch]}-g++`, ['--version'], { stdio: 'ignore' }).status === 0
}

/** Addons that need headers of other packages: their names for pkg-config, and the packages to install. */
const HEADERS: Readonly<Record<string, { asked: string; packages: string }>> = {
  'node-gst': {
    asked: 'gstreamer-audio-1.0',
    packages: 'pkg-config libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev',
  },
}

/** Fails with the packages to install, rather than with the compiler's first missing file. */
function requireHeaders(addon: string): void {
  const needed = HEADERS[addon]
  if (needed === undefined || spawnSync('pkg-config', ['--exists', needed.asked]).status === 0) return
  throw new Error(`native/${addon} needs headers that are not here: apt-get install ${needed.packages}`)
}

/** Environment for a cross compiler: its name, and where libraries with the right names are. */
function crossEnv(root: string, addon: string, arch: Arch): Record<string, string> {
  const compiler = `${CROSS[arch]}-gcc`
  const gyp = join(root, 'native', addon, 'binding.gyp')
  if (linkedLibraries(readFileSync(gyp, 'utf8')).length === 0) return { CC: compiler, CXX: `${CROSS[arch]}-g++` }
  const stubs = join(root, 'build/stubs', arch, addon)
  makeStubs(stubs, compiler, gyp)
  return { CC: compiler, CXX: `${CROSS[arch]}-g++`, LDFLAGS: `-L${stubs}` }
}

/** Compiles one addon and puts it in place by rename, so that a running process keeps the file it has open. */
function buildAddon(root: string, addon: string, arch: Arch): void {
  const folder = join(root, 'native', addon)
  requireHeaders(addon)
  const cross = arch === process.arch ? {} : crossEnv(root, addon, arch)
  const nodeGyp = join(root, 'node_modules/node-gyp/bin/node-gyp.js')
  // The headers are the same for both architectures: those of the Node we run.
  const headers = join(root, 'node_modules', `node-linux-${process.arch}`)
  const args = [nodeGyp, 'rebuild', `--arch=${arch}`, `--nodedir=${headers}`, '--jobs=max', '--silent']
  // node-gyp prefers npm's settings, inherited from `npm test`, to its arguments.
  const env = { ...process.env, ...cross, npm_config_nodedir: headers }
  const done = spawnSync(process.execPath, args, { cwd: folder, env, encoding: 'utf8' })
  if (done.status !== 0) throw new Error(`${addon} for ${arch} does not compile:\n${done.stdout}${done.stderr}`)
  if (done.stderr.includes('warning:')) console.error(done.stderr.trimEnd())
  const binary = prebuildOf(root, addon, arch)
  mkdirSync(dirname(binary), { recursive: true })
  copyFileSync(join(folder, 'build/Release', basename(binary)), `${binary}.new`)
  renameSync(`${binary}.new`, binary)
  rmSync(join(folder, 'build'), { recursive: true, force: true })
}

/** Builds whatever is out of date; prints one line per addon. */
function buildAll(root: string, arches: Arch[]): void {
  for (const arch of arches) {
    for (const addon of addonsOf(root)) {
      if (isFresh(root, addon, arch)) continue
      console.log(`native/${addon} for linux-${arch}`)
      buildAddon(root, addon, arch)
    }
  }
}

function askedFor(args: string[]): Arch[] {
  const asked = args.flatMap((arg, at) => (args[at - 1] === '--arch' ? [arg] : []))
  const unknown = asked.find((arch) => arch !== 'x64' && arch !== 'arm64')
  if (unknown !== undefined) throw new Error(`--arch ${unknown}: x64 or arm64`)
  return asked as Arch[]
}

if (isMain(import.meta)) {
  const asked = askedFor(process.argv.slice(2))
  const own: Arch = process.arch === 'arm64' ? 'arm64' : 'x64'
  const lacking = asked.find((arch) => !canBuild(arch))
  try {
    if (lacking !== undefined) throw new Error(`no compiler for ${lacking}: install g++-${CROSS[lacking]}`)
    const arches = asked.length > 0 ? asked : [own, ...(own === 'x64' && canBuild('arm64') ? ['arm64' as const] : [])]
    buildAll(dirname(import.meta.dirname), arches)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
