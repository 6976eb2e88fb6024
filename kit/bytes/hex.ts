/** Bytes as hex pairs for people, and back. */
import { Fault } from '#kit/fault.ts'

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

/** What follows a pair and is no space: a digit too many, or no digit at all. */
function apart(text: string, at: number): Fault {
  digitAt(text, at)
  return bad(at + 1, `${JSON.stringify(text[at])} at position ${at + 1} follows a pair without a space between`)
}

function digitAt(text: string, at: number): number {
  const sign = text.codePointAt(at)
  if (sign === undefined) throw bad(at, `the text ends in the middle of a pair, at position ${at}`)
  const digit = Number.parseInt(String.fromCodePoint(sign), 16)
  if (!Number.isNaN(digit)) return digit
  const seen = JSON.stringify(String.fromCodePoint(sign))
  throw bad(at + 1, `${seen} at position ${at + 1} is no hex digit; expected pairs of 0-9 and A-F, separated by spaces`)
}

function bad(position: number, sentence: string): Fault {
  return new Fault('bad_hex', sentence, { details: { position } })
}
