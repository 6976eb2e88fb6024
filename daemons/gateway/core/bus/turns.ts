/** Which queued request goes next: the queue of one line, and the turns of its priorities. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { BusReply, BusRequest } from './protocol.ts'
import type { Priority, Transaction } from './transactions.ts'

// The queue of one line: of bounded length, by priority, in order of arrival, and each request waits a bounded time.

interface TransactionQueueParts<Priority extends string, Item> {
  clock: Clock
  /** For each priority, the length of the whole queue up to which it may add. The keys are in the order of turns. */
  limits: Readonly<Record<Priority, number>>
  /** For each priority, how many places it has even where the queue is beyond its limit; left out: none. */
  own?: Readonly<Record<Priority, number>>
  /** A request waited too long, and has left the queue. */
  onExpired(item: Item, waitedMs: number): void
}

/** A queued request. */
export interface Waiting<Priority, Item> {
  readonly item: Item
  readonly priority: Priority
  /** Since when it is queued, and until when it may be, by the monotonic clock. */
  readonly sinceMs: number
  readonly untilMs: number
}

export interface TransactionQueue<Priority extends string, Item> {
  readonly size: number
  /**
   * @param leaving how many places below its limit it leaves free, for others of its priority that need them
   * @returns false where there is no room
   */
  push(item: Item, priority: Priority, waitMs: number, leaving?: number): boolean
  /** The requests of one priority in order of arrival. One that is taken during the iteration is not visited again. */
  lane(priority: Priority): Iterable<Waiting<Priority, Item>>
  isWaiting(waiting: Waiting<Priority, Item>): boolean
  /** Removes a request that has its turn or is not wanted any more. */
  take(waiting: Waiting<Priority, Item>): Item
  /** Empties the queue. @returns what was queued, in the order of turns */
  clear(): Item[]
}

export function createTransactionQueue<Priority extends string, Item>(
  parts: TransactionQueueParts<Priority, Item>,
): TransactionQueue<Priority, Item> {
  type Entry = Waiting<Priority, Item>
  const { clock, limits, own } = parts
  const lanes = new Map((Object.keys(limits) as Priority[]).map((priority) => [priority, new Set<Entry>()]))
  const laneOf = (priority: Priority) => lanes.get(priority) as Set<Entry>
  const all = () => [...lanes.values()].flatMap((lane) => [...lane])
  let size = 0
  /** One timer for all, due when the first ends or sooner: a timer each would be made and cancelled with each request. */
  let timer: Timer | undefined
  let timerAtMs = Number.POSITIVE_INFINITY

  function isFull(priority: Priority, leaving: number): boolean {
    const most = Math.max(1, limits[priority] - leaving)
    return size >= most && (leaving > 0 || laneOf(priority).size >= (own?.[priority] ?? 0))
  }

  function take(entry: Entry): Item {
    if (laneOf(entry.priority).delete(entry)) size--
    return entry.item
  }

  function endBy(atMs: number): void {
    if (atMs >= timerAtMs) return
    timer?.cancel()
    timerAtMs = atMs
    timer = clock.after(atMs - clock.monotonicMs(), expire)
  }

  function expire(): void {
    timerAtMs = Number.POSITIVE_INFINITY
    const nowMs = clock.monotonicMs()
    for (const entry of all()) {
      if (entry.untilMs > nowMs) endBy(entry.untilMs)
      // `onExpired` of one before may have taken others out.
      else if (laneOf(entry.priority).has(entry)) parts.onExpired(take(entry), nowMs - entry.sinceMs)
    }
  }

  return {
    get size() {
      return size
    },
    push(item, priority, waitMs, leaving = 0) {
      if (isFull(priority, leaving)) return false
      const sinceMs = clock.monotonicMs()
      laneOf(priority).add({ item, priority, sinceMs, untilMs: sinceMs + waitMs })
      size++
      endBy(sinceMs + waitMs)
      return true
    },
    lane: (priority) => laneOf(priority),
    isWaiting: (waiting) => laneOf(waiting.priority).has(waiting),
    take,
    clear() {
      timer?.cancel()
      timerAtMs = Number.POSITIVE_INFINITY
      return all().map(take)
    },
  }
}

// Which request has its turn. Operators go first, then polls; after many operators in a row, a queued poll gets one
// turn. A poll that may cost a whole time-out (its unit left its last request unanswered) and background work go into
// gaps between polls, so that a dead unit does not delay the polls of the others. After `background_wait_ms` they go
// in any case, alternating with polls.

/** The part of a transaction that decides its turn. */
export type Turning = Pick<Transaction<BusRequest, BusReply>, 'how' | 'sent'>

interface TurnsParts<Item extends Turning> {
  clock: Clock
  queue: Pick<TransactionQueue<Priority, Item>, 'lane'>
  /** Its unit is on hold, or another request to it must go first: it is not sent, whatever its priority. */
  isHeld(transaction: Item): boolean
  units: {
    readonly hasSuspects: boolean
    isSuspect(unitId: number): boolean
    isSilent(unitId: number): boolean
    wantedSinceMs(unitId: number): number
  }
  /** How long a request takes up the line if it is not answered, milliseconds. */
  costMs(transaction: Item): number
  /** See `BusHooks`. */
  idleMs(): number
  backgroundWaitMs: number
  /** How many requests of operators go in a row before a poll gets a turn. */
  operatorRow: number
  /** A request that waited for a gap may have its turn. */
  onReady(): void
}

export interface Turns<Item> {
  /** The request whose turn it is; undefined where none may go now. One that only waits for a gap calls `onReady`. */
  pick(): Waiting<Priority, Item> | undefined
  /** The picked request has its turn. */
  taken(one: Waiting<Priority, Item>): void
  stop(): void
}

/** The least time before looking for a gap again, ms; longer where the next poll is further off, but it often moves. */
const LOOK_MS = 20

export function createTurns<Item extends Turning>(parts: TurnsParts<Item>): Turns<Item> {
  type One = Waiting<Priority, Item>
  const { backgroundWaitMs, clock, isHeld, operatorRow, queue, units } = parts
  let timer: Timer | undefined
  /** The last turn went to a request that had waited for a gap in vain: a poll is next, if one is queued. */
  let wasOverdue = false
  let operatorsInRow = 0
  /** The last poll was not a read of points. */
  let wasOwned = false

  function first(priority: Priority, willDo: (one: One) => boolean): One | undefined {
    for (const one of queue.lane(priority)) if (willDo(one) && !isHeld(one.item)) return one
    return undefined
  }

  function waitedMs(one: One): number {
    return clock.monotonicMs() - Math.min(one.sinceMs, units.wantedSinceMs(unitOf(one)))
  }

  /** Of the requests that wait for a gap, the one that has waited longest. */
  function longestWaiter(idleMs: number): One | undefined {
    let longest = first('background', () => true)
    if (!units.hasSuspects) return longest
    for (const one of queue.lane('poll'))
      if (needsGap(one, idleMs, units) && !isHeld(one.item) && (!longest || waitedMs(one) > waitedMs(longest)))
        longest = one
    return longest
  }

  function lookAgain(one: One, idleMs: number): void {
    const overdueMs = backgroundWaitMs - waitedMs(one)
    timer = clock.after(Math.max(1, Math.min(overdueMs, Math.max(LOOK_MS, idleMs))), parts.onReady)
  }

  /** The next poll. Reads of points and polls of others alternate, so that neither waits behind many of the other. */
  function nextPoll(willDo: (one: One) => boolean): One | undefined {
    return first('poll', (one) => isOwned(one) !== wasOwned && willDo(one)) ?? first('poll', willDo)
  }

  /** @param isGap a request that may cost a whole time-out may go now if it fits before the next poll */
  function belowOperators(isGap: boolean): One | undefined {
    const hasWaiters = units.hasSuspects || first('background', () => true) !== undefined
    if (!hasWaiters) return nextPoll(() => true)
    const idleMs = parts.idleMs()
    const poll = nextPoll((one) => !needsGap(one, idleMs, units))
    const waiter = longestWaiter(idleMs)
    if (!waiter) return poll
    const isOverdue = waitedMs(waiter) >= backgroundWaitMs
    if (poll) return isOverdue && !wasOverdue ? waiter : poll
    if (isOverdue || (isGap && idleMs >= parts.costMs(waiter.item))) return waiter
    if (isGap) lookAgain(waiter, idleMs)
    return undefined
  }

  function pick(): One | undefined {
    timer?.cancel()
    const operator = first('operator', () => true)
    if (!operator) return belowOperators(true)
    return (operatorsInRow >= operatorRow ? belowOperators(false) : undefined) ?? operator
  }

  return {
    pick,
    taken(one) {
      operatorsInRow = one.priority === 'operator' ? operatorsInRow + 1 : 0
      if (one.priority === 'poll') wasOwned = isOwned(one)
      wasOverdue = waitedMs(one) >= backgroundWaitMs && needsGap(one, parts.idleMs(), units)
    },
    stop: () => timer?.cancel(),
  }
}

function unitOf({ item }: Waiting<Priority, Turning>): number {
  return item.sent.request.unitId
}

/** Whether it belongs to somebody other than the points of the line. */
function isOwned({ item }: Waiting<Priority, Turning>): boolean {
  return item.how.owner !== undefined
}

/** Whether it must wait for a gap. Where no points are polled, only polls of units known to be silent must. */
function needsGap(one: Waiting<Priority, Turning>, idleMs: number, units: TurnsParts<Turning>['units']): boolean {
  if (one.priority !== 'poll') return one.priority === 'background'
  const unitId = unitOf(one)
  return units.isSuspect(unitId) && (idleMs !== Number.POSITIVE_INFINITY || units.isSilent(unitId))
}
