/**
 * One disk of footage: a folder with a marker that says which disk it is, so that no other is written in its place. It
 * is looked at every few seconds, and what is done on it is done one after the other: a disk that hangs keeps no other
 * waiting.
 */
import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, realpath, stat, statfs } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Clock, type Timer, wait } from '#kit/clock.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { Backoff, createSerialTurn } from '#kit/pure/pace.ts'
import { makeFolder, replaceFile } from '#kit/store/store.ts'
import { type DiskEvent, type DiskState, diskStateTable, eventOfRoom, faultOfDisk } from '../core/storage/disks.ts'

/** Says which disk this is. */
export const MARKER_FILE = 'plantroom-footage.json'
/** Written to see whether it can be. */
const PROBE_FILE = 'plantroom-probe'

/** A folder to keep footage in. */
export interface FolderWish {
  folder: string
  /** The disk that was here before: no other is taken. Undefined if none was. */
  id: string | undefined
  /** Whether it is begun wherever it is, and made if it is missing; else only on another disk than that of the state. */
  isOwn: boolean
}

interface DiskParts extends FolderWish {
  clock: Clock
  stateFolder: string
  /** Keys `storage.look_ms`, `storage.stuck_ms` and `storage.prove_s`. */
  limits: { lookMs: number; stuckMs: number; proveMs: number }
  /** Whether another folder has this disk already. */
  isTaken(id: string): boolean
  /** Its marker was read or written for the first time. Rejects if that cannot be kept. */
  onKnown(id: string): Promise<void>
  /** Its state is another one now. */
  onState(state: DiskState, before: DiskState): void
}

/** Waits before a disk that refused a write is written again. */
const REST = { firstMs: 2000, maxMs: 60_000 }

export class FootageDisk {
  readonly folder: string
  readonly #parts: DiskParts
  readonly #turn = createSerialTurn()
  readonly #rest = new Backoff(REST)
  #id: string | undefined
  #state: DiskState = 'unseen'
  #stateSince: number
  #why = ''
  #size: { sizeBytes: number; freeBytes: number } | undefined
  #looks: Timer | undefined
  #look: Promise<void> | undefined
  #lastDoneMs = 0
  #isWorking = false
  #syncedMs = Number.NEGATIVE_INFINITY
  #restsUntilMs = 0

  constructor(parts: DiskParts) {
    this.folder = parts.folder
    this.#parts = parts
    this.#id = parts.id
    this.#stateSince = parts.clock.epochMs()
  }

  get id(): string | undefined {
    return this.#id
  }

  get state(): DiskState {
    return this.#state
  }

  get stateSince(): number {
    return this.#stateSince
  }

  get size(): { sizeBytes: number; freeBytes: number } | undefined {
    return this.#size
  }

  fault(): Fault | undefined {
    return faultOfDisk(this.folder, this.#state, this.#why)
  }

  /** Looks now, and from now on. Resolves once it has answered, or is overdue. */
  async start(): Promise<void> {
    const { clock, limits } = this.#parts
    this.#looks = clock.every(limits.lookMs, () => void this.look())
    await Promise.race([this.look(), wait(clock, limits.stuckMs)])
  }

  stop(): void {
    this.#looks?.cancel()
  }

  /** Does one thing after the other. What fails is a fault of the disk; it is thrown too. */
  work<Result>(task: () => Promise<Result>): Promise<Result> {
    return this.#turn(async () => {
      this.#isWorking = true
      try {
        return await task()
      } catch (error) {
        this.#failed(error)
        throw error
      } finally {
        this.#isWorking = false
        this.#lastDoneMs = this.#parts.clock.monotonicMs()
      }
    })
  }

  /** @throws an error with code ENOENT if the folder is not that of this disk now */
  async confirm(): Promise<void> {
    if ((await readMarker(this.folder)) === this.#id) return
    throw Object.assign(new Error(`${this.folder} is not on its disk`), { code: 'ENOENT' })
  }

  /** Something was written and synced. */
  synced(): void {
    this.#syncedMs = this.#parts.clock.monotonicMs()
    this.#rest.reset()
  }

  /** @returns the look under way if there is one */
  look(): Promise<void> {
    this.#look ??= this.#lookOnce().finally(() => {
      this.#look = undefined
    })
    return this.#look
  }

  async #lookOnce(): Promise<void> {
    const { clock, limits } = this.#parts
    const begunMs = clock.monotonicMs()
    const watch = clock.every(limits.stuckMs, () => {
      // A long queue of writes that are done is slow, and not stuck.
      if (clock.monotonicMs() - Math.max(begunMs, this.#lastDoneMs) >= limits.stuckMs) this.#move('overdue', '')
    })
    try {
      const event = await this.#see()
      if (event) this.#move(event, '')
    } catch (error) {
      this.#failed(error)
    } finally {
      watch.cancel()
      this.#lastDoneMs = clock.monotonicMs()
    }
  }

  async #see(): Promise<DiskEvent | undefined> {
    const { clock, limits } = this.#parts
    const found = (await readMarker(this.folder)) ?? (await this.#begin())
    if (found === undefined) return 'missing'
    if (found !== (this.#id ?? found) || this.#parts.isTaken(found)) return 'mistaken'
    if (this.#id === undefined) await this.#claim(found)
    const { bavail, blocks, bsize } = await statfs(this.folder)
    this.#size = { sizeBytes: blocks * bsize, freeBytes: bavail * bsize }
    const nowMs = clock.monotonicMs()
    if (nowMs < this.#restsUntilMs) return undefined
    const isProven = (this.#state === 'here' || this.#state === 'full') && nowMs - this.#syncedMs < limits.proveMs
    // Cards wear: what was written lately is only read, unless what is being written now may hang.
    if (!isProven || this.#isWorking || !(await readThrough(this.folder))) {
      await writeProbe(this.folder)
      this.#syncedMs = nowMs
    }
    return eventOfRoom(this.#size.freeBytes, this.#size.sizeBytes)
  }

  /** Before anything is waited for: another folder may lead to the same disk, and is looked at meanwhile. */
  async #claim(id: string): Promise<void> {
    this.#id = id
    try {
      await this.#parts.onKnown(id)
    } catch (error) {
      this.#id = undefined
      throw error
    }
  }

  /** Marks a folder that was never used. @returns undefined if it may not be begun here */
  async #begin(): Promise<string | undefined> {
    const { isOwn, stateFolder } = this.#parts
    if (this.#id !== undefined) return undefined
    if (isOwn) await makeFolder(this.folder)
    else if (!(await isElsewhere(this.folder, stateFolder))) return undefined
    const id = randomUUID()
    await replaceFile(join(this.folder, MARKER_FILE), `${JSON.stringify({ version: 1, id })}\n`)
    return id
  }

  #failed(error: unknown): void {
    const { code = 'no code' } = error as NodeJS.ErrnoException
    // Another file has the name, which says nothing of the disk.
    if (code === 'EEXIST') return
    const nowMs = this.#parts.clock.monotonicMs()
    // Of what failed together, the first counts.
    if (nowMs >= this.#restsUntilMs && code !== 'ENOENT') this.#restsUntilMs = nowMs + this.#rest.next()
    this.#move(EVENTS[code] ?? 'refused', code)
  }

  #move(event: DiskEvent, why: string): void {
    const before = this.#state
    const next = diskStateTable[before][event]
    if (next === undefined) return
    this.#why = why
    if (next === before) return
    this.#state = next
    this.#stateSince = this.#parts.clock.epochMs()
    this.#parts.onState(next, before)
  }
}

const EVENTS: Readonly<Record<string, DiskEvent>> = { ENOSPC: 'filled', EDQUOT: 'filled', ENOENT: 'missing' }

/** A marker is short; what is longer is none. */
const MARKER_BYTES = 256

/** The disk that a folder is. @returns undefined if there is no folder or no marker in it */
export async function readMarker(folder: string): Promise<string | undefined> {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
  try {
    const handle = await open(join(folder, MARKER_FILE), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      const { buffer, bytesRead } = await handle.read(new Uint8Array(MARKER_BYTES), 0, MARKER_BYTES, 0)
      return /"id":\s*"([0-9a-f-]{36})"/.exec(new TextDecoder().decode(buffer.subarray(0, bytesRead)))?.[1]
    } finally {
      await handle.close()
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Proves that the disk takes a write. */
async function writeProbe(folder: string): Promise<void> {
  const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants
  const handle = await open(join(folder, PROBE_FILE), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)
  try {
    await handle.write(Uint8Array.of(0x2e), 0, 1, 0)
    await handle.datasync()
  } finally {
    await handle.close()
  }
}

/** Alignment that every disk takes. @source open(2): O_DIRECT */
const BLOCK_BYTES = 4096
/** Node's memory lies at multiples of it, and does not say at which. */
const MEMORY_STEP = 16
const block = { memory: Buffer.allocUnsafeSlow(2 * BLOCK_BYTES), at: 0 }

/**
 * Reads the probe from the disk itself, past what is kept in memory, and sees that the disk may be written.
 * @returns false where that cannot be told without a write
 * @throws what the disk says: EIO if it is gone, EROFS if it is read-only
 */
async function readThrough(folder: string): Promise<boolean> {
  const { O_DIRECT, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants
  try {
    const handle = await open(join(folder, PROBE_FILE), O_RDWR | O_DIRECT | O_NOFOLLOW | O_NONBLOCK)
    try {
      return await readAligned(handle)
    } finally {
      await handle.close()
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EINVAL' || code === 'ENOENT') return false
    throw error
  }
}

/** @returns false if no part of the memory will do */
async function readAligned(handle: FileHandle): Promise<boolean> {
  for (let tries = 0; tries < BLOCK_BYTES / MEMORY_STEP; tries++) {
    try {
      return (await handle.read(block.memory, block.at, BLOCK_BYTES, 0)).bytesRead > 0
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EINVAL') throw error
      block.at = (block.at + MEMORY_STEP) % BLOCK_BYTES
    }
  }
  return false
}

/** A folder with its links resolved, as far as it is there. */
export async function realFolder(folder: string): Promise<string> {
  try {
    return await realpath(folder)
  } catch {
    return folder === '/' ? folder : join(await realFolder(dirname(folder)), basename(folder))
  }
}

async function isElsewhere(folder: string, stateFolder: string): Promise<boolean> {
  const [own, system] = await Promise.all([
    stat(folder).catch(() => undefined),
    stat(stateFolder).catch(() => stat(dirname(stateFolder))),
  ])
  return own?.isDirectory() === true && own.dev !== system.dev
}
