/** Bytes that wait to be written to a line: of each sender in its order, of all in turn, and no more than a bound. */
import type { Clock, Timer } from '../clock.ts'
import { MOST_WRITES } from '../pure/memory-plan.ts'

/** Bounds of what waits for one line. */
export interface LineQueueLimits {
  /** Bytes of all who are connected. */
  queueBytes: number
  /** The same in time: no more than the line sends within this. */
  queueMs: number
  /** Bytes of those who have left that are still sent; what is beyond is thrown away, of whoever left most. */
  leftBytes: number
  /** How long those may take. */
  leftMs: number
}

/** Where nobody says otherwise, as in tests and tools. */
export const DEFAULT_QUEUE: LineQueueLimits = { queueBytes: 65_536, queueMs: 2000, leftBytes: 65_536, leftMs: 30_000 }

/** Somebody who sends to a line. */
export interface LineSender {
  /** Bytes of it that wait. */
  readonly heldBytes: number
  /**
   * @returns how many the driver took: fewer than all where the sender left and its rest was thrown away
   * @throws Fault as `Line.write`
   */
  write(bytes: Uint8Array): Promise<number>
  /** @param keeps whether what waits is still sent, within `leftBytes` and `leftMs`; else it is thrown away */
  leave(keeps: boolean): void
}

export interface SenderHandlers {
  /** Its address has enough waiting: nothing more is to be read of it; it may go on. Told at changes alone. */
  onRest(isResting: boolean): void
}

export interface LineQueueParts {
  clock: Clock
  limits: LineQueueLimits
  /** Resolves when the driver has them. */
  write(bytes: Uint8Array): Promise<void>
  /** Something waits, and nothing is to go to the line but from here; or no more. */
  onBusy(isBusy: boolean): void
  /** Most bytes that are to be read of one client at once. */
  onMostRead(most: number): void
}

/** What one write to the driver takes: what is thrown away may end behind each. */
const PIECE_BYTES = 1024
/** Of a slow line, or for many clients, too: what a client says in one message goes out in one piece up to here. */
const LEAST_READ = 1024
const MOST_READ = 65_536
interface Entry {
  bytes: Uint8Array
  /** How many the driver has. */
  at: number
  sender: Sender
  done(taken: number): void
  failed(fault: unknown): void
  isOver: Promise<unknown>
}

/** Senders of one address: they take one turn together, and one share. */
interface Group {
  address: string
  entries: Entry[]
  heldBytes: number
  /** Senders that are here. */
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
  /** In the order in which their turns come. */
  readonly #groups = new Map<string, Group>()
  readonly #own: LineSender
  #current: Entry | undefined
  #isBusy = false
  #heldBytes = 0
  #leftBytes = 0
  /** Writes that wait, of those who have left too. */
  #writes = 0
  #mostBytes: number
  /** Groups somebody of which is here. */
  #present = 0

  constructor(parts: LineQueueParts) {
    this.#parts = parts
    this.#mostBytes = parts.limits.queueBytes
    this.#own = this.join(OWN, undefined)
  }

  /** From the daemon itself: waits its turn as everybody does, and is never at rest; who asks for it bounds it. */
  async write(bytes: Uint8Array): Promise<void> {
    await this.#own.write(bytes)
  }

  setSpeed(bytesPerS: number): void {
    const { queueBytes, queueMs } = this.#parts.limits
    this.#mostBytes = Math.max(LEAST_READ, Math.min(queueBytes, Math.floor((bytesPerS * queueMs) / 1000)))
    this.#share()
  }

  /** @param address what shares a turn; @param handlers undefined for one that is never at rest */
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

  /** Resolves when what waits now is with the driver, or is not any more. */
  async settled(): Promise<void> {
    const waiting = [...this.#groups.values()].flatMap(({ entries }) => entries.map(({ isOver }) => isOver))
    if (this.#current) waiting.push(this.#current.isOver)
    await Promise.allSettled(waiting)
  }

  /** Ends what waits with that fault. What the driver is being given ends by itself. */
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

  /** An entry whose turn it is goes out whole: nobody's bytes come into another's. */
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

  /** That many bytes of it do not wait any more. */
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

  /** Of what those left who are gone, the newest of whichever address left most. */
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

  /** The same of their writes, however short those are. */
  #leaveFewer(): void {
    const left = Array.from(this.#groups.values(), ({ entries }) => entries.filter(isLeft))
    for (let over = left.flat().length - MOST_WRITES; over > 0; over--) {
      const last = left.reduce((most, one) => (one.length > most.length ? one : most)).pop()
      if (last) this.#throwAway(last.sender, last.bytes.length - last.at)
    }
  }

  /** The last bytes of a sender, as far as the driver is not being given them. */
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

  /** The driver is being given a piece, which stays. */
  #cutCurrent(atMost: number): void {
    const current = this.#current
    if (current) this.#cut(current, Math.max(0, Math.min(atMost, current.bytes.length - current.at - PIECE_BYTES)))
  }

  #cut(entry: Entry, length: number): void {
    if (length === 0) return
    // A copy: a view would keep what it was cut from.
    entry.bytes = new Uint8Array(entry.bytes.subarray(0, entry.bytes.length - length))
    this.#account(entry, length)
  }

  /** What is read at once goes out at once: no more of one client than what its address may have waiting. */
  #share(): void {
    this.#parts.onMostRead(Math.max(LEAST_READ, Math.min(MOST_READ, Math.floor(this.#shareBytes()))))
    this.#judge()
  }

  #shareBytes(): number {
    return this.#mostBytes / Math.max(1, this.#present)
  }

  /** An address that has nothing waiting is always read, so that one that has much keeps nobody out. */
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

/** What the daemon itself sends is of no address. */
const OWN = ''
const IGNORES: SenderHandlers = { onRest() {} }

const isLeft = ({ sender }: Entry) => sender.hasLeft

function leftOf({ entries }: Group): number {
  return entries.reduce((sum, { sender, bytes, at }) => sum + (sender.hasLeft ? bytes.length - at : 0), 0)
}
