/** The read that shows whether a line gives our own bytes back. */
import { sealed } from '../wire/modbus-crc.ts'
import type { SentRequest } from '../wire/modbus-reply.ts'
import { openRequest } from '../wire/modbus-request.ts'

/** Which read looks at what a function writes or reads. */
const readBehind: Readonly<Record<number, number>> = { 1: 1, 2: 2, 4: 4, 5: 1, 15: 1 }

/**
 * A read of one coil or register at the place that was asked about, from the same unit.
 * @param sent a request whose reply equals it
 */
export function echoCheckOf({ request }: SentRequest): SentRequest {
  const { unitId, fc, address } = request
  const frame = sealed([unitId, readBehind[fc] ?? 3, address >> 8, address & 0xff, 0, 1])
  return { frame, request: openRequest(frame) }
}
