/**
 * A folder of footage: files that are written, found again after a kill, read and removed. The files are the truth, and
 * the index follows them.
 */
import { closeSync, constants, fstatSync, ftruncateSync, globSync, readSync } from 'node:fs'
import { type FileHandle, open, rm, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { makeFolder, openPlain, syncFolder, systemDisk } from '#kit/store/store.ts'
import type { FileWish, FootageFile, FootageStore, FragmentTime, KeptFile } from '../core/ports.ts'
import { type FragmentPlace, scanMp4 } from '../wire/mp4-read.ts'
import { TICKS_PER_S } from '../wire/mp4-write.ts'
import { type FootageIndex, openFootageIndex } from './footage-index.ts'

/** Bounds, by the names of their settings. */
export interface FolderLimits {
  flushMs: number
  /** What may wait for the disk, of one camera and of all. */
  queueBytes: number
  totalQueueBytes: number
  keepBytes: number
  keepMs: number
  freeBytes: number
}

interface FolderParts {
  folder: string
  clock: Clock
  limits: FolderLimits
  /** What could not be written or removed; undefined once it works again. */
  onFault(fault: Fault | undefined): void
}

/** Where footage is kept, and how it is asked for. */
export interface FootageFolder extends FootageStore {
  /** Files that share a moment with the span, in order of time; the ones being written with what is whole of them. */
  between(camera: string, fromAt: number, toAt: number): KeptFile[]
  spans(camera: string, fromAt: number, toAt: number): { startAt: number; endAt: number }[]
  bounds(camera: string): { startAt: number; endAt: number } | undefined
  /** The end of the newest recording of all. */
  newestAt(): number
  bytes(): number
  /** Removes what is too old or too much, oldest first. */
  trim(): Promise<void>
  /** Resolves once everything that was taken lies on the disk. */
  close(): Promise<void>
}

/** @throws Fault `footage_unusable` if the folder cannot be used */
export async function openFootageFolder(parts: FolderParts): Promise<FootageFolder> {
  const { folder } = parts
  try {
    await makeFolder(folder)
    const index = openFootageIndex(folder)
    if (index.isNew) rebuild(folder, index)
    else for (const row of index.inState('writing')) restore(folder, index, row)
    for (const row of index.inState('removing')) await remove(folder, index, row)
    return folderOn(index, parts)
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code ?? (cause as Error).message
    throw faultOf(cause, 'footage_unusable', `The folder ${folder} cannot keep footage: ${why}.`)
  }
}

// After a kill or a power cut: a file ends behind its last whole fragment.

/** `<camera>/<day>/<milliseconds since 1970>.mp4` */
const PATH = /^([\w-]{1,64})\/\d{4}-\d\d-\d\d\/(\d{1,16})\.mp4$/

function rebuild(folder: string, index: FootageIndex): void {
  for (const path of globSync('*/*/*.mp4', { cwd: folder })) {
    const [, camera, startAt] = PATH.exec(path) ?? []
    if (camera === undefined) continue
    const start = Number(startAt)
    restore(folder, index, { path, camera, startAt: start, endAt: start, bytes: 0, fragments: [] })
  }
}

/** Reads what of a file is whole, cuts off the rest, and keeps it; without a whole fragment it is to be removed. */
function restore(folder: string, index: FootageIndex, row: KeptFile): void {
  const { fragments, wholeBytes } = wholePart(join(folder, row.path))
  const [first] = fragments
  if (first) index.put({ ...row, startAt: first.wallMs, endAt: endOf(fragments), bytes: wholeBytes, fragments }, 'kept')
  else index.put(row, 'removing')
}

function wholePart(path: string): { fragments: FragmentPlace[]; wholeBytes: number } {
  let descriptor: number
  try {
    descriptor = openPlain(path, constants.O_RDWR)
  } catch (error) {
    // Its row was written, and the power went before its name was on the disk.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { fragments: [], wholeBytes: 0 }
    throw error
  }
  try {
    const { size } = fstatSync(descriptor)
    const scan = scanMp4((offset, length) => readPart(descriptor, offset, length), size)
    if (scan.fragments.length > 0 && scan.wholeBytes < size) ftruncateSync(descriptor, scan.wholeBytes)
    return scan
  } finally {
    closeSync(descriptor)
  }
}

function readPart(descriptor: number, offset: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  return bytes.subarray(0, readSync(descriptor, bytes, 0, length, offset))
}

function endOf(fragments: readonly FragmentPlace[]): number {
  const last = fragments.at(-1)
  return last ? last.wallMs + (last.durationTicks * 1000) / TICKS_PER_S : 0
}

/** The row says first that it goes: a kill on the way leaves neither a row without a file nor a file without a row. */
async function remove(folder: string, index: FootageIndex, row: KeptFile): Promise<void> {
  index.put(row, 'removing')
  const path = join(folder, row.path)
  await rm(path, { force: true })
  await syncFolder(systemDisk, dirname(path)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  index.forget(row.path)
}

function folderOn(index: FootageIndex, parts: FolderParts): FootageFolder {
  const { clock, folder, limits, onFault } = parts
  const writing = new Set<WritingFile>()
  const held = { all: 0, of: new Map<string, number>() }
  const openOf = (camera: string, fromAt: number, toAt: number) =>
    [...writing].filter((file) => file.camera === camera).flatMap((file) => within(file.kept(), fromAt, toAt))

  async function trim(): Promise<void> {
    const { bavail, bsize } = await statfs(folder)
    let missing = limits.freeBytes - bavail * bsize
    for (let row = index.oldest(); row; row = index.oldest()) {
      const isOld = row.endAt < clock.epochMs() - limits.keepMs
      if (!isOld && missing <= 0 && index.bytes() <= limits.keepBytes) return
      await remove(folder, index, row)
      missing -= row.bytes
    }
  }

  return {
    begin(wish) {
      const file = new WritingFile(wish, { ...parts, index, held, onDone: () => writing.delete(file) })
      writing.add(file)
      return file
    },
    between: (camera, fromAt, toAt) => [...index.between(camera, fromAt, toAt), ...openOf(camera, fromAt, toAt)],
    spans: (camera, fromAt, toAt) => [...index.spans(camera, fromAt, toAt), ...openOf(camera, fromAt, toAt)],
    bounds(camera) {
      const kept = index.bounds(camera)
      const open = openOf(camera, 0, Number.POSITIVE_INFINITY)
      const spans = [...(kept ? [kept] : []), ...open]
      if (spans.length === 0) return undefined
      return {
        startAt: Math.min(...spans.map(({ startAt }) => startAt)),
        endAt: Math.max(...spans.map(({ endAt }) => endAt)),
      }
    },
    newestAt: index.newestAt,
    bytes: () => index.bytes() + [...writing].reduce((sum, file) => sum + file.kept().bytes, 0),
    async trim() {
      try {
        await trim()
      } catch (error) {
        onFault(faultOf(error, 'footage_not_removed', `Old footage in ${folder} cannot be removed: ${sayWhy(error)}.`))
      }
    },
    async close() {
      await Promise.all([...writing].map((file) => file.closed()))
      index.close()
    },
  }
}

function within(file: KeptFile, fromAt: number, toAt: number): KeptFile[] {
  return file.fragments.length > 0 && file.startAt < toAt && file.endAt > fromAt ? [file] : []
}

function sayWhy(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code ?? message
}

interface WritingParts extends FolderParts {
  index: FootageIndex
  held: { all: number; of: Map<string, number> }
  onDone(): void
}

/** One file that is being written: fragments in order, synced when it is due and at its end. */
class WritingFile implements FootageFile {
  readonly camera: string
  readonly #path: string
  readonly #startAt: number
  readonly #parts: WritingParts
  readonly #fragments: FragmentPlace[] = []
  #bytes = 0
  #handle: FileHandle | undefined
  #sync: Timer | undefined
  #isClosed = false
  #fault: Fault | undefined
  /** Runs what is asked of it one after the other; never rejects. */
  #turn: Promise<void>

  constructor({ camera, head, startAt }: FileWish, parts: WritingParts) {
    const day = new Date(startAt).toISOString().slice(0, 10)
    this.camera = camera
    this.#startAt = startAt
    this.#path = `${camera}/${day}/${Math.floor(startAt)}.mp4`
    this.#parts = parts
    this.#turn = this.#attempt(() => this.#create(head))
  }

  kept(): KeptFile {
    const { camera } = this
    const fragments = [...this.#fragments]
    const endAt = fragments.length === 0 ? this.#startAt : endOf(fragments)
    return { camera, path: this.#path, startAt: this.#startAt, endAt, bytes: this.#bytes, fragments }
  }

  append(bytes: Uint8Array, time: FragmentTime): boolean {
    const { held, limits } = this.#parts
    const own = held.of.get(this.camera) ?? 0
    if (this.#isClosed || this.#fault) return false
    if (own + bytes.length > limits.queueBytes || held.all + bytes.length > limits.totalQueueBytes) {
      this.#parts.onFault(new Fault('footage_behind', `The disk is slower than ${this.camera} sends: footage is lost.`))
      return false
    }
    this.#hold(bytes.length)
    this.#then(async () => {
      try {
        await this.#write(bytes)
        const offset = this.#bytes
        this.#bytes += bytes.length
        this.#fragments.push({ ...time, offset, length: bytes.length })
        this.#parts.onFault(undefined)
      } finally {
        this.#hold(-bytes.length)
      }
      // Its end syncs it too.
      if (this.#isClosed) return
      this.#sync ??= this.#parts.clock.after(limits.flushMs, () => {
        this.#sync = undefined
        this.#then(() => this.#handle?.datasync())
      })
    })
    return true
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#turn = this.#turn.then(() => this.#attempt(() => this.#finish())).then(() => this.#parts.onDone())
  }

  closed(): Promise<void> {
    this.close()
    return this.#turn
  }

  #hold(bytes: number): void {
    const { held } = this.#parts
    held.all += bytes
    held.of.set(this.camera, (held.of.get(this.camera) ?? 0) + bytes)
  }

  #then(task: () => Promise<unknown> | undefined): void {
    this.#turn = this.#turn.then(() => this.#attempt(task))
  }

  async #attempt(task: () => Promise<unknown> | undefined): Promise<void> {
    try {
      await task()
    } catch (error) {
      const sentence = `Footage of ${this.camera} cannot be written: ${sayWhy(error)}. It is tried again.`
      this.#fault ??= faultOf(error, 'footage_not_written', sentence)
      this.#parts.onFault(this.#fault)
    }
  }

  async #create(head: Uint8Array): Promise<void> {
    // Before the file is there: a kill in between leaves a row without a file, which is noticed at the next start.
    this.#parts.index.put(this.kept(), 'writing')
    const path = join(this.#parts.folder, this.#path)
    await makeFolder(dirname(path))
    this.#handle = await open(path, 'wx', 0o600)
    await this.#write(head)
    this.#bytes = head.length
    await this.#handle.sync()
    for (const folder of [dirname(path), dirname(dirname(path))]) await syncFolder(systemDisk, folder)
  }

  async #write(bytes: Uint8Array): Promise<void> {
    // After a fault in between, what follows would not be where it is said to be.
    if (this.#fault) throw this.#fault
    await this.#handle?.writeFile(bytes)
  }

  async #finish(): Promise<void> {
    this.#sync?.cancel()
    const { folder, index } = this.#parts
    const handle = this.#handle
    try {
      await handle?.truncate(this.#bytes)
      await handle?.datasync()
    } finally {
      await handle?.close()
      if (this.#fragments.length > 0) index.put(this.kept(), 'kept')
      // Only what was created here: another file may have the name.
      else if (handle) await remove(folder, index, this.kept())
    }
  }
}
