/**
 * The Node of a machine, which has versions of its own: `runtime/node-24.21.0` beside `releases`, one file. A release names
 * the version that it wants. Where that cannot be had, the name is a link to the Node that runs, until an update brings it.
 */
import { createHash } from 'node:crypto'
import { constants, realpathSync } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { Fault } from '../pure/fault.ts'
import { syncFolder, systemDisk } from '../store/store.ts'
import { readTarHeader, TAR_BLOCK, tarPadding } from '../store/tar.ts'

const RUNTIMES = 'runtime'
/** A Node that is not whole yet. */
const DRAFT = '.node'

/** What `release.json` of a release says of the Node that it wants; it says more. */
const wanted = Type.Object({
  node: Type.String({ pattern: '^\\d{1,5}\\.\\d{1,5}\\.\\d{1,5}$' }),
  /** SHA-256 of that Node for each kind of machine that it was published with. */
  runtimes: Type.Optional(Type.Record(Type.String(), Type.String({ pattern: '^[0-9a-f]{64}$' }))),
})

/** Where a Node stands in an installer, zipped. @param arch as Debian names it */
export function runtimeName(version: string, arch: string): string {
  return `node-${version}-${arch}.gz`
}

interface RuntimeParts {
  /** The folder with `releases` and `runtime`. */
  root: string
  arch: string
  /** Largest Node that is unpacked. */
  mostBytes: number
  /** Downloads the installer of the release. @returns the file, which is removed afterwards */
  fetchInstaller(): Promise<string>
}

/**
 * Brings the Node that a release wants, out of its installer, unless it is there.
 * @param folder of the release, below `releases`
 * @throws Fault `update_runtime_missing` if it could not be had: the release then runs on the Node that runs this
 */
export async function bringRuntime(parts: RuntimeParts, folder: string): Promise<void> {
  const want = await wantedBy(parts.root, folder)
  if (want === undefined) return
  const path = join(parts.root, RUNTIMES, fileOf(want.node))
  if (await isFile(path)) return
  await mkdir(join(parts.root, RUNTIMES), { recursive: true, mode: 0o755 })
  try {
    await fetchRuntime(parts, want, path)
  } catch (cause) {
    await standIn(parts.root, path)
    throw new Fault(
      'update_runtime_missing',
      `Node ${want.node} could not be had (${(cause as Error).message}): Node ${process.versions.node} is kept, and the next update tries again`,
      { cause },
    )
  }
}

/** Removes each Node that none of these releases wants. */
export async function pruneRuntimes(root: string, folders: readonly string[]): Promise<void> {
  const kept = new Set<string>()
  for (const folder of folders) {
    const want = await wantedBy(root, folder)
    if (want === undefined) continue
    kept.add(fileOf(want.node))
    // Of a link also what it leads to.
    kept.add(basename(realpathOf(join(root, RUNTIMES, fileOf(want.node)))))
  }
  if (kept.size === 0) return
  for (const name of await readdir(join(root, RUNTIMES)).catch(() => []))
    if (!kept.has(name)) await rm(join(root, RUNTIMES, name), { force: true })
}

function fileOf(version: string): string {
  return `node-${version}`
}

function realpathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** Undefined if the release says nothing of it. */
async function wantedBy(root: string, folder: string): Promise<Static<typeof wanted> | undefined> {
  try {
    const found: unknown = JSON.parse(await readFile(join(root, 'releases', folder, 'release.json'), 'utf8'))
    return Value.Check(wanted, found) ? found : undefined
  } catch {
    return undefined
  }
}

async function isFile(path: string): Promise<boolean> {
  return await lstat(path).then(
    (stats) => stats.isFile(),
    () => false,
  )
}

async function fetchRuntime(
  { arch, fetchInstaller, mostBytes, root }: RuntimeParts,
  { node, runtimes }: Static<typeof wanted>,
  path: string,
): Promise<void> {
  const sha256 = runtimes?.[arch]
  if (sha256 === undefined) throw missing(`the release was published without one for ${arch}`)
  const draft = join(root, RUNTIMES, DRAFT)
  const installer = await fetchInstaller()
  try {
    await extractRuntime(installer, { name: runtimeName(node, arch), to: draft, sha256, mostBytes })
    await rename(draft, path)
    await syncFolder(systemDisk, join(root, RUNTIMES))
  } finally {
    await rm(installer, { force: true })
    await rm(draft, { force: true })
  }
}

/** The name leads to the Node that runs now. It is swapped by a rename: a daemon may start at any time. */
async function standIn(root: string, path: string): Promise<void> {
  const draft = join(root, RUNTIMES, DRAFT)
  await rm(draft, { force: true })
  await symlink(realpathSync(process.execPath), draft)
  await rename(draft, path)
  await syncFolder(systemDisk, join(root, RUNTIMES))
}

// An installer, as makeself makes it: a shell script, then a tar that is not zipped.

/** The script of makeself has some 20 KiB. */
const MOST_SCRIPT_BYTES = 65_536
const MOST_ENTRIES = 64

interface Wish {
  name: string
  to: string
  sha256: string
  mostBytes: number
}

/** Takes one Node out of an installer, which is hostile: only what has the signed hash counts. */
async function extractRuntime(installer: string, { mostBytes, name, sha256, to }: Wish): Promise<void> {
  const file = await open(installer, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const { at, sizeBytes } = await memberOf(file, name)
    const hash = createHash('sha256')
    let bytes = 0
    await rm(to, { force: true })
    // Nobody else's to run before it is proven.
    const into = await open(to, 'wx', 0o600)
    try {
      await pipeline(
        file.createReadStream({ start: at, end: at + sizeBytes - 1, autoClose: false, highWaterMark: 1_048_576 }),
        createGunzip(),
        async (pieces: AsyncIterable<Buffer>) => {
          for await (const piece of pieces) {
            bytes += piece.length
            if (bytes > mostBytes) throw missing(`it has more than ${mostBytes} bytes`)
            hash.update(piece)
            await into.appendFile(piece)
          }
        },
      )
      if (hash.digest('hex') !== sha256) throw missing('the one in the installer is not the one that was signed')
      await into.chmod(0o755)
      await into.sync()
    } finally {
      await into.close()
    }
  } finally {
    await file.close()
  }
}

/** Where the bytes of a member are. */
async function memberOf(file: FileHandle, name: string): Promise<{ at: number; sizeBytes: number }> {
  const { size } = await file.stat()
  const script = (await readAt(file, 0, Math.min(size, MOST_SCRIPT_BYTES))).toString('latin1')
  const tarBytes = Number(/^filesizes="(\d{1,15})"$/m.exec(script)?.[1])
  let at = size - tarBytes
  for (let entries = 0; entries < MOST_ENTRIES && at >= 0 && at + TAR_BLOCK <= size; entries++) {
    const entry = readTarHeader(await readAt(file, at, TAR_BLOCK))
    if (entry === 'end') break
    at += TAR_BLOCK
    // The folder itself.
    if (entry === undefined) continue
    if (entry.path === `./${name}` && entry.sizeBytes > 0) return { at, sizeBytes: entry.sizeBytes }
    at += entry.sizeBytes + tarPadding(entry.sizeBytes).length
  }
  throw missing(`the installer has no ${name}`)
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}

function missing(why: string): Fault {
  return new Fault('update_runtime_missing', why)
}
