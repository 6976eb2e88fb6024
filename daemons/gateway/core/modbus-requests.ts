/** Modbus requests that wait for their turn: who may come to wait, for how long, and who leaves without one. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Fault } from '#kit/fault.ts'
import { wireUs } from '../wire/modbus-timing.ts'
import { type AskHow, type MasterHooks, type Priority, priorities } from './modbus-ask.ts'
import type { ModbusCounts } from './modbus-counts.ts'
import { expiredFault, queueFullFault, unprovenFault, withdrawnFault } from './modbus-faults.ts'
import type { ModbusHolds } from './modbus-holds.ts'
import type { ModbusSettings } from './modbus-settings.ts'
import type { Transaction } from './modbus-transaction.ts'
import { createModbusTurns, type ModbusTurns } from './modbus-turns.ts'
import type { ModbusUnits } from './modbus-units.ts'
import { ownPlacesOf, placesOf, pointPlacesOf } from './queue-places.ts'
import { createTransactionQueue, type TransactionQueue } from './transaction-queue.ts'

export interface RequestParts {
  port: string
  baud: number
  clock: Clock
  settings: ModbusSettings
  counts: ModbusCounts
  holds: ModbusHolds
  units: ModbusUnits
  gapMs: number
  idleMs?: MasterHooks['idleMs']
  /** One that waited may have its turn now. */
  onReady(): void
}

/** Longest request, for the time it takes on the wire. */
const LONGEST_BYTES = 256

/** By which timers of whole milliseconds lengthen a transaction. */
const TIMERS_MS = 3

/** A poll of somebody else leaves the places that points have not taken yet. */
function leavingOf({ owner, priority }: AskHow, polls: Iterable<{ item: Transaction }>, ofPoints: number): number {
  if (!owner || priority !== 'poll') return 0
  let left = ofPoints
  for (const { item } of polls) if (!item.how.owner) left--
  return Math.max(0, left)
}

export class ModbusRequests {
  readonly #parts: RequestParts
  readonly #queue: TransactionQueue<Priority, Transaction>
  readonly #turns: ModbusTurns
  #urgent: Transaction | undefined
  /** By unit: what it was answered with may be another's. It goes before all others to its unit. */
  readonly #front = new Map<number, { transaction: Transaction; timer: Timer }>()
  /** The one for which a fence is out. */
  #fenced: Transaction | undefined

  constructor(parts: RequestParts) {
    const { clock, holds, settings } = parts
    this.#parts = parts
    this.#queue = createTransactionQueue<Priority, Transaction>({
      clock,
      limits: placesOf(settings),
      own: ownPlacesOf(settings),
      onExpired: (transaction, waitedMs) =>
        this.#expire(transaction, waitedMs, holds.isHeld(transaction.sent.request.unitId)),
    })
    const isHeld = ({ sent }: Transaction) => this.#front.has(sent.request.unitId) || holds.standing(sent) === 'held'
    this.#turns = turnsOf(parts, this.#queue, isHeld)
  }

  get size(): number {
    return this.#queue.size + this.#front.size
  }

  /**
   * Rejects the transaction with `queue_full` where too many wait, with `modbus_unit_silent` where its unit is asked no
   * more, and with `modbus_expired` where it waited too long.
   */
  add(transaction: Transaction): void {
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

  /** Goes before all that wait, for the sake of one that is not yet answered. */
  addUrgent(transaction: Transaction): void {
    this.#urgent = transaction
  }

  /** What it was answered with may be another's: it waits in front of all others to its unit, until that is known. */
  putBack(transaction: Transaction): void {
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

  /** Of those put back, the one to this unit. */
  inFront(unitId: number): Transaction | undefined {
    return this.#front.get(unitId)?.transaction
  }

  /** It waits no more. */
  takeFromFront(unitId: number): Transaction | undefined {
    const one = this.#front.get(unitId)
    one?.timer.cancel()
    this.#front.delete(unitId)
    return one?.transaction
  }

  /** Whether one waits that may go. */
  hasNext(): boolean {
    if (this.#urgent) return true
    for (const { transaction } of this.#front.values())
      if (this.#parts.holds.standing(transaction.sent) !== 'held') return true
    return this.#turns.pick() !== undefined
  }

  /** Takes the one whose turn it is; where its unit owes what could be mistaken for its answer, a fence in its place. */
  next(): Transaction | undefined {
    this.#fenced = undefined
    const transaction = this.#urgent ?? this.#nextInFront() ?? this.#nextInTurn()
    this.#urgent = undefined
    return transaction
  }

  /** Rejects with `modbus_withdrawn` what waits for this owner. */
  withdraw(owner: object): void {
    this.#leaveAll(
      ({ how }) => how.owner === owner,
      ({ sent }) => withdrawnFault(sent),
    )
  }

  /** One whose turn it was is not sent, or one that waits is not to wait any more. */
  giveUp(transaction: Transaction, fault: Fault): void {
    this.#parts.units.left(transaction)
    transaction.reject(fault)
  }

  /** Polls and background work for a unit that is silent are not to wait; what has a fence out learns of that. */
  clearUnit(unitId: number, fault: Fault): void {
    const isLike = (one: Transaction) =>
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

  #expire(transaction: Transaction, waitedMs: number, isHeld: boolean): void {
    const { counts, holds } = this.#parts
    const { sent } = transaction
    counts.expired++
    const lateMs = isHeld ? holds.longestLateMs(sent.request.unitId) : undefined
    this.giveUp(transaction, expiredFault(sent, Math.round(waitedMs), lateMs))
  }

  #leaveAll(isLike: (one: Transaction) => boolean, faultOf: (one: Transaction) => Fault): void {
    for (const priority of priorities)
      for (const one of this.#queue.lane(priority))
        if (isLike(one.item)) this.giveUp(this.#queue.take(one), faultOf(one.item))
    for (const [unitId, { transaction }] of this.#front) {
      if (!isLike(transaction)) continue
      this.takeFromFront(unitId)
      this.giveUp(transaction, faultOf(transaction))
    }
  }

  #nextInFront(): Transaction | undefined {
    for (const [unitId, { transaction }] of this.#front) {
      if (this.#parts.holds.standing(transaction.sent) === 'held') continue
      return this.#fenceOf(transaction, () => this.takeFromFront(unitId)) ?? this.takeFromFront(unitId)
    }
    return undefined
  }

  #nextInTurn(): Transaction | undefined {
    const one = this.#turns.pick()
    if (!one) return undefined
    const take = () => (this.#queue.isWaiting(one) ? this.#queue.take(one) : undefined)
    const fence = this.#fenceOf(one.item, take)
    if (fence) return fence
    this.#turns.taken(one)
    return this.#queue.take(one)
  }

  /** @param take takes what the fence is for, where that still waits: the fence has come to nothing, and so does it */
  #fenceOf(transaction: Transaction, take: () => Transaction | undefined): Transaction | undefined {
    const { clock, counts, holds } = this.#parts
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
        // The line is gone: what waits learns that from `clear`, and was not sent.
        const one = fault.details?.mayBeOut ? undefined : take()
        if (one) this.giveUp(one, unprovenFault(sent, fault))
      },
    }
  }
}

/** How long it may wait so that it can be answered within its deadline; for one other that is not answered, in any case. */
function waitMsOf(parts: RequestParts, { deadlineMs = parts.settings.request_deadline_ms }: AskHow): number {
  const { response_timeout_ms: timeoutMs } = parts.settings
  const askingMs = wireUs(parts, LONGEST_BYTES) / 1000 + timeoutMs
  return Math.max(2 * timeoutMs, deadlineMs - askingMs)
}

function turnsOf(
  parts: RequestParts,
  queue: TransactionQueue<Priority, Transaction>,
  isHeld: (one: Transaction) => boolean,
): ModbusTurns {
  const { gapMs, settings } = parts
  return createModbusTurns({
    ...parts,
    queue,
    isHeld,
    idleMs: parts.idleMs ?? (() => Number.POSITIVE_INFINITY),
    costMs: ({ sent }) => gapMs + wireUs(parts, sent.frame.length) / 1000 + settings.response_timeout_ms + TIMERS_MS,
    backgroundWaitMs: settings.background_wait_ms,
    operatorRow: settings.operator_row,
  })
}
