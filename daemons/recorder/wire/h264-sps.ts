/**
 * What a sequence parameter set says of the pictures: size, rate, and the name of the codec for a browser.
 * @source ITU-T H.264, 7.3.2.1.1 (sequence parameter set), E.1.1 (VUI), 7.4.1 (emulation prevention); RFC 6381, 3.3
 */
import { Fault } from '#kit/pure/fault.ts'

/** Facts about a stream. */
export interface StreamFacts {
  width: number
  height: number
  /** `avc1.64001f` */
  codec: string
  /** chroma_format_idc and the bit depths minus 8, in the profiles that say them: for `avcC`. */
  colours: readonly [number, number, number] | undefined
  /** Pictures per second as the camera declares them; undefined if it does not. */
  fps: number | undefined
}

/** Profiles that say how colours are stored. */
const WITH_CHROMA: ReadonlySet<number> = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135])

/** A side may be this long at most. Level 6.2 allows 16,888, and nothing on a wall is nearly that large. */
const MOST_PIXELS = 16_384

/** @throws Fault `bad_parameter_set` */
export function readSps(unit: Uint8Array): StreamFacts {
  if (unit.length < 4) throw bad(`has ${unit.length} bytes`)
  const [, profile = 0, constraints = 0, level = 0] = unit
  const bits = createBits(withoutEmulation(unit.subarray(4)))
  bits.exp() // seq_parameter_set_id
  const { chroma, colours } = WITH_CHROMA.has(profile) ? readChroma(bits) : { chroma: 1, colours: undefined }
  bits.exp() // log2_max_frame_num_minus4
  skipOrder(bits)
  bits.exp() // max_num_ref_frames
  bits.bits(1) // gaps_in_frame_num_value_allowed_flag
  const columns = bits.exp() + 1
  const rows = bits.exp() + 1
  // Interlaced pictures count their rows per field.
  const fields = bits.bits(1) === 1 ? 1 : 2
  if (fields === 2) bits.bits(1) // mb_adaptive_frame_field_flag
  bits.bits(1) // direct_8x8_inference_flag
  const [left, right, top, bottom] =
    bits.bits(1) === 1 ? [bits.exp(), bits.exp(), bits.exp(), bits.exp()] : [0, 0, 0, 0]
  const unitX = chroma === 1 || chroma === 2 ? 2 : 1
  const unitY = (chroma === 1 ? 2 : 1) * fields
  const width = columns * 16 - (left + right) * unitX
  const height = rows * 16 * fields - (top + bottom) * unitY
  if (width < 1 || height < 1 || width > MOST_PIXELS || height > MOST_PIXELS)
    throw bad(`describes pictures of ${width} x ${height} pixels`)
  const hex = [profile, constraints, level].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return { width, height, codec: `avc1.${hex}`, colours, fps: readRate(bits) }
}

type Bits = ReturnType<typeof createBits>

/** `chroma` is 0 where the colours are coded apart, since no side is halved then. */
function readChroma(bits: Bits): { chroma: number; colours: [number, number, number] } {
  const format = bits.exp()
  const isApart = format === 3 && bits.bits(1) === 1
  const [luma, chroma] = [bits.exp(), bits.exp()]
  if (format > 3 || luma > 6 || chroma > 6) throw bad(`names colours of format ${format} with ${luma + 8} bits`)
  bits.bits(1) // qpprime_y_zero_transform_bypass_flag
  const lists = bits.bits(1) === 0 ? 0 : format === 3 ? 12 : 8
  for (let list = 0; list < lists; list++) if (bits.bits(1) === 1) skipList(bits, list < 6 ? 16 : 64)
  return { chroma: isApart ? 0 : format, colours: [format, luma, chroma] }
}

function skipList(bits: Bits, size: number): void {
  let next = 8
  for (let at = 0, last = 8; at < size && next !== 0; at++) {
    next = (last + bits.signedExp() + 256) % 256
    if (next !== 0) last = next
  }
}

function skipOrder(bits: Bits): void {
  const kind = bits.exp()
  if (kind === 0) bits.exp()
  if (kind !== 1) return
  bits.bits(1)
  bits.signedExp()
  bits.signedExp()
  const count = bits.exp()
  if (count > 255) throw bad(`lists ${count} frames of a cycle, at most 255 are allowed`)
  for (let at = 0; at < count; at++) bits.signedExp()
}

/** The rate in the VUI, which is mostly missing. One that cannot be read is no reason to refuse the pictures. */
function readRate(bits: Bits): number | undefined {
  try {
    if (bits.bits(1) === 0) return undefined
    if (bits.bits(1) === 1 && bits.bits(8) === 255) bits.bits(32) // shape of a pixel
    if (bits.bits(1) === 1) bits.bits(1) // overscan
    if (bits.bits(1) === 1) {
      bits.bits(4)
      if (bits.bits(1) === 1) bits.bits(24) // colours
    }
    if (bits.bits(1) === 1) {
      bits.exp()
      bits.exp()
    }
    if (bits.bits(1) === 0) return undefined
    const tick = bits.bits(32)
    const scale = bits.bits(32)
    // A tick is a field, and a picture has two.
    const fps = tick === 0 ? 0 : scale / tick / 2
    return fps > 0 && fps <= 1000 ? Math.round(fps * 1000) / 1000 : undefined
  } catch {
    return undefined
  }
}

/** The bytes without those that only keep start codes from occurring. */
function withoutEmulation(bytes: Uint8Array): Uint8Array {
  const kept: number[] = []
  let zeros = 0
  for (const byte of bytes) {
    if (zeros >= 2 && byte === 3) {
      zeros = 0
      continue
    }
    zeros = byte === 0 ? zeros + 1 : 0
    kept.push(byte)
  }
  return Uint8Array.from(kept)
}

function createBits(bytes: Uint8Array) {
  let at = 0

  /** @param count 0..32 */
  function bits(count: number): number {
    if (at + count > bytes.length * 8) throw bad('ends too early')
    let value = 0
    for (let left = count; left > 0; left--, at++) value = value * 2 + (((bytes[at >> 3] ?? 0) >> (7 - (at & 7))) & 1)
    return value
  }

  function exp(): number {
    let zeros = 0
    while (bits(1) === 0) if (++zeros > 31) throw bad('has a number of more than 32 bits')
    return 2 ** zeros - 1 + bits(zeros)
  }

  function signedExp(): number {
    const code = exp()
    return code % 2 === 1 ? (code + 1) / 2 : -code / 2
  }

  return { bits, exp, signedExp }
}

function bad(seen: string): Fault {
  return new Fault('bad_parameter_set', `The camera's parameter set ${seen}; its pictures cannot be described.`)
}
