/**
 * Reads what mp4-write.ts wrote, from a file that may end in the middle of anything.
 * @source ISO/IEC 14496-12, 4.2 (boxes), 8.8 (fragments), 12.1.3 (sample entry), 8.16.5 (prft)
 */
import {
  fragmentHead,
  MDAT_HEAD_BYTES,
  NTP_OFFSET_S,
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

/** What is written here has less in a fragment, and fewer of them in a file. */
const MOST_FRAGMENT_BYTES = 2 ** 27
const MOST_FRAGMENTS = 2 ** 18

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
  while (fragments.length < MOST_FRAGMENTS) {
    const prft = next(wholeBytes, 'prft')
    const moof = prft && next(prft.end, 'moof')
    const mdat = moof && next(moof.end, 'mdat')
    if (!prft || !moof || !mdat) break
    const time = timeOf(prft.body())
    const run = runOf(moof.body())
    if (!time || !run || run.bytes !== mdat.end - moof.end - 8) break
    if (mdat.end - wholeBytes > MOST_FRAGMENT_BYTES) break
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

/** Where a run stands in a fragment. The layout is that of fragmentHead: tfhd, tfdt and trun in each traf. */
const FIRST_TRAF = 16
const TRUN_IN_TRAF = 8 + 16 + 20
const ROWS_IN_TRUN = 20
const RUN_LAYOUT = [
  { at: 8, type: 'tfhd', length: 16 },
  { at: 24, type: 'tfdt', length: 20 },
] as const

/**
 * Sums of the runs, exactly as they are written here: pictures, then sound or nothing. Whoever can put a file onto a disk
 * could else have it read without end.
 * @param moof its contents
 */
function runOf(moof: Uint8Array): { durationTicks: number; isKey: boolean; bytes: number } | undefined {
  let [durationTicks, bytes, at] = [0, 0, FIRST_TRAF]
  for (const row of [VIDEO_ROW_BYTES, SOUND_ROW_BYTES]) {
    if (row === SOUND_ROW_BYTES && at === moof.length) break
    const traf = boxOf(moof, at, 'traf')
    const rows = traf && rowsOf(traf, row)
    if (!rows) return undefined
    for (let place = 0; place < rows.length; place += row) {
      if (row === VIDEO_ROW_BYTES) durationTicks += u32(rows, place)
      bytes += u32(rows, place + 4)
    }
    at += traf.length
  }
  const isKey = (u32(moof, FIRST_TRAF + TRUN_IN_TRAF + ROWS_IN_TRUN + 8) & 0x0001_0000) === 0
  return at === moof.length && boxOf(moof, 0, 'mfhd')?.length === FIRST_TRAF
    ? { durationTicks, bytes, isKey }
    : undefined
}

/** The rows of a traf; undefined if it is laid out in another way, or has none. */
function rowsOf(traf: Uint8Array, row: number): Uint8Array | undefined {
  const trun = boxOf(traf, TRUN_IN_TRAF, 'trun')
  const isOurs = RUN_LAYOUT.every(({ at, length, type }) => boxOf(traf, at, type)?.length === length)
  if (!isOurs || trun === undefined || TRUN_IN_TRAF + trun.length !== traf.length) return undefined
  const rows = trun.subarray(ROWS_IN_TRUN)
  return rows.length > 0 && rows.length === row * u32(trun, 12) ? rows : undefined
}

/** A box with its head; undefined if another stands there, or it is not whole. */
function boxOf(bytes: Uint8Array, at: number, type: string): Uint8Array | undefined {
  const length = u32(bytes, at)
  const name = String.fromCharCode(...bytes.subarray(at + 4, at + 8))
  return name === type && length >= 8 && at + length <= bytes.length ? bytes.subarray(at, at + length) : undefined
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

/** Where a traf has the time of its first sample, and its rows. */
const TFDT_AT = 8 + 16 + 12
const ROWS_AT = TRUN_IN_TRAF + ROWS_IN_TRUN

/** Bytes up to the contents of the `mdat` of a fragment. @param begin of it, at least its `prft` and the next 4 bytes */
export function headBytesOf(begin: Uint8Array): number {
  const moof = u32(begin, 0)
  return moof + u32(begin, moof) + MDAT_HEAD_BYTES
}

/** A fragment for another file: a head, and behind it parts of the contents that the fragment has. */
export interface Retimed {
  head: Uint8Array
  /** Offsets from where the fragment begins. */
  data: readonly { from: number; to: number }[]
}

/**
 * A fragment for another file: the same pictures and sound, counted and timed anew, up to an end.
 * @param head of the fragment, as long as `headBytesOf` says
 * @param wallMs of its first picture
 */
export function retimed(head: Uint8Array, wallMs: number, to: Retiming): Retimed {
  const { decodeTicks, endTicks, sequence, soundRate } = to
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength)
  const moof = u32(head, 0)
  const moofEnd = moof + u32(head, moof)
  const shiftTicks = decodeTicks - Number(view.getBigUint64(24))
  const runs: Run[] = []
  const data: { from: number; to: number }[] = []
  let dataAt = moofEnd + MDAT_HEAD_BYTES
  for (let traf = moof + 8 + 16, size = u32(head, traf); traf < moofEnd; traf += size, size = u32(head, traf)) {
    // A disk that gives back other bytes than were written.
    if (size < ROWS_AT) break
    const isVideo = runs.length === 0
    const rate = isVideo ? TICKS_PER_S : (soundRate ?? TICKS_PER_S)
    const ticks = Number(view.getBigUint64(traf + TFDT_AT)) + Math.round((shiftTicks * rate) / TICKS_PER_S)
    const rows = head.subarray(traf + ROWS_AT, traf + size)
    const kept = keptRows(rows, { isVideo, ticks, end: (endTicks * rate) / TICKS_PER_S })
    const number = isVideo ? VIDEO_TRACK : SOUND_TRACK
    const columns = isVideo ? VIDEO_COLUMNS : SOUND_COLUMNS
    if (isVideo || (soundRate !== undefined && kept.rows.length > 0 && ticks >= 0)) {
      runs.push({ number, columns, decodeTicks: ticks, rows: kept.rows, dataBytes: kept.bytes })
      data.push({ from: dataAt, to: dataAt + kept.bytes })
    }
    dataAt += kept.allBytes
  }
  return { head: fragmentHead(sequence, wallMs, runs), data }
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
