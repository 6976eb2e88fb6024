/**
 * RTSP 1.0 on one TCP connection: messages and interleaved packets as they arrive, and requests as text.
 * @source RFC 2326
 */
import { Fault } from '#kit/pure/fault.ts'

/** A reply, or a request of the server's own. */
export interface RtspMessage {
  kind: 'message'
  /** Of a reply; undefined for a request. */
  status: number | undefined
  /** The text behind the status, or the method of a request. */
  word: string
  /** Names in lower case; what occurs several times has each value, in order. */
  headers: ReadonlyMap<string, readonly string[]>
  body: Uint8Array
}

/** A packet of RTP or RTCP between the messages. `bytes` is part of the chunk that brought it, or of what was held. */
export interface InterleavedPacket {
  kind: 'packet'
  channel: number
  bytes: Uint8Array
}

/** Bounds of one message, in bytes. */
export interface RtspBounds {
  headBytes: number
  bodyBytes: number
}

const DOLLAR = 0x24
const CR = 0x0d
const LF = 0x0a
/** RFC 2326, 10.12: a dollar, the channel, two bytes of length. */
const PACKET_HEAD = 4
const NOTHING = new Uint8Array(0)

/**
 * Cuts a stream into messages and packets. What is not whole yet is held: at most a head and a body, or one packet.
 * A class, since what V8 learns of a function is learnt once for all cameras.
 */
export class RtspReader {
  readonly #bounds: RtspBounds
  /** The begin of an item: the first `#heldBytes` of this. */
  #held: Uint8Array = NOTHING
  #heldBytes = 0
  /**
   * What is known of that item: a camera that sends byte by byte would else have its head read again for each of them,
   * which took half a millisecond each time.
   */
  #part: Part = WHOLE

  constructor(bounds: RtspBounds) {
    this.#bounds = bounds
  }

  /**
   * @param chunk the next bytes; nothing of it is held on to
   * @returns what they complete
   * @throws Fault `rtsp_broken` for what is neither message nor packet; the connection is of no use then
   */
  read(chunk: Uint8Array): (RtspMessage | InterleavedPacket)[] {
    if (this.#heldBytes + chunk.length < this.#part.wantedBytes) return this.#hold(chunk)
    const bytes = this.#heldBytes === 0 ? chunk : joined(this.#held.subarray(0, this.#heldBytes), chunk)
    const found: (RtspMessage | InterleavedPacket)[] = []
    let at = 0
    let part = this.#part
    for (;;) {
      // Some cameras end a body with a line that its length does not count.
      while (bytes[at] === CR || bytes[at] === LF) at++
      const next = itemAt(bytes, at, this.#bounds, part.searchedBytes)
      part = next.end === undefined ? next : WHOLE
      if (next.end === undefined) break
      found.push(next.item)
      at = next.end
    }
    this.#held = at < bytes.length ? bytes.slice(at) : NOTHING
    this.#heldBytes = this.#held.length
    this.#part = part
    return found
  }

  /** More of an item that is not whole with it either. */
  #hold(chunk: Uint8Array): [] {
    const { wantedBytes } = this.#part
    if (this.#held.length < wantedBytes) {
      const room = new Uint8Array(wantedBytes)
      room.set(this.#held)
      this.#held = room
    }
    this.#held.set(chunk, this.#heldBytes)
    this.#heldBytes += chunk.length
    return []
  }
}

/** An item that is not whole. */
interface Part {
  end?: undefined
  /** With fewer bytes it is not whole for certain. */
  wantedBytes: number
  /** So many of them do not have the end of its head. */
  searchedBytes: number
}

const WHOLE: Part = { wantedBytes: 0, searchedBytes: 0 }

/** An item that is, and where it ends. */
interface Whole {
  item: RtspMessage | InterleavedPacket
  end: number
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(one.length + other.length)
  both.set(one)
  both.set(other, one.length)
  return both
}

/** The item that begins at `at`, or what is known of it. @param searchedBytes see `Part` */
function itemAt(bytes: Uint8Array, at: number, bounds: RtspBounds, searchedBytes: number): Whole | Part {
  if (at >= bytes.length) return WHOLE
  if (bytes[at] !== DOLLAR) return messageAt(bytes, at, bounds, searchedBytes)
  if (bytes.length - at < PACKET_HEAD) return { wantedBytes: PACKET_HEAD, searchedBytes: 0 }
  const begin = at + PACKET_HEAD
  const end = begin + (((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0))
  if (end > bytes.length) return { wantedBytes: end - at, searchedBytes: 0 }
  return { item: { kind: 'packet', channel: bytes[at + 1] ?? 0, bytes: bytes.subarray(begin, end) }, end }
}

function messageAt(
  bytes: Uint8Array,
  at: number,
  { headBytes, bodyBytes }: RtspBounds,
  searchedBytes: number,
): Whole | Part {
  const head = headEnd(bytes, at, { searchedBytes, headBytes })
  const sizeBytes = bytes.length - at
  if (head === undefined) {
    if (sizeBytes > headBytes)
      throw broken(`a message without an end within ${headBytes} bytes, or bytes that are none`)
    return { wantedBytes: sizeBytes + 1, searchedBytes: sizeBytes }
  }
  const message = readHead(latin1(bytes.subarray(at, head)))
  const length = bodyLength(message.headers)
  if (length > bodyBytes) throw broken(`a body of ${length} bytes; at most ${bodyBytes} are read`)
  const end = head + length
  if (end > bytes.length) return { wantedBytes: end - at, searchedBytes: 0 }
  return { item: { kind: 'message', ...message, body: bytes.slice(head, end) }, end }
}

/** The line ends of an empty line: the last of them may come with the next bytes. */
const EMPTY_LINE_BYTES = 3

/**
 * Where the empty line behind a head ends. Bare line feeds are taken too: RFC 2326, 4 asks it of receivers.
 * @param searchedBytes from `at` on, which do not have it whole
 */
function headEnd(
  bytes: Uint8Array,
  at: number,
  { headBytes, searchedBytes }: { searchedBytes: number; headBytes: number },
): number | undefined {
  const last = Math.min(bytes.length, at + headBytes)
  const first = at + Math.max(0, searchedBytes - EMPTY_LINE_BYTES)
  for (let place = bytes.indexOf(LF, first); place >= 0 && place < last; place = bytes.indexOf(LF, place + 1)) {
    if (bytes[place + 1] === LF) return place + 2
    if (bytes[place + 1] === CR && bytes[place + 2] === LF) return place + 3
  }
  return undefined
}

function latin1(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return text
}

const REPLY = /^RTSP\/1\.\d +(\d{3})(?: +(.*))?$/
const REQUEST = /^([A-Z_]{1,32}) +\S+ +RTSP\/1\.\d$/

function readHead(text: string): Pick<RtspMessage, 'status' | 'word' | 'headers'> {
  const [first = '', ...rest] = text.split(/\r?\n/)
  const reply = REPLY.exec(first)
  const word = reply ? (reply[2] ?? '') : REQUEST.exec(first)?.[1]
  if (word === undefined) throw broken(`${JSON.stringify(first.slice(0, 60))} instead of a status line`)
  const headers = new Map<string, string[]>()
  for (const line of rest) {
    const colon = line.indexOf(':')
    // A line that is no header is skipped: cameras break long ones, and nothing needed here is long.
    if (colon <= 0) continue
    const name = line.slice(0, colon).trim().toLowerCase()
    const values = headers.get(name)
    const value = line.slice(colon + 1).trim()
    if (values) values.push(value)
    else headers.set(name, [value])
  }
  return { status: reply ? Number(reply[1]) : undefined, word, headers }
}

function bodyLength(headers: RtspMessage['headers']): number {
  const said = headers.get('content-length')?.[0]
  if (said === undefined) return 0
  if (!/^\d{1,9}$/.test(said)) throw broken(`content-length ${JSON.stringify(said.slice(0, 20))}`)
  return Number(said)
}

function broken(seen: string): Fault {
  return new Fault('rtsp_broken', `The camera sent ${seen}. The connection is made anew.`)
}

/** The first value of a header. @param name in lower case */
export function headerOf({ headers }: Pick<RtspMessage, 'headers'>, name: string): string | undefined {
  return headers.get(name)?.[0]
}

/** A request, or the reply to one of the server's. */
export interface OutgoingMessage {
  /** `DESCRIBE rtsp://host/path RTSP/1.0`, `RTSP/1.0 501 Not Implemented`. */
  first: string
  headers: Readonly<Record<string, string | number>>
}

/**
 * The text of a message without a body.
 * @throws Fault `rtsp_broken` if a control character would become a header of its own: a camera chooses parts of URLs
 */
export function rtspText({ first, headers }: OutgoingMessage): string {
  const lines = [first, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)]
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (lines.some((line) => /[\u0000-\u001f\u007f]/.test(line))) throw broken('a control character inside an address')
  return `${lines.join('\r\n')}\r\n\r\n`
}

/**
 * A packet as it stands between the messages.
 * @param channel 0..255
 * @param bytes at most 65,535
 * @source RFC 2326, 10.12
 */
export function interleaved(channel: number, bytes: Uint8Array): Uint8Array {
  const framed = new Uint8Array(PACKET_HEAD + bytes.length)
  framed.set([DOLLAR, channel, bytes.length >> 8, bytes.length & 0xff])
  framed.set(bytes, PACKET_HEAD)
  return framed
}

/** What a reply to SETUP and PLAY says of the session. */
export interface SessionLine {
  id: string
  /** When the server ends a session from which it hears nothing. RFC 2326, 12.37: 60 unless said. */
  timeoutS: number
}

/** Reads the header `Session`. */
export function readSession(value: string | undefined): SessionLine | undefined {
  const [id = '', ...rest] = (value ?? '').split(';').map((part) => part.trim())
  if (!/^[!-~]{1,256}$/.test(id)) return undefined
  const said = /^timeout *= *(\d{1,6})$/i.exec(rest.join(';'))?.[1]
  return { id, timeoutS: said === undefined ? 60 : Math.max(1, Number(said)) }
}

/** The channels that a server agreed to; undefined if it did not take TCP. @param value header `Transport` */
export function readChannels(value: string | undefined): [number, number] | undefined {
  const said = /(?:^|;) *interleaved *= *(\d{1,3})(?:-(\d{1,3}))?/i.exec(value ?? '')
  if (!said) return undefined
  const first = Number(said[1])
  const second = Number(said[2] ?? first + 1)
  return first > 255 || second > 255 ? undefined : [first, second]
}

/** The ports from which a server sends; undefined if it did not take UDP, or does not say. @param value header `Transport` */
export function readServerPorts(value: string | undefined): [number, number] | undefined {
  if (!value || !isUdp(value)) return undefined
  const said = /(?:^|;) *server_port *= *(\d{1,5})(?:-(\d{1,5}))?/i.exec(value)
  if (!said) return undefined
  const first = Number(said[1])
  const second = Number(said[2] ?? first + 1)
  return first < 1 || first > 65_535 || second < 1 || second > 65_535 ? undefined : [first, second]
}

/** Whether a server agreed to UDP to one receiver. @param value header `Transport` */
export function isUdp(value: string): boolean {
  return /^ *RTP\/AVP(?:\/UDP)? *(?:;|$)/i.test(value) && !/(?:^|;) *(?:multicast|interleaved)\b/i.test(value)
}
