/** The read that shows whether a line gives our own bytes back. */
import { readAt, readFrame } from './modbus-fences.ts'
import type { ModbusOutcomes } from './modbus-outcomes.ts'
import type { ModbusReceiver, Twin } from './modbus-receiver.ts'
import type { ModbusRequests } from './modbus-requests.ts'
import type { Transaction } from './modbus-transaction.ts'

export interface TwinParts {
  outcomes: ModbusOutcomes
  receiver: ModbusReceiver
  requests: ModbusRequests
  isOpen(): boolean
}

/**
 * One frame came that is the request again: the unit's answer, or our echo and no answer. A read of the same place
 * shows which, as its echo and its answer differ. Needed once at most after a line was opened.
 * @see docs/decisions/042-local-echo.md
 */
export function checkTwin(parts: TwinParts, transaction: Transaction, twin: Twin): void {
  const { outcomes, receiver } = parts
  const { address, unitId } = transaction.sent.request

  function settle(): void {
    const isReply = receiver.echo === 'absent'
    receiver.settleTwin(transaction.sent, twin.frame, isReply)
    if (isReply) outcomes.replied(transaction, twin.frame, twin.atMs)
    else transaction.reject(outcomes.missed(transaction, receiver.heard))
  }

  parts.requests.addUrgent({
    ...transaction,
    sent: readFrame(unitId, readAt(transaction.sent), address, 1),
    resolve: settle,
    reject: (fault) => (parts.isOpen() ? settle() : transaction.reject(fault)),
  })
}
