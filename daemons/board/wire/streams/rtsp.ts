/**
 * RTSP as needed to fetch descriptions: splits, parses and writes messages, and handles the paths of sessions.
 * @source RFC 2326
 */
import { Fault } from '#kit/pure/fault.ts'

/** One message; its first line tells a request from a reply. */
interface RtspMessage {
  /** `DESCRIBE rtsp://... RTSP/1.0`, or `RTSP/1.0 200 OK`. */
  start: string
  /** By lower-case name; of repeated headers the first. */
  headers: ReadonlyMap<string, string>
  body: string
}

/** A request. */
export interface RtspRequest {
  /** As sent: methods are case-sensitive. */
  method: string
  url: string
  /** `1.0` */
  version: string
  headers: ReadonlyMap<string, string>
}

/** A response. */
export interface RtspReply {
  /** 100..999 */
  status: number
  reason: string
  headers: ReadonlyMap<string, string>
  body: string
}

/** Bounds of a message. */
interface RtspBounds {
  /** Bytes of the first line and the headers. */
  headBytes: number
  bodyBytes: number
}

const MOST_HEADERS = 64
/** Characters allowed in a method and in the name of a header. @source RFC 2326, 15.1 */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const VERSION = 'RTSP/1.0'

/**
 * Splits the first message off the received bytes.
 * @returns undefined until it is complete; `length` is how many bytes it took, empty lines before it included
 * @throws Fault `rtsp_malformed`, `rtsp_too_long`; nothing that follows can be read then
 * @source RFC 2326, 4
 */
export function cutRtsp(
  bytes: Uint8Array,
  { bodyBytes, headBytes }: RtspBounds,
): { message: RtspMessage; length: number } | undefined {
  let from = 0
  // Empty lines before a request are skipped. RFC 2326, 4.1
  while (from < bytes.length && (bytes[from] === 13 || bytes[from] === 10)) from++
  const head = new TextDecoder('latin1').decode(bytes.subarray(from, from + headBytes + 4))
  const end = /\r?\n\r?\n/.exec(head)
  if (!end || end.index > headBytes) {
    if (from + head.length > headBytes) throw new Fault('rtsp_too_long', `a head is longer than ${headBytes} bytes`)
    return undefined
  }
  const [start = '', ...lines] = head.slice(0, end.index).split(/\r?\n/)
  const headers = headersOf(lines)
  const lengthText = headers.get('content-length') ?? '0'
  if (!/^\d{1,9}$/.test(lengthText)) throw new Fault('rtsp_malformed', 'Content-Length is not a number of bytes')
  const length = Number(lengthText)
  if (length > bodyBytes) throw new Fault('rtsp_too_long', `a body of ${length} bytes is longer than ${bodyBytes}`)
  const bodyAt = from + end.index + end[0].length
  if (bytes.length < bodyAt + length) return undefined
  const body = new TextDecoder().decode(bytes.subarray(bodyAt, bodyAt + length))
  return { message: { start, headers, body }, length: bodyAt + length }
}

/**
 * Accepts spaces in the URL: some clients send a session's name unescaped.
 * @throws Fault `rtsp_malformed`
 */
export function rtspRequest({ headers, start }: RtspMessage): RtspRequest {
  const [, method = '', url, version] = /^(\S+) (\S(?:.*\S)?) RTSP\/(\d\.\d)$/.exec(start) ?? []
  if (!TOKEN.test(method) || url === undefined || version === undefined)
    throw new Fault('rtsp_malformed', 'the first line is not a request: METHOD rtsp://host/path RTSP/1.0')
  return { method, url, version, headers }
}

/** @throws Fault `rtsp_malformed` */
export function replyOf({ body, headers, start }: RtspMessage): RtspReply {
  const [, status, reason = ''] = /^RTSP\/\d\.\d ([1-9]\d\d)(?: (.{0,200}))?$/.exec(start) ?? []
  if (status === undefined) throw new Fault('rtsp_malformed', 'the first line is no answer: RTSP/1.0 200 OK')
  return { status: Number(status), reason, headers, body }
}

/** @param headers non-printable or non-ASCII characters of values become question marks */
export function writeRequest(method: string, url: string, headers: Readonly<Record<string, string>>): string {
  return written(`${method} ${url} ${VERSION}`, headers, '')
}

/** @param status one of `REASONS`; headers as in a request; a body adds its length */
export function writeReply(status: number, headers: Readonly<Record<string, string>>, body = ''): string {
  return written(`${VERSION} ${status} ${REASONS.get(status) ?? ''}`, headers, body)
}

/** Reason phrases of the statuses used here. @source RFC 2326, 7.1.1 */
const REASONS: ReadonlyMap<number, string> = new Map([
  [200, 'OK'],
  [400, 'Bad Request'],
  [404, 'Not Found'],
  [405, 'Method Not Allowed'],
  [406, 'Not Acceptable'],
  [413, 'Request Entity Too Large'],
  [454, 'Session Not Found'],
  [461, 'Unsupported transport'],
  [501, 'Not Implemented'],
  [503, 'Service Unavailable'],
  [505, 'RTSP Version not supported'],
  [551, 'Option not supported'],
])

function written(start: string, headers: Readonly<Record<string, string>>, body: string): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value.replace(/[^ -~]/g, '?')}\r\n`)
  const length = body === '' ? '' : `Content-Length: ${new TextEncoder().encode(body).length}\r\n`
  return `${start}\r\n${lines.join('')}${length}\r\n${body}`
}

/** A line that begins with a space continues the one before. @source RFC 2326, 4.2; RFC 2068, 4.2 */
function headersOf(lines: readonly string[]): Map<string, string> {
  if (lines.length > MOST_HEADERS) throw new Fault('rtsp_too_long', `a message has more than ${MOST_HEADERS} headers`)
  const headers = new Map<string, string>()
  let last = ''
  for (const line of lines) {
    if (/^[ \t]/.test(line) && last !== '') {
      headers.set(last, `${headers.get(last)} ${line.trim()}`)
      continue
    }
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(0, colon)).trimEnd()
    if (!TOKEN.test(name)) throw new Fault('rtsp_malformed', 'a header has no name, or signs in it that no name has')
    last = name.toLowerCase()
    if (!headers.has(last)) headers.set(last, line.slice(colon + 1).trim())
  }
  return headers
}

// Paths of sessions, as RAVENNA devices name them.

/** The session a path selects: by name, by number, or the only one there is. */
type SessionPath = { by: 'name'; name: string } | { by: 'id'; id: string } | { by: 'default' }

/**
 * @param name may come from a stranger; lone surrogates, which no path can encode, become U+FFFD
 * @source RAVENNA Operating Principles 1.0, 5.2: `/by-name/NAME`, `/by-id/ID`
 */
export function pathByName(name: string): string {
  return `/by-name/${encodeURIComponent(name.toWellFormed())}`
}

/**
 * @param url absolute, or just the path, as some clients send it
 * @returns undefined if it is no session path; names are compared literally, a `+` is a plus
 */
export function readSessionPath(url: string): SessionPath | undefined {
  const given = /^(?:rtspu?:\/\/[^/\s]*)?(\/.*)?$/i.exec(url)
  if (!given || url === '') return undefined
  const path = given[1] ?? '/'
  const [, by, text = ''] = /^\/(by-name|by-id)\/([^?#]{1,512}?)\/?$/i.exec(path) ?? []
  if (by === undefined) return path === '/' ? { by: 'default' } : undefined
  const name = decoded(text)
  if (name === undefined) return undefined
  return by.toLowerCase() === 'by-name' ? { by: 'name', name } : { by: 'id', id: name }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
