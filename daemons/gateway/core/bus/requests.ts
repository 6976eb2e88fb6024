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
import {
  createTransactionQueue,
  createTurns,
  type TransactionQueue,
  type Turning,
  type Turns,
  type Waiting,
} from './turns.ts'
import type { BusUnits } from './units.ts'

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
  /** A request was given up. */
  onLeft(transaction: Transaction<Request, Reply>): void
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
  /** What `first` has last found. */
  #first: Waiting<Priority, Transaction<Request, Reply>> | undefined

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

  /**
   * The request that `next` would take now, if it would take it as it is and without a fence; it stays queued. Undefined
   * where `next` has to decide.
   */
  first(): Transaction<Request, Reply> | undefined {
    const one = this.#urgent || this.#front.size > 0 ? undefined : this.#turns.pick()
    this.#first = one && this.#parts.holds.standing(one.item.sent) === 'free' ? one : undefined
    return this.#first?.item
  }

  /** Takes what `first` has last returned, which is sent. */
  takeFirst(): Transaction<Request, Reply> | undefined {
    const one = this.#first
    this.#first = undefined
    this.#fenced = undefined
    if (!one) return undefined
    this.#turns.taken(one)
    return this.#queue.take(one)
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
    this.#parts.onLeft(transaction)
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
