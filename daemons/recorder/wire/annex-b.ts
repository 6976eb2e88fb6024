/**
 * Coded pictures as a stream of bytes, each unit behind a start code.
 * @source ITU-T H.264, Annex B
 */
import { joinBytes } from '#kit/pure/bytes.ts'

const START_CODE = Uint8Array.of(0, 0, 0, 1)

/** @param units without start codes @source ITU-T H.264, B.1 */
export function writeUnits(units: readonly Uint8Array[]): Uint8Array {
  return joinBytes(units.flatMap((unit) => [START_CODE, unit]))
}

/** @returns the units without start codes; parts of the bytes @source ITU-T H.264, B.1 */
export function readUnits(bytes: Uint8Array): Uint8Array[] {
  const begins: number[] = []
  for (let at = 2; at < bytes.length; at++)
    if (bytes[at] === 1 && bytes[at - 1] === 0 && bytes[at - 2] === 0) begins.push(at + 1)
  return begins.map((begin, at) => {
    let end = (begins[at + 1] ?? bytes.length + 3) - 3
    // A start code of four bytes, and zeros that may stand behind a unit.
    while (end > begin && bytes[end - 1] === 0) end--
    return bytes.subarray(begin, end)
  })
}
