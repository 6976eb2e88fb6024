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

/** What is asked for, by function: first what nearly all devices have, or at least refuse. */
const FIRST_READ = 3
const FURTHER_READS: ReadonlyMap<number, string> = new Map([
  [4, 'input registers'],
  [1, 'coils'],
  [2, 'discrete inputs'],
])

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
    questions: (range) => unitsOf(range).map((unitId) => question(unitId, FIRST_READ)),
    // Relays and sensors that are silent where they should refuse.
    further: (range) => unitsOf(range).flatMap((unitId) => [...FURTHER_READS.keys()].map((fc) => question(unitId, fc))),
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

/** Reads one register or bit, which changes nothing; an exception is an answer, too. */
function question(unitId: number, fc: number): HuntQuestion {
  return {
    to: `unit ${unitId}`,
    frame: sealed([unitId, fc, 0, 0, 0, 1]),
    answer(bytes) {
      for (let at = 0; at < bytes.length; at++) {
        const rest = bytes.subarray(at)
        const length = anyReplyLength(rest)
        if (typeof length !== 'number' || length > rest.length) continue
        // A unit that was asked before, or for something else, may answer late: it has answered all the same.
        const [unit = 0, said = 0] = rest
        const asked = said & 0x7f
        if (asked !== FIRST_READ && !FURTHER_READS.has(asked)) continue
        const request: ModbusRequest = { unitId: unit, fc: asked, address: 0, quantity: 1 }
        if (replyFlaw({ frame: rest, request }, rest.subarray(0, length))) continue
        const gave = said === asked ? FURTHER_READS.get(asked) : undefined
        return { unit, isSure: true, ...(gave !== undefined && { gave }) }
      }
      return undefined
    },
  }
}
