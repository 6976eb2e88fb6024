/** Sessions with cameras: RTSP over TCP with the packets between its messages. */
import { connect, type Socket } from 'node:net'
import type { Clock, Timer } from '#kit/clock.ts'
import { checkTargetHost, lookupSafely } from '#kit/net/target.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import type { Medium, StreamListener, StreamOpener, StreamPlace } from '../core/ports.ts'
import { readSenderReport } from '../wire/rtcp.ts'
import {
  headerOf,
  isUdp,
  type RtspMessage,
  RtspReader,
  readChannels,
  readServerPorts,
  readSession,
  rtspText,
  type SessionLine,
} from '../wire/rtsp.ts'
import { controlUrl, parameterSetsOf, readSdp, type SdpMedia } from '../wire/sdp.ts'
import { type SoundFormat, soundOf } from '../wire/sound.ts'
import { videoCodecs } from '../wire/video-codecs.ts'
import { type ByteBudget, createByteBudget } from './byte-budget.ts'
import { openRtpPair, type RtpPair, SMALL_BUFFER_BYTES, type UdpLimits } from './rtp-sockets.ts'
import { createRtspLogin, type RtspLogin } from './rtsp-login.ts'

/** Bounds of a session, by the names of their settings. */
export interface SessionLimits {
  /** For the connection, and for each answer. */
  answerMs: number
  /** A camera that plays and sends nothing for this long is given up. */
  silentMs: number
  /** Bytes of one camera per second; beyond, it is read no further until the next. */
  bytesPerS: number
  udp: UdpLimits
}

interface SessionParts {
  clock: Clock
  limits: SessionLimits
  /** Names this recorder to cameras. */
  userAgent: string
}

/** What any camera sent is read into, and handled before the next read: a buffer for each read would be made and thrown away. */
const readBuffer = new Uint8Array(65_536)

const HEAD_BYTES = 16_384
const BODY_BYTES = 65_536
/** Answers to a camera's own questions that it has not read. */
const MOST_UNREAD_BYTES = 65_536

/** Ticks of stamps of pictures, where a camera does not say. @source RFC 6184, 8.1; RFC 7798, 7.1 */
const VIDEO_RATE = 90_000

/** What a packet or a message counts beside its bytes: many that are empty would keep this process busy with nothing. */
const ITEM_BYTES = 512

/** A camera that sends on from one address to the next is left after so many. */
const MOST_MOVES = 4

/** RFC 2326, 11.3.14. */
const UNSUPPORTED_TRANSPORT = 461

/** RFC 2326, 7.1.1. */
const OK = 200
const MOVED: readonly number[] = [301, 302, 303, 305]

/** RFC 2326, 3.2. */
const DEFAULT_PORT = 554

export function createStreamOpener(parts: SessionParts): StreamOpener {
  const hashed = new WeakSet<StreamPlace>()
  return {
    async play(place, listener, signal) {
      let { url } = place
      for (let moves = 0; !signal.aborted; moves++) {
        const login = createRtspLogin(place, hashed)
        const session = new Session({ ...place, url }, listener, { ...parts, login })
        const onAbort = () => session.end(undefined)
        signal.addEventListener('abort', onAbort, { once: true })
        const ending = await session.play()
        signal.removeEventListener('abort', onAbort)
        if (!(ending instanceof Moved) || moves === MOST_MOVES) return ending
        url = ending.url
      }
      return undefined
    },
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

/** A question that waits for its answer. */
interface Pending {
  sequence: number
  answer: PromiseWithResolvers<RtspMessage>
  timer: Timer
}

class Session {
  readonly #place: StreamPlace
  readonly #listener: StreamListener
  readonly #parts: SessionParts & { login: RtspLogin }
  readonly #over = Promise.withResolvers<Error | undefined>()
  readonly #reader = new RtspReader({ headBytes: HEAD_BYTES, bodyBytes: BODY_BYTES })
  readonly #timers: Timer[] = []
  #socket: Socket | undefined
  #isOver = false
  #pending: Pending | undefined
  #sequence = 0
  /** What comes on which channel: packets of RTP, or reports. */
  readonly #pairs: RtpPair[] = []
  readonly #channels = new Map<number, { medium: Medium; isReport: boolean }>()
  #session: SessionLine | undefined
  #prepared = 0
  #base = ''
  readonly #budget: ByteBudget
  /** Of a camera that has sent too much, until it is read on. */
  #rest: Timer | undefined
  #lastPacketMs = 0

  constructor(place: StreamPlace, listener: StreamListener, parts: SessionParts & { login: RtspLogin }) {
    this.#place = place
    this.#listener = listener
    this.#parts = parts
    const { clock, limits } = parts
    this.#budget = createByteBudget(limits.bytesPerS, clock.monotonicMs(), (fault) => listener.onFlood?.(fault))
  }

  /** @returns what it ended with; undefined if it was ended from here */
  async play(): Promise<Error | undefined> {
    this.#setUp().catch((error: unknown) => this.end(faultOf(error, 'camera_unreachable', sentenceOf(error))))
    return await this.#over.promise
  }

  /** Ends it, once. A camera that plays is told, so that it does not send to nobody until its own time is up. */
  end(fault: Error | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#budget.end()
    this.#rest?.cancel()
    for (const timer of this.#timers) timer.cancel()
    for (const pair of this.#pairs) pair.close()
    this.#pending?.timer.cancel()
    this.#pending?.answer.reject(fault ?? new Fault('camera_ended', 'The session was ended.'))
    if (this.#session && this.#socket?.writable) {
      this.#socket.write(this.#request('TEARDOWN', this.#base, { session: this.#session.id }))
    }
    this.#socket?.destroySoon()
    this.#over.resolve(fault)
  }

  async #setUp(): Promise<void> {
    const { clock, limits } = this.#parts
    await this.#connect()
    const { url } = this.#place
    const described = await this.#ask('DESCRIBE', url, { accept: 'application/sdp' })
    if (described.status !== OK) throw movedFrom(url, described)
    const base = headerOf(described, 'content-base') ?? headerOf(described, 'content-location') ?? url
    const description = readSdp(new TextDecoder('latin1').decode(described.body))
    const { codec, video } = videoOf(description.media)
    this.#base = controlUrl(base, description.control)
    await this.#prepare('pictures', video)
    const sound = this.#place.isHeard ? await this.#prepareSound(description.media) : undefined
    const { payloadType, clockRate } = video
    this.#listener.onOpened({
      ...{ payloadType, clockRate: clockRate || VIDEO_RATE, codec, known: parameterSetsOf(video, codec), sound },
    })
    this.#lastPacketMs = clock.monotonicMs()
    const session = this.#session ?? { id: '', timeoutS: 60 }
    await this.#ask('PLAY', this.#base, { session: session.id, range: 'npt=0.000-' })
    this.#timers.push(
      // Twice within its time, since one may get lost in a camera that is busy.
      clock.every((session.timeoutS * 1000) / 2, () => this.#keepAlive()),
      clock.every(limits.silentMs / 4, () => this.#checkSilence()),
    )
  }

  /** Has the camera send a medium. */
  async #prepare(medium: Medium, media: SdpMedia): Promise<void> {
    const pair = this.#place.isUdp ? await this.#openPair(medium, media.clockRate) : undefined
    try {
      await this.#agree(medium, media, pair)
    } catch (error) {
      pair?.close()
      throw error
    }
  }

  async #agree(medium: Medium, { control }: SdpMedia, pair: RtpPair | undefined): Promise<void> {
    const first = 2 * this.#prepared++
    const transport = pair
      ? `RTP/AVP;unicast;client_port=${pair.port}-${pair.port + 1}`
      : `RTP/AVP/TCP;unicast;interleaved=${first}-${first + 1}`
    const headers = { transport, ...(this.#session && { session: this.#session.id }) }
    const set = await this.#ask('SETUP', controlUrl(this.#base, control), headers)
    const agreed = headerOf(set, 'transport')
    const channels = readChannels(agreed)
    const session = readSession(headerOf(set, 'session'))
    if (!session || !(channels || (pair && agreed && isUdp(agreed)))) throw otherTransport(pair !== undefined)
    for (const [at, channel] of (channels ?? []).entries()) this.#channels.set(channel, { medium, isReport: at === 1 })
    const [, reports] = readServerPorts(agreed) ?? []
    if (channels) pair?.close()
    else if (reports !== undefined) pair?.reportTo(reports)
    this.#session ??= session
  }

  async #openPair(medium: Medium, clockRate: number): Promise<RtpPair> {
    const { clock, limits } = this.#parts
    const pair = await openRtpPair({
      ...{ clock, from: this.#socket?.remoteAddress ?? '', ticksPerS: clockRate || VIDEO_RATE },
      limits: medium === 'sound' ? { ...limits.udp, bufferBytes: SMALL_BUFFER_BYTES } : limits.udp,
      onPacket: (bytes) => this.#datagram(medium, bytes),
      onReport: (report) => this.#listener.onReport(report, medium),
    })
    if (this.#isOver) pair.close()
    else this.#pairs.push(pair)
    return pair
  }

  /** A camera that does not give its sound is recorded without. */
  async #prepareSound(media: readonly SdpMedia[]): Promise<{ payloadType: number; format: SoundFormat } | undefined> {
    for (const one of media) {
      const format = soundOf(one)
      if (!format) continue
      try {
        await this.#prepare('sound', one)
        return { payloadType: one.payloadType, format }
      } catch (error) {
        if (!(error instanceof Fault) || error.code !== 'camera_unsupported') throw error
      }
    }
    return undefined
  }

  async #connect(): Promise<void> {
    const { clock, limits } = this.#parts
    const { host, port } = addressOf(this.#place.url)
    const { promise, reject, resolve } = Promise.withResolvers<void>()
    const timer = clock.after(limits.answerMs, () =>
      reject(away(`does not answer within ${durationText(limits.answerMs)}`)),
    )
    checkTargetHost(host)
    const onread = { buffer: readBuffer, callback: (length: number) => this.#take(readBuffer.subarray(0, length)) }
    const socket = connect({ host, port, noDelay: true, lookup: lookupSafely, onread })
    this.#socket = socket
    socket.once('connect', resolve)
    socket.once('error', (error) => {
      reject(error)
      this.end(new Fault('camera_unreachable', sentenceOf(error), { cause: error }))
    })
    socket.once('close', () => {
      reject(away('closed the connection'))
      this.end(new Fault('camera_ended', 'The camera closed the connection. It is connected again.'))
    })
    try {
      await promise
    } finally {
      timer.cancel()
    }
  }

  /** @returns true, which has the next bytes read */
  #take(chunk: Uint8Array): true {
    if (this.#isOver) return true
    const nowMs = this.#parts.clock.monotonicMs()
    if (!this.#rest) this.#budget.passTo(nowMs)
    try {
      for (const item of this.#reader.read(chunk)) {
        this.#budget.spend(ITEM_BYTES)
        if (item.kind === 'message') this.#answered(item)
        else this.#packet(this.#channels.get(item.channel), item.bytes, nowMs)
      }
    } catch (error) {
      this.end(faultOf(error, 'rtsp_broken', 'What the camera sent could not be handled.'))
    }
    this.#budget.spend(chunk.length)
    if (this.#budget.isSpent()) this.#waitForNextSecond(nowMs)
    return true
  }

  #waitForNextSecond(nowMs: number): void {
    const { clock } = this.#parts
    this.#socket?.pause()
    this.#rest ??= clock.after(this.#budget.restMs(nowMs), () => {
      this.#rest = undefined
      this.#budget.goOn(clock.monotonicMs())
      this.#socket?.resume()
    })
  }

  /** @param from undefined for a channel that was not agreed on */
  #packet(from: { medium: Medium; isReport: boolean } | undefined, bytes: Uint8Array, nowMs: number): void {
    if (!from || this.#isOver) return
    if (from.isReport) {
      const report = readSenderReport(bytes)
      if (report) this.#listener.onReport(report, from.medium)
      return
    }
    this.#lastPacketMs = nowMs
    this.#listener.onPacket(bytes, from.medium)
  }

  /**
   * Over UDP nothing can be told to wait: what is too much is lost, and counted as what did not come. A camera that sends
   * many times as much would keep this process busy with that alone.
   */
  #datagram(medium: Medium, bytes: Uint8Array): void {
    const nowMs = this.#parts.clock.monotonicMs()
    this.#budget.passTo(nowMs)
    this.#budget.spend(bytes.length + ITEM_BYTES)
    try {
      this.#budget.refuseFlood()
      if (this.#budget.isSpent()) return
      this.#packet({ medium, isReport: false }, bytes, nowMs)
    } catch (error) {
      this.end(faultOf(error, 'rtsp_broken', 'What the camera sent could not be handled.'))
    }
  }

  #checkSilence(): void {
    const { clock, limits } = this.#parts
    const nowMs = clock.monotonicMs()
    if (!this.#rest) this.#budget.passTo(nowMs)
    if (nowMs - this.#lastPacketMs < limits.silentMs) return
    this.end(new Fault('camera_silent', `The camera plays, and has sent nothing for ${durationText(limits.silentMs)}.`))
  }

  /** Cameras differ in which of the two they know; those without GET_PARAMETER answer 501, which keeps alive as well. */
  #keepAlive(): void {
    if (this.#pending || !this.#session) return
    this.#ask('GET_PARAMETER', this.#base, { session: this.#session.id }).catch((error: unknown) => {
      // A refusal is an answer too.
      if (!(error instanceof Fault) || error.code !== 'camera_unsupported')
        this.end(faultOf(error, 'camera_ended', 'The camera does not answer any more.'))
    })
  }

  /** A reply, or a question of the camera's own, which is answered so that it does not wait. */
  #answered(message: RtspMessage): void {
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

  /** @throws Fault for anything but success, and for DESCRIBE another address */
  async #ask(method: string, url: string, headers: Record<string, string>): Promise<RtspMessage> {
    let message = await this.#exchange(method, url, headers)
    const { login } = this.#parts
    if (message.status === 401 && login.challenged(message.headers.get('www-authenticate') ?? []))
      message = await this.#exchange(method, url, headers)
    if (message.status === OK) login.taken()
    if (message.status === OK || (method === 'DESCRIBE' && MOVED.includes(message.status ?? 0))) return message
    if (message.status === UNSUPPORTED_TRANSPORT) throw otherTransport(this.#place.isUdp === true)
    throw refusal(method, message, this.#place.username !== undefined)
  }

  async #exchange(method: string, url: string, headers: Record<string, string>): Promise<RtspMessage> {
    const { clock, limits } = this.#parts
    const answer = Promise.withResolvers<RtspMessage>()
    const text = this.#request(method, url, headers)
    const timer = clock.after(limits.answerMs, () =>
      answer.reject(away(`does not answer ${method} within ${durationText(limits.answerMs)}`)),
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

function videoOf(media: readonly SdpMedia[]) {
  for (const video of media) {
    const codec = video.kind === 'video' && videoCodecs.find(({ encoding }) => encoding === video.encoding)
    if (codec) return { video: checkOrder(video), codec }
  }
  const offered = media.map(({ encoding, kind }) => `${kind} ${encoding}`.trim()).join(', ') || 'nothing'
  throw new Fault(
    'camera_unsupported',
    `The camera offers ${offered.slice(0, 200)}; H.264 and H.265 video is recorded. Set it in the camera.`,
  )
}

/** Units that come in another order than they are decoded would be numbered; no camera was met that does so. */
function checkOrder(video: SdpMedia): SdpMedia {
  if (Number(video.parameters.get('sprop-max-don-diff') ?? 0) > 0 || video.parameters.get('packetization-mode') === '2')
    throw new Fault(
      'camera_unsupported',
      'The camera interleaves the parts of its pictures, which is not understood. Set another mode of packets in it.',
    )
  return video
}

function otherTransport(wantsUdp: boolean): Fault {
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
  if (status === 404) return new Fault('camera_unsupported', `The camera has no stream at this address (${answer}).`)
  return new Fault('camera_unsupported', `The camera answered ${method} with ${answer}.`)
}

function away(seen: string): Fault {
  return new Fault('camera_unreachable', `The camera ${seen}.`)
}

function sentenceOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return `The camera cannot be reached: ${code ?? message}.`
}
