/** Pictures for tests of watching live. */
import { type ParameterSets, type Picture, withLengths } from '../../../wire/pictures.ts'
import { h264Sets } from '../../parameter-sets.ts'

/** Of a stream of 320 x 240. */
export const sets: ParameterSets = h264Sets

/** The same stream with other parameters. */
export const otherSets: ParameterSets = { ...sets, units: [...sets.units.slice(0, 1), Uint8Array.of(0x68, 1)] }

/** @param last its last byte, by which it is known again */
export function picture(isKey: boolean, last = 0, bytes = 100): Picture {
  const unit = new Uint8Array(bytes).fill(isKey ? 0x65 : 0x41)
  unit[bytes - 1] = last
  return { timestamp: 0, data: withLengths([unit]), isKey, sets }
}
