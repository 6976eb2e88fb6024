/**
 * Reads what mp4-write.ts wrote, from a file that may end in the middle of anything.
 * @source ISO/IEC 14496-12, 4.2 (boxes), 8.8 (fragments), 12.1.3 (sample entry), 8.16.5 (prft)
 */
import {
  NTP_OFFSET_S,
  packFragment,
  type Run,
  SOUND_COLUMNS,
  SOUND_ROW_BYTES,
  SOUND_TRACK,
  TICKS_PER_S,
  VIDEO_COLUMNS,
  VIDEO_ROW_BYTES,
  VIDEO_TRACK,
} from './mp4-write.ts'
import type { ParameterSets } from './pictures.ts'
import { type SoundFormat, soundFormat } from './sound.ts'
import { videoCodecs } from './video-codecs.ts'

/** One whole fragment of a file. */
export interface FragmentPlace {
  /** Where its `prft` begins, and how many bytes it has up to the end of its `mdat`. */
  offset: number
  length: number
  decodeTicks: number
  durationTicks: number
  /** Wall time of its first picture, in milliseconds since 1970, with a fraction. */
  wallMs: number
  /** Whether it begins with a picture at which decoding can begin. */
  isKey: boolean
}

/** What the head of a file says of its tracks. */
export interface FileTracks {
  sets: ParameterSets
  sound: SoundFormat | undefined
}

/** What of a file is whole. */
export interface Mp4Scan {
  /** Undefined if the head itself is not whole. */
  tracks: FileTracks | undefined
  fragments: FragmentPlace[]
  /** Bytes of the whole part; what follows belongs to a fragment that was being written. */
  wholeBytes: number
}

/**
 * Bytes of a file.
 * @returns fewer than asked at its end
 */
export type ReadAt = (offset: number, length: number) => Uint8Array

/** Heads of boxes that are read whole; a larger one is none of ours. */
const MOST_HEAD_BYTES = 1_048_576

/**
 * Finds what is whole. Never throws: anything that does not fit ends the whole part.
 * @param before of the same file: it is gone on with behind what that found
 */
export function scanMp4(read: ReadAt, fileBytes: number, before?: Mp4Scan): Mp4Scan {
  const fragments = [...(before?.fragments ?? [])]
  const next = (at: number, type: string) => boxAt(read, at, { type, fileBytes })
  const { tracks, headBytes } = before?.tracks ? { tracks: before.tracks, headBytes: before.wholeBytes } : headOf(next)
  if (!tracks) return { tracks: undefined, fragments: [], wholeBytes: 0 }
  let wholeBytes = headBytes
  for (;;) {
    const prft = next(wholeBytes, 'prft')
    const moof = prft && next(prft.end, 'moof')
    const mdat = moof && next(moof.end, 'mdat')
    if (!prft || !moof || !mdat) break
    const time = timeOf(prft.body())
    const run = runOf(moof.body())
    if (!time || !run || run.bytes !== mdat.end - moof.end - 8) break
    const { durationTicks, isKey } = run
    fragments.push({ offset: wholeBytes, length: mdat.end - wholeBytes, ...time, durationTicks, isKey })
    wholeBytes = mdat.end
  }
  return { tracks, fragments, wholeBytes }
}

function headOf(next: (at: number, type: string) => FoundBox | undefined) {
  const ftyp = next(0, 'ftyp')
  const moov = ftyp && next(ftyp.end, 'moov')
  return { tracks: moov && tracksOf(moov.body()), headBytes: moov?.end ?? 0 }
}

interface FoundBox {
  end: number
  /** Read when asked for. */
  body(): Uint8Array
}

function boxAt(
  read: ReadAt,
  at: number,
  { fileBytes, type }: { type: string; fileBytes: number },
): FoundBox | undefined {
  const head = read(at, 8)
  if (head.length < 8) return undefined
  const length = u32(head, 0)
  const name = String.fromCharCode(...head.subarray(4, 8))
  if (name !== type || length < 8 || at + length > fileBytes) return undefined
  return { end: at + length, body: () => read(at + 8, Math.min(length - 8, MOST_HEAD_BYTES)) }
}

function u32(bytes: Uint8Array, at: number): number {
  return (
    (((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0
  )
}

/** A 64-bit number; undefined beyond what a double holds exactly. */
function u64(bytes: Uint8Array, at: number): number | undefined {
  const value = u32(bytes, at) * 2 ** 32 + u32(bytes, at + 4)
  return Number.isSafeInteger(value) ? value : undefined
}

/** The contents of each box of a type, among boxes inside of boxes. */
function* boxesIn(bytes: Uint8Array, type: string): Generator<Uint8Array> {
  for (let at = 0; at + 8 <= bytes.length; ) {
    const length = u32(bytes, at)
    if (length < 8 || at + length > bytes.length) return
    if (String.fromCharCode(...bytes.subarray(at + 4, at + 8)) === type) yield bytes.subarray(at + 8, at + length)
    at += length
  }
}

/** The contents of the box at the end of `path`, the first of each type. */
function inside(bytes: Uint8Array, ...path: string[]): Uint8Array | undefined {
  let found: Uint8Array | undefined = bytes
  for (const type of path) found = found && boxesIn(found, type).next().value
  return found
}

/** Bytes of stsd before its entry, and of an entry before the boxes inside of it. */
const STSD_HEAD = 8
const VIDEO_ENTRY_HEAD = 78
const SOUND_ENTRY_HEAD = 28
/** Bytes of esds before the configuration, as they are written here; the last of them is its length. */
const ESDS_HEAD = 26
const SOUND_ENTRIES = ['mp4a', 'alaw', 'ulaw'] as const

function tracksOf(moov: Uint8Array): FileTracks | undefined {
  const [video, sound] = [...boxesIn(moov, 'trak')].map((trak) => inside(trak, 'mdia'))
  const sets = video && setsOf(video)
  return sets && { sets, sound: sound && soundIn(sound) }
}

function setsOf(mdia: Uint8Array): ParameterSets | undefined {
  const stsd = inside(mdia, 'minf', 'stbl', 'stsd')
  for (const codec of stsd ? videoCodecs : []) {
    const entry = stsd && inside(stsd.subarray(STSD_HEAD), codec.sampleEntry)
    const config = entry && inside(entry.subarray(VIDEO_ENTRY_HEAD), codec.configBox)
    const units = config && codec.readConfig(config)
    if (units) return { codec, units }
  }
  return undefined
}

function soundIn(mdia: Uint8Array): SoundFormat | undefined {
  const rate = u32(inside(mdia, 'mdhd') ?? new Uint8Array(0), 12)
  const stsd = inside(mdia, 'minf', 'stbl', 'stsd')?.subarray(STSD_HEAD)
  const name = stsd && SOUND_ENTRIES.find((type) => inside(stsd, type))
  const entry = name && inside(stsd, name)
  const esds = entry && inside(entry.subarray(SOUND_ENTRY_HEAD), 'esds')
  const length = esds?.[ESDS_HEAD - 1] ?? 0
  return name && soundFormat(name, rate, (esds ?? new Uint8Array(0)).slice(ESDS_HEAD, ESDS_HEAD + length))
}

function timeOf(prft: Uint8Array): Pick<FragmentPlace, 'decodeTicks' | 'wallMs'> | undefined {
  const decodeTicks = prft.length === 24 ? u64(prft, 16) : undefined
  if (decodeTicks === undefined) return undefined
  const seconds = u32(prft, 8) - NTP_OFFSET_S
  // 32 bits of NTP end in 2036: what seems to lie before 1970 is of the next era.
  const era = seconds < 0 ? 2 ** 32 : 0
  return { decodeTicks, wallMs: (seconds + era + u32(prft, 12) / 2 ** 32) * 1000 }
}

/** Sums of the runs as they are written here, with all their columns. */
function runOf(moof: Uint8Array): { durationTicks: number; isKey: boolean; bytes: number } | undefined {
  let durationTicks = 0
  let bytes = 0
  let isKey: boolean | undefined
  for (const traf of boxesIn(moof, 'traf')) {
    const trun = inside(traf, 'trun')
    const count = trun && trun.length >= 12 ? u32(trun, 4) : 0
    const row = isKey === undefined ? VIDEO_ROW_BYTES : SOUND_ROW_BYTES
    if (!trun || count === 0 || trun.length !== 12 + row * count) return undefined
    for (let at = 12; at < trun.length; at += row) {
      if (row === VIDEO_ROW_BYTES) durationTicks += u32(trun, at)
      bytes += u32(trun, at + 4)
    }
    isKey ??= (u32(trun, 20) & 0x0001_0000) === 0
  }
  return isKey === undefined ? undefined : { durationTicks, bytes, isKey }
}

/** How a fragment is put into another file. */
export interface Retiming {
  sequence: number
  /** When its first picture is decoded there. */
  decodeTicks: number
  /** What is shown or heard from then on is left out. */
  endTicks: number
  /** Of the sound of the other file; undefined if it has none. */
  soundRate: number | undefined
}

/** Where a run stands in a fragment. The layout is that of packFragment: tfhd, tfdt and trun in each traf. */
const TFDT_AT = 8 + 16 + 12
const ROWS_AT = 8 + 16 + 20 + 20

/**
 * A fragment for another file: the same pictures and sound, counted and timed anew, up to an end.
 * @param fragment whole, as `FragmentPlace` says
 * @param wallMs of its first picture
 */
export function retimed(fragment: Uint8Array, wallMs: number, to: Retiming): Uint8Array {
  const { decodeTicks, endTicks, sequence, soundRate } = to
  const view = new DataView(fragment.buffer, fragment.byteOffset, fragment.byteLength)
  const moof = u32(fragment, 0)
  const moofEnd = moof + u32(fragment, moof)
  const shiftTicks = decodeTicks - Number(view.getBigUint64(24))
  const runs: Run[] = []
  let dataAt = moofEnd + 8
  for (let traf = moof + 8 + 16; traf < moofEnd; traf += u32(fragment, traf)) {
    const isVideo = runs.length === 0
    const rate = isVideo ? TICKS_PER_S : (soundRate ?? TICKS_PER_S)
    const ticks = Number(view.getBigUint64(traf + TFDT_AT)) + Math.round((shiftTicks * rate) / TICKS_PER_S)
    const rows = fragment.subarray(traf + ROWS_AT, traf + u32(fragment, traf))
    const kept = keptRows(rows, { isVideo, ticks, end: (endTicks * rate) / TICKS_PER_S })
    const data = [fragment.subarray(dataAt, dataAt + kept.bytes)]
    const number = isVideo ? VIDEO_TRACK : SOUND_TRACK
    const columns = isVideo ? VIDEO_COLUMNS : SOUND_COLUMNS
    if (isVideo || (soundRate !== undefined && kept.rows.length > 0 && ticks >= 0))
      runs.push({ number, columns, decodeTicks: ticks, rows: kept.rows, data })
    dataAt += kept.allBytes
  }
  return packFragment(sequence, wallMs, runs)
}

/** The samples before an end. A picture that is decoded before another that is kept is kept too; the first one always. */
function keptRows(rows: Uint8Array, { end, isVideo, ticks }: { isVideo: boolean; ticks: number; end: number }) {
  const row = isVideo ? VIDEO_ROW_BYTES : SOUND_ROW_BYTES
  let keptRows = isVideo ? row : 0
  let bytes = 0
  let allBytes = 0
  for (let at = 0, begin = ticks; at < rows.length; begin += u32(rows, at), at += row) {
    allBytes += u32(rows, at + 4)
    const shown = begin + (isVideo ? u32(rows, at + 12) | 0 : 0)
    if (shown < end || at + row <= keptRows) {
      keptRows = at + row
      bytes = allBytes
    }
  }
  return { rows: rows.subarray(0, keptRows), bytes, allBytes }
}
