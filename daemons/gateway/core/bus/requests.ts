/** The queue of requests for the line, and the choice of the next: by priority, in turns, with held units left out. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { wireUs } from '#kit/pure/line.ts'
import { type BusCounts, type BusFaults, queueFullFault } from './faults.ts'
import type { BusHolds } from './holds.ts'
import type { BusProtocol, BusReply, BusRequest } from './protocol.ts'
import type { BusSettings } from './settings.ts'
import {
  type AskHow,
  type BusHooks,
  ownPlacesOf,
  type Priority,
  placesOf,
  pointPlacesOf,
  priorities,
  type Transaction,
} from './transactions.ts'
import type { BusUnits } from './units.ts'

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
interface Waiting<Priority, Item> {
  readonly item: Item
  readonly priority: Priority
  /** Since when it is queued, and until when it may be, by the monotonic clock. */
  readonly sinceMs: number
  readonly untilMs: number
}

interface TransactionQueue<Priority extends string, Item> {
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
      // Whoever is told of one may have taken others away.
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
type Turning = Pick<Transaction<BusRequest, BusReply>, 'how' | 'sent'>

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

interface Turns<Item> {
  /** The request whose turn it is; undefined where none may go now. One that only waits for a gap calls `onReady`. */
  pick(): Waiting<Priority, Item> | undefined
  /** The picked request has its turn. */
  taken(one: Waiting<Priority, Item>): void
  stop(): void
}

/** The least time before looking for a gap again, ms; longer where the next poll is further off, but it often moves. */
const LOOK_MS = 20

function createTurns<Item extends Turning>(parts: TurnsParts<Item>): Turns<Item> {
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

interface RequestParts<Request extends BusRequest, Reply extends BusReply> {
  port: string
  baud: number
  clock: Clock
  settings: BusSettings
  protocol: Pick<BusProtocol<Request, Reply>, 'longestBytes'>
  faults: BusFaults<Request>
  counts: BusCounts
  holds: BusHolds<Request, Reply>
  units: BusUnits<Request, Reply>
  gapMs: number
  idleMs?: BusHooks<Request, Reply>['idleMs']
  /** A queued request may have its turn now. */
  onReady(): void
}

/** How much timers of whole milliseconds lengthen a transaction. */
const TIMERS_MS = 3

/** How many places a poll of somebody else leaves free: those that reads of points have not taken yet. */
function leavingOf(
  { owner, priority }: AskHow,
  polls: Iterable<{ item: Pick<Turning, 'how'> }>,
  ofPoints: number,
): number {
  if (!owner || priority !== 'poll') return 0
  let left = ofPoints
  for (const { item } of polls) if (!item.how.owner) left--
  return Math.max(0, left)
}

export class BusRequests<Request extends BusRequest, Reply extends BusReply> {
  readonly #parts: RequestParts<Request, Reply>
  readonly #queue: TransactionQueue<Priority, Transaction<Request, Reply>>
  readonly #turns: Turns<Transaction<Request, Reply>>
  #urgent: Transaction<Request, Reply> | undefined
  /** By unit: the request whose reply may belong to another. It goes before all others to its unit. */
  readonly #front = new Map<number, { transaction: Transaction<Request, Reply>; timer: Timer }>()
  /** The request for which a fence is in flight. */
  #fenced: Transaction<Request, Reply> | undefined

  constructor(parts: RequestParts<Request, Reply>) {
    const { clock, holds, settings } = parts
    this.#parts = parts
    this.#queue = createTransactionQueue<Priority, Transaction<Request, Reply>>({
      clock,
      limits: placesOf(settings),
      own: ownPlacesOf(settings),
      onExpired: (transaction, waitedMs) =>
        this.#expire(transaction, waitedMs, holds.isHeld(transaction.sent.request.unitId)),
    })
    const isHeld = ({ sent }: Transaction<Request, Reply>) =>
      this.#front.has(sent.request.unitId) || holds.standing(sent) === 'held'
    this.#turns = turnsOf(parts, this.#queue, isHeld)
  }

  get size(): number {
    return this.#queue.size + this.#front.size
  }

  /**
   * Queues the transaction. Rejects it with `queue_full` if too many are queued, with `unitSilent` if its unit is
   * silent and must not be asked now, and with `expired` if it waited too long.
   */
  add(transaction: Transaction<Request, Reply>): void {
    const { counts, port, settings, units } = this.#parts
    const refusal = units.refusal(transaction)
    if (refusal) {
      counts.refusedSilent++
      transaction.reject(refusal)
      return
    }
    const { how } = transaction
    const leaving = leavingOf(how, this.#queue.lane('poll'), pointPlacesOf(settings))
    if (this.#queue.push(transaction, how.priority, waitMsOf(this.#parts, how), leaving)) return
    counts.queueFull++
    this.giveUp(transaction, queueFullFault(port, this.#queue.size, settings.response_timeout_ms))
  }

  /** Puts a request before all queued ones, because another one's outcome depends on it. */
  addUrgent(transaction: Transaction<Request, Reply>): void {
    this.#urgent = transaction
  }

  /** Puts a request in front of all others to its unit until it is known whether its reply was another one's. */
  putBack(transaction: Transaction<Request, Reply>): void {
    const { clock, settings } = this.#parts
    const { unitId } = transaction.sent.request
    const waitedMs = clock.monotonicMs() - transaction.addedAtMs
    const leftMs = Math.max(2 * settings.response_timeout_ms, waitMsOf(this.#parts, transaction.how) - waitedMs)
    const timer = clock.after(leftMs, () => {
      const one = this.takeFromFront(unitId)
      if (one) this.#expire(one, clock.monotonicMs() - one.addedAtMs, true)
    })
    this.#front.set(unitId, { transaction, timer })
  }

  /** The put-back request of this unit. */
  inFront(unitId: number): Transaction<Request, Reply> | undefined {
    return this.#front.get(unitId)?.transaction
  }

  /** Removes the put-back request of this unit, and returns it. */
  takeFromFront(unitId: number): Transaction<Request, Reply> | undefined {
    const one = this.#front.get(unitId)
    one?.timer.cancel()
    this.#front.delete(unitId)
    return one?.transaction
  }

  /** Whether a request is queued that may be sent now. */
  hasNext(): boolean {
    if (this.#urgent) return true
    for (const { transaction } of this.#front.values())
      if (this.#parts.holds.standing(transaction.sent) !== 'held') return true
    return this.#turns.pick() !== undefined
  }

  /** Takes the request whose turn it is, or a fence for it where its unit owes a reply that could pass for its own. */
  next(): Transaction<Request, Reply> | undefined {
    this.#fenced = undefined
    const transaction = this.#urgent ?? this.#nextInFront() ?? this.#nextInTurn()
    this.#urgent = undefined
    return transaction
  }

  /** Rejects the queued requests of this owner with `withdrawn`. */
  withdraw(owner: object): void {
    this.#leaveAll(
      ({ how }) => how.owner === owner,
      ({ sent }) => this.#parts.faults.withdrawn(sent.request),
    )
  }

  /** Rejects a request that could not be sent in its turn, or that must not stay queued. */
  giveUp(transaction: Transaction<Request, Reply>, fault: Fault): void {
    this.#parts.units.left(transaction)
    transaction.reject(fault)
  }

  /** Rejects queued polls and background work for a silent unit. A request with its fence in flight fails with that. */
  clearUnit(unitId: number, fault: Fault): void {
    const isLike = (one: Transaction<Request, Reply>) =>
      one.sent.request.unitId === unitId && one.how.priority !== 'operator' && !one.how.evenSilent
    this.#leaveAll(
      (one) => isLike(one) && one !== this.#fenced,
      () => fault,
    )
  }

  clear(fault: Fault): void {
    this.#turns.stop()
    const inFront = [...this.#front.keys()].flatMap((unitId) => this.takeFromFront(unitId) ?? [])
    const failed = [...(this.#urgent ? [this.#urgent] : []), ...inFront, ...this.#queue.clear()]
    this.#urgent = undefined
    for (const transaction of failed) this.giveUp(transaction, fault)
  }

  #expire(transaction: Transaction<Request, Reply>, waitedMs: number, isHeld: boolean): void {
    const { counts, faults, holds } = this.#parts
    const { sent } = transaction
    counts.expired++
    const lateMs = isHeld ? holds.longestLateMs(sent.request.unitId) : undefined
    this.giveUp(transaction, faults.expired(sent.request, Math.round(waitedMs), lateMs))
  }

  #leaveAll(
    isLike: (one: Transaction<Request, Reply>) => boolean,
    faultOf: (one: Transaction<Request, Reply>) => Fault,
  ): void {
    for (const priority of priorities)
      for (const one of this.#queue.lane(priority))
        if (isLike(one.item)) this.giveUp(this.#queue.take(one), faultOf(one.item))
    for (const [unitId, { transaction }] of this.#front) {
      if (!isLike(transaction)) continue
      this.takeFromFront(unitId)
      this.giveUp(transaction, faultOf(transaction))
    }
  }

  #nextInFront(): Transaction<Request, Reply> | undefined {
    for (const [unitId, { transaction }] of this.#front) {
      if (this.#parts.holds.standing(transaction.sent) === 'held') continue
      return this.#fenceOf(transaction, () => this.takeFromFront(unitId)) ?? this.takeFromFront(unitId)
    }
    return undefined
  }

  #nextInTurn(): Transaction<Request, Reply> | undefined {
    const one = this.#turns.pick()
    if (!one) return undefined
    const take = () => (this.#queue.isWaiting(one) ? this.#queue.take(one) : undefined)
    const fence = this.#fenceOf(one.item, take)
    if (fence) return fence
    this.#turns.taken(one)
    return this.#queue.take(one)
  }

  /** @param take removes the request behind the fence, if it is still queued: where the fence fails, so does it */
  #fenceOf(
    transaction: Transaction<Request, Reply>,
    take: () => Transaction<Request, Reply> | undefined,
  ): Transaction<Request, Reply> | undefined {
    const { clock, counts, faults, holds } = this.#parts
    const { how, sent } = transaction
    const fence = holds.standing(sent) === 'fence' ? holds.fenceFor(sent) : undefined
    if (!fence) return undefined
    counts.fences++
    this.#fenced = transaction
    return {
      sent: fence,
      how: { priority: how.priority, ...(how.evenSilent && { evenSilent: true }) },
      sentAtMs: 0,
      addedAtMs: clock.monotonicMs(),
      isFence: true,
      resolve: () => {},
      reject: (fault) => {
        // Where the line is gone, the request behind the fence was not sent, and `clear` rejects it.
        const one = fault.details?.mayBeOut ? undefined : take()
        if (one) this.giveUp(one, faults.unproven(sent.request, fault))
      },
    }
  }
}

/** How long it may be queued and still meet its deadline; at least so long that another can time out before it. */
function waitMsOf(
  parts: Pick<RequestParts<BusRequest, BusReply>, 'baud' | 'settings' | 'protocol'>,
  { deadlineMs = parts.settings.request_deadline_ms }: AskHow,
): number {
  const { response_timeout_ms: timeoutMs } = parts.settings
  const askingMs = wireUs(parts, parts.protocol.longestBytes) / 1000 + timeoutMs
  return Math.max(2 * timeoutMs, deadlineMs - askingMs)
}

function turnsOf<Request extends BusRequest, Reply extends BusReply>(
  parts: RequestParts<Request, Reply>,
  queue: TransactionQueue<Priority, Transaction<Request, Reply>>,
  isHeld: (one: Transaction<Request, Reply>) => boolean,
): Turns<Transaction<Request, Reply>> {
  const { gapMs, settings } = parts
  return createTurns({
    ...parts,
    queue,
    isHeld,
    idleMs: parts.idleMs ?? (() => Number.POSITIVE_INFINITY),
    costMs: ({ sent }) => gapMs + wireUs(parts, sent.frame.length) / 1000 + settings.response_timeout_ms + TIMERS_MS,
    backgroundWaitMs: settings.background_wait_ms,
    operatorRow: settings.operator_row,
  })
}
