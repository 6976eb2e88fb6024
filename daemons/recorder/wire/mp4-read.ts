/**
 * Reads what mp4-write.ts wrote, from a file that may end in the middle of anything.
 * @source ISO/IEC 14496-12, 4.2 (boxes), 8.8 (fragments), 12.1.3 (sample entry), 8.16.5 (prft)
 */
import { NTP_OFFSET_S } from './mp4-write.ts'
import type { ParameterSets } from './pictures.ts'
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

/** What of a file is whole. */
export interface Mp4Scan {
  /** Parameter sets of its head; undefined if the head itself is not whole. */
  sets: ParameterSets | undefined
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
  const { sets, headBytes } = before?.sets ? { sets: before.sets, headBytes: before.wholeBytes } : headOf(next)
  if (!sets) return { sets: undefined, fragments: [], wholeBytes: 0 }
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
  return { sets, fragments, wholeBytes }
}

function headOf(next: (at: number, type: string) => FoundBox | undefined) {
  const ftyp = next(0, 'ftyp')
  const moov = ftyp && next(ftyp.end, 'moov')
  return { sets: moov && setsOf(moov.body()), headBytes: moov?.end ?? 0 }
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

/** The contents of the box at the end of `path`, among boxes inside of boxes. */
function inside(bytes: Uint8Array, ...path: string[]): Uint8Array | undefined {
  const [type, ...rest] = path
  if (type === undefined) return bytes
  for (let at = 0; at + 8 <= bytes.length; ) {
    const length = u32(bytes, at)
    if (length < 8 || at + length > bytes.length) return undefined
    if (String.fromCharCode(...bytes.subarray(at + 4, at + 8)) === type)
      return inside(bytes.subarray(at + 8, at + length), ...rest)
    at += length
  }
  return undefined
}

/** Bytes of stsd before its entry, and of a video entry before the boxes inside of it. */
const STSD_HEAD = 8
const VIDEO_ENTRY_HEAD = 78

function setsOf(moov: Uint8Array): ParameterSets | undefined {
  const stsd = inside(moov, 'trak', 'mdia', 'minf', 'stbl', 'stsd')
  for (const codec of stsd ? videoCodecs : []) {
    const entry = stsd && inside(stsd.subarray(STSD_HEAD), codec.sampleEntry)
    const config = entry && inside(entry.subarray(VIDEO_ENTRY_HEAD), codec.configBox)
    const units = config && codec.readConfig(config)
    if (units) return { codec, units }
  }
  return undefined
}

function timeOf(prft: Uint8Array): Pick<FragmentPlace, 'decodeTicks' | 'wallMs'> | undefined {
  const decodeTicks = prft.length === 24 ? u64(prft, 16) : undefined
  if (decodeTicks === undefined) return undefined
  const seconds = u32(prft, 8) - NTP_OFFSET_S
  // 32 bits of NTP end in 2036: what seems to lie before 1970 is of the next era.
  const era = seconds < 0 ? 2 ** 32 : 0
  return { decodeTicks, wallMs: (seconds + era + u32(prft, 12) / 2 ** 32) * 1000 }
}

/** Sums of a `trun` as it is written here, with all four columns. */
function runOf(moof: Uint8Array): { durationTicks: number; isKey: boolean; bytes: number } | undefined {
  const trun = inside(moof, 'traf', 'trun')
  const count = trun && trun.length >= 12 ? u32(trun, 4) : 0
  if (!trun || count === 0 || trun.length !== 12 + 16 * count) return undefined
  let durationTicks = 0
  let bytes = 0
  for (let at = 12; at < trun.length; at += 16) {
    durationTicks += u32(trun, at)
    bytes += u32(trun, at + 4)
  }
  return { durationTicks, bytes, isKey: (u32(trun, 20) & 0x0001_0000) === 0 }
}

/**
 * A fragment for another file: the same pictures, counted and timed anew.
 * @param fragment whole, as `FragmentPlace` says; a copy is changed
 */
export function retimed(fragment: Uint8Array, sequence: number, decodeTicks: number): Uint8Array {
  const copy = fragment.slice()
  const view = new DataView(copy.buffer)
  const moof = u32(copy, 0)
  // The layout is that of writeFragment: prft; moof with mfhd, then traf with tfhd and tfdt.
  view.setBigUint64(24, BigInt(decodeTicks))
  view.setUint32(moof + 8 + 12, sequence)
  view.setBigUint64(moof + 8 + 16 + 8 + 16 + 12, BigInt(decodeTicks))
  return copy
}
