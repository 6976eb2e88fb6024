/** How a hunt for the settings of a line recognises Modbus RTU. */
import { anyReplyLength, openRequestOrNull, replyFlaw } from '../../wire/modbus-reply.ts'
import {
  hasGoodCrc,
  MAX_RTU_BYTES,
  type ModbusRequest,
  modbusFunctions,
  requestLength,
  sealed,
} from '../../wire/modbus-request.ts'
import type { HuntProtocol, HuntQuestion } from '../hunt/hunted.ts'

const LAST_UNIT = 247

/** Asked where the caller names no units: the addresses that devices come with. */
const USUAL_UNITS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, LAST_UNIT]

export const modbusHunt: HuntProtocol = {
  title: 'Modbus',
  member: 'unit',
  habits: {
    bauds: [9600, 19_200, 38_400, 115_200, 57_600, 4800, 2400, 1200],
    parities: ['none', 'even', 'odd'],
  },
  frames: {
    longest: MAX_RTU_BYTES,
    lengthAt,
    unitOf: ([unitId]) => (unitId === 0 ? undefined : unitId),
    // With a right CRC-16, even if none answers another.
    sureFrames: 3,
    isAnswer(frame, before) {
      const request = openRequestOrNull(before)
      return request !== null && !replyFlaw({ frame: before, request }, frame)
    },
  },
  asking: {
    last: LAST_UNIT,
    questions: (range) => unitsOf(range).map(question),
    slowerByMs: () => 0,
  },
}

function unitsOf(range: { from: number; to: number } | undefined): number[] {
  if (!range) return USUAL_UNITS
  return Array.from({ length: range.to - range.from + 1 }, (_, at) => range.from + at).filter((unit) => unit > 0)
}

/** A frame is a request or a reply; only functions of the standard count. */
function lengthAt(bytes: Uint8Array): number | 'more' | 'none' {
  const [unitId = 0, fc] = bytes
  if (unitId > LAST_UNIT || (fc !== undefined && !modbusFunctions.has(fc & 0x7f))) return 'none'
  if (fc === undefined) return 'more'
  const needs = [requestLength(bytes), anyReplyLength(bytes)]
  for (const need of needs)
    if (typeof need === 'number' && need <= bytes.length && hasGoodCrc(bytes.subarray(0, need))) return need
  return needs.some((need) => need === 'more' || (typeof need === 'number' && need > bytes.length)) ? 'more' : 'none'
}

/** Reads one holding register, which changes nothing; an exception is an answer, too. */
function question(unitId: number): HuntQuestion {
  const request: ModbusRequest = { unitId, fc: 3, address: 0, quantity: 1 }
  return {
    to: `unit ${unitId}`,
    frame: sealed([unitId, 3, 0, 0, 0, 1]),
    answer(bytes) {
      for (let at = 0; at < bytes.length; at++) {
        const rest = bytes.subarray(at)
        const length = anyReplyLength(rest)
        if (typeof length !== 'number' || length > rest.length) continue
        // A unit that was asked before may answer late: it has answered all the same.
        const unit = rest[0] ?? 0
        const sent = { frame: rest, request: { ...request, unitId: unit } }
        if (!replyFlaw(sent, rest.subarray(0, length))) return { unit, isSure: true }
      }
      return undefined
    },
  }
}
