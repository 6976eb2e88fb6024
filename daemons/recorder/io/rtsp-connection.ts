/** One connection to a camera over RTSP: questions and their answers, signed where the camera asks for it. */
import { connect, type Socket } from 'node:net'
import type { Clock, Timer } from '#kit/clock.ts'
import { checkTargetHost, lookupSafely } from '#kit/net/target.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import { headerOf, interleaved, type RtspBounds, type RtspMessage, rtspText } from '../wire/rtsp.ts'
import { controlUrl, readSdp, type SdpMedia } from '../wire/sdp.ts'
import type { RtspLogin } from './rtsp-login.ts'

/** Bounds of what a camera sends between and in its answers. */
export const MESSAGE_BOUNDS: RtspBounds = { headBytes: 16_384, bodyBytes: 65_536 }

/** What any camera sent is read into, and handled before the next read: a buffer for each read would be made and thrown away. */
const readBuffer = new Uint8Array(65_536)

/** Answers to a camera's own questions that it has not read. */
const MOST_UNREAD_BYTES = 65_536

/** RFC 2326, 11.3.14. */
const UNSUPPORTED_TRANSPORT = 461

/** RFC 2326, 11.3.15. */
const NO_OPTION = 551

/** RFC 2326, 7.1.1. */
const OK = 200
const MOVED: readonly number[] = [301, 302, 303, 305]

/** RFC 2326, 3.2. */
const DEFAULT_PORT = 554

/** A camera that sends on from one address to the next is left after so many. */
const MOST_MOVES = 4

interface ConnectionParts {
  clock: Clock
  /** `rtsp://host[:port]/path`. */
  url: string
  login: RtspLogin
  /** Whether there is a user and a password to sign in with. */
  hasUser: boolean
  /** Whether packets are asked for over UDP. */
  isUdp: boolean
  /** For the connection, and for each answer. */
  answerMs: number
  /** Names this recorder to cameras. */
  userAgent: string
  /** @param bytes are overwritten after the call */
  onBytes(bytes: Uint8Array): void
  /** It is over, and not from here. */
  onClosed(fault: Fault): void
}

/** A question that waits for its answer. */
interface Pending {
  sequence: number
  answer: PromiseWithResolvers<RtspMessage>
  timer: Timer
}

export class RtspConnection {
  readonly #parts: ConnectionParts
  #socket: Socket | undefined
  #pending: Pending | undefined
  #sequence = 0

  constructor(parts: ConnectionParts) {
    this.#parts = parts
  }

  /** The address that answered; empty before there is one. */
  get remoteAddress(): string {
    return this.#socket?.remoteAddress ?? ''
  }

  /** Whether a question waits for its answer. */
  get isAsking(): boolean {
    return this.#pending !== undefined
  }

  /** @throws Fault `camera_unreachable`, `bad_target`, and what the socket says */
  async connect(): Promise<void> {
    const { answerMs, clock, onBytes, onClosed, url } = this.#parts
    const { host, port } = addressOf(url)
    const { promise, reject, resolve } = Promise.withResolvers<void>()
    const timer = clock.after(answerMs, () => reject(away(`does not answer within ${durationText(answerMs)}`)))
    checkTargetHost(host)
    const take = (length: number): true => {
      onBytes(readBuffer.subarray(0, length))
      return true
    }
    const onread = { buffer: readBuffer, callback: take }
    const socket = connect({ host, port, noDelay: true, lookup: lookupSafely, onread })
    this.#socket = socket
    socket.once('connect', resolve)
    socket.once('error', (error) => {
      reject(error)
      onClosed(new Fault('camera_unreachable', awaySentence(error), { cause: error }))
    })
    socket.once('close', () => {
      reject(away('closed the connection'))
      onClosed(new Fault('camera_ended', 'The camera closed the connection. It is connected again.'))
    })
    try {
      await promise
    } finally {
      timer.cancel()
    }
  }

  /** Has nothing more read, until `resume`. */
  pause(): void {
    this.#socket?.pause()
  }

  resume(): void {
    this.#socket?.resume()
  }

  /** Ends it; a question that waits ends with the fault. */
  end(fault: Error): void {
    this.#pending?.timer.cancel()
    this.#pending?.answer.reject(fault)
    this.#socket?.destroySoon()
  }

  /** Says something and waits for no answer. */
  tell(method: string, url: string, headers: Record<string, string>): void {
    if (this.#socket?.writable) this.#socket.write(this.#request(method, url, headers))
  }

  /**
   * Sends a packet between the messages.
   * @returns false if the camera reads too slowly, and it was left out
   */
  sendPacket(channel: number, bytes: Uint8Array): boolean {
    if (!this.#socket?.writable || this.#socket.writableLength > MOST_UNREAD_BYTES) return false
    this.#socket.write(interleaved(channel, bytes))
    return true
  }

  /** Takes a reply in, or a question of the camera's own, which is answered so that it does not wait. @throws Fault `rtsp_broken` */
  heard(message: RtspMessage): void {
    if (message.status === undefined) {
      // A camera that asks and never reads would have its answers kept here for good.
      if ((this.#socket?.writableLength ?? 0) > MOST_UNREAD_BYTES)
        throw new Fault('rtsp_broken', 'The camera asks questions and does not read the answers.')
      const cseq = headerOf(message, 'cseq') ?? '0'
      const first = message.word === 'OPTIONS' ? 'RTSP/1.0 200 OK' : 'RTSP/1.0 501 Not Implemented'
      this.#socket?.write(rtspText({ first, headers: { CSeq: cseq } }))
      return
    }
    const said = headerOf(message, 'cseq')
    const pending = this.#pending
    // Some leave the number out; one that belongs to nothing is a late answer.
    if (!pending || (said !== undefined && Number(said) !== pending.sequence)) return
    this.#pending = undefined
    pending.timer.cancel()
    pending.answer.resolve(message)
  }

  /**
   * Asks, and again signed where the camera wants that.
   * @returns what the camera answered, if it is success; to DESCRIBE another address, too
   * @throws Fault `camera_refused`, `camera_unsupported`, `camera_unreachable`, `rtsp_broken`
   */
  async ask(method: string, url: string, headers: Record<string, string>): Promise<RtspMessage> {
    const { hasUser, isUdp, login } = this.#parts
    let message = await this.#exchange(method, url, headers)
    if (message.status === 401 && login.challenged(message.headers.get('www-authenticate') ?? []))
      message = await this.#exchange(method, url, headers)
    if (message.status === OK) login.taken()
    if (message.status === OK || (method === 'DESCRIBE' && MOVED.includes(message.status ?? 0))) return message
    if (message.status === UNSUPPORTED_TRANSPORT) throw otherTransport(isUdp)
    throw refusal(method, message, hasUser)
  }

  /**
   * What the camera has at its address.
   * @param headers beside the usual ones
   * @returns its media, and the address that the session itself is asked by
   * @throws Fault as `ask`, and one that `followMoves` follows
   */
  async describe(headers: Record<string, string>): Promise<{ base: string; media: SdpMedia[] }> {
    const { url } = this.#parts
    const described = await this.ask('DESCRIBE', url, { accept: 'application/sdp', ...headers })
    if (described.status !== OK) throw movedFrom(url, described)
    const base = headerOf(described, 'content-base') ?? headerOf(described, 'content-location') ?? url
    const { control, media } = readSdp(new TextDecoder('latin1').decode(described.body))
    return { base: controlUrl(base, control), media }
  }

  async #exchange(method: string, url: string, headers: Record<string, string>): Promise<RtspMessage> {
    const { answerMs, clock } = this.#parts
    const answer = Promise.withResolvers<RtspMessage>()
    const text = this.#request(method, url, headers)
    const timer = clock.after(answerMs, () =>
      answer.reject(away(`does not answer ${method} within ${durationText(answerMs)}`)),
    )
    this.#pending = { sequence: this.#sequence, answer, timer }
    this.#socket?.write(text)
    try {
      return await answer.promise
    } finally {
      timer.cancel()
      if (this.#pending?.answer === answer) this.#pending = undefined
    }
  }

  #request(method: string, url: string, headers: Record<string, string>): string {
    const { login, userAgent } = this.#parts
    const signed = login.header(method, url)
    this.#sequence++
    const own = { CSeq: this.#sequence, 'User-Agent': userAgent, ...(signed && { Authorization: signed }) }
    return rtspText({ first: `${method} ${url} RTSP/1.0`, headers: { ...own, ...spelled(headers) } })
  }
}

/** The camera has its stream at another address of the same host. */
class Moved extends Fault {
  readonly url: string

  constructor(url: string) {
    super('camera_unsupported', 'The camera sends from one address to the next. Add it by the address of its stream.')
    this.url = url
  }
}

/** @source RFC 2326, 11.3 and 12.25 @returns the fault to end with where it sends to another host */
function movedFrom(url: string, message: RtspMessage): Fault {
  const from = new URL(url)
  const said = (headerOf(message, 'location') ?? '').trim()
  const next = said !== '' && URL.canParse(said, url) ? new URL(said, url) : undefined
  if (next?.protocol === 'rtsp:' && next.hostname.toLowerCase() === from.hostname.toLowerCase()) {
    next.username = ''
    next.password = ''
    return new Moved(next.href)
  }
  const where = said.slice(0, 100) || 'nowhere'
  return new Fault(
    'camera_unsupported',
    `The camera sends to ${where}, which is not its own host. If that is right, add it by that address.`,
  )
}

/**
 * Goes where a camera says that its stream is, on the same host.
 * @param play has one address played; resolves with what it ended with
 */
export async function followMoves(
  url: string,
  play: (url: string) => Promise<Error | undefined>,
): Promise<Error | undefined> {
  let next = url
  for (let moves = 0; ; moves++) {
    const ending = await play(next)
    if (!(ending instanceof Moved) || moves === MOST_MOVES) return ending
    next = ending.url
  }
}

/** As the standard spells the names: some cameras compare them letter by letter. */
function spelled(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.replace(/^./, (a) => a.toUpperCase()), value]),
  )
}

function addressOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url)
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? DEFAULT_PORT : Number(port) }
}

/** What is told where a camera does not send the way it was asked to. */
export function otherTransport(wantsUdp: boolean): Fault {
  const seen = wantsUdp
    ? 'does not send over UDP. Set its transport to tcp.'
    : 'does not send over TCP. Switch RTSP over TCP on in its settings, or set its transport to udp.'
  return new Fault('camera_unsupported', `The camera ${seen}`)
}

function refusal(method: string, { status, word }: RtspMessage, hasUser: boolean): Fault {
  const answer = `${status} ${word.slice(0, 60)}`.trim()
  if (status === 401 || status === 403) {
    const what = hasUser ? 'does not take this user name and password' : 'asks for a user name and password'
    return new Fault('camera_refused', `The camera ${what} (${answer}).`)
  }
  if (status === NO_OPTION) return noTalkback()
  if (status === 404) return new Fault('camera_unsupported', `The camera has no stream at this address (${answer}).`)
  return new Fault('camera_unsupported', `The camera answered ${method} with ${answer}.`)
}

/** What is told of a camera without a loudspeaker: it is the one thing that is required of cameras by name. */
export function noTalkback(): Fault {
  return new Fault('no_talkback', 'The camera offers no loudspeaker over its stream (ONVIF backchannel).')
}

function away(seen: string): Fault {
  return new Fault('camera_unreachable', `The camera ${seen}.`)
}

/** What is told where a camera is not reached. */
export function awaySentence(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return `The camera cannot be reached: ${code ?? message}.`
}
