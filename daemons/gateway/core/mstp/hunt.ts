/** How a hunt for the settings of a line recognises BACnet MS/TP. Nobody answers outside of the ring: it only listens. */
import { headerCrc, RESIDUE } from '../../wire/mstp/checks.ts'
import { HEADER_BYTES, PREAMBLE } from '../../wire/mstp/frame.ts'
import type { HuntProtocol } from '../hunt/hunted.ts'

export const mstpHunt: HuntProtocol = {
  title: 'BACnet MS/TP',
  member: 'node',
  // @source ANSI/ASHRAE 135-2020, 9.2.3
  habits: { bauds: [38_400, 76_800, 9600, 19_200, 57_600, 115_200], parities: ['none'] },
  // With preamble and checksum in place.
  frames: { longest: HEADER_BYTES, lengthAt, unitOf: (header) => header[4], sureFrames: 3 },
}

/** A header is enough: most frames are nothing but one. */
function lengthAt(bytes: Uint8Array): number | 'more' | 'none' {
  if (PREAMBLE.some((byte, at) => at < bytes.length && bytes[at] !== byte)) return 'none'
  if (bytes.length < HEADER_BYTES) return 'more'
  const register = bytes.subarray(PREAMBLE.length, HEADER_BYTES).reduce(headerCrc, 0xff)
  return register === RESIDUE.header ? HEADER_BYTES : 'none'
}
