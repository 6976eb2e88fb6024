/** What a request to a Modbus line came to: counted, told, and remembered of its unit. */
import type { Clock } from '#kit/clock.ts'
import type { Fault } from '#kit/fault.ts'
import { exceptionCode } from '../wire/modbus-reply.ts'
import type { MasterHooks } from './modbus-ask.ts'
import type { ModbusCounts } from './modbus-counts.ts'
import { type Heard, noReplyFault } from './modbus-faults.ts'
import type { ModbusHolds } from './modbus-holds.ts'
import type { Transaction } from './modbus-transaction.ts'
import type { ModbusUnits } from './modbus-units.ts'

export interface OutcomeParts {
  clock: Clock
  counts: ModbusCounts
  holds: ModbusHolds
  units: ModbusUnits
  onReply?: MasterHooks['onReply']
  onBroadcast?: MasterHooks['onBroadcast']
  publish(event: string, payload: unknown): void
}

export interface ModbusOutcomes {
  /** A proven reply. @param atMs when its end was there, by the monotonic clock. */
  replied(transaction: Transaction, reply: Uint8Array, atMs: number): void
  /** A broadcast is out, and its turnaround delay over. */
  turned(transaction: Transaction): void
  /** No proven reply within the time. @returns what whoever asked is to be told */
  missed(transaction: Transaction, heard: Heard): Fault
  /** The line did not take it, or not for certain. */
  notSent(transaction: Transaction): void
}

export function createModbusOutcomes(parts: OutcomeParts): ModbusOutcomes {
  const { clock, counts, holds, units } = parts
  return {
    replied(transaction, reply, atMs) {
      const { request } = transaction.sent
      const tookMs = Math.max(0, atMs - transaction.sentAtMs)
      counts.replies++
      if (exceptionCode(reply) !== null) counts.exceptions++
      units.replied(transaction, reply, tookMs)
      parts.onReply?.({ request, reply, tookMs, atMs })
      transaction.resolve(reply)
    },
    turned(transaction) {
      counts.broadcasts++
      parts.onBroadcast?.(transaction.sent.request)
      transaction.resolve(null)
    },
    missed(transaction, heard) {
      const { isFence, sent, sentAtMs } = transaction
      const waitedMs = Math.round(clock.monotonicMs() - sentAtMs)
      const fault = noReplyFault(sent, waitedMs, heard, holds.longestLateMs(sent.request.unitId))
      holds.owe(sent, { sentAtMs, isFence })
      if (units.isNobody(transaction)) {
        counts.scanUnanswered++
        return fault
      }
      counts[fault.code === 'modbus_timeout' ? 'timeouts' : 'badReplies']++
      parts.publish('error', { code: fault.code, message: fault.message, ...fault.details })
      units.missed(transaction, fault)
      return fault
    },
    notSent(transaction) {
      counts.sendFailures++
      holds.owe(transaction.sent, { isFence: transaction.isFence })
      units.notSent(transaction)
    },
  }
}
