/** Headers of a webhook: which may be configured, and how names are made fit for a header. */
import type { WebhookLimits } from './webhook-keys.ts'

/** What is wrong with one field of a webhook, in a sentence. */
export interface WebhookFieldFault {
  field: string
  message: string
}

/** Set by the gateway for each delivery (interface document A, Events 2). */
const ours = new Set(['content-type', 'host'])

/**
 * Those that say how the message is framed or how one connection is used: a value from outside would let one
 * delivery be read as two (RFC 9110, 7.6.1; RFC 9112, 6.3), or describe a body that is not sent.
 */
const framing = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** RFC 9110, 5.6.2: token. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/
/** RFC 9110, 5.5, less obs-text: bytes above 0x7E have no agreed reading. Spaces at the ends would be lost on the way. */
const fieldValue = /^(?:[\x21-\x7E](?:[\t\x20-\x7E]*[\x21-\x7E])?)?$/

/** Every fault of the headers given; empty when they may be sent. Values never appear in a sentence. */
export function headerFaults(headers: Readonly<Record<string, string>>, limits: WebhookLimits): WebhookFieldFault[] {
  const entries = Object.entries(headers)
  if (entries.length > limits.headers)
    return [{ field: 'headers', message: `has ${entries.length} headers, at most ${limits.headers} are taken` }]
  const faults = entries.flatMap(([name, value]) => {
    const message = nameFault(name) ?? valueFault(value)
    return message === undefined ? [] : [{ field: fieldOf(name), message }]
  })
  const names = new Set(entries.map(([name]) => name.toLowerCase()))
  if (names.size < entries.length)
    faults.push({ field: 'headers', message: 'two names differ only in upper and lower case; a header is given once' })
  const size = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  if (size > limits.header_bytes)
    faults.push({ field: 'headers', message: `has ${size} characters, at most ${limits.header_bytes} are taken` })
  return faults
}

/**
 * A device path or event name as a header carries it: the same UTF-8 bytes that the body has, each as one character, as
 * Node takes headers. Only what no header can carry, control characters and blanks at the ends, is percent-encoded
 * throughout, `%` too, as it would be in a URL (docs/decisions/053); no device path has such.
 */
export function headerText(text: string): string {
  const bytes = new TextEncoder().encode(text)
  const carried = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
  return CARRIED.test(carried) ? carried : Array.from(bytes, percentEncoded).join('')
}

/** RFC 9110, 5.5, with obs-text, but for tabs: field-vchar, and spaces between. */
const CARRIED = /^(?:[\x21-\x7E\x80-\xFF](?:[\x20-\x7E\x80-\xFF]*[\x21-\x7E\x80-\xFF])?)?$/

function percentEncoded(byte: number): string {
  const isPlain = byte > 0x20 && byte < 0x7f && byte !== 0x25
  return isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
}

/** Names as the HTTP layer writes the fields of a body. */
function fieldOf(name: string): string {
  const short = name.length > 64 ? `${name.slice(0, 64)}...` : name
  return /^[\w-]+$/.test(short) ? `headers.${short}` : `headers[${JSON.stringify(short)}]`
}

function nameFault(name: string): string | undefined {
  const lower = name.toLowerCase()
  if (!token.test(name)) return 'is no header name: 1 to 128 letters, digits or hyphens are expected'
  if (ours.has(lower) || lower.startsWith('x-svc-')) return 'is set by the gateway and cannot be replaced'
  if (framing.has(lower)) return 'says how the message is carried and cannot be set'
  return undefined
}

function valueFault(value: string): string | undefined {
  if (fieldValue.test(value)) return undefined
  return 'has a character that a header cannot carry: printable ASCII is expected, no line break, no space at the ends'
}
