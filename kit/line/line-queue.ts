/** Queue of bytes to write to a line: each sender's in order, senders in turn, and within a limit. */
import type { Clock, Timer } from '../clock.ts'
import { MOST_WRITES } from '../pure/memory-plan.ts'

/** Limits of one line's queue. */
export interface LineQueueLimits {
  /** Bytes of all connected senders. */
  queueBytes: number
  /** The same in time: no more than the line sends within this. */
  queueMs: number
  /** Bytes still sent for senders that have left; beyond it, bytes are dropped of the address that left most. */
  leftBytes: number
  /** How long sending those may take. */
  leftMs: number
}

/** Default, as in tests and tools. */
export const DEFAULT_QUEUE: LineQueueLimits = { queueBytes: 65_536, queueMs: 2000, leftBytes: 65_536, leftMs: 30_000 }

/** One client's write access to a line. */
export interface LineSender {
  /** Its bytes in the queue. */
  readonly heldBytes: number
  /**
   * @returns how many the driver took: fewer than all if the sender left and its rest was dropped
   * @throws Fault as `Line.write`
   */
  write(bytes: Uint8Array): Promise<number>
  /** @param keeps whether queued bytes are still sent, within `leftBytes` and `leftMs`; else they are dropped */
  leave(keeps: boolean): void
}

export interface SenderHandlers {
  /** True: its address has enough queued, so stop reading from it; false: go on. Called only at changes. */
  onRest(isResting: boolean): void
}

export interface LineQueueParts {
  clock: Clock
  limits: LineQueueLimits
  /** Resolves when the driver has taken them. */
  write(bytes: Uint8Array): Promise<void>
  /** True while bytes are queued: nothing else may be written to the line then. */
  onBusy(isBusy: boolean): void
  /** Most bytes to read from one client at once. */
  onMostRead(most: number): void
}

/** Size of one write to the driver; dropping can only cut between writes. */
const PIECE_BYTES = 1024
/** Minimum, also for a slow line or many clients: one client message up to this size goes out in one piece. */
const LEAST_READ = 1024
const MOST_READ = 65_536
interface Entry {
  bytes: Uint8Array
  /** How many bytes the driver has taken. */
  at: number
  sender: Sender
  done(taken: number): void
  failed(fault: unknown): void
  isOver: Promise<unknown>
}

/** Senders of one address: they share one turn and one part of the limit. */
interface Group {
  address: string
  entries: Entry[]
  heldBytes: number
  /** Senders that have not left. */
  present: Set<Sender>
  isResting: boolean
}

interface Sender {
  group: Group
  handlers: SenderHandlers
  heldBytes: number
  hasLeft: boolean
  timer: Timer | undefined
}

export class LineQueue {
  readonly #parts: LineQueueParts
  /** In order of their next turn. */
  readonly #groups = new Map<string, Group>()
  readonly #own: LineSender
  #current: Entry | undefined
  #isBusy = false
  #heldBytes = 0
  #leftBytes = 0
  /** Queued writes, including those of senders that have left. */
  #writes = 0
  #mostBytes: number
  /** Groups with at least one sender that has not left. */
  #present = 0

  constructor(parts: LineQueueParts) {
    this.#parts = parts
    this.#mostBytes = parts.limits.queueBytes
    this.#own = this.join(OWN, undefined)
  }

  /**
   * Writes for the daemon itself: waits its turn like any sender, but is never paused; its callers limit themselves.
   */
  async write(bytes: Uint8Array): Promise<void> {
    await this.#own.write(bytes)
  }

  /** Whether nothing is queued or being written. */
  get isIdle(): boolean {
    return !this.#isBusy
  }

  setSpeed(bytesPerS: number): void {
    const { queueBytes, queueMs } = this.#parts.limits
    this.#mostBytes = Math.max(LEAST_READ, Math.min(queueBytes, Math.floor((bytesPerS * queueMs) / 1000)))
    this.#share()
  }

  /** @param address groups senders into one turn; @param handlers undefined for a sender that is never paused */
  join(address: string, handlers: SenderHandlers | undefined): LineSender {
    const group = this.#groupOf(address)
    const sender: Sender = { group, handlers: handlers ?? IGNORES, heldBytes: 0, hasLeft: false, timer: undefined }
    if (handlers) {
      if (group.present.size === 0) this.#present++
      group.present.add(sender)
      this.#share()
      if (group.isResting) handlers.onRest(true)
    }
    return {
      get heldBytes() {
        return sender.heldBytes
      },
      write: (bytes) => this.#push(sender, bytes),
      leave: (keeps) => this.#leave(sender, keeps),
    }
  }

  /** Resolves when all that is queued now has been taken by the driver or dropped. */
  async settled(): Promise<void> {
    const waiting = [...this.#groups.values()].flatMap(({ entries }) => entries.map(({ isOver }) => isOver))
    if (this.#current) waiting.push(this.#current.isOver)
    await Promise.allSettled(waiting)
  }

  /** Fails everything queued with that fault. The write in progress ends by itself. */
  drop(fault: () => unknown): void {
    for (const { entries } of this.#groups.values())
      for (const entry of entries.splice(0)) {
        this.#writes--
        this.#account(entry, entry.bytes.length - entry.at)
        entry.failed(fault())
      }
    this.#judge()
  }

  #groupOf(address: string): Group {
    let group = this.#groups.get(address)
    if (group === undefined) {
      group = { address, entries: [], heldBytes: 0, present: new Set(), isResting: false }
      this.#groups.set(address, group)
    }
    return group
  }

  #push(sender: Sender, bytes: Uint8Array): Promise<number> {
    const { promise, resolve: done, reject: failed } = Promise.withResolvers<number>()
    const entry = { bytes, at: 0, sender, done, failed, isOver: promise }
    sender.group.entries.push(entry)
    this.#writes++
    sender.heldBytes += bytes.length
    sender.group.heldBytes += bytes.length
    this.#heldBytes += bytes.length
    if (!this.#isBusy) {
      this.#isBusy = true
      this.#parts.onBusy(true)
      this.#next()
    }
    this.#judge()
    return promise
  }

  /** An entry goes out whole: bytes of others never come between. */
  #next(): void {
    const entry = this.#current ?? this.#takeTurn()
    if (entry === undefined) {
      this.#isBusy = false
      this.#parts.onBusy(false)
      return
    }
    this.#current = entry
    const isWhole = entry.at === 0 && entry.bytes.length <= PIECE_BYTES
    const piece = isWhole ? entry.bytes : entry.bytes.subarray(entry.at, entry.at + PIECE_BYTES)
    this.#parts.write(piece).then(
      () => this.#wrote(entry, piece.length),
      (fault) => this.#end(entry, () => entry.failed(fault)),
    )
  }

  #takeTurn(): Entry | undefined {
    for (const group of this.#groups.values()) {
      const entry = group.entries.shift()
      if (entry === undefined) continue
      this.#writes--
      this.#groups.delete(group.address)
      this.#groups.set(group.address, group)
      return entry
    }
    return undefined
  }

  #wrote(entry: Entry, length: number): void {
    entry.at += length
    this.#account(entry, length)
    if (entry.at >= entry.bytes.length) this.#end(entry, () => entry.done(entry.at))
    else this.#next()
  }

  #end(entry: Entry, tell: () => void): void {
    this.#current = undefined
    this.#account(entry, entry.bytes.length - entry.at)
    tell()
    this.#judge()
    this.#next()
  }

  /** Counts that many of its bytes as no longer queued. */
  #account({ sender }: Entry, length: number): void {
    sender.heldBytes -= length
    sender.group.heldBytes -= length
    this.#heldBytes -= length
    if (!sender.hasLeft) return
    this.#leftBytes -= length
    if (sender.heldBytes === 0) sender.timer?.cancel()
  }

  #leave(sender: Sender, keeps: boolean): void {
    if (sender.hasLeft) return
    const { clock, limits } = this.#parts
    const { group } = sender
    sender.hasLeft = true
    this.#leftBytes += sender.heldBytes
    if (group.present.delete(sender) && group.present.size === 0) this.#present--
    if (!keeps) this.#throwAway(sender, sender.heldBytes)
    if (sender.heldBytes > 0) {
      sender.timer = clock.after(limits.leftMs, () => this.#throwAway(sender, sender.heldBytes))
      this.#leaveRoom()
    }
    this.#share()
  }

  /** Drops bytes of senders that have left: the newest ones of the address that left most. */
  #leaveRoom(): void {
    const { leftBytes } = this.#parts.limits
    while (this.#leftBytes > leftBytes) {
      let most: Group | undefined
      for (const group of this.#groups.values()) if (leftOf(group) > (most ? leftOf(most) : 0)) most = group
      const last = most?.entries.findLast(isLeft)
      if (last === undefined) {
        this.#cutCurrent(this.#leftBytes - leftBytes)
        return
      }
      this.#throwAway(last.sender, this.#leftBytes - leftBytes)
    }
    this.#leaveFewer()
  }

  /** Limits the number of their writes too, however short those are. */
  #leaveFewer(): void {
    const left = Array.from(this.#groups.values(), ({ entries }) => entries.filter(isLeft))
    for (let over = left.flat().length - MOST_WRITES; over > 0; over--) {
      const last = left.reduce((most, one) => (one.length > most.length ? one : most)).pop()
      if (last) this.#throwAway(last.sender, last.bytes.length - last.at)
    }
  }

  /** Drops the last bytes of a sender, except those the driver is being given. */
  #throwAway(sender: Sender, atMost: number): void {
    const { entries } = sender.group
    let rest = atMost
    for (let at = entries.length - 1; at >= 0 && rest > 0; at--) {
      const entry = entries[at]
      if (entry?.sender !== sender) continue
      const cut = Math.min(rest, entry.bytes.length - entry.at)
      rest -= cut
      this.#cut(entry, cut)
      if (entry.bytes.length > entry.at) continue
      entries.splice(at, 1)
      this.#writes--
      entry.done(entry.at)
    }
    if (this.#current?.sender === sender) this.#cutCurrent(rest)
    this.#judge()
  }

  /** Keeps the piece that the driver is being given. */
  #cutCurrent(atMost: number): void {
    const current = this.#current
    if (current) this.#cut(current, Math.max(0, Math.min(atMost, current.bytes.length - current.at - PIECE_BYTES)))
  }

  #cut(entry: Entry, length: number): void {
    if (length === 0) return
    // A copy: a view would keep the whole buffer alive.
    entry.bytes = new Uint8Array(entry.bytes.subarray(0, entry.bytes.length - length))
    this.#account(entry, length)
  }

  /** What is read at once is sent at once: so read no more from one client than its address may have queued. */
  #share(): void {
    this.#parts.onMostRead(Math.max(LEAST_READ, Math.min(MOST_READ, Math.floor(this.#shareBytes()))))
    this.#judge()
  }

  #shareBytes(): number {
    return this.#mostBytes / Math.max(1, this.#present)
  }

  /** An address with nothing queued is always read, so that one with much cannot lock others out. */
  #judge(): void {
    const isFull = this.#heldBytes - this.#leftBytes >= this.#mostBytes || this.#writes >= 2 * MOST_WRITES
    const shareBytes = this.#shareBytes()
    const shareWrites = MOST_WRITES / Math.max(1, this.#present)
    for (const group of this.#groups.values()) {
      const isGreedy = group.heldBytes > shareBytes / 2 || group.entries.length > shareWrites / 2
      const isResting = isGreedy || (isFull && group.heldBytes > 0)
      if (group.present.size === 0 && group.heldBytes === 0 && group.address !== OWN) this.#groups.delete(group.address)
      if (group.isResting === isResting) continue
      group.isResting = isResting
      for (const { handlers } of [...group.present]) handlers.onRest(isResting)
    }
  }
}

/** Group of the daemon's own writes; no client has this address. */
const OWN = ''
const IGNORES: SenderHandlers = { onRest() {} }

const isLeft = ({ sender }: Entry) => sender.hasLeft

function leftOf({ entries }: Group): number {
  return entries.reduce((sum, { sender, bytes, at }) => sum + (sender.hasLeft ? bytes.length - at : 0), 0)
}
