/** Pictures of plans: which kind a file is by its content, how large, and the file without anything else in it. */
import { joinBytes } from './bytes.ts'
import { Fault } from './fault.ts'

/** The kinds that every browser shows, and that cannot run anything. */
export type PictureKind = 'png' | 'jpg' | 'webp'

export const PICTURE_KINDS: readonly PictureKind[] = ['png', 'jpg', 'webp']

/** A picture that may be shown. */
export interface Picture {
  kind: PictureKind
  /** As it is shown, in pixels. */
  width: number
  height: number
  /**
   * The file again, of the parts that make the picture alone: no texts, no place where a phone took it, nothing behind
   * its end. Pixels are not decoded here.
   */
  bytes: Uint8Array
}

/** Whether a text names a picture: `<sha256>.png`. Others come to no disk. */
export function isPictureName(name: string): boolean {
  return /^[0-9a-f]{64}\.(?:png|jpg|webp)$/.test(name)
}

/** The type of a picture, by its name. */
export function pictureTypeOf(name: string): string {
  return TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream'
}

const TYPES: Readonly<Record<string, string>> = { png: 'image/png', jpg: 'image/jpeg', webp: 'image/webp' }

/** Whatever a picture holds, no browser runs it: neither by guessing its type, nor when it is opened by its address. */
export const HARMLESS = {
  'content-security-policy': "default-src 'none'; sandbox",
  'cache-control': 'private, no-cache',
}

/**
 * Reads the frame of a picture, and leaves out what is none of it.
 * @param bytes a whole file, of any kind
 * @param kinds those that are taken
 * @throws Fault `picture_refused` with what it is instead, or what is wrong with it
 * @source ISO/IEC 15948:2004; ITU-T T.81; RFC 9649: each below, with its clauses
 */
export function readPicture(bytes: Uint8Array, kinds: readonly PictureKind[]): Picture {
  const kind = kindOf(bytes)
  if (kind !== undefined && kinds.includes(kind)) return READERS[kind](bytes)
  throw refused(otherKind(bytes, takenOf(kinds)))
}

function kindOf(bytes: Uint8Array): PictureKind | undefined {
  if (isAt(bytes, 0, PNG)) return 'png'
  if (isAt(bytes, 0, [0xff, 0xd8, 0xff])) return 'jpg'
  return textAt(bytes, 0, 4) === 'RIFF' && textAt(bytes, 8, 4) === 'WEBP' ? 'webp' : undefined
}

const READERS: Readonly<Record<PictureKind, (bytes: Uint8Array) => Picture>> = {
  png: readPng,
  jpg: readJpeg,
  webp: readWebp,
}

function refused(sentence: string): Fault {
  return new Fault('picture_refused', sentence)
}

/** Programs write parts of 8 KiB and more. Of empty ones a file has hundreds of thousands, each an object here. */
const MOST_PARTS = 20_000

const tooManyParts = () => refused(`The file has more than ${MOST_PARTS} parts. Save it with another program.`)

const cut = () => refused('The file ends in the middle of the picture. Save or send it again.')

const NAMES: Readonly<Record<PictureKind, string>> = { png: 'PNG', jpg: 'JPEG', webp: 'WebP' }

function takenOf(kinds: readonly PictureKind[]): string {
  const names = kinds.map((kind) => NAMES[kind])
  return `${[names.slice(0, -1).join(', '), ...names.slice(-1)].filter(Boolean).join(' and ')} are taken.`
}

/** Why the kinds that people try are not taken. */
function otherKind(bytes: Uint8Array, taken: string): string {
  const kind = kindOf(bytes)
  if (kind !== undefined) return `This is a ${NAMES[kind]}. ${taken}`
  if (bytes.length === 0) return `The file is empty. ${taken}`
  const start = textAt(bytes, 0, Math.min(bytes.length, 1024))
  if (/<svg[\s>]/i.test(start))
    return 'An SVG is a document that may run scripts and fetch from elsewhere, so it is not taken. Save it as a PNG.'
  if (start.startsWith('%PDF')) return `This is a PDF. ${taken} Save its page as a PNG.`
  if (start.startsWith('GIF8')) return `This is a GIF. ${taken}`
  if (start.startsWith('AC10')) return `This is a drawing of a CAD program. ${taken} Save it as a PNG.`
  if (textAt(bytes, 4, 4) === 'ftyp') return `This is a HEIC or AVIF picture, or a film. ${taken}`
  return `This is no picture that is known here. ${taken}`
}

// Reading bytes: nothing is read beyond the end.

function isAt(bytes: Uint8Array, at: number, expected: readonly number[]): boolean {
  return expected.every((byte, index) => bytes[at + index] === byte)
}

/** Bytes as characters of Latin-1; shorter at the end of the file. */
function textAt(bytes: Uint8Array, at: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + length))
}

/** @throws Fault `picture_refused` at the end of the file */
function byteAt(bytes: Uint8Array, at: number): number {
  const byte = bytes[at]
  if (byte === undefined) throw cut()
  return byte
}

const big16 = (bytes: Uint8Array, at: number) => byteAt(bytes, at) * 256 + byteAt(bytes, at + 1)
const big32 = (bytes: Uint8Array, at: number) => big16(bytes, at) * 65_536 + big16(bytes, at + 2)
const little16 = (bytes: Uint8Array, at: number) => byteAt(bytes, at) + byteAt(bytes, at + 1) * 256
const little24 = (bytes: Uint8Array, at: number) => little16(bytes, at) + byteAt(bytes, at + 2) * 65_536
const little32 = (bytes: Uint8Array, at: number) => little16(bytes, at) + little16(bytes, at + 2) * 65_536

/** @throws Fault `picture_refused` for a picture without a size */
function sized(kind: PictureKind, width: number, height: number): Omit<Picture, 'bytes'> {
  if (width < 1 || height < 1) throw refused(`The picture says that it is ${width} by ${height} pixels large.`)
  return { kind, width, height }
}

// PNG. @source ISO/IEC 15948:2004, 5 and 11

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] as const

/** What makes the picture; of the rest nothing is needed to show it, and animations are not. */
const PNG_KEPT: ReadonlySet<string> = new Set(['IHDR', 'PLTE', 'tRNS', 'IDAT', 'IEND', 'gAMA', 'sRGB'])

function readPng(bytes: Uint8Array): Picture {
  const pieces = [bytes.subarray(0, PNG.length)]
  let parts = 0
  const seen = new Set<string>()
  for (let at: number = PNG.length; !seen.has('IEND'); ) {
    if (++parts > MOST_PARTS) throw tooManyParts()
    const length = big32(bytes, at)
    const type = textAt(bytes, at + 4, 4)
    const end = at + 12 + length
    if (end > bytes.length) throw cut()
    if ((type === 'IHDR') !== (seen.size === 0)) throw refused('The PNG does not begin with its one head.')
    // A capital letter: it cannot be shown without.
    if (!PNG_KEPT.has(type) && /^[A-Z]/.test(type))
      throw refused(`The PNG has a part ${shown(type)} that is not known.`)
    if (PNG_KEPT.has(type)) pieces.push(bytes.subarray(at, end))
    seen.add(type)
    at = end
  }
  if (!seen.has('IDAT')) throw refused('The PNG has no picture in it.')
  return { ...sized('png', big32(bytes, 16), big32(bytes, 20)), bytes: joinBytes(pieces) }
}

function shown(type: string): string {
  return JSON.stringify(type.replaceAll(/[^\x20-\x7e]/g, '?'))
}

// JPEG. @source ITU-T T.81, Annex B; Exif 2.32, 4.6 for the orientation

const SOS = 0xda
const EOI = 0xd9
/** Baseline, extended and progressive: what browsers show. */
const FRAMES: ReadonlySet<number> = new Set([0xc0, 0xc1, 0xc2])
/** Tables, the restart interval, JFIF, and whether colours are those of Adobe. */
const JPEG_KEPT: ReadonlySet<number> = new Set([0xc4, 0xdb, 0xdd, 0xe0, 0xee])
/** Comments and what programs add, thumbnails and places among it. */
const isNote = (marker: number) => marker === 0xfe || (marker >= 0xe0 && marker <= 0xef)

function readJpeg(bytes: Uint8Array): Picture {
  const pieces: Uint8Array[] = []
  let frame: { width: number; height: number } | undefined
  let orientation = 1
  let hasScan = false
  let parts = 0
  for (let at = 2; ; ) {
    if (++parts > MOST_PARTS) throw tooManyParts()
    if (byteAt(bytes, at) !== 0xff) throw refused('The JPEG has bytes between its parts that belong to none.')
    while (byteAt(bytes, at + 1) === 0xff) at++
    const marker = byteAt(bytes, at + 1)
    if (marker === EOI) break
    const end = at + 2 + big16(bytes, at + 2)
    if (end > bytes.length) throw cut()
    if (FRAMES.has(marker)) {
      if (frame !== undefined) throw refused('The JPEG has two pictures in it.')
      frame = { height: big16(bytes, at + 5), width: big16(bytes, at + 7) }
    } else if (marker === 0xe1) orientation = orientationIn(bytes.subarray(at + 4, end)) ?? orientation
    else if (marker !== SOS && !JPEG_KEPT.has(marker) && !isNote(marker))
      throw refused(`The JPEG is of a kind that browsers do not show (part ${marker.toString(16)}).`)
    if (marker === SOS && frame === undefined) throw refused('The JPEG has a picture without a size.')
    hasScan ||= marker === SOS
    const next = marker === SOS ? scanEnd(bytes, end) : end
    if (marker === SOS || FRAMES.has(marker) || JPEG_KEPT.has(marker)) pieces.push(bytes.subarray(at, next))
    at = next
  }
  if (frame === undefined || !hasScan) throw refused('The JPEG has no picture in it.')
  const isTurned = orientation >= 5
  const size = isTurned ? sized('jpg', frame.height, frame.width) : sized('jpg', frame.width, frame.height)
  const turn = orientation === 1 ? [] : [exifOf(orientation)]
  return { ...size, bytes: joinBytes([START, ...turn, ...pieces, END]) }
}

const START = new Uint8Array([0xff, 0xd8])
const END = new Uint8Array([0xff, EOI])

/** Where the coded data of a scan ends: at the next marker that is neither a stuffed byte nor a restart. */
function scanEnd(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(0xff, from); at >= 0; at = bytes.indexOf(0xff, at + 1)) {
    const next = byteAt(bytes, at + 1)
    if (next !== 0 && next !== 0xff && !(next >= 0xd0 && next <= 0xd7)) return at
  }
  throw cut()
}

/** Phones save what the camera saw, and how it was held. @param exif the data of the part APP1 */
function orientationIn(exif: Uint8Array): number | undefined {
  if (textAt(exif, 0, 6) !== 'Exif\0\0' || exif.length < 14) return undefined
  const isLittle = textAt(exif, 6, 2) === 'II'
  const tiff = exif.subarray(6)
  const read16 = (at: number) => (at + 2 > tiff.length ? 0 : isLittle ? little16(tiff, at) : big16(tiff, at))
  const first = isLittle ? little32(tiff, 4) : big32(tiff, 4)
  for (let entry = 0; entry < read16(first); entry++) {
    const at = first + 2 + entry * 12
    const value = read16(at + 8)
    if (read16(at) === ORIENTATION) return value >= 1 && value <= 8 ? value : undefined
    if (at > tiff.length) return undefined
  }
  return undefined
}

const ORIENTATION = 0x0112

/** The part APP1 that says how the picture is held, and nothing else. */
function exifOf(orientation: number): Uint8Array {
  const head = [0xff, 0xe1, 0, 34, 0x45, 0x78, 0x69, 0x66, 0, 0, 0x4d, 0x4d, 0, 42, 0, 0, 0, 8]
  const entry = [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0]
  return new Uint8Array([...head, 0, 1, ...entry, 0, 0, 0, 0])
}

// WebP. @source RFC 9649, 2.5 to 2.7

const WEBP_KEPT: ReadonlySet<string> = new Set(['VP8 ', 'VP8L', 'VP8X', 'ALPH'])
const VP8X_ALPHA = 0x10
const VP8X_MOVES = 0x02

function readWebp(bytes: Uint8Array): Picture {
  const end = 8 + little32(bytes, 4)
  if (end > bytes.length) throw cut()
  const pieces: Uint8Array[] = []
  let canvas: Size | undefined
  let picture: Size | undefined
  let parts = 0
  for (let at = 12; at < end; ) {
    if (++parts > MOST_PARTS) throw tooManyParts()
    const type = textAt(bytes, at, 4)
    const length = little32(bytes, at + 4)
    const next = at + 8 + length + (length % 2)
    if (next > end) throw cut()
    const data = bytes.subarray(at + 8, at + 8 + length)
    if (type === 'ANIM' || type === 'ANMF') throw refused('This WebP moves. Save one picture of it.')
    if (type === 'VP8X') {
      canvas = { width: little24(data, 4) + 1, height: little24(data, 7) + 1 }
      if ((byteAt(data, 0) & VP8X_MOVES) !== 0) throw refused('This WebP moves. Save one picture of it.')
    }
    if (type === 'VP8 ' || type === 'VP8L') {
      if (picture !== undefined) throw refused('The WebP has two pictures in it.')
      picture = type === 'VP8L' ? losslessSize(data) : lossySize(data)
    }
    if (WEBP_KEPT.has(type))
      pieces.push(type === 'VP8X' ? plainHead(bytes.subarray(at, next)) : bytes.subarray(at, next))
    at = next
  }
  if (picture === undefined) throw refused('The WebP has no picture in it.')
  if (canvas && (canvas.width !== picture.width || canvas.height !== picture.height))
    throw refused('The WebP says two different sizes.')
  const data = joinBytes(pieces)
  const { width, height } = picture
  return { ...sized('webp', width, height), bytes: joinBytes([riffHead(data.length + 4), data]) }
}

interface Size {
  width: number
  height: number
}

function lossySize(data: Uint8Array): Size {
  if (!isAt(data, 3, [0x9d, 0x01, 0x2a])) throw refused('The WebP does not begin with a whole picture.')
  return { width: little16(data, 6) & 0x3fff, height: little16(data, 8) & 0x3fff }
}

function losslessSize(data: Uint8Array): Size {
  if (byteAt(data, 0) !== 0x2f) throw refused('The WebP does not begin with a whole picture.')
  const bits = little32(data, 1)
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
}

/** The head without the flags of parts that are left out. */
function plainHead(chunk: Uint8Array): Uint8Array {
  const plain = chunk.slice()
  plain[8] = (plain[8] ?? 0) & VP8X_ALPHA
  return plain
}

function riffHead(length: number): Uint8Array {
  const size = [length & 0xff, (length >>> 8) & 0xff, (length >>> 16) & 0xff, (length >>> 24) & 0xff]
  return new Uint8Array([0x52, 0x49, 0x46, 0x46, ...size, 0x57, 0x45, 0x42, 0x50])
}
