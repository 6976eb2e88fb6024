/** Files that are kept: written beside where they are kept, and given their name when all of them is on the disk. */
import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '#kit/pure/fault.ts'
import { syncFolder, systemDisk } from '#kit/store/store.ts'
import type { Blobs, Incoming, KeptFile, Outgoing } from '../core/ports.ts'

const INCOMING = 'incoming'
const NAME = /^[0-9a-f-]{36}$/

/** An opened place for files, and which named files are missing. */
export interface OpenedBlobs {
  blobs: Blobs
  missing: string[]
}

export interface BlobRules {
  /** What stays free on the disk. */
  freeBytes: number
  /** Files that nobody names are removed if they are older, epoch ms: a backup that is put back may name younger ones. */
  orphansBefore: number
  /** Whether the group of this process may read them too. */
  isForGroup: boolean
  /** What was begun before, epoch ms, is finished by nobody: of a folder that others write too, only what is very old. */
  unfinishedBefore: number
}

/**
 * Removes what a daemon that was killed left unfinished, and old files that nobody names.
 * @param folder made if it is missing
 * @param named files that are to be there
 */
export async function openBlobs(
  folder: string,
  named: ReadonlySet<string>,
  { freeBytes, isForGroup, orphansBefore, unfinishedBefore }: BlobRules,
): Promise<OpenedBlobs> {
  const incoming = join(folder, INCOMING)
  await mkdir(folder, { recursive: true, mode: isForGroup ? 0o750 : 0o700 })
  await mkdir(incoming, { recursive: true, mode: 0o700 })
  await removeOld(incoming, await readdir(incoming), unfinishedBefore)
  const there = new Set((await readdir(folder)).filter(isName))
  await removeOld(
    folder,
    [...there].filter((name) => !named.has(name)),
    orphansBefore,
  )
  const blobs: Blobs = {
    newName: randomUUID,
    async begin(expectedBytes, file = randomUUID()) {
      await refuseFull(folder, expectedBytes ?? 0, freeBytes)
      return await beginFile(folder, file, { freeBytes, mode: isForGroup ? 0o640 : 0o600 })
    },
    remove: (file) => removeAll([folder, incoming].map((place) => join(place, checkedName(file)))),
    read: async (file, range) => reading(await opened(join(folder, checkedName(file))), range),
  }
  return { blobs, missing: [...named].filter((name) => !there.has(name)) }
}

/** @param before of their last change, epoch ms */
async function removeOld(folder: string, names: readonly string[], before: number): Promise<void> {
  for (const path of names.map((name) => join(folder, name))) {
    // Another daemon may have removed it.
    const { mtimeMs } = (await stat(path).catch(() => undefined)) ?? { mtimeMs: before }
    if (mtimeMs < before) await rm(path, { recursive: true, force: true })
  }
}

async function removeAll(paths: readonly string[]): Promise<void> {
  for (const path of paths) await rm(path, { force: true })
}

async function opened(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause
    throw new Fault('file_lost', 'The file is gone from the disk of this server. Publish it again.', { cause })
  }
}

function reading(handle: FileHandle, { end, start }: { start: number; end: number }): Outgoing {
  let at = start
  return {
    async read(into) {
      const { bytesRead } = await handle.read(into, 0, Math.min(into.length, end + 1 - at), at)
      at += bytesRead
      return bytesRead
    },
    close: () => handle.close(),
  }
}

/** Whether a file of this name may be one of ours. */
export function isName(name: string): boolean {
  return NAME.test(name)
}

/** Names come from a database, which a person may have changed. @throws Fault `file_lost` */
export function checkedName(file: string): string {
  if (!isName(file)) throw new Fault('file_lost', 'The name of a stored file is none.')
  return file
}

/** Bytes that are left on the disk of a folder. */
export async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

async function refuseFull(folder: string, bytes: number, freeBytes: number): Promise<void> {
  const left = await freeBytesOf(folder)
  const missing = bytes + freeBytes - left
  if (missing <= 0) return
  throw new Fault(
    'no_room',
    `The disk of the update server has ${megabytes(left)} MB left, of which ${megabytes(freeBytes)} MB stay free: ${megabytes(missing)} MB are missing. Nothing was changed.`,
  )
}

const megabytes = (bytes: number) => Math.ceil(bytes / 1_000_000)

/** How often the room is looked at while a file comes whose size nobody said, in bytes. */
const LOOK_BYTES = 16_777_216

/** What is gathered before it is written: each write is a task of a thread. @source measured: half the processor time of the rest */
const GATHERED_BYTES = 262_144

async function beginFile(
  folder: string,
  file: string,
  { freeBytes, mode }: { freeBytes: number; mode: number },
): Promise<Incoming> {
  const path = join(folder, INCOMING, file)
  const handle = await open(path, 'wx', mode)
  const hash = createHash('sha256')
  let sizeBytes = 0
  let lookAtBytes = LOOK_BYTES
  let gathered: Uint8Array[] = []
  let gatheredBytes = 0
  let state: 'open' | 'kept' | 'dropped' = 'open'

  async function drop(): Promise<void> {
    if (state !== 'open') return
    state = 'dropped'
    await handle.close().catch(() => {})
    await rm(path, { force: true })
  }

  async function flush(): Promise<void> {
    const pieces = gathered
    const bytes = gatheredBytes
    gathered = []
    gatheredBytes = 0
    if (bytes === 0) return
    const { bytesWritten } = await handle.writev(pieces)
    // A disk that fills takes a part: the next write says that it is full.
    if (bytesWritten < bytes) await handle.writeFile(Buffer.concat(pieces).subarray(bytesWritten))
  }

  async function keep(check: (kept: KeptFile) => void = () => {}): Promise<KeptFile> {
    await flush()
    const kept = { file, checksum: hash.digest('hex'), sizeBytes }
    check(kept)
    await handle.sync()
    await handle.close()
    await rename(path, join(folder, file))
    state = 'kept'
    await syncFolder(systemDisk, folder)
    return kept
  }

  return {
    drop,
    keep: (check) => withoutRoom(folder, freeBytes, () => keep(check)),
    async write(bytes) {
      hash.update(bytes)
      sizeBytes += bytes.length
      gathered.push(bytes)
      gatheredBytes += bytes.length
      if (gatheredBytes < GATHERED_BYTES) return
      await withoutRoom(folder, freeBytes, flush)
      if (sizeBytes < lookAtBytes) return
      lookAtBytes = sizeBytes + LOOK_BYTES
      await refuseFull(folder, 0, freeBytes)
    },
  }
}

/** Says of a full disk how much is missing. @throws Fault `no_room` */
async function withoutRoom<Result>(folder: string, freeBytes: number, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code !== 'ENOSPC' && code !== 'EDQUOT') throw cause
    await refuseFull(folder, 1, freeBytes)
    throw new Fault('no_room', 'The disk of the update server is full. Nothing was changed.', { cause })
  }
}
