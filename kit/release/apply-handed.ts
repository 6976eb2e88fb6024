/**
 * Applies a release that was carried here by hand: a release file (release-file.ts) in the place of an update server. Whoever
 * put it there is not believed: it is opened once, without following a link, copied, and only the copy is proven and used.
 */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Fault } from '../pure/fault.ts'
import { compareVersions } from '../pure/version.ts'
import { makeFolder } from '../store/store.ts'
import { applyOffered, type ProvenOffer, proveOffer, type Run, settle, type UpdateParts, withRelease } from './apply.ts'
import { requireRoom } from './disk-room.ts'
import { MOST_HEAD_BYTES, type ReleaseHead, readReleaseHead } from './release-file.ts'
import type { UpdateOutcome } from './switch.ts'

/**
 * Applies the release in `update.handed_file`. `onBegun` is called once its record is proven: the file is open then, and
 * may be removed.
 * @throws Fault `update_no_file`, `update_file_foreign`, `release_file_unknown`, `release_file_cut`, `update_no_root`,
 * `update_older`, `update_taken_back`, and as `applyUpdate`
 */
export async function applyHanded(parts: UpdateParts): Promise<UpdateOutcome> {
  let begunAt = 0
  const onBegun = (at: number) => {
    begunAt = at
  }
  return await withRelease({ ...parts, onBegun }, 'handed', async (run) => {
    const settled = await settle(run)
    if (settled !== undefined) return settled
    await using file = await openHanded(parts.settings.handed_file)
    const head = await readHead(file)
    const from = await run.installed.current()
    const offered = await proveHanded(run, head, from.mark.version)
    parts.onBegun?.(begunAt)
    const part = run.memory.handed
    const fetch = async () => await copyHanded(file, head, part)
    return await applyOffered(run, { from, offered, archive: { part, fetch } })
  })
}

/**
 * Its folder is fixed, and its owner may put anything there at any time: a link, a pipe, another name of somebody's file.
 * What is open stays the same file.
 */
async function openHanded(path: string): Promise<FileHandle> {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT')
      throw new Fault('update_no_file', `there is no release file at ${path}: upload it again`, { cause })
    throw cause.code === 'ELOOP' || cause.code === 'ENXIO' ? foreign(path, cause) : cause
  })
  const stats = await file.stat()
  if (stats.isFile() && stats.nlink === 1) return file
  await file.close()
  throw foreign(path)
}

function foreign(path: string, cause?: unknown): Fault {
  return new Fault(
    'update_file_foreign',
    `${path} is a link, or no plain file: nothing of it was read. Find out who put it there, and remove it.`,
    { cause },
  )
}

async function readHead(file: FileHandle): Promise<ReleaseHead> {
  const start = Buffer.alloc(MOST_HEAD_BYTES)
  const { bytesRead } = await file.read(start, 0, start.length, 0)
  const head = readReleaseHead(start.subarray(0, bytesRead))
  const isWhole = head !== undefined && (await file.stat()).size === head.headBytes + head.signed.size
  if (isWhole) return head
  throw new Fault('release_file_cut', 'the release file is cut, or longer than its record says: carry it here again')
}

/** As what an update server offers is proven; and only a newer one is taken, of a publisher whose root is pinned here. */
async function proveHanded(run: Run, head: ReleaseHead, version: string): Promise<ProvenOffer> {
  const { memory, parts } = run
  const { signed } = head
  if ((await memory.trust()) === undefined)
    throw new Fault(
      'update_no_root',
      'this machine trusts no publisher yet, and so takes no release by hand: put the root into trust/root.json of the updates',
    )
  if (compareVersions(signed.version, version) <= 0)
    throw new Fault('update_older', `the file has ${signed.version}, and ${version} runs: only a newer one is taken`)
  const offer = {
    ...{ update: true as const, version: signed.version, checksum: signed.sha256, size: signed.size },
    ...{ encryption_key: head.encryption_key, bundle_hash: signed.bundle, release: head.release },
  }
  const offered = await proveOffer(offer, parts, version, memory)
  const bad = (await memory.history()).bad.find((one) => one.version === signed.version)
  if (bad)
    throw new Fault('update_taken_back', `${bad.version} was taken back here, and is not tried again: ${bad.reason}`)
  return offered
}

/** Only this copy is proven, and unpacked. */
async function copyHanded(file: FileHandle, { headBytes, signed }: ReleaseHead, to: string): Promise<void> {
  await makeFolder(dirname(to))
  await requireRoom(dirname(to), signed.size)
  await using copy = await open(to, 'w', 0o600)
  const piece = Buffer.allocUnsafe(PIECE_BYTES)
  for (let done = 0; done < signed.size; ) {
    const { bytesRead } = await file.read(piece, 0, Math.min(PIECE_BYTES, signed.size - done), headBytes + done)
    // Cut since: the checksum will say so.
    if (bytesRead === 0) return
    await copy.appendFile(piece.subarray(0, bytesRead))
    done += bytesRead
  }
}

const PIECE_BYTES = 1_048_576
