/** Modbus requests that wait for their turn: first come first served, but for units held back. */
import type { Clock } from '#kit/clock.ts'
import type { Fault } from '#kit/fault.ts'
import type { SentRequest } from '../wire/modbus-reply.ts'
import { wireUs } from '../wire/modbus-timing.ts'
import type { ModbusCounts } from './modbus-counts.ts'
import { expiredFault, queueFullFault } from './modbus-faults.ts'
import type { ModbusHolds } from './modbus-holds.ts'
import type { ModbusSettings } from './modbus-settings.ts'
import { createTransactionQueue } from './transaction-queue.ts'

/** One request on its way. `resolve` with null: a broadcast, which has no reply. */
export interface Transaction {
  sent: SentRequest
  /** When its last bit was out. */
  sentAtMs: number
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
  add(transaction: Transaction): void
  /** Whether one waits whose unit may be asked. */
  hasNext(): boolean
  /** Takes the first whose unit may be asked. */
  next(): Transaction | undefined
  clear(fault: Fault): void
}

/** Longest request, for the time it takes on the wire. */
const LONGEST_BYTES = 256

export function createModbusRequests(parts: RequestParts): ModbusRequests {
  const { clock, counts, holds, port, settings } = parts
  /** What a transaction takes at most until its answer begins; a request leaves early enough for it. */
  const askingMs = wireUs(parts, LONGEST_BYTES) / 1000 + settings.response_timeout_ms
  const queue = createTransactionQueue<Transaction>({
    clock,
    limit: settings.queue,
    // Whatever the deadline, one may wait for one other that is not answered.
    waitMs: Math.max(2 * settings.response_timeout_ms, settings.request_deadline_ms - askingMs),
    onExpired({ sent, reject }, waitedMs) {
      counts.expired++
      reject(expiredFault(sent, Math.round(waitedMs), holds.isHeld(sent.request.unitId)))
    },
  })
  const mayGo = ({ sent }: Transaction) => !holds.isHeld(sent.request.unitId)
  return {
    get size() {
      return queue.size
    },
    hasNext: () => queue.has(mayGo),
    add(transaction) {
      if (queue.push(transaction)) return
      counts.queueFull++
      transaction.reject(queueFullFault(port, queue.size, settings.response_timeout_ms))
    },
    next: () => queue.take(mayGo),
    clear(fault) {
      for (const transaction of queue.clear()) transaction.reject(fault)
    },
  }
}
