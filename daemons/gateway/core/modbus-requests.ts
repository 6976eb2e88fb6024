/** Modbus requests that wait for their turn: by priority, in order of arrival, but for units held back. */
import type { Clock } from '#kit/clock.ts'
import type { Fault } from '#kit/fault.ts'
import type { SentRequest } from '../wire/modbus-reply.ts'
import { wireUs } from '../wire/modbus-timing.ts'
import { type AskHow, type Priority, priorities } from './modbus-ask.ts'
import type { ModbusCounts } from './modbus-counts.ts'
import { expiredFault, queueFullFault, withdrawnFault } from './modbus-faults.ts'
import type { ModbusHolds } from './modbus-holds.ts'
import type { ModbusSettings } from './modbus-settings.ts'
import { createTransactionQueue, type Waiting } from './transaction-queue.ts'

/** One request on its way. `resolve` with null: a broadcast, which has no reply. */
export interface Transaction {
  sent: SentRequest
  /** When its last bit was out. */
  sentAtMs: number
  /** Who may withdraw it while it waits. */
  owner?: object | undefined
  resolve(reply: Uint8Array | null): void
  reject(fault: Fault): void
}

export interface RequestParts {
  port: string
  baud: number
  clock: Clock
  settings: ModbusSettings
  counts: ModbusCounts
  holds: ModbusHolds
}

export interface ModbusRequests {
  readonly size: number
  /** Rejects the transaction with `queue_full` where too many wait, and with `modbus_expired` where it waited too long. */
  add(transaction: Transaction, how: AskHow): void
  /** Goes before all that wait, for the sake of one that is not yet answered. */
  addUrgent(transaction: Transaction): void
  /** Whether one waits that may go. */
  hasNext(): boolean
  /** Takes the one whose turn it is. */
  next(): Transaction | undefined
  /** Rejects with `modbus_withdrawn` what waits for this owner. */
  withdraw(owner: object): void
  clear(fault: Fault): void
}

/** Longest request, for the time it takes on the wire. */
const LONGEST_BYTES = 256

/** Each priority leaves so many places free to those above it; one place it has in any case. */
function limitsOf({ queue, queue_reserve: reserve }: ModbusSettings): Record<Priority, number> {
  const leaving = (places: number) => Math.max(1, queue - places)
  return { operator: queue, poll: leaving(reserve), background: leaving(2 * reserve) }
}

export function createModbusRequests(parts: RequestParts): ModbusRequests {
  const { clock, counts, holds, port, settings } = parts
  /** What a transaction takes at most until its answer begins; a request leaves early enough for it. */
  const askingMs = wireUs(parts, LONGEST_BYTES) / 1000 + settings.response_timeout_ms
  let urgent: Transaction | undefined
  const queue = createTransactionQueue<Priority, Transaction>({
    clock,
    limits: limitsOf(settings),
    onExpired({ sent, reject }, waitedMs) {
      counts.expired++
      reject(expiredFault(sent, Math.round(waitedMs), holds.isHeld(sent.request.unitId)))
    },
  })

  function first(): Waiting<Priority, Transaction> | undefined {
    for (const priority of priorities)
      for (const waiting of queue.lane(priority)) if (!holds.isHeld(waiting.item.sent.request.unitId)) return waiting
    return undefined
  }

  return {
    get size() {
      return queue.size
    },
    hasNext: () => urgent !== undefined || first() !== undefined,
    add(transaction, { priority, deadlineMs = settings.request_deadline_ms }) {
      // Whatever the deadline, one may wait for one other that is not answered.
      const waitMs = Math.max(2 * settings.response_timeout_ms, deadlineMs - askingMs)
      if (queue.push(transaction, priority, waitMs)) return
      counts.queueFull++
      transaction.reject(queueFullFault(port, queue.size, settings.response_timeout_ms))
    },
    addUrgent(transaction) {
      urgent = transaction
    },
    next() {
      const waiting = urgent ? undefined : first()
      const transaction = urgent ?? (waiting && queue.take(waiting))
      urgent = undefined
      return transaction
    },
    withdraw(owner) {
      const left = priorities.flatMap((priority) =>
        [...queue.lane(priority)].filter(({ item }) => item.owner === owner),
      )
      for (const waiting of left) queue.take(waiting).reject(withdrawnFault(waiting.item.sent))
    },
    clear(fault) {
      const failed = [...(urgent ? [urgent] : []), ...queue.clear()]
      urgent = undefined
      for (const transaction of failed) transaction.reject(fault)
    },
  }
}
