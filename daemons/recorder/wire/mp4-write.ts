/**
 * Fragmented MP4 with pictures and, where there is some, sound: the head of a file, and fragments.
 * @source ISO/IEC 14496-12, 8 (boxes), 12 (sample entries), 8.16.5 (prft); ISO/IEC 14496-14, 5.6 (mp4a); QuickTime File
 *   Format, sound sample descriptions (alaw, ulaw)
 */
import { joinBytes } from '#kit/pure/bytes.ts'
import type { ParameterSets, StreamFacts } from './pictures.ts'
import type { SoundFormat } from './sound.ts'

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

/** Numbers of the tracks. */
export const VIDEO_TRACK = 1
export const SOUND_TRACK = 2

/** How much later than its pictures sound may come. */
const SOUND_LEAD_S = 1

/**
 * Sound comes later than the pictures of its moment. What belongs before the first picture of a file stands in front of
 * it: with sound, that picture is at this time, and an edit list hides what is before.
 */
export const SOUND_LEAD_TICKS = SOUND_LEAD_S * TICKS_PER_S

/** What a head is made of. */
export interface HeadWish {
  sets: ParameterSets
  facts: Pick<StreamFacts, 'width' | 'height'>
  sound?: SoundFormat | undefined
  /** Ticks of the beginning that are decoded and not shown: an edit list says so. 0 for none. */
  hiddenTicks: number
}

/** `ftyp` and `moov`: what stands before the first fragment. */
export function writeHead({ facts, hiddenTicks, sets, sound }: HeadWish): Uint8Array {
  const brands = [...'iso6', ...'iso6', ...'mp41'].map((sign) => sign.charCodeAt(0))
  const ftyp = box('ftyp', brands.slice(0, 4), u32(1), brands.slice(4))
  const mvhd = fullBox(
    ...(['mvhd', 0, 0] as const),
    ...[zeros(8), u32(TICKS_PER_S), u32(0), u32(0x10000), u16(0x100), zeros(10), MATRIX, zeros(24), u32(3)],
  )
  const tracks = [
    trak({
      ...{ number: VIDEO_TRACK, rate: TICKS_PER_S, hiddenTicks, handler: 'vide', volume: 0 },
      ...{ size: facts, header: fullBox('vmhd', 0, 1, zeros(8)), entry: videoEntry(sets, facts) },
    }),
  ]
  if (sound)
    tracks.push(
      trak({
        ...{ number: SOUND_TRACK, rate: sound.rate, handler: 'soun', volume: 0x100, size: { width: 0, height: 0 } },
        hiddenTicks: Math.round((hiddenTicks * sound.rate) / TICKS_PER_S),
        ...{ header: fullBox('smhd', 0, 0, zeros(4)), entry: soundEntry(sound) },
      }),
    )
  const trex = tracks.map((_, at) => fullBox('trex', 0, 0, u32(at + 1), u32(1), zeros(12)))
  return joinBytes([ftyp, box('moov', mvhd, ...tracks, box('mvex', ...trex))])
}

interface TrackWish {
  number: number
  /** Ticks of its media time per second. */
  rate: number
  hiddenTicks: number
  handler: string
  volume: number
  size: { width: number; height: number }
  header: Uint8Array
  entry: Uint8Array
}

function trak({ entry, handler, header, hiddenTicks, number, rate, size, volume }: TrackWish): Uint8Array {
  const tkhd = fullBox(
    ...(['tkhd', 0, 3] as const),
    ...[zeros(8), u32(number), zeros(20), u16(volume), zeros(2), MATRIX, u32(size.width << 16), u32(size.height << 16)],
  )
  const edit =
    hiddenTicks === 0 ? [] : [box('edts', fullBox('elst', 1, 0, u32(1), u64(0), u64(hiddenTicks), u16(1), u16(0)))]
  const mdhd = fullBox('mdhd', 0, 0, zeros(8), u32(rate), u32(0), u16(0x55c4), u16(0))
  const signs = [...handler].map((sign) => sign.charCodeAt(0))
  const hdlr = fullBox('hdlr', 0, 0, zeros(4), signs, zeros(13))
  const dinf = box('dinf', fullBox('dref', 0, 0, u32(1), fullBox('url ', 0, 1)))
  const empty = [
    fullBox('stts', 0, 0, u32(0)),
    fullBox('stsc', 0, 0, u32(0)),
    fullBox('stsz', 0, 0, u32(0), u32(0)),
    fullBox('stco', 0, 0, u32(0)),
  ]
  const stbl = box('stbl', fullBox('stsd', 0, 0, u32(1), entry), ...empty)
  return box('trak', tkhd, ...edit, box('mdia', mdhd, hdlr, box('minf', header, dinf, stbl)))
}

function videoEntry({ codec, units }: ParameterSets, { height, width }: HeadWish['facts']): Uint8Array {
  const dpi = u32(0x480000)
  return box(
    ...([codec.sampleEntry, zeros(6), u16(1), zeros(16), u16(width), u16(height)] as const),
    ...[dpi, dpi, zeros(4), u16(1), zeros(32), u16(24), [0xff, 0xff]],
    box(codec.configBox, codec.writeConfig(units)),
  )
}

function soundEntry({ channels, config, entry, rate }: SoundFormat): Uint8Array {
  // What does not fit into 16 bits is told by the configuration alone.
  const whole = rate > 0xffff ? 0 : rate
  const esds = entry === 'mp4a' ? [fullBox('esds', 0, 0, descriptor(3, u16(SOUND_TRACK), [0], decoder(config)))] : []
  return box(entry, zeros(6), u16(1), zeros(8), u16(channels), u16(16), zeros(4), u16(whole), zeros(2), ...esds)
}

/** An MPEG-4 descriptor of less than 128 bytes. @source ISO/IEC 14496-1, 7.2.6 */
function descriptor(tag: number, ...contents: Content[]): Uint8Array {
  const length = contents.reduce((sum, content) => sum + content.length, 0)
  return joinBytes([Uint8Array.of(tag, length), ...contents.map((content) => Uint8Array.from(content))])
}

/** AAC as an audio stream, whose rate and buffer are not told; then that nothing lies around its frames. */
function decoder(config: Uint8Array): Uint8Array {
  const about = descriptor(4, [0x40, 0x15], zeros(11), descriptor(5, config))
  return joinBytes([about, descriptor(6, [2])])
}

/** One picture of a fragment, in the order of decoding. */
export interface Sample {
  /** Its NAL units, each with its length before it. */
  data: Uint8Array
  isKey: boolean
  durationTicks: number
  /** By how much it is shown later than decoded; negative if earlier. */
  offsetTicks: number
}

/** Sound of a fragment. */
export interface SoundRun {
  /** When its first frame is heard, in ticks of its own rate since the beginning of the file. */
  decodeTicks: number
  frames: readonly { bytes: Uint8Array; durationTicks: number }[]
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
  sound?: SoundRun | undefined
}

/** Depends on no other picture / does. ISO/IEC 14496-12, 8.8.3.1. */
const KEY_FLAGS = 0x0200_0000
const OTHER_FLAGS = 0x0101_0000

/** What a run says: where its data is, then of each sample duration and size, and of pictures flags and offset. */
export const VIDEO_COLUMNS = 0x000f01
export const SOUND_COLUMNS = 0x000301

/** A fragment. */
export function writeFragment(wish: FragmentWish): Uint8Array {
  return joinBytes(fragmentPieces(wish))
}

/** A fragment in pieces that follow each other: its pictures are not copied, and those that lie together are one piece. */
export function fragmentPieces({ decodeTicks, samples, sequence, sound, wallMs }: FragmentWish): Uint8Array[] {
  const rows = new Uint8Array(samples.length * VIDEO_ROW_BYTES)
  const view = new DataView(rows.buffer)
  for (const [at, { data, durationTicks, isKey, offsetTicks }] of samples.entries()) {
    const columns = [durationTicks, data.length, isKey ? KEY_FLAGS : OTHER_FLAGS, offsetTicks]
    for (const [column, value] of columns.entries()) view.setUint32(at * VIDEO_ROW_BYTES + 4 * column, value)
  }
  const pictureData = joinedWhereTheyLie(samples)
  const columns = { number: VIDEO_TRACK, decodeTicks, columns: VIDEO_COLUMNS }
  const pictures: Run = { ...columns, rows, dataBytes: bytesOf(pictureData) }
  const head = fragmentHead(sequence, wallMs, sound ? [pictures, soundRun(sound)] : [pictures])
  return [head, ...pictureData, ...(sound ? [joinBytes(soundDataOf(sound))] : [])]
}

function joinedWhereTheyLie(samples: readonly Pick<Sample, 'data'>[]): Uint8Array[] {
  const pieces: Uint8Array[] = []
  for (const { data } of samples) {
    const last = pieces.at(-1)
    if (last && last.buffer === data.buffer && last.byteOffset + last.length === data.byteOffset)
      pieces[pieces.length - 1] = new Uint8Array(data.buffer, last.byteOffset, last.length + data.length)
    else pieces.push(data)
  }
  return pieces
}

/** A fragment of sound alone, without a `prft`: it tells no time of a picture. */
export function writeSoundFragment(sequence: number, sound: SoundRun): Uint8Array {
  return joinBytes([...runsHead(sequence, [soundRun(sound)]), ...soundDataOf(sound)])
}

function soundDataOf(sound: SoundRun | undefined): Uint8Array[] {
  return (sound?.frames ?? []).map(({ bytes }) => bytes)
}

function soundRun(sound: SoundRun): Run {
  const { decodeTicks, frames } = sound
  return {
    ...{ number: SOUND_TRACK, decodeTicks, columns: SOUND_COLUMNS, dataBytes: bytesOf(soundDataOf(sound)) },
    rows: Uint8Array.from(frames.flatMap(({ bytes, durationTicks }) => [...u32(durationTicks), ...u32(bytes.length)])),
  }
}

function bytesOf(data: readonly Uint8Array[]): number {
  return data.reduce((sum, { length }) => sum + length, 0)
}

/** What the head of a fragment says of one track. */
export interface Run {
  number: number
  decodeTicks: number
  columns: number
  /** A row for each sample, as `columns` say; each column has four bytes. */
  rows: Uint8Array
  /** Of all its samples. */
  dataBytes: number
}

/** Before the data of a fragment. */
export const MDAT_HEAD_BYTES = 8

/** Bytes of a row of pictures, and of sound. */
export const VIDEO_ROW_BYTES = 16
export const SOUND_ROW_BYTES = 8

/** `prft`, `moof` and the head of `mdat`, behind which the data of the runs follows. @param wallMs see `FragmentWish` */
export function fragmentHead(sequence: number, wallMs: number, runs: readonly Run[]): Uint8Array {
  const seconds = Math.floor(wallMs / 1000)
  const fraction = Math.floor((wallMs / 1000 - seconds) * 2 ** 32)
  const ntp = [...u32((seconds + NTP_OFFSET_S) >>> 0), ...u32(fraction)]
  // Flag 24: the time was measured where the stream arrived. 14496-12 (2020), 8.16.5.1.
  const prft = fullBox('prft', 1, 24, u32(VIDEO_TRACK), ntp, u64(runs[0]?.decodeTicks ?? 0))
  return joinBytes([prft, ...runsHead(sequence, runs)])
}

/** `moof`, and the head of `mdat`. */
function runsHead(sequence: number, runs: readonly Run[]): Uint8Array[] {
  const moofOf = (dataOffset: number) => {
    const trafs = runs.map((run, at) => traf(run, dataOffset + (at === 0 ? 0 : (runs[0]?.dataBytes ?? 0))))
    return box('moof', fullBox('mfhd', 0, 0, u32(sequence)), ...trafs)
  }
  const moof = moofOf(moofOf(0).length + MDAT_HEAD_BYTES)
  const length = runs.reduce((sum, { dataBytes }) => sum + dataBytes, MDAT_HEAD_BYTES)
  return [moof, Uint8Array.from([...u32(length), 0x6d, 0x64, 0x61, 0x74])]
}

function traf({ columns, decodeTicks, number, rows }: Run, dataOffset: number): Uint8Array {
  const count = rows.length / (number === VIDEO_TRACK ? VIDEO_ROW_BYTES : SOUND_ROW_BYTES)
  const trun = fullBox('trun', 1, columns, u32(count), u32(dataOffset), rows)
  return box('traf', fullBox('tfhd', 0, 0x020000, u32(number)), fullBox('tfdt', 1, 0, u64(decodeTicks)), trun)
}
