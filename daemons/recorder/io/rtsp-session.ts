/** Sessions with cameras: RTSP over TCP with the packets between its messages. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import type { Medium, StreamListener, StreamOpener, StreamPlace } from '../core/ports.ts'
import { readSenderReport } from '../wire/rtcp.ts'
import {
  headerOf,
  isUdp,
  RtspReader,
  readChannels,
  readServerPorts,
  readSession,
  type SessionLine,
} from '../wire/rtsp.ts'
import { controlUrl, parameterSetsOf, type SdpMedia } from '../wire/sdp.ts'
import { type SoundFormat, soundOf } from '../wire/sound.ts'
import { videoCodecs } from '../wire/video-codecs.ts'
import { type ByteBudget, createByteBudget } from './byte-budget.ts'
import { openRtpPair, type RtpPair, SMALL_BUFFER_BYTES, type UdpLimits } from './rtp-sockets.ts'
import { awaySentence, followMoves, MESSAGE_BOUNDS, otherTransport, RtspConnection } from './rtsp-connection.ts'
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

/** Ticks of stamps of pictures, where a camera does not say. @source RFC 6184, 8.1; RFC 7798, 7.1 */
const VIDEO_RATE = 90_000

/** What a packet or a message counts beside its bytes: many that are empty would keep this process busy with nothing. */
const ITEM_BYTES = 512

export function createStreamOpener(parts: SessionParts): StreamOpener {
  const hashed = new WeakSet<StreamPlace>()
  return {
    async play(place, listener, signal) {
      return await followMoves(place.url, async (url) => {
        if (signal.aborted) return undefined
        const login = createRtspLogin(place, hashed)
        const session = new Session({ ...place, url }, listener, { ...parts, login })
        const onAbort = () => session.end(undefined)
        signal.addEventListener('abort', onAbort, { once: true })
        const ending = await session.play()
        signal.removeEventListener('abort', onAbort)
        return ending
      })
    },
  }
}

class Session {
  readonly #place: StreamPlace
  readonly #listener: StreamListener
  readonly #parts: SessionParts
  readonly #connection: RtspConnection
  readonly #over = Promise.withResolvers<Error | undefined>()
  readonly #reader = new RtspReader(MESSAGE_BOUNDS)
  readonly #timers: Timer[] = []
  #isOver = false
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
    const { clock, limits, login, userAgent } = parts
    this.#connection = new RtspConnection({
      ...{ clock, login, userAgent, url: place.url, answerMs: limits.answerMs },
      ...{ hasUser: place.username !== undefined, isUdp: place.isUdp === true },
      onBytes: (bytes) => this.#take(bytes),
      onClosed: (fault) => this.end(fault),
    })
    this.#budget = createByteBudget(limits.bytesPerS, clock.monotonicMs(), (fault) => listener.onFlood?.(fault))
  }

  /** @returns what it ended with; undefined if it was ended from here */
  async play(): Promise<Error | undefined> {
    this.#setUp().catch((error: unknown) => this.end(faultOf(error, 'camera_unreachable', awaySentence(error))))
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
    if (this.#session) this.#connection.tell('TEARDOWN', this.#base, { session: this.#session.id })
    this.#connection.end(fault ?? new Fault('camera_ended', 'The session was ended.'))
    this.#over.resolve(fault)
  }

  async #setUp(): Promise<void> {
    const { clock, limits } = this.#parts
    await this.#connection.connect()
    const description = await this.#connection.describe({})
    const { codec, video } = videoOf(description.media)
    this.#base = description.base
    await this.#prepare('pictures', video)
    const sound = this.#place.isHeard ? await this.#prepareSound(description.media) : undefined
    const { payloadType, clockRate } = video
    this.#listener.onOpened({
      ...{ payloadType, clockRate: clockRate || VIDEO_RATE, codec, known: parameterSetsOf(video, codec), sound },
    })
    this.#lastPacketMs = clock.monotonicMs()
    const session = this.#session ?? { id: '', timeoutS: 60 }
    await this.#connection.ask('PLAY', this.#base, { session: session.id, range: 'npt=0.000-' })
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
    const set = await this.#connection.ask('SETUP', controlUrl(this.#base, control), headers)
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
      ...{ clock, from: this.#connection.remoteAddress, ticksPerS: clockRate || VIDEO_RATE },
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

  #take(chunk: Uint8Array): void {
    if (this.#isOver) return
    const nowMs = this.#parts.clock.monotonicMs()
    if (!this.#rest) this.#budget.passTo(nowMs)
    try {
      for (const item of this.#reader.read(chunk)) {
        this.#budget.spend(ITEM_BYTES)
        if (item.kind === 'message') this.#connection.heard(item)
        else this.#packet(this.#channels.get(item.channel), item.bytes, nowMs)
      }
    } catch (error) {
      this.end(faultOf(error, 'rtsp_broken', 'What the camera sent could not be handled.'))
    }
    this.#budget.spend(chunk.length)
    if (this.#budget.isSpent()) this.#waitForNextSecond(nowMs)
  }

  #waitForNextSecond(nowMs: number): void {
    const { clock } = this.#parts
    this.#connection.pause()
    this.#rest ??= clock.after(this.#budget.restMs(nowMs), () => {
      this.#rest = undefined
      this.#budget.goOn(clock.monotonicMs())
      this.#connection.resume()
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
    if (this.#connection.isAsking || !this.#session) return
    this.#connection.ask('GET_PARAMETER', this.#base, { session: this.#session.id }).catch((error: unknown) => {
      // A refusal is an answer too.
      if (!(error instanceof Fault) || error.code !== 'camera_unsupported')
        this.end(faultOf(error, 'camera_ended', 'The camera does not answer any more.'))
    })
  }
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
