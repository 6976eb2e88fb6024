/** How a hunt for the settings of a line recognises BACnet MS/TP. Nobody answers outside of the ring: it only listens. */
import { headerCrc, RESIDUE } from '../../wire/mstp/checks.ts'
import { HEADER_BYTES, PREAMBLE } from '../../wire/mstp/frame.ts'
import { createSpotter, type HuntEar, type HuntProtocol } from '../hunt/hunted.ts'

/** So many headers with preamble and checksum are no chance. */
const SURE_FRAMES = 3

export const mstpHunt: HuntProtocol = {
  title: 'BACnet MS/TP',
  member: 'node',
  // @source ANSI/ASHRAE 135-2020, 9.2.3
  habits: { bauds: [38_400, 76_800, 9600, 19_200, 57_600, 115_200], parities: ['none'] },
  ear,
}

function ear(): HuntEar {
  const nodes = new Set<number>()
  let frames = 0
  const spotter = createSpotter({
    longest: HEADER_BYTES,
    lengthAt,
    onFrame(header) {
      frames++
      nodes.add(header[4] ?? 0)
    },
  })
  const heard = () => ({ frames, units: [...nodes].sort((a, b) => a - b), isSure: frames >= SURE_FRAMES })
  return { ...spotter, heard }
}

/** A header is enough: most frames are nothing but one. */
function lengthAt(bytes: Uint8Array): number | 'more' | 'none' {
  if (PREAMBLE.some((byte, at) => at < bytes.length && bytes[at] !== byte)) return 'none'
  if (bytes.length < HEADER_BYTES) return 'more'
  const register = bytes.subarray(PREAMBLE.length, HEADER_BYTES).reduce(headerCrc, 0xff)
  return register === RESIDUE.header ? HEADER_BYTES : 'none'
}
