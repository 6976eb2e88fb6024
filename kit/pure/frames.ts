/** Cuts a stream of bytes into frames by content: a delimiter, a fixed length, or a length field. */
import { joinBytes } from './bytes.ts'

/** How a frame ends. */
export type ContentFraming =
  | { mode: 'delimiter'; delimiter: Uint8Array }
  | { mode: 'length'; length: number }
  | {
      mode: 'length_field'
      /** Bytes before the field. */
      offset: number
      size: 1 | 2 | 4
      endian: 'big' | 'little'
      /** The field is written in hex digits, instead of in binary. */
      isHex?: boolean
      /** Added to the field's value to give the length of the whole frame. */
      adjust: number
    }

/** `isCut`: the frame reached the size limit before its end. */
interface CutFrame {
  bytes: Uint8Array
  isCut: boolean
}

/**
 * A cutter holds at most `maxBytes` of an unfinished frame; a longer one is passed on in pieces marked as cut.
 * Delimited frames include the delimiter. A length field that gives less than its own end or more than `maxBytes`
 * cannot be right: one byte is passed on as cut and the search goes on at the next.
 * @returns `feed`, which returns the frames that ended with these bytes, in order
 */
export function createCutter(framing: ContentFraming, maxBytes: number) {
  let held: Uint8Array = new Uint8Array(0)

  function feed(bytes: Uint8Array): CutFrame[] {
    const frames: CutFrame[] = []
    const isJoined = held.length > 0
    let rest = isJoined ? joinBytes([held, bytes]) : bytes
    let heard = held.length
    for (;;) {
      const end = endOf(framing, rest, maxBytes, heard)
      if (!end) break
      frames.push({ bytes: rest.subarray(0, end.length), isCut: end.isCut })
      rest = rest.subarray(end.length)
      heard = 0
    }
    // The caller's bytes, and those of a frame that was passed on, are not to be kept alive.
    held = isJoined && frames.length === 0 ? rest : rest.slice()
    return frames
  }
  return { feed, heldBytes: () => held.length }
}

interface End {
  length: number
  isCut: boolean
}

/** @param heard how many of the bytes were there before, without an end among them */
function endOf(framing: ContentFraming, bytes: Uint8Array, maxBytes: number, heard: number): End | undefined {
  const known = knownEnd(framing, bytes, heard)
  if (known !== undefined && known < 1) return { length: 1, isCut: true }
  if (known !== undefined && known > maxBytes && framing.mode === 'length_field') return { length: 1, isCut: true }
  if (known !== undefined && known <= Math.min(bytes.length, maxBytes)) return { length: known, isCut: false }
  return bytes.length >= maxBytes ? { length: maxBytes, isCut: true } : undefined
}

/** @returns length of the first frame, 0 if it cannot be right, undefined while it is unknown */
function knownEnd(framing: ContentFraming, bytes: Uint8Array, heard: number): number | undefined {
  if (bytes.length === 0) return undefined
  if (framing.mode === 'length') return framing.length
  if (framing.mode === 'delimiter') return delimitedEnd(framing.delimiter, bytes, heard)
  const fieldEnd = framing.offset + framing.size
  if (bytes.length < fieldEnd) return undefined
  const length = fieldOf(framing, bytes) + framing.adjust
  return length >= fieldEnd ? length : 0
}

function delimitedEnd(delimiter: Uint8Array, bytes: Uint8Array, heard: number): number | undefined {
  const { length } = delimiter
  const from = Math.max(0, heard - length + 1)
  const at =
    length === 1
      ? bytes.indexOf(delimiter[0] ?? 0, from)
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(delimiter, from)
  return at < 0 ? undefined : at + length
}

/** NaN, of which no frame can be made, for a field of hex digits that has others. */
function fieldOf(framing: Extract<ContentFraming, { mode: 'length_field' }>, bytes: Uint8Array): number {
  const field = bytes.subarray(framing.offset, framing.offset + framing.size)
  if (framing.isHex) {
    const digits = String.fromCharCode(...field)
    return /^[0-9A-Fa-f]+$/.test(digits) ? Number.parseInt(digits, 16) : Number.NaN
  }
  const ordered = framing.endian === 'big' ? field : field.toReversed()
  return ordered.reduce((value, byte) => value * 256 + byte, 0)
}
