/** The outcome of a request: counted, reported to the caller, and recorded for its unit. */
import type { Clock } from '#kit/clock.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { type BusCounts, type BusFaults, busFaultKind, type Heard } from './faults.ts'
import type { BusHolds } from './holds.ts'
import type { BusReply, BusRequest } from './protocol.ts'
import type { BusHooks, Transaction } from './transactions.ts'
import type { BusUnits } from './units.ts'

interface OutcomeParts<Request extends BusRequest, Reply extends BusReply> {
  clock: Clock
  counts: BusCounts
  faults: BusFaults<Request>
  holds: BusHolds<Request, Reply>
  units: BusUnits<Request, Reply>
  hooks: BusHooks<Request, Reply>
  publish(event: string, payload: unknown): void
}

export interface Outcomes<Request extends BusRequest, Reply extends BusReply> {
  /** A proven reply came. @param atMs when its last byte was there, by the monotonic clock */
  replied(transaction: Transaction<Request, Reply>, reply: Reply, atMs: number): void
  /** A broadcast was sent, and its turnaround delay is over. */
  turned(transaction: Transaction<Request, Reply>): void
  /** No proven reply came in time. @returns the fault for the caller */
  missed(transaction: Transaction<Request, Reply>, heard: Heard): Fault
  /** The line did not take the request, or it is not certain that it did. */
  notSent(transaction: Transaction<Request, Reply>): void
}

export function createOutcomes<Request extends BusRequest, Reply extends BusReply>(
  parts: OutcomeParts<Request, Reply>,
): Outcomes<Request, Reply> {
  const { clock, counts, faults, holds, units } = parts
  return {
    replied(transaction, reply, atMs) {
      const { request } = transaction.sent
      const tookMs = Math.max(0, atMs - transaction.sentAtMs)
      counts.replies++
      if (reply.isRefusal) counts.exceptions++
      units.replied(transaction, reply, tookMs)
      parts.hooks.onReply?.({ request, reply, tookMs, atMs })
      transaction.resolve(reply)
    },
    turned(transaction) {
      counts.broadcasts++
      parts.hooks.onBroadcast?.(transaction.sent.request)
      transaction.resolve(null)
    },
    missed(transaction, heard) {
      const { isFence, sent, sentAtMs } = transaction
      const waitedMs = Math.round(clock.monotonicMs() - sentAtMs)
      const fault = faults.noReply(sent.request, waitedMs, heard, holds.longestLateMs(sent.request.unitId))
      if (!transaction.how.isWildcard) holds.owe(sent, { sentAtMs, isFence })
      if (units.isNobody(transaction)) {
        counts.scanUnanswered++
        return fault
      }
      counts[busFaultKind(fault) === 'noReply' ? 'timeouts' : 'badReplies']++
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
