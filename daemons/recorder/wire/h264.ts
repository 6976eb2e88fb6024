/**
 * H.264: its units, and what its parameter sets say.
 * @source ITU-T H.264, 7.3, 7.4.1 and E.1.1; RFC 6184, 5; ISO/IEC 14496-15, 5.3.3 (avcC); RFC 6381, 3.3
 */
import { type Bits, badParameterSet, bitsOf, checkSize, rateOf, skipVuiHead } from './parameter-bits.ts'
import type { StreamFacts, UnitRole, VideoCodec } from './pictures.ts'

const SLICE = 1
const IDR = 5
const SPS = 7
const PPS = 8
const DELIMITER = 9
const STAP_A = 24
const FU_A = 28

const SPS_SLOT = 1
const FIRST_PPS_SLOT = 2

export const h264: VideoCodec = {
  encoding: 'H264',
  setParameters: ['sprop-parameter-sets'],
  headBytes: 1,
  roleOf: (unit) => ROLES[kindOf(unit)] ?? 'foreign',
  // nal_ref_idc is the same in all slices of a picture.
  useOf: ([head = 0]) => ({ layer: 0, isReferredTo: (head & 0x60) !== 0 }),
  pieceHead: ([indicator = 0, header = 0]) => [(indicator & 0xe0) | (header & 0x1f)],
  slotOf: (set) => (kindOf(set) === SPS ? SPS_SLOT : FIRST_PPS_SLOT + bitsOf(set.subarray(1)).exp()),
  isEnough(slots) {
    const there = [...slots]
    return there.includes(SPS_SLOT) && there.some((slot) => slot >= FIRST_PPS_SLOT)
  },
  factsOf: (units) => readSps(spsOf(units)).facts,
  sampleEntry: 'avc1',
  configBox: 'avcC',
  writeConfig(units) {
    const sps = spsOf(units)
    const { colours } = readSps(sps)
    const pps = units.filter((unit) => kindOf(unit) === PPS)
    return Uint8Array.from([
      ...[1, sps[1] ?? 0, sps[2] ?? 0, sps[3] ?? 0, 0xff, 0xe1, ...withLength(sps)],
      ...[pps.length, ...pps.flatMap(withLength)],
      // The profiles that say how colours are stored say it here too, each with the reserved bits set.
      ...(colours ? [0xfc | colours[0], 0xf8 | colours[1], 0xf8 | colours[2], 0] : []),
    ])
  },
  readConfig(config) {
    const units: Uint8Array[] = []
    let at = 5
    for (const mask of [0x1f, 0xff]) {
      const count = (config[at++] ?? 0) & mask
      for (let left = count; left > 0; left--) {
        const begin = at + 2
        at = begin + (((config[at] ?? 0) << 8) | (config[at + 1] ?? 0))
        if (at > config.length || at === begin) return undefined
        units.push(config.slice(begin, at))
      }
      if (count === 0) return undefined
    }
    return units
  },
}

const ROLES: readonly UnitRole[] = Array.from({ length: 32 }, (_, kind) => {
  if (kind === 0 || kind === DELIMITER) return 'dropped'
  if (kind === IDR) return 'key'
  if (kind >= SLICE && kind < IDR) return 'slice'
  if (kind === SPS || kind === PPS) return 'set'
  if (kind === STAP_A) return 'aggregate'
  if (kind === FU_A) return 'piece'
  return kind < STAP_A ? 'beside' : 'foreign'
})

function kindOf(unit: Uint8Array): number {
  return (unit[0] ?? 0) & 0x1f
}

function withLength(unit: Uint8Array): number[] {
  return [unit.length >> 8, unit.length & 0xff, ...unit]
}

function spsOf(units: readonly Uint8Array[]): Uint8Array {
  const sps = units.find((unit) => kindOf(unit) === SPS)
  if (!sps) throw badParameterSet('is missing')
  return sps
}

/** Profiles that say how colours are stored. */
const WITH_CHROMA: ReadonlySet<number> = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135])

/** @returns `colours`: chroma_format_idc and the bit depths minus 8, in the profiles that say them */
function readSps(unit: Uint8Array): { facts: StreamFacts; colours: [number, number, number] | undefined } {
  if (unit.length < 4) throw badParameterSet(`has ${unit.length} bytes`)
  const [, profile = 0, constraints = 0, level = 0] = unit
  const bits = bitsOf(unit.subarray(4))
  bits.exp() // seq_parameter_set_id
  const { chroma, colours } = WITH_CHROMA.has(profile) ? readChroma(bits) : { chroma: 1, colours: undefined }
  bits.exp() // log2_max_frame_num_minus4
  skipOrder(bits)
  bits.exp() // max_num_ref_frames
  bits.skip(1) // gaps_in_frame_num_value_allowed_flag
  const columns = bits.exp() + 1
  const rows = bits.exp() + 1
  // Interlaced pictures count their rows per field.
  const fields = bits.isSet() ? 1 : 2
  if (fields === 2) bits.skip(1) // mb_adaptive_frame_field_flag
  bits.skip(1) // direct_8x8_inference_flag
  const [left, right, top, bottom] = bits.isSet() ? [bits.exp(), bits.exp(), bits.exp(), bits.exp()] : [0, 0, 0, 0]
  const unitX = chroma === 1 || chroma === 2 ? 2 : 1
  const unitY = (chroma === 1 ? 2 : 1) * fields
  const width = columns * 16 - (left + right) * unitX
  const height = rows * 16 * fields - (top + bottom) * unitY
  checkSize(width, height)
  const hex = [profile, constraints, level].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return { facts: { width, height, codec: `avc1.${hex}`, fps: readRate(bits) }, colours }
}

/** `chroma` is 0 where the colours are coded apart, since no side is halved then. */
function readChroma(bits: Bits): { chroma: number; colours: [number, number, number] } {
  const format = bits.exp()
  const isApart = format === 3 && bits.isSet()
  const [luma, chroma] = [bits.exp(), bits.exp()]
  if (format > 3 || luma > 6 || chroma > 6)
    throw badParameterSet(`names colours of format ${format} with ${luma + 8} bits`)
  bits.skip(1) // qpprime_y_zero_transform_bypass_flag
  const lists = bits.isSet() ? (format === 3 ? 12 : 8) : 0
  for (let list = 0; list < lists; list++) if (bits.isSet()) skipList(bits, list < 6 ? 16 : 64)
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
  bits.skip(1)
  bits.signedExp()
  bits.signedExp()
  const count = bits.exp()
  if (count > 255) throw badParameterSet(`lists ${count} frames of a cycle, at most 255 are allowed`)
  for (let at = 0; at < count; at++) bits.signedExp()
}

/** The rate in the VUI, which is mostly missing. One that cannot be read is no reason to refuse the pictures. */
function readRate(bits: Bits): number | undefined {
  try {
    if (!bits.isSet()) return undefined
    skipVuiHead(bits)
    if (!bits.isSet()) return undefined
    const tick = bits.bits(32)
    // A tick is a field, and a picture has two.
    return rateOf(bits.bits(32), 2 * tick)
  } catch {
    return undefined
  }
}
