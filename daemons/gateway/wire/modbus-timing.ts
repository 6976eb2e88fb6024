/** Times on a Modbus RTU line, from its settings. */

/** What counts of a line's settings: bits per second. */
export interface LineRate {
  baud: number
}

/** Start, eight data, parity or second stop, stop. @source Modbus over Serial Line V1.02, 2.5.1 */
const BITS_PER_CHARACTER = 11

/** Above this rate the silence no longer shrinks. @source Modbus over Serial Line V1.02, 2.5.1.1 */
const FIXED_GAP_ABOVE_BAUD = 19_200

/** @source Modbus over Serial Line V1.02, 2.5.1.1: 1.750 ms between frames above 19200 bits per second */
const FIXED_GAP_US = 1750

/** Microseconds that `bytes` characters take on the wire. */
export function wireUs({ baud }: LineRate, bytes: number): number {
  return (bytes * BITS_PER_CHARACTER * 1_000_000) / baud
}

/** Microseconds of silence before a frame: 3.5 characters, 1750 above 19200 bits per second. */
export function silenceUs(rate: LineRate): number {
  return rate.baud > FIXED_GAP_ABOVE_BAUD ? FIXED_GAP_US : wireUs(rate, 3.5)
}

/** Milliseconds of silence between frames. @param gapUs as set; 0: by the rate */
export function gapMsOf(rate: LineRate, gapUs: number): number {
  return (gapUs || silenceUs(rate)) / 1000
}
