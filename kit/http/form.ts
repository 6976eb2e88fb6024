/** Bodies of forms, read strictly: what a lenient reader would guess at is refused, faults name the place. */
import { Fault } from '#kit/fault.ts'
import type { FieldFault } from './sentences.ts'

/** One body as it was sent. */
export interface Form {
  /**
   * By name, as text. A field sent as `a=` is empty text, one that was not sent is not there. Without a prototype:
   * `constructor` is a name like any other.
   */
  fields: Record<string, string>
  /** Names that were sent more than once: which of the values counts is nobody's guess. */
  faults: FieldFault[]
}

/**
 * Reads `application/x-www-form-urlencoded`.
 * @param maxFields more are refused before they are decoded (config `http.form_fields`)
 * @throws Fault `bad_form` with `details.position` (from 1) for a broken percent-encoding, for what is no UTF-8, a NUL, a
 * field without a name, and too many fields
 * @source WHATWG URL Standard, 5.1; stricter in that nothing is replaced by U+FFFD
 */
export function readForm(bytes: Uint8Array, maxFields: number): Form {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  const fields: Record<string, string> = Object.create(null)
  const repeated = new Set<string>()
  let count = 0
  for (let from = 0; from < text.length; ) {
    const found = text.indexOf('&', from)
    const end = found < 0 ? text.length : found
    if (end > from) {
      if (++count > maxFields) throw badForm(from, `there are more than ${maxFields} fields`)
      readField(text, from, end, (name, value) => {
        if (Object.hasOwn(fields, name)) repeated.add(name)
        else fields[name] = value
      })
    }
    from = end + 1
  }
  const faults = [...repeated].map((field) => ({ field, message: 'stands more than once, expected it once' }))
  return { fields, faults }
}

function readField(text: string, from: number, end: number, take: (name: string, value: string) => void): void {
  const sign = text.indexOf('=', from)
  const middle = sign < 0 || sign > end ? end : sign
  const name = decoded(text, from, middle, 'a name')
  if (name === '') throw badForm(from, 'a field has no name')
  take(name, decoded(text, middle + 1, end, 'a value'))
}

/** @param text one character for each byte */
function decoded(text: string, from: number, end: number, what: string): string {
  const part = text.slice(from, end)
  // Plain text of programs, which is most of it, needs no decoding.
  if (/^[\w.~!$'()*,;:@/?-]*$/.test(part)) return part
  const broken = part.search(/%(?![0-9a-f]{2})/i)
  if (broken >= 0) throw badForm(from + broken, 'a percent sign is not followed by two hex digits')
  const bytes = part
    .replaceAll('+', ' ')
    .replaceAll(/%([0-9a-f]{2})/gi, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)))
  try {
    const read = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(bytes, 'latin1'))
    if (read.includes('\0')) throw badForm(from, `${what} holds a NUL`)
    return read
  } catch (cause) {
    throw cause instanceof Fault ? cause : badForm(from, `${what} is not UTF-8 text`)
  }
}

/** Values are never quoted: a form may hold a password. */
function badForm(at: number, sentence: string): Fault {
  return new Fault('bad_form', `the body is not the form expected: at position ${at + 1} ${sentence}`, {
    details: { position: at + 1 },
  })
}
