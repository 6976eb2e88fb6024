/**
 * Fragmented MP4 with one video track: the head of a file, and fragments.
 * @source ISO/IEC 14496-12, 8 (boxes), 12.1.3 (sample entry), 8.16.5 (prft)
 */
import type { ParameterSets, StreamFacts } from './pictures.ts'

/** Ticks of media time per second, as RTP counts them for video. */
export const TICKS_PER_S = 90_000

/** Seconds between 1900, from where NTP counts, and 1970. */
export const NTP_OFFSET_S = 2_208_988_800

/** Bytes of a box, or boxes inside of it. */
type Content = Uint8Array | readonly number[]

/** @param type four characters @param contents in order */
function box(type: string, ...contents: Content[]): Uint8Array {
  const length = contents.reduce((sum, content) => sum + content.length, 8)
  const bytes = new Uint8Array(length)
  bytes.set([...u32(length), ...[...type].map((sign) => sign.charCodeAt(0))])
  let at = 8
  for (const content of contents) {
    bytes.set(content, at)
    at += content.length
  }
  return bytes
}

/** A box with a version and flags before its contents. */
function fullBox(type: string, version: number, flags: number, ...contents: Content[]): Uint8Array {
  return box(type, [version, (flags >> 16) & 0xff, (flags >> 8) & 0xff, flags & 0xff], ...contents)
}

function u16(value: number): number[] {
  return [(value >> 8) & 0xff, value & 0xff]
}

function u32(value: number): number[] {
  return [(value >>> 24) & 0xff, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff]
}

/** @param value a whole number below 2^53, or a negative one */
function u64(value: number): number[] {
  const high = Math.floor(value / 2 ** 32)
  return [...u32(high | 0), ...u32((value - high * 2 ** 32) >>> 0)]
}

function zeros(count: number): number[] {
  return new Array<number>(count).fill(0)
}

/** Turned by nothing. */
const MATRIX = [...u32(0x10000), ...zeros(12), ...u32(0x10000), ...zeros(12), ...u32(0x40000000)]

/** What a head is made of. */
export interface HeadWish {
  sets: ParameterSets
  facts: Pick<StreamFacts, 'width' | 'height'>
  /** Ticks of the beginning that are decoded and not shown: an edit list says so. 0 for none. */
  hiddenTicks: number
}

/** `ftyp` and `moov`: what stands before the first fragment. */
export function writeHead({ facts, hiddenTicks, sets }: HeadWish): Uint8Array {
  const { width, height } = facts
  const brands = [...'iso6', ...'iso6', ...'mp41'].map((sign) => sign.charCodeAt(0))
  const ftyp = box('ftyp', brands.slice(0, 4), u32(1), brands.slice(4))
  const mvhd = fullBox(
    ...(['mvhd', 0, 0] as const),
    ...[zeros(8), u32(TICKS_PER_S), u32(0), u32(0x10000), u16(0x100), zeros(10), MATRIX, zeros(24), u32(2)],
  )
  const tkhd = fullBox(
    ...(['tkhd', 0, 3] as const),
    ...[zeros(8), u32(1), zeros(20), u16(0), zeros(2), MATRIX, u32(width << 16), u32(height << 16)],
  )
  const edit =
    hiddenTicks === 0 ? [] : [box('edts', fullBox('elst', 1, 0, u32(1), u64(0), u64(hiddenTicks), u16(1), u16(0)))]
  const mdhd = fullBox('mdhd', 0, 0, zeros(8), u32(TICKS_PER_S), u32(0), u16(0x55c4), u16(0))
  const handler = [...'vide'].map((sign) => sign.charCodeAt(0))
  const hdlr = fullBox('hdlr', 0, 0, zeros(4), handler, zeros(13))
  const dinf = box('dinf', fullBox('dref', 0, 0, u32(1), fullBox('url ', 0, 1)))
  const empty = [
    fullBox('stts', 0, 0, u32(0)),
    fullBox('stsc', 0, 0, u32(0)),
    fullBox('stsz', 0, 0, u32(0), u32(0)),
    fullBox('stco', 0, 0, u32(0)),
  ]
  const stbl = box('stbl', fullBox('stsd', 0, 0, u32(1), videoEntry(sets, facts)), ...empty)
  const minf = box('minf', fullBox('vmhd', 0, 1, zeros(8)), dinf, stbl)
  const trak = box('trak', tkhd, ...edit, box('mdia', mdhd, hdlr, minf))
  const mvex = box('mvex', fullBox('trex', 0, 0, u32(1), u32(1), zeros(12)))
  return concat([ftyp, box('moov', mvhd, trak, mvex)])
}

function videoEntry({ codec, units }: ParameterSets, { height, width }: HeadWish['facts']): Uint8Array {
  const dpi = u32(0x480000)
  return box(
    ...([codec.sampleEntry, zeros(6), u16(1), zeros(16), u16(width), u16(height)] as const),
    ...[dpi, dpi, zeros(4), u16(1), zeros(32), u16(24), [0xff, 0xff]],
    box(codec.configBox, codec.writeConfig(units)),
  )
}

/** One picture of a fragment, in the order of decoding. */
export interface Sample {
  /** NAL units without start codes. */
  units: readonly Uint8Array[]
  isKey: boolean
  durationTicks: number
  /** By how much it is shown later than decoded; negative if earlier. */
  offsetTicks: number
}

/** What a fragment is made of. */
export interface FragmentWish {
  /** Counts from 1 within a file. */
  sequence: number
  /** When its first picture is decoded, in ticks since the beginning of the file. */
  decodeTicks: number
  /** When that was, in milliseconds since 1970; a fraction is kept. */
  wallMs: number
  samples: readonly Sample[]
}

/** Depends on no other picture / does. ISO/IEC 14496-12, 8.8.3.1. */
const KEY_FLAGS = 0x0200_0000
const OTHER_FLAGS = 0x0101_0000

/** `prft`, `moof`, `mdat`. */
export function writeFragment({ decodeTicks, samples, sequence, wallMs }: FragmentWish): Uint8Array {
  const sizes = samples.map(({ units }) => units.reduce((sum, { length }) => sum + 4 + length, 0))
  const rows = samples.flatMap(({ durationTicks, isKey, offsetTicks }, at) => [
    ...[...u32(durationTicks), ...u32(sizes[at] ?? 0)],
    ...[...u32(isKey ? KEY_FLAGS : OTHER_FLAGS), ...u32(offsetTicks)],
  ])
  const moofOf = (dataOffset: number) => {
    const trun = fullBox('trun', 1, 0x000f01, u32(samples.length), u32(dataOffset), rows)
    const traf = box('traf', fullBox('tfhd', 0, 0x020000, u32(1)), fullBox('tfdt', 1, 0, u64(decodeTicks)), trun)
    return box('moof', fullBox('mfhd', 0, 0, u32(sequence)), traf)
  }
  const moof = moofOf(moofOf(0).length + 8)
  const seconds = Math.floor(wallMs / 1000)
  const fraction = Math.floor((wallMs / 1000 - seconds) * 2 ** 32)
  const ntp = [...u32((seconds + NTP_OFFSET_S) >>> 0), ...u32(fraction)]
  // Flag 24: the time was measured where the stream arrived. 14496-12 (2020), 8.16.5.1.
  const prft = fullBox('prft', 1, 24, u32(1), ntp, u64(decodeTicks))
  const length = sizes.reduce((sum, size) => sum + size, 8)
  const data = samples.flatMap(({ units }) => units.flatMap((unit) => [Uint8Array.from(u32(unit.length)), unit]))
  return concat([prft, moof, Uint8Array.from([...u32(length), 0x6d, 0x64, 0x61, 0x74]), ...data])
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
