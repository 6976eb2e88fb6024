/** One file that is being written: fragments in order, synced when it is due and at its end. */
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Clock, Timer } from '#kit/clock.ts'
import { syncFolder, systemDisk } from '#kit/store/store.ts'
import type { FileWish, FootageFile, Fragment, FragmentTime } from '../core/ports.ts'
import { type FragmentPlace, scanMp4 } from '../wire/mp4-read.ts'
import { TICKS_PER_S } from '../wire/mp4-write.ts'
import type { FootageDisk } from './footage-disk.ts'
import type { FootageIndex, IndexRow, RowState } from './footage-index.ts'

/** Bytes that wait for the disks, of each camera and of all, and what may wait. */
export class WaitingBytes {
  readonly #most: { ofOne: number; ofAll: number }
  readonly #of = new Map<string, number>()
  readonly #refused = new Set<string>()
  #all = 0

  constructor(most: { ofOne: number; ofAll: number }) {
    this.#most = most
  }

  hasRoom(camera: string, bytes: number): boolean {
    const hasRoom = (this.#of.get(camera) ?? 0) + bytes <= this.#most.ofOne && this.#all + bytes <= this.#most.ofAll
    if (!hasRoom) this.#refused.add(camera)
    return hasRoom
  }

  /** Whether it was refused, and less than half of what may wait is free again. */
  isBehind(camera: string): boolean {
    const isFree = (this.#of.get(camera) ?? 0) <= this.#most.ofOne / 2 && this.#all <= this.#most.ofAll / 2
    if (isFree) this.#refused.delete(camera)
    return this.#refused.has(camera)
  }

  add(camera: string, bytes: number): void {
    this.#all += bytes
    this.#of.set(camera, (this.#of.get(camera) ?? 0) + bytes)
  }
}

interface FileParts {
  clock: Clock
  flushMs: number
  disk: FootageDisk
  /** The disk as the index numbers it. */
  number: number
  index: FootageIndex
  waiting: WaitingBytes
  isHeld(row: IndexRow): boolean
  /** Whether fragments may be given to its disk. */
  takesMore(): boolean
  /** The queue is full. */
  onBehind(camera: string): void
  onWritten(bytes: number): void
  /** Fragments that were taken, and are not on the disk. */
  onLost(camera: string, groups: number): void
  onDone(): void
}

interface Waiting extends Fragment {
  time: FragmentTime
}

export class WritingFile implements FootageFile {
  readonly camera: string
  readonly #path: string
  readonly #startAt: number
  readonly #parts: FileParts
  readonly #fragments: FragmentPlace[] = []
  readonly #queue: Waiting[] = []
  /** What is being written. */
  #given: Waiting | undefined
  #bytes = 0
  #handle: FileHandle | undefined
  #sync: Timer | undefined
  #isClosed = false
  #hasFailed = false
  #isIndexed = false
  /** Settles once what is asked of it is done; never rejects. */
  #turn: Promise<void>

  constructor({ camera, head, startAt }: FileWish, parts: FileParts) {
    const day = new Date(startAt).toISOString().slice(0, 10)
    this.camera = camera
    this.#startAt = startAt
    this.#path = `${camera}/${day}/${Math.floor(startAt)}.mp4`
    this.#parts = parts
    this.#turn = this.#attempt(() => this.#create(head))
  }

  get disk(): FootageDisk {
    return this.#parts.disk
  }

  get path(): string {
    return this.#path
  }

  /** What is written of it is in the index, and nothing follows. */
  get isIndexed(): boolean {
    return this.#isIndexed
  }

  /** What is written of it. */
  row(): IndexRow {
    const fragments = [...this.#fragments]
    const endAt = fragments.length === 0 ? this.#startAt : endOf(fragments)
    const place = { disk: this.#parts.number, path: this.#path, camera: this.camera }
    return { ...place, startAt: this.#startAt, endAt, bytes: this.#bytes, fragments }
  }

  append(fragment: Fragment, time: FragmentTime): boolean {
    const { onBehind, takesMore, waiting } = this.#parts
    if (this.#isClosed || this.#hasFailed || !takesMore()) return false
    if (!waiting.hasRoom(this.camera, fragment.heldBytes)) {
      onBehind(this.camera)
      return false
    }
    waiting.add(this.camera, fragment.heldBytes)
    this.#queue.push({ ...fragment, time })
    this.#then(() => this.#writeNext())
    return true
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#sync?.cancel()
    this.#turn = this.#turn.then(() => this.#attempt(() => this.#finish())).then(() => this.#parts.onDone())
  }

  closed(): Promise<void> {
    this.close()
    return this.#turn
  }

  /** Its disk is gone or refuses: what waits is lost. What was written is found again once the disk is back. */
  abandon(): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    this.#sync?.cancel()
    const lost = this.#queue.splice(0)
    for (const one of lost) {
      this.#parts.waiting.add(this.camera, -one.heldBytes)
      // A disk that hangs may yet take what it was given.
      if (one !== this.#given) one.onDone()
    }
    if (lost.length > 0) this.#parts.onLost(this.camera, lost.length)
    this.#put('writing')
    this.#isIndexed = true
    this.close()
  }

  #put(state: RowState): void {
    const row = this.row()
    this.#parts.index.put(row, state, this.#parts.isHeld(row))
  }

  #then(task: () => Promise<unknown>): void {
    this.#turn = this.#turn.then(() => this.#attempt(task))
  }

  async #attempt(task: () => Promise<unknown>): Promise<void> {
    try {
      await this.#parts.disk.work(task)
    } catch {
      // The disk has noted it.
      this.abandon()
    }
  }

  async #create(head: Uint8Array): Promise<void> {
    if (this.#hasFailed) return
    // Before the file is there: a kill in between leaves a row without a file, which is noticed at the next start.
    this.#put('writing')
    const { folder: root } = this.#parts.disk
    const path = join(root, this.#path)
    // One by one, each in what is there: where the disk was unmounted, nothing is made on the one below.
    await this.#parts.disk.confirm()
    for (const folder of [dirname(dirname(path)), dirname(path)]) await makeOne(folder)
    this.#handle = await open(path, 'wx', 0o600)
    await this.#handle.writeFile(head)
    this.#bytes = head.length
    await this.#handle.sync()
    for (const folder of [dirname(path), dirname(dirname(path)), root]) await syncFolder(systemDisk, folder)
    this.#parts.disk.synced()
  }

  async #writeNext(): Promise<void> {
    const [next] = this.#queue
    if (!next) return
    const { heldBytes, pieces, time } = next
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
    try {
      this.#given = next
      await writeAll(this.#handle, pieces)
    } finally {
      this.#given = undefined
      // Abandoned meanwhile: it was counted as lost.
      if (this.#queue[0] !== next) next.onDone()
    }
    if (this.#queue[0] !== next) return
    this.#queue.shift()
    next.onDone()
    this.#parts.waiting.add(this.camera, -heldBytes)
    this.#fragments.push({ ...time, offset: this.#bytes, length })
    this.#bytes += length
    this.#parts.onWritten(length)
    // Its end syncs it too.
    if (this.#isClosed) return
    this.#sync ??= this.#parts.clock.after(this.#parts.flushMs, () => {
      this.#sync = undefined
      this.#then(() => this.#flush())
    })
  }

  async #flush(): Promise<void> {
    if (this.#hasFailed) return
    await this.#handle?.datasync()
    this.#parts.disk.synced()
  }

  async #finish(): Promise<void> {
    const { disk, index } = this.#parts
    const handle = this.#handle
    try {
      if (this.#hasFailed) return
      await handle?.truncate(this.#bytes)
      await this.#flush()
      this.#isIndexed = true
      if (this.#fragments.length > 0) this.#put('kept')
      // Only what was created here: another file may have the name.
      else if (handle) await removeFile(disk.folder, index, this.row())
    } finally {
      await handle?.close()
    }
  }
}

/** @throws the error of the disk, also where it is full in the middle of it */
async function writeAll(handle: FileHandle | undefined, pieces: readonly Uint8Array[]): Promise<void> {
  let left = pieces
  while (handle && left.length > 0) {
    const { bytesWritten } = await handle.writev(left)
    let at = 0
    left = left.flatMap((piece) => {
      const rest = piece.subarray(Math.max(0, bytesWritten - at))
      at += piece.length
      return rest.length > 0 ? [rest] : []
    })
  }
}

async function makeOne(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** End of the last fragment, milliseconds since 1970. */
export function endOf(fragments: readonly FragmentPlace[]): number {
  const last = fragments.at(-1)
  return last ? last.wallMs + (last.durationTicks * 1000) / TICKS_PER_S : 0
}

/** The row says first that it goes: a kill on the way leaves neither a row without a file nor a file without a row. */
export async function removeFile(folder: string, index: FootageIndex, row: IndexRow): Promise<void> {
  index.put(row, 'removing', false)
  const day = dirname(join(folder, row.path))
  await rm(join(folder, row.path), { force: true })
  await syncFolder(systemDisk, day).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  // The last file of a day takes its folder along.
  await rmdir(day).catch(() => {})
  index.forget(row.disk, row.path)
}

/** Enough for the head of a file, or for that of a group of a thousand pictures. */
const WINDOW_BYTES = 65_536
/** What a single box may take. */
const WIDE_BYTES = 2_097_152

/** What of a file is whole. */
export interface WholePart {
  fragments: FragmentPlace[]
  wholeBytes: number
  sizeBytes: number
}

/** Reads what of a file is whole: heads of fragments, and no pictures. @throws the error of the disk */
export async function wholePart(path: string): Promise<WholePart> {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const { size } = await handle.stat()
    let scan = await scanFrom(handle, size)
    for (;;) {
      const next = await scanFrom(handle, size, scan)
      if (next.fragments.length === scan.fragments.length) break
      scan = next
    }
    return { ...scan, sizeBytes: size }
  } finally {
    await handle.close()
  }
}

/** Goes on with a scan as far as what is read at once reaches. */
async function scanFrom(handle: FileHandle, size: number, before?: ReturnType<typeof scanMp4>) {
  for (const length of [WINDOW_BYTES, WIDE_BYTES]) {
    const from = before?.wholeBytes ?? 0
    const { buffer, bytesRead } = await handle.read(new Uint8Array(length), 0, length, from)
    const read = (offset: number, most: number) =>
      buffer.subarray(Math.min(offset - from, bytesRead), Math.min(offset - from + most, bytesRead))
    const scan = scanMp4(read, size, before)
    if (scan.wholeBytes > from || bytesRead < length) return scan
  }
  return before ?? { tracks: undefined, fragments: [], wholeBytes: 0 }
}
