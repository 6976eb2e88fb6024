/**
 * The installer (.run) of a release: the release as it is published, and the Node that it wants for each kind of machine,
 * behind a script. Debian's makeself makes it one file that unpacks itself.
 */
import { execFile } from 'node:child_process'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { createGzip } from 'node:zlib'
import { Fault } from '#kit/pure/fault.ts'
import { sha256OfFile } from '#kit/release/installed.ts'
import { runtimeName } from '#kit/release/runtime.ts'
import { type Arch, PREBUILDS } from './release-archive.ts'

/** How long makeself may take; it copies and checksums some 100 MB. */
const MAKESELF_MS = 600_000
/** A level more takes twice as long, and gains 0.6 %. */
const GZIP_LEVEL = 6

/** A Node in a checkout. */
export interface Runtime {
  arch: Arch
  file: string
  /** Of the file, 64 hex digits. */
  sha256: string
}

/** Each Node that npm has put into a checkout: that of its own kind of machine, and those that somebody added. */
export async function readRuntimes(checkout: string, arch: Arch | null): Promise<Runtime[]> {
  const found: Runtime[] = []
  for (const kind of arch === null ? (Object.keys(PREBUILDS) as Arch[]) : [arch]) {
    const file = join(checkout, `node_modules/node-${PREBUILDS[kind]}/bin/node`)
    if (existsSync(file)) found.push({ arch: kind, file, sha256: await sha256OfFile(file) })
  }
  return found
}

interface InstallerParts {
  checkout: string
  /** Of the Node that is in it. */
  node: string
  version: string
  /** The bundle hash, and the archive as it was before it was encrypted. */
  bundle: string
  archive: string
  runtimes: readonly Runtime[]
}

/** Whether makeself is here. */
export async function hasMakeself(env: NodeJS.ProcessEnv): Promise<boolean> {
  try {
    await promisify(execFile)('makeself', ['--version'], { env })
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}

/**
 * Makes an installer. The same parts give the same bytes on the same Node.
 * @param folder made anew; holds the installer
 * @returns its file
 * @throws Fault `publish_failed`, with what makeself said
 */
export async function makeInstaller(parts: InstallerParts, folder: string, env: NodeJS.ProcessEnv): Promise<string> {
  const { archive, bundle, checkout, node, runtimes, version } = parts
  const payload = join(folder, 'payload')
  await rm(folder, { recursive: true, force: true })
  await mkdir(payload, { recursive: true, mode: 0o700 })
  await copyFile(join(checkout, 'scripts/installer/install.sh'), join(payload, 'install.sh'))
  await copyFile(archive, join(payload, 'release.tar.gz'))
  await writeFile(join(payload, 'facts'), `version=${version}\nbundle=${bundle}\nnode=${node}\n`)
  for (const { arch, file } of runtimes)
    await pipeline(
      createReadStream(file, { highWaterMark: 1_048_576 }),
      createGzip({ level: GZIP_LEVEL }),
      createWriteStream(join(payload, runtimeName(node, arch))),
    )
  const name = `plantroom-${version}.run`
  // What is in it is zipped already. Names below the folder alone, since makeself writes down how it was called.
  const words = [
    '--nocomp',
    '--sha256',
    '--nox11',
    '--tar-format',
    'ustar',
    '--tar-extra',
    TAR,
    '--packaging-date',
    DATE,
  ]
  try {
    const call = [...words, 'payload', name, `Plantroom ${version}`, 'sh', './install.sh']
    await promisify(execFile)('makeself', call, { cwd: folder, timeout: MAKESELF_MS, env: { ...env, LC_ALL: 'C' } })
  } catch (cause) {
    const { message, stderr } = cause as { message: string; stderr?: string }
    throw new Fault('publish_failed', `makeself made no installer: ${stderr?.trim() || message}`, { cause })
  }
  await rm(payload, { recursive: true, force: true })
  return join(folder, name)
}

const DATE = '1970-01-01'
const TAR = '--mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX'
