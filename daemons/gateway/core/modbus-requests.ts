/** Modbus requests that wait for their turn: who may come to wait, for how long, and who leaves without one. */
import type { Clock } from '#kit/clock.ts'
import type { Fault } from '#kit/fault.ts'
import { wireUs } from '../wire/modbus-timing.ts'
import { type AskHow, type MasterHooks, type Priority, priorities } from './modbus-ask.ts'
import type { ModbusCounts } from './modbus-counts.ts'
import { expiredFault, queueFullFault, withdrawnFault } from './modbus-faults.ts'
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

export interface ModbusRequests {
  readonly size: number
  /**
   * Rejects the transaction with `queue_full` where too many wait, with `modbus_unit_silent` where its unit is asked no
   * more, and with `modbus_expired` where it waited too long.
   */
  add(transaction: Transaction): void
  /** Goes before all that wait, for the sake of one that is not yet answered. */
  addUrgent(transaction: Transaction): void
  /** Whether one waits that may go. */
  hasNext(): boolean
  /** Takes the one whose turn it is. */
  next(): Transaction | undefined
  /** Rejects with `modbus_withdrawn` what waits for this owner. */
  withdraw(owner: object): void
  /** One whose turn it was is not sent. */
  giveUp(transaction: Transaction, fault: Fault): void
  /** Polls and background work for a unit that is silent are not to wait. */
  clearUnit(unitId: number, fault: Fault): void
  clear(fault: Fault): void
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

export function createModbusRequests(parts: RequestParts): ModbusRequests {
  const { clock, counts, holds, port, settings, units } = parts
  let urgent: Transaction | undefined
  const queue = createTransactionQueue<Priority, Transaction>({
    clock,
    limits: placesOf(settings),
    own: ownPlacesOf(settings),
    onExpired(transaction, waitedMs) {
      counts.expired++
      const { sent } = transaction
      leave(transaction, expiredFault(sent, Math.round(waitedMs), holds.isHeld(sent.request.unitId)))
    },
  })
  const turns = turnsOf(parts, queue)

  function leave(transaction: Transaction, fault: Fault): void {
    units.left(transaction)
    transaction.reject(fault)
  }

  function leaveAll(isLike: (one: Transaction) => boolean, faultOf: (one: Transaction) => Fault): void {
    for (const priority of priorities)
      for (const one of queue.lane(priority)) if (isLike(one.item)) leave(queue.take(one), faultOf(one.item))
  }

  return {
    get size() {
      return queue.size
    },
    giveUp: leave,
    hasNext: () => urgent !== undefined || turns.pick() !== undefined,
    add(transaction) {
      const refusal = units.refusal(transaction)
      if (refusal) {
        counts.refusedSilent++
        transaction.reject(refusal)
        return
      }
      const { how } = transaction
      const leaving = leavingOf(how, queue.lane('poll'), pointPlacesOf(settings))
      if (queue.push(transaction, how.priority, waitMsOf(parts, how), leaving)) return
      counts.queueFull++
      leave(transaction, queueFullFault(port, queue.size, settings.response_timeout_ms))
    },
    addUrgent(transaction) {
      urgent = transaction
    },
    next() {
      const one = urgent ? undefined : turns.pick()
      if (one) turns.taken(one)
      const transaction = urgent ?? (one && queue.take(one))
      urgent = undefined
      return transaction
    },
    withdraw(owner) {
      leaveAll(
        ({ how }) => how.owner === owner,
        ({ sent }) => withdrawnFault(sent),
      )
    },
    clearUnit(unitId, fault) {
      leaveAll(
        ({ how, sent }) => sent.request.unitId === unitId && how.priority !== 'operator' && !how.evenSilent,
        () => fault,
      )
    },
    clear(fault) {
      turns.stop()
      const failed = [...(urgent ? [urgent] : []), ...queue.clear()]
      urgent = undefined
      for (const transaction of failed) leave(transaction, fault)
    },
  }
}

/** How long it may wait so that it can be answered within its deadline; for one other that is not answered, in any case. */
function waitMsOf(parts: RequestParts, { deadlineMs = parts.settings.request_deadline_ms }: AskHow): number {
  const { response_timeout_ms: timeoutMs } = parts.settings
  const askingMs = wireUs(parts, LONGEST_BYTES) / 1000 + timeoutMs
  return Math.max(2 * timeoutMs, deadlineMs - askingMs)
}

function turnsOf(parts: RequestParts, queue: TransactionQueue<Priority, Transaction>): ModbusTurns {
  const { gapMs, holds, settings } = parts
  return createModbusTurns({
    ...parts,
    queue,
    isHeld: (unitId) => holds.isHeld(unitId),
    idleMs: parts.idleMs ?? (() => Number.POSITIVE_INFINITY),
    costMs: ({ sent }) => gapMs + wireUs(parts, sent.frame.length) / 1000 + settings.response_timeout_ms + TIMERS_MS,
    backgroundWaitMs: settings.background_wait_ms,
    operatorRow: settings.operator_row,
  })
}
