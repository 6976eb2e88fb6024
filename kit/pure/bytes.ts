/** Bytes as text and back, and small pieces gathered into larger ones. */
import { Fault } from './fault.ts'
import { counted } from './text.ts'

/** Whether `head` is what `whole` begins with. */
export function isPrefixOf(head: Uint8Array, whole: Uint8Array): boolean {
  return head.length <= whole.length && head.every((byte, at) => byte === whole[at])
}

/** Whether both are the same bytes. */
export function isSameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && isPrefixOf(one, other)
}

/** A copy of all parts, one behind the other. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

// Bytes as hex pairs for people, and back.

/** `AA BB 0C`: upper-case pairs with a space between; empty text for no bytes. */
export function hexOf(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += text === '' ? PAIRS[byte] : ` ${PAIRS[byte]}`
  return text
}

/**
 * Reads hex pairs, upper or lower case, with one space or more between pairs. Pairs that run together are refused: a
 * digit lost in the middle of them would shift every byte after it, and still be sent.
 * @throws Fault `bad_hex` naming the position (from 1) and the character; `details.position` holds it too
 */
export function bytesOfHex(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length >> 1)
  let length = 0
  for (let at = 0; at < text.length; ) {
    if (text[at] === ' ') {
      at++
      continue
    }
    if (at > 0 && text[at - 1] !== ' ') throw apart(text, at)
    bytes[length++] = (digitAt(text, at) << 4) | digitAt(text, at + 1)
    at += 2
  }
  return bytes.slice(0, length)
}

const PAIRS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).toUpperCase().padStart(2, '0'))

/** The fault for what follows a pair without a space: a digit too many, or not a digit at all. */
function apart(text: string, at: number): Fault {
  digitAt(text, at)
  return badHex(at + 1, `${JSON.stringify(text[at])} at position ${at + 1} follows a pair without a space between`)
}

function digitAt(text: string, at: number): number {
  const sign = text.codePointAt(at)
  if (sign === undefined) throw badHex(at, `the text ends in the middle of a pair, at position ${at}`)
  const digit = Number.parseInt(String.fromCodePoint(sign), 16)
  if (!Number.isNaN(digit)) return digit
  const seen = JSON.stringify(String.fromCodePoint(sign))
  throw badHex(
    at + 1,
    `${seen} at position ${at + 1} is not a hex digit; expected pairs of 0-9 and A-F, separated by spaces`,
  )
}

function badHex(position: number, sentence: string): Fault {
  return new Fault('bad_hex', sentence, { details: { position } })
}

// Base64 text as bytes; strict, since what a lenient decoder skips would be bytes lost silently.

/**
 * Reads base64 of the standard alphabet, padded, without white space, unused bits zero: each byte string has one text.
 * @throws Fault `bad_base64` naming the position (from 1); `details.position` holds it too
 * @source RFC 4648, 3.3 (no other characters) and 3.5 (canonical)
 */
export function bytesOfBase64(text: string): Uint8Array {
  const end = text.endsWith('==') ? text.length - 2 : text.endsWith('=') ? text.length - 1 : text.length
  for (let at = 0; at < end; at++) if (!VALUES.has(text.charCodeAt(at))) throw badSign(text, at)
  if (text.length % 4 !== 0)
    throw badBase64(
      text.length,
      `the text has ${counted(text.length, 'character')}, expected a multiple of four, padded with =`,
    )
  const bytes = new Uint8Array((text.length / 4) * 3 - (text.length - end))
  let length = 0
  for (let at = 0; at < text.length; at += 4) {
    const word =
      (valueAt(text, at) << 18) | (valueAt(text, at + 1) << 12) | (valueAt(text, at + 2) << 6) | valueAt(text, at + 3)
    for (let shift = 16; shift >= 0 && length < bytes.length; shift -= 8) bytes[length++] = (word >> shift) & 0xff
  }
  const unused = text.length === end ? 0 : text.length - end === 1 ? 0b11 : 0b1111
  if ((valueAt(text, end - 1) & unused) !== 0)
    throw badBase64(end, `${JSON.stringify(text[end - 1])} at position ${end} sets bits that belong to no byte`)
  return bytes
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const VALUES = new Map([...ALPHABET].map((sign, value) => [sign.charCodeAt(0), value]))

function valueAt(text: string, at: number): number {
  return VALUES.get(text.charCodeAt(at)) ?? 0
}

function badSign(text: string, at: number): Fault {
  const seen = JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))
  return badBase64(
    at + 1,
    `${seen} at position ${at + 1} is not base64; expected A-Z, a-z, 0-9, + and /, padded with =`,
  )
}

function badBase64(position: number, sentence: string): Fault {
  return new Fault('bad_base64', sentence, { details: { position } })
}

export const PIECE_BYTES = 4096

export class Gathered {
  #piece: Uint8Array | undefined
  #length = 0

  /** Bytes not yet in a full piece. */
  get length(): number {
    return this.#length
  }

  /** @param bytes copied; @param onPiece called with each full piece */
  add(bytes: Uint8Array, onPiece: (piece: Uint8Array) => void): void {
    for (let at = 0; at < bytes.length; ) {
      this.#piece ??= new Uint8Array(PIECE_BYTES)
      const part = bytes.subarray(at, at + PIECE_BYTES - this.#length)
      this.#piece.set(part, this.#length)
      this.#length += part.length
      at += part.length
      if (this.#length < PIECE_BYTES) return
      onPiece(this.take())
    }
  }

  /** Takes the bytes not yet in a full piece; empty if there are none. */
  take(): Uint8Array {
    const piece = this.#piece ?? new Uint8Array(0)
    // Copied unless full: the rest of the piece would be kept alive with it.
    const taken = this.#length < piece.length ? piece.slice(0, this.#length) : piece
    this.#piece = undefined
    this.#length = 0
    return taken
  }
}
