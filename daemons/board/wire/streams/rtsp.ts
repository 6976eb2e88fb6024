/**
 * RTSP as far as descriptions are asked for with it: messages cut, read and written, and the paths of sessions.
 * @source RFC 2326
 */
import { Fault } from '#kit/pure/fault.ts'

/** One message; the first line says whether it is a request or an answer. */
interface RtspMessage {
  /** `DESCRIBE rtsp://... RTSP/1.0`, or `RTSP/1.0 200 OK`. */
  start: string
  /** By name in lower case; of several by one name the first. */
  headers: ReadonlyMap<string, string>
  body: string
}

/** A request. */
export interface RtspRequest {
  /** As it was sent: methods are told apart by case. */
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
/** Characters that a method, and the name of a header, are made of. @source RFC 2326, 15.1 */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const VERSION = 'RTSP/1.0'

/**
 * Cuts the first message off the bytes of a connection.
 * @returns undefined until it is whole; `length` is how many bytes it took, empty lines before it included
 * @throws Fault `rtsp_malformed`, `rtsp_too_long`; nothing that follows can be read then
 * @source RFC 2326, 4
 */
export function cutRtsp(
  bytes: Uint8Array,
  { bodyBytes, headBytes }: RtspBounds,
): { message: RtspMessage; length: number } | undefined {
  let from = 0
  // Empty lines before a request are passed over. RFC 2326, 4.1
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
  if (!/^\d{1,9}$/.test(lengthText)) throw new Fault('rtsp_malformed', 'Content-Length is no number of bytes')
  const length = Number(lengthText)
  if (length > bodyBytes) throw new Fault('rtsp_too_long', `a body of ${length} bytes is longer than ${bodyBytes}`)
  const bodyAt = from + end.index + end[0].length
  if (bytes.length < bodyAt + length) return undefined
  const body = new TextDecoder().decode(bytes.subarray(bodyAt, bodyAt + length))
  return { message: { start, headers, body }, length: bodyAt + length }
}

/**
 * Clients that name a session as it is written send its spaces too.
 * @throws Fault `rtsp_malformed`
 */
export function rtspRequest({ headers, start }: RtspMessage): RtspRequest {
  const [, method = '', url, version] = /^(\S+) (\S(?:.*\S)?) RTSP\/(\d\.\d)$/.exec(start) ?? []
  if (!TOKEN.test(method) || url === undefined || version === undefined)
    throw new Fault('rtsp_malformed', 'the first line is no request: METHOD rtsp://host/path RTSP/1.0')
  return { method, url, version, headers }
}

/** @throws Fault `rtsp_malformed` */
export function replyOf({ body, headers, start }: RtspMessage): RtspReply {
  const [, status, reason = ''] = /^RTSP\/\d\.\d ([1-9]\d\d)(?: (.{0,200}))?$/.exec(start) ?? []
  if (status === undefined) throw new Fault('rtsp_malformed', 'the first line is no answer: RTSP/1.0 200 OK')
  return { status: Number(status), reason, headers, body }
}

/** @param headers of values, other signs than printable ASCII become question marks */
export function writeRequest(method: string, url: string, headers: Readonly<Record<string, string>>): string {
  return written(`${method} ${url} ${VERSION}`, headers, '')
}

/** @param status one of `REASONS`; headers as of a request; a body adds its length */
export function writeReply(status: number, headers: Readonly<Record<string, string>>, body = ''): string {
  return written(`${VERSION} ${status} ${REASONS.get(status) ?? ''}`, headers, body)
}

/** Reasons of the statuses that are answered with. @source RFC 2326, 7.1.1 */
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

/** A line that begins with a space goes on with the one before. @source RFC 2326, 4.2; RFC 2068, 4.2 */
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

/** Which session a path asks for: by its name, by its number, or the only one there is. */
type SessionPath = { by: 'name'; name: string } | { by: 'id'; id: string } | { by: 'default' }

/**
 * @param name of a stranger too; half pairs, which no path can name, become U+FFFD
 * @source RAVENNA Operating Principles 1.0, 5.2: `/by-name/NAME`, `/by-id/ID`
 */
export function pathByName(name: string): string {
  return `/by-name/${encodeURIComponent(name.toWellFormed())}`
}

/**
 * @param url absolute, or the path alone as some clients send it
 * @returns undefined where it is no path of a session; a name is compared as it is, a `+` in it means itself
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
