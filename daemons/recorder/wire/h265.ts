/**
 * H.265: its units, and what its parameter sets say.
 * @source ITU-T H.265, 7.3 and 7.4.2; RFC 7798, 4.4; ISO/IEC 14496-15, 8.3.3 (hvcC) and annex E (name of the codec)
 */
import { type Bits, badParameterSet, bitsOf, checkSize, rateOf, skipVuiHead } from './parameter-bits.ts'
import type { StreamFacts, UnitRole, VideoCodec } from './pictures.ts'

/** Kinds of units. Slices are below 32, and from 16 to 23 decoding can begin: BLA, IDR, CRA and two that are reserved. */
const FIRST_KEY = 16
const LAST_KEY = 23
/** Up to here the even ones are not referred to within their layer. */
const LAST_UNREFERRED = 14
const VPS = 32
const SPS = 33
const PPS = 34
const DELIMITER = 35
const FILLER = 38
const AGGREGATE = 48
const PIECE = 49

const VPS_SLOT = 0
const SPS_SLOT = 1
const FIRST_PPS_SLOT = 2

export const h265: VideoCodec = {
  encoding: 'H265',
  setParameters: ['sprop-vps', 'sprop-sps', 'sprop-pps'],
  headBytes: 2,
  roleOf(unit) {
    // Another layer refines the pictures of the first, which is whole without it.
    const layer = (((unit[0] ?? 0) & 1) << 5) | ((unit[1] ?? 0) >> 3)
    return layer === 0 ? (ROLES[kindOf(unit)] ?? 'foreign') : 'dropped'
  },
  useOf(slice) {
    const kind = kindOf(slice)
    return { layer: ((slice[1] ?? 0) & 7) - 1, isReferredTo: kind % 2 === 1 || kind > LAST_UNREFERRED }
  },
  pieceHead: ([head = 0, layer = 0, flags = 0]) => [(head & 0x81) | ((flags & 0x3f) << 1), layer],
  slotOf(set) {
    const kind = kindOf(set)
    return kind === VPS ? VPS_SLOT : kind === SPS ? SPS_SLOT : FIRST_PPS_SLOT + bitsOf(set.subarray(2)).exp()
  },
  isEnough(slots) {
    const there = [...slots]
    return there.includes(VPS_SLOT) && there.includes(SPS_SLOT) && there.some((slot) => slot >= FIRST_PPS_SLOT)
  },
  factsOf(units) {
    const { facts } = readSps(unitOf(units, SPS))
    return { ...facts, fps: facts.fps ?? readVpsRate(unitOf(units, VPS)) }
  },
  sampleEntry: 'hvc1',
  configBox: 'hvcC',
  writeConfig(units) {
    const { chroma, depths, profile, temporal } = readSps(unitOf(units, SPS))
    return Uint8Array.from([
      // Each with the reserved bits set; nothing is claimed about parallel decoding.
      ...[1, ...profile, 0xf0, 0, 0xfc, 0xfc | chroma, 0xf8 | depths[0], 0xf8 | depths[1]],
      // The rate is not told here; lengths of four bytes.
      ...[0, 0, temporal | 3],
      ...[3, ...[VPS, SPS, PPS].flatMap((kind) => arrayOf(units, kind))],
    ])
  },
  readConfig(config) {
    const units: Uint8Array[] = []
    let at = 23
    for (let arrays = config[22] ?? 0; arrays > 0; arrays--) {
      let left = u16(config, at + 1)
      at += 3
      for (; left > 0; left--) {
        const begin = at + 2
        at = begin + u16(config, at)
        if (at > config.length || at === begin) return undefined
        units.push(config.slice(begin, at))
      }
    }
    const isWhole = [VPS, SPS, PPS].every((kind) => units.some((unit) => kindOf(unit) === kind))
    return isWhole ? units : undefined
  },
}

const ROLES: readonly UnitRole[] = Array.from({ length: 64 }, (_, kind) => {
  if (kind >= FIRST_KEY && kind <= LAST_KEY) return 'key'
  if (kind < VPS) return 'slice'
  if (kind <= PPS) return 'set'
  if (kind === DELIMITER || kind === FILLER) return 'dropped'
  if (kind === AGGREGATE) return 'aggregate'
  if (kind === PIECE) return 'piece'
  return kind < AGGREGATE ? 'beside' : 'foreign'
})

function kindOf(unit: Uint8Array): number {
  return ((unit[0] ?? 0) >> 1) & 0x3f
}

function u16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
}

function unitOf(units: readonly Uint8Array[], kind: number): Uint8Array {
  const unit = units.find((one) => kindOf(one) === kind)
  if (!unit) throw badParameterSet('is missing')
  return unit
}

/** All sets of a kind, of which none are in the stream itself. */
function arrayOf(units: readonly Uint8Array[], kind: number): number[] {
  const own = units.filter((unit) => kindOf(unit) === kind)
  const bytes = own.flatMap((unit) => [unit.length >> 8, unit.length & 0xff, ...unit])
  return [0x80 | kind, own.length >> 8, own.length & 0xff, ...bytes]
}

interface Sps {
  facts: StreamFacts
  /** Space, tier and number of the profile, what it is compatible with, its constraints, and the level: as `hvcC` has them. */
  profile: readonly number[]
  chroma: number
  /** Bits of luma and chroma, minus 8. */
  depths: readonly [number, number]
  /** Layers in time, as the byte of `hvcC` has them. */
  temporal: number
}

function readSps(unit: Uint8Array): Sps {
  const bits = bitsOf(unit.subarray(2))
  bits.skip(4) // sps_video_parameter_set_id
  const layers = bits.bits(3)
  const isNested = bits.isSet()
  const profile = readProfile(bits, layers)
  bits.exp() // sps_seq_parameter_set_id
  const format = bits.exp()
  if (format > 3) throw badParameterSet(`names colours of format ${format}`)
  const isApart = format === 3 && bits.isSet()
  const [fullWidth, fullHeight] = [bits.exp(), bits.exp()]
  const [left, right, top, bottom] = bits.isSet() ? [bits.exp(), bits.exp(), bits.exp(), bits.exp()] : [0, 0, 0, 0]
  const unitX = !isApart && (format === 1 || format === 2) ? 2 : 1
  const unitY = !isApart && format === 1 ? 2 : 1
  const width = fullWidth - (left + right) * unitX
  const height = fullHeight - (top + bottom) * unitY
  checkSize(width, height)
  const depths = [bits.exp(), bits.exp()] as const
  if (depths[0] > 7 || depths[1] > 7) throw badParameterSet(`names colours of ${depths[0] + 8} bits`)
  const temporal = ((layers + 1) << 3) | (isNested ? 4 : 0)
  const facts = { width, height, codec: codecName(profile), fps: readRate(bits, layers) }
  return { facts, profile, chroma: format, depths, temporal }
}

/** profile_tier_level: 12 bytes, then those of the layers in time, which nobody needs here. */
function readProfile(bits: Bits, layers: number): number[] {
  const profile = Array.from({ length: 12 }, () => bits.bits(8))
  const present = Array.from({ length: layers }, () => [bits.isSet(), bits.isSet()] as const)
  if (layers > 0) bits.skip(2 * (8 - layers))
  for (const [hasProfile, hasLevel] of present) bits.skip((hasProfile ? 88 : 0) + (hasLevel ? 8 : 0))
  return profile
}

/** `hvc1.1.6.L93.B0`: space and number, compatibility from its last bit on, tier and level, constraints up to the last. */
function codecName(profile: readonly number[]): string {
  const [first = 0] = profile
  let compatible = 0
  for (const byte of profile.slice(1, 5).reverse()) compatible = compatible * 256 + mirrored(byte)
  const constraints = profile.slice(5, 11)
  const used = constraints.slice(0, constraints.findLastIndex((byte) => byte !== 0) + 1)
  const hex = (value: number) => value.toString(16).toUpperCase()
  const space = ['', 'A', 'B', 'C'][first >> 6]
  const level = `${first & 0x20 ? 'H' : 'L'}${profile[11]}`
  return ['hvc1', `${space}${first & 0x1f}`, hex(compatible), level, ...used.map(hex)].join('.')
}

function mirrored(byte: number): number {
  let turned = 0
  for (let bit = 0; bit < 8; bit++) turned = turned * 2 + ((byte >> bit) & 1)
  return turned
}

/** The rate in the VUI. One that is missing or cannot be read is no reason to refuse the pictures. */
function readRate(bits: Bits, layers: number): number | undefined {
  try {
    const orderBits = bits.exp() + 4
    skipOrdering(bits, layers)
    for (let size = 0; size < 6; size++) bits.exp() // sizes of blocks, depths of trees
    if (bits.isSet() && bits.isSet()) skipScaling(bits)
    bits.skip(2) // amp_enabled_flag, sample_adaptive_offset_enabled_flag
    if (bits.isSet()) {
      bits.skip(8)
      bits.exp()
      bits.exp()
      bits.skip(1)
    }
    skipReferences(bits)
    if (bits.isSet()) for (let left = atMost(bits.exp(), 32); left > 0; left--) bits.skip(orderBits + 1)
    bits.skip(2) // sps_temporal_mvp_enabled_flag, strong_intra_smoothing_enabled_flag
    return bits.isSet() ? readVuiRate(bits) : undefined
  } catch {
    return undefined
  }
}

function readVuiRate(bits: Bits): number | undefined {
  skipVuiHead(bits)
  bits.skip(3) // grey chroma, fields, and whether each picture says so
  if (bits.isSet()) for (let side = 0; side < 4; side++) bits.exp()
  return readTiming(bits)
}

function readTiming(bits: Bits): number | undefined {
  if (!bits.isSet()) return undefined
  const ticks = bits.bits(32)
  return rateOf(bits.bits(32), ticks)
}

/** The rate where the video parameter set has it, as some encoders write it. */
function readVpsRate(unit: Uint8Array): number | undefined {
  try {
    const bits = bitsOf(unit.subarray(2))
    bits.skip(12) // its number, the base layer, vps_max_layers_minus1
    const layers = bits.bits(3)
    bits.skip(17)
    readProfile(bits, layers)
    skipOrdering(bits, layers)
    const last = bits.bits(6)
    for (let left = atMost(bits.exp(), 1023); left > 0; left--) bits.skip(last + 1)
    return readTiming(bits)
  } catch {
    return undefined
  }
}

/** How many pictures a decoder holds, for each layer in time or for all. */
function skipOrdering(bits: Bits, layers: number): void {
  for (let left = bits.isSet() ? layers + 1 : 1; left > 0; left--) for (let row = 0; row < 3; row++) bits.exp()
}

function skipScaling(bits: Bits): void {
  for (let size = 0; size < 4; size++)
    for (let matrix = 0; matrix < 6; matrix += size === 3 ? 3 : 1) {
      if (!bits.isSet()) bits.exp()
      else for (let left = Math.min(64, 16 << (2 * size)) + (size > 1 ? 1 : 0); left > 0; left--) bits.signedExp()
    }
}

/** The sets of pictures that others refer to. Each may be told by how it differs from the one before. */
function skipReferences(bits: Bits): void {
  let before = 0
  for (let left = atMost(bits.exp(), 64), at = 0; at < left; at++) {
    let count = 0
    if (at > 0 && bits.isSet()) {
      bits.skip(1)
      bits.exp()
      for (let picture = 0; picture <= before; picture++) if (bits.isSet() || bits.isSet()) count++
    } else {
      count = atMost(bits.exp(), 16) + atMost(bits.exp(), 16)
      for (let picture = 0; picture < count; picture++) {
        bits.exp()
        bits.skip(1)
      }
    }
    before = count
  }
}

function atMost(value: number, most: number): number {
  if (value > most) throw badParameterSet(`counts ${value}, at most ${most} are allowed`)
  return value
}
