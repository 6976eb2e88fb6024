/** How a hunt for the settings of a line recognises M-Bus. */
import {
  ACKNOWLEDGE,
  frameLength,
  initFrame,
  isRespondingUserData,
  isWholeFrame,
  LAST_ADDRESS,
  LONGEST_FRAME,
  openLongFrame,
  openMasterFrame,
  readFrame,
} from '../../wire/mbus/frames.ts'
import type { HuntProtocol, HuntQuestion } from '../hunt/hunted.ts'

/** The address at which every meter answers, for a line with one meter. @source EN 13757-2, 5.7.5 */
const ANY_METER = 254

/** A meter begins its answer within 330 bits and 50 ms. @source EN 13757-2, 5.5.5 */
const SLOWEST_BITS = 330
const SLOWEST_MS = 50

export const mbusHunt: HuntProtocol = {
  title: 'M-Bus',
  member: 'meter',
  // Always even parity. @source EN 13757-2, 5.4
  habits: { bauds: [2400, 9600, 300, 4800, 1200, 19_200, 38_400], parities: ['even'] },
  // With start, checksum and stop in place.
  frames: { longest: LONGEST_FRAME, lengthAt, unitOf, sureFrames: 2 },
  asking: {
    last: LAST_ADDRESS,
    questions({ from, to } = { from: 0, to: 10 }) {
      const addresses = Array.from({ length: to - from + 1 }, (_, at) => from + at)
      return [reset(ANY_METER), ...[ANY_METER, ...addresses].map(read)]
    },
    slowerByMs: ({ baud }) => SLOWEST_MS + (SLOWEST_BITS * 1000) / baud,
  },
}

function unitOf(frame: Uint8Array): number | undefined {
  const address = openLongFrame(frame)?.address ?? frame[2] ?? 0
  return address <= LAST_ADDRESS ? address : undefined
}

/** Only what masters and meters send; the acknowledgement is one byte, which says nothing on its own. */
function lengthAt(bytes: Uint8Array): number | 'more' | 'none' {
  const length = frameLength(bytes)
  if (length === 'impossible' || length === 1) return 'none'
  if (length === 'more' || length > bytes.length) return 'more'
  const frame = bytes.subarray(0, length)
  return isWholeFrame(frame) && isOfMasterOrMeter(frame) ? length : 'none'
}

function isOfMasterOrMeter(frame: Uint8Array): boolean {
  const long = openLongFrame(frame)
  return openMasterFrame(frame) !== undefined || (long !== undefined && isRespondingUserData(long.control))
}

/** Resets the link, which changes no value. One byte is acknowledged, so it can be chance. */
function reset(address: number): HuntQuestion {
  const frame = initFrame(address)
  return {
    to: `meter ${address}`,
    frame,
    answer: (bytes) => (bytes.at(-1) === ACKNOWLEDGE ? { unit: undefined, isSure: false } : undefined),
  }
}

/** Asks for data. Where several meters answer at once, none of their frames is whole. */
function read(address: number): HuntQuestion {
  return {
    to: `meter ${address}`,
    frame: readFrame(address, true),
    answer(bytes) {
      for (let at = 0; at < bytes.length; at++) {
        const rest = bytes.subarray(at)
        const length = lengthAt(rest)
        if (typeof length !== 'number') continue
        const long = openLongFrame(rest.subarray(0, length))
        if (long && isRespondingUserData(long.control)) return { unit: long.address, isSure: true }
      }
      return undefined
    },
  }
}
