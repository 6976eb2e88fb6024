/**
 * The pictures in a fragment, as mp4-write.ts wrote it.
 * @source ISO/IEC 14496-12, 8.8.7 (tfhd), 8.8.8 (trun)
 */
import { Fault } from '#kit/pure/fault.ts'

/** One coded picture of a fragment. */
export interface FragmentPicture {
  /** NAL units without start codes or lengths; parts of the fragment. */
  units: Uint8Array[]
  isKey: boolean
  /** When it is shown, in ticks since the beginning of the fragment's decoding. */
  shownTicks: number
  durationTicks: number
}

const VIDEO_TRACK = 1
/** Bits of a `trun`'s flags: which columns and fields it has. */
const HAS_OFFSET = 0x1
const HAS_FIRST_FLAGS = 0x4
const COLUMNS = [0x100, 0x200, 0x400, 0x800] as const

/**
 * @param fragment whole, from its `prft` on
 * @returns its pictures in the order of decoding
 * @throws Fault `footage_gone` for anything else
 * @source ISO/IEC 14496-12, 8.8.8
 */
export function picturesOf(fragment: Uint8Array): FragmentPicture[] {
  const moof = boxes(fragment, 0, fragment.length).find(({ type }) => type === 'moof')
  if (!moof) throw broken('has no moof')
  for (const traf of boxes(fragment, moof.body, moof.end).filter(({ type }) => type === 'traf')) {
    const inside = boxes(fragment, traf.body, traf.end)
    const tfhd = inside.find(({ type }) => type === 'tfhd')
    if (!tfhd || u32(fragment, tfhd.body + 4) !== VIDEO_TRACK) continue
    return inside.filter(({ type }) => type === 'trun').flatMap((trun) => readRun(fragment, trun, moof.begin))
  }
  throw broken('has no pictures')
}

interface Box {
  type: string
  begin: number
  body: number
  end: number
}

function boxes(bytes: Uint8Array, from: number, to: number): Box[] {
  const found: Box[] = []
  for (let at = from; at + 8 <= to; ) {
    const length = u32(bytes, at)
    if (length < 8 || at + length > to) throw broken(`has a box of ${length} bytes`)
    const type = String.fromCharCode(...bytes.subarray(at + 4, at + 8))
    found.push({ type, begin: at, body: at + 8, end: at + length })
    at += length
  }
  return found
}

function readRun(bytes: Uint8Array, { body, end }: Box, moofBegin: number): FragmentPicture[] {
  const flags = u32(bytes, body) & 0xff_ffff
  const count = u32(bytes, body + 4)
  const columns = COLUMNS.filter((bit) => (flags & bit) !== 0).length
  let row = body + 8 + ((flags & HAS_OFFSET) !== 0 ? 4 : 0) + ((flags & HAS_FIRST_FLAGS) !== 0 ? 4 : 0)
  if (columns !== COLUMNS.length || row + count * 16 > end) throw broken('lists its pictures in another way')
  let at = moofBegin + u32(bytes, body + 8)
  let decodeTicks = 0
  return Array.from({ length: count }, () => {
    const [durationTicks, size, sampleFlags, offset] = [0, 4, 8, 12].map((column) => u32(bytes, row + column))
    row += 16
    const picture = {
      units: unitsOf(bytes, at, at + (size ?? 0)),
      isKey: ((sampleFlags ?? 0) & 0x1_0000) === 0,
      shownTicks: decodeTicks + ((offset ?? 0) | 0),
      durationTicks: durationTicks ?? 0,
    }
    at += size ?? 0
    decodeTicks += durationTicks ?? 0
    return picture
  })
}

/**
 * The units of a picture, each of which has its length before it; parts of the bytes.
 * @throws Fault `footage_gone` where a length does not fit
 */
export function unitsOf(bytes: Uint8Array, from: number, to: number): Uint8Array[] {
  const units: Uint8Array[] = []
  for (let at = from; at < to; ) {
    const end = at + 4 + u32(bytes, at)
    if (end > to || to > bytes.length) throw broken('has a picture that is not whole')
    units.push(bytes.subarray(at + 4, end))
    at = end
  }
  return units
}

function u32(bytes: Uint8Array, at: number): number {
  return (
    (((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0
  )
}

function broken(seen: string): Fault {
  return new Fault('footage_gone', `A part of the footage ${seen}, and cannot be read.`)
}
