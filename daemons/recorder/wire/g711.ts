/**
 * Samples of sound as telephones have them, a byte each.
 * @source ITU-T G.711 (11/88), tables 1a, 1b, 2a and 2b
 */

/** The two laws, by their names in RTP. @source RFC 3551, 4.5.14 */
export type Law = 'PCMA' | 'PCMU'

/** Added before the segment of a mu-law sample is found, in units of 16 bits. */
const BIAS = 132
const MOST_MU = 32_635

/**
 * @param samples 16 bits each, signed
 * @returns as many bytes
 */
export function encodeG711(samples: Int16Array, law: Law): Uint8Array<ArrayBuffer> {
  const byteOf = law === 'PCMA' ? alaw : mulaw
  return Uint8Array.from(samples, byteOf)
}

/** @returns as many samples of 16 bits */
export function decodeG711(bytes: Uint8Array, law: Law): Int16Array<ArrayBuffer> {
  return Int16Array.from(bytes, law === 'PCMA' ? fromAlaw : fromMulaw)
}

function mulaw(sample: number): number {
  const size = Math.min(Math.abs(sample), MOST_MU) + BIAS
  const segment = 24 - Math.clz32(size)
  const step = (size >> (segment + 3)) & 0x0f
  return ~((sample < 0 ? 0x80 : 0) | (segment << 4) | step) & 0xff
}

function fromMulaw(byte: number): number {
  const bits = ~byte
  const size = ((((bits & 0x0f) << 3) + BIAS) << ((bits >> 4) & 7)) - BIAS
  return bits & 0x80 ? -size : size
}

function alaw(sample: number): number {
  // As 13 bits; what is below zero is counted from -1.
  const size = (sample < 0 ? ~sample : sample) >> 3
  const segment = Math.max(0, 27 - Math.clz32(size))
  const step = segment === 0 ? size >> 1 : size >> segment
  return ((sample < 0 ? 0 : 0x80) | (segment << 4) | (step & 0x0f)) ^ 0x55
}

function fromAlaw(byte: number): number {
  const bits = byte ^ 0x55
  const segment = (bits >> 4) & 7
  const low = ((bits & 0x0f) << 4) + 8
  const size = segment === 0 ? low : (low + 0x100) << (segment - 1)
  return bits & 0x80 ? size : -size
}
