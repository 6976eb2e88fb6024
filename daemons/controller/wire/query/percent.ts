/** Percent encoding of query strings, read strictly: what is broken is told, never guessed. */
import { Fault } from '#kit/fault.ts'

const PLUS = 0x2b
const PERCENT = 0x25

/**
 * One name or value of a query string as text; `+` is a space.
 * @param part printable ASCII, as it stands in the request line
 * @throws Fault `query_unreadable` for a broken escape, for what is no UTF-8 behind escapes, for what should be escaped
 * @source document 1, GET /api/data/:entity; WHATWG URL, application/x-www-form-urlencoded, without its leniency
 */
export function decodePart(part: string): string {
  const bytes = new Uint8Array(part.length)
  let length = 0
  for (let at = 0; at < part.length; at++) {
    const unit = part.charCodeAt(at)
    if (unit <= 0x20 || unit >= 0x7f)
      throw new Fault('query_unreadable', `character ${at + 1} of a name or value must be percent-encoded`)
    if (unit !== PERCENT) {
      bytes[length++] = unit === PLUS ? 0x20 : unit
      continue
    }
    const byte = hexByte(part.slice(at + 1, at + 3))
    if (byte === undefined)
      throw new Fault('query_unreadable', 'a % in the query is not followed by two hexadecimal digits')
    bytes[length++] = byte
    at += 2
  }
  try {
    return decoder.decode(bytes.subarray(0, length))
  } catch (error) {
    throw new Fault('query_unreadable', 'percent-encoded bytes of the query are no UTF-8', { cause: error })
  }
}

/** Fatal: halves of surrogate pairs and overlong forms are refused. A byte order mark stays, as it is part of the text. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function hexByte(digits: string): number | undefined {
  return /^[0-9A-Fa-f]{2}$/.test(digits) ? Number.parseInt(digits, 16) : undefined
}
