/** The read that shows whether a line gives our own bytes back. */
import { sealed } from '../wire/modbus-crc.ts'
import type { SentRequest } from '../wire/modbus-reply.ts'
import { openRequest } from '../wire/modbus-request.ts'
import type { ModbusOutcomes } from './modbus-outcomes.ts'
import type { ModbusReceiver, Twin } from './modbus-receiver.ts'
import type { ModbusRequests } from './modbus-requests.ts'
import type { Transaction } from './modbus-transaction.ts'

/** Which read looks at what a function writes or reads. */
const readBehind: Readonly<Record<number, number>> = { 1: 1, 2: 2, 4: 4, 5: 1, 15: 1 }

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

  function settle(): void {
    const isReply = receiver.echo === 'absent'
    receiver.settleTwin(transaction.sent, twin.frame, isReply)
    if (isReply) outcomes.replied(transaction, twin.frame, twin.atMs)
    else transaction.reject(outcomes.missed(transaction, receiver.heard))
  }

  parts.requests.addUrgent({
    ...transaction,
    sent: echoCheckOf(transaction.sent),
    resolve: settle,
    reject: (fault) => (parts.isOpen() ? settle() : transaction.reject(fault)),
  })
}

/**
 * A read of one coil or register at the place that was asked about, from the same unit.
 * @param sent a request whose reply equals it
 */
function echoCheckOf({ request }: SentRequest): SentRequest {
  const { unitId, fc, address } = request
  const frame = sealed([unitId, readBehind[fc] ?? 3, address >> 8, address & 0xff, 0, 1])
  return { frame, request: openRequest(frame) }
}
