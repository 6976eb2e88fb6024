/** Bytes as base64 text, and back; strict, since what a lenient decoder skips would be bytes lost in silence. */
import { counted } from '#kit/bytes/words.ts'
import { Fault } from '#kit/fault.ts'

/** Standard alphabet with padding. @source RFC 4648, 4 */
export function base64Of(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 3) {
    const left = bytes.length - at
    const word = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0)
    text += sign(word >> 18) + sign(word >> 12)
    text += left > 1 ? sign(word >> 6) : '='
    text += left > 2 ? sign(word) : '='
  }
  return text
}

/**
 * Reads base64 of the standard alphabet, padded, without white space, unused bits zero: each byte string has one text.
 * @throws Fault `bad_base64` naming the position (from 1); `details.position` holds it too
 * @source RFC 4648, 3.3 (no other characters) and 3.5 (canonical)
 */
export function bytesOfBase64(text: string): Uint8Array {
  const end = text.endsWith('==') ? text.length - 2 : text.endsWith('=') ? text.length - 1 : text.length
  for (let at = 0; at < end; at++) if (!VALUES.has(text.charCodeAt(at))) throw badSign(text, at)
  if (text.length % 4 !== 0)
    throw bad(
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
    throw bad(end, `${JSON.stringify(text[end - 1])} at position ${end} sets bits that belong to no byte`)
  return bytes
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const VALUES = new Map([...ALPHABET].map((sign, value) => [sign.charCodeAt(0), value]))

function sign(bits: number): string {
  return ALPHABET.charAt(bits & 0x3f)
}

function valueAt(text: string, at: number): number {
  return VALUES.get(text.charCodeAt(at)) ?? 0
}

function badSign(text: string, at: number): Fault {
  const seen = JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))
  return bad(at + 1, `${seen} at position ${at + 1} is no base64; expected A-Z, a-z, 0-9, + and /, padded with =`)
}

function bad(position: number, sentence: string): Fault {
  return new Fault('bad_base64', sentence, { details: { position } })
}
