/**
 * Bits of a parameter set, read one number after the other.
 * @source ITU-T H.264, 7.4.1 and 9.1; ITU-T H.265, 7.4.2 and 9.2
 */
import { Fault } from '#kit/pure/fault.ts'

/** Reads numbers from the front. Each may throw Fault `bad_parameter_set` where it ends too early. */
export interface Bits {
  /** @param count 0..32 */
  bits(count: number): number
  isSet(): boolean
  skip(count: number): void
  /** A number of variable length, at most 32 bits. */
  exp(): number
  signedExp(): number
}

/** @param unit behind its header, with the bytes that keep start codes from occurring */
export function bitsOf(unit: Uint8Array): Bits {
  const bytes = withoutEmulation(unit)
  const length = bytes.length * 8
  let at = 0

  function skip(count: number): void {
    if (at + count > length) throw badParameterSet('ends too early')
    at += count
  }

  function bits(count: number): number {
    if (at + count > length) throw badParameterSet('ends too early')
    let value = 0
    for (let left = count; left > 0; left--, at++) value = value * 2 + (((bytes[at >> 3] ?? 0) >> (7 - (at & 7))) & 1)
    return value
  }

  function exp(): number {
    let zeros = 0
    while (bits(1) === 0) if (++zeros > 31) throw badParameterSet('has a number of more than 32 bits')
    return 2 ** zeros - 1 + bits(zeros)
  }

  function signedExp(): number {
    const code = exp()
    return code % 2 === 1 ? (code + 1) / 2 : -code / 2
  }

  return { bits, isSet: () => bits(1) === 1, skip, exp, signedExp }
}

function withoutEmulation(bytes: Uint8Array): Uint8Array {
  const kept = new Uint8Array(bytes.length)
  let length = 0
  let zeros = 0
  for (const byte of bytes) {
    if (zeros >= 2 && byte === 3) {
      zeros = 0
      continue
    }
    zeros = byte === 0 ? zeros + 1 : 0
    kept[length++] = byte
  }
  return kept.subarray(0, length)
}

export function badParameterSet(seen: string): Fault {
  return new Fault('bad_parameter_set', `The camera's parameter set ${seen}; its pictures cannot be described.`)
}

/** What stands before the times in the VUI, the same in both codecs. @source ITU-T H.264 and H.265, E.2.1 */
export function skipVuiHead(bits: Bits): void {
  if (bits.isSet() && bits.bits(8) === 255) bits.skip(32) // shape of a pixel
  if (bits.isSet()) bits.skip(1) // overscan
  if (bits.isSet()) {
    bits.skip(4)
    if (bits.isSet()) bits.skip(24) // colours
  }
  if (bits.isSet()) {
    bits.exp()
    bits.exp()
  }
}

/** Pictures per second; undefined if it is none. @param scale per second @param ticks of one picture */
export function rateOf(scale: number, ticks: number): number | undefined {
  const fps = ticks === 0 ? 0 : scale / ticks
  return fps > 0 && fps <= 1000 ? Math.round(fps * 1000) / 1000 : undefined
}

/** A side may be this long at most: nothing on a wall is nearly that large. */
const MOST_PIXELS = 16_384

/** @throws Fault `bad_parameter_set` */
export function checkSize(width: number, height: number): void {
  if (width < 1 || height < 1 || width > MOST_PIXELS || height > MOST_PIXELS)
    throw badParameterSet(`describes pictures of ${width} x ${height} pixels`)
}
