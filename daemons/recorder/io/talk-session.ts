/**
 * Sessions with the loudspeakers of cameras.
 * @source ONVIF Streaming Specification 24.12, 5.3 (backchannel)
 */
import { randomInt } from 'node:crypto'
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import type { StreamPlace } from '../core/ports.ts'
import type { Talker, TalkLine } from '../core/talk/speaking.ts'
import type { Law } from '../wire/g711.ts'
import { writeRtp } from '../wire/rtp.ts'
import { headerOf, RtspReader, readChannels, readSession, type SessionLine } from '../wire/rtsp.ts'
import { controlUrl, type SdpMedia } from '../wire/sdp.ts'
import { SPEECH_RATE } from '../wire/wav.ts'
import {
  awaySentence,
  followMoves,
  MESSAGE_BOUNDS,
  noTalkback,
  otherTransport,
  RtspConnection,
} from './rtsp-connection.ts'
import { createRtspLogin } from './rtsp-login.ts'

interface TalkerParts {
  clock: Clock
  /** For the connection, and for each answer. */
  answerMs: number
  /** Bytes that a camera may send while it is spoken to, keys and answers to them: it has nothing else to say. */
  heardBytes: number
  userAgent: string
}

/** Asks for the loudspeaker in each request of the session. */
const BACKCHANNEL = { require: 'www.onvif.org/ver20/backchannel' }

/** RFC 3551, 6: payload types without an `rtpmap`. */
const LAWS = new Map<string, Law>([
  ['PCMU', 'PCMU'],
  ['PCMA', 'PCMA'],
  ['0', 'PCMU'],
  ['8', 'PCMA'],
])

export function createTalker(parts: TalkerParts): Talker {
  const hashed = new WeakSet<StreamPlace>()
  return {
    async open(place, signal) {
      let line: TalkLine | undefined
      const fault = await followMoves(place.url, async (url) => {
        const session = new TalkSession({ ...place, url, isUdp: false }, { ...parts, hashed })
        const end = () => session.end(new Fault('camera_ended', 'Nobody waits for the camera any more.'))
        if (signal.aborted) end()
        signal.addEventListener('abort', end, { once: true })
        try {
          line = await session.open()
          return undefined
        } catch (error) {
          const asked = faultOf(error, 'camera_unreachable', awaySentence(error))
          session.end(asked)
          return asked
        } finally {
          signal.removeEventListener('abort', end)
        }
      })
      if (line === undefined) throw fault ?? new Fault('camera_ended', 'Nobody waits for the camera any more.')
      return line
    },
  }
}

class TalkSession {
  readonly #parts: TalkerParts
  readonly #connection: RtspConnection
  readonly #reader = new RtspReader(MESSAGE_BOUNDS)
  readonly #over = Promise.withResolvers<Fault>()
  #isOver = false
  #heardBytes = 0
  #base = ''
  #session: SessionLine | undefined
  #keeping: Timer | undefined

  constructor(place: StreamPlace, parts: TalkerParts & { hashed: WeakSet<StreamPlace> }) {
    this.#parts = parts
    const { answerMs, clock, hashed, userAgent } = parts
    this.#connection = new RtspConnection({
      ...{ clock, userAgent, answerMs, url: place.url, login: createRtspLogin(place, hashed) },
      ...{ hasUser: place.username !== undefined, isUdp: false },
      onBytes: (bytes) => this.#take(bytes),
      onClosed: (fault) => this.end(fault),
    })
  }

  async open(): Promise<TalkLine> {
    await this.#connection.connect()
    const { base, media } = await this.#connection.describe(BACKCHANNEL)
    const { law, speaker } = speakerOf(media)
    this.#base = base
    const set = await this.#connection.ask('SETUP', controlUrl(base, speaker.control), {
      ...BACKCHANNEL,
      transport: 'RTP/AVP/TCP;unicast;interleaved=0-1',
    })
    const channels = readChannels(headerOf(set, 'transport'))
    const session = readSession(headerOf(set, 'session'))
    if (!channels || !session) throw otherTransport(false)
    this.#session = session
    await this.#connection.ask('PLAY', base, { ...BACKCHANNEL, session: session.id })
    this.#keeping = this.#parts.clock.every((session.timeoutS * 1000) / 2, () => this.#keepAlive(session))
    return this.#line(law, speaker.payloadType, channels[0])
  }

  /** Ends it, once; the camera is told. */
  end(fault: Fault): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#keeping?.cancel()
    if (this.#session) this.#connection.tell('TEARDOWN', this.#base, { session: this.#session.id })
    this.#connection.end(fault)
    this.#over.resolve(fault)
  }

  #line(law: Law, payloadType: number, channel: number): TalkLine {
    const source = randomInt(2 ** 32)
    let sequence = randomInt(2 ** 16)
    let timestamp = randomInt(2 ** 32)
    let isMarked = true
    return {
      law,
      over: this.#over.promise,
      close: () => this.end(new Fault('camera_ended', 'What was to be said is said.')),
      send: (payload) => {
        // The first of a stretch of speech is marked. RFC 3551, 4.1
        const packet = writeRtp({ payloadType, isMarked, sequence, timestamp, source, payload })
        isMarked = false
        sequence = (sequence + 1) & 0xffff
        timestamp = (timestamp + payload.length) % 2 ** 32
        return this.#connection.sendPacket(channel, packet)
      },
    }
  }

  #take(chunk: Uint8Array): void {
    if (this.#isOver) return
    this.#heardBytes += chunk.length
    try {
      if (this.#heardBytes > this.#parts.heardBytes)
        throw new Fault('rtsp_broken', 'The camera sends much while it is spoken to, and nothing was asked of it.')
      for (const item of this.#reader.read(chunk)) if (item.kind === 'message') this.#connection.heard(item)
    } catch (error) {
      this.end(faultOf(error, 'rtsp_broken', 'What the camera sent could not be handled.'))
    }
  }

  #keepAlive({ id }: SessionLine): void {
    if (this.#connection.isAsking) return
    this.#connection.ask('GET_PARAMETER', this.#base, { session: id }).catch((error: unknown) => {
      // A refusal is an answer too.
      if (!(error instanceof Fault) || error.code !== 'camera_unsupported')
        this.end(faultOf(error, 'camera_ended', 'The camera does not answer any more.'))
    })
  }
}

function speakerOf(media: readonly SdpMedia[]): { law: Law; speaker: SdpMedia } {
  const speakers = media.filter(({ isBackchannel, kind }) => kind === 'audio' && isBackchannel)
  for (const speaker of speakers) {
    const { channels, clockRate, encoding, payloadType } = speaker
    const law = LAWS.get(encoding === '' ? String(payloadType) : encoding)
    if (law && channels === 1 && (clockRate || SPEECH_RATE) === SPEECH_RATE) return { law, speaker }
  }
  const offered = speakers.map(({ clockRate, encoding }) => `${encoding} at ${clockRate} Hz`).join(', ')
  if (offered === '') throw noTalkback()
  throw new Fault(
    'no_talkback',
    `The camera's loudspeaker takes ${offered.slice(0, 200)}, and is sent G.711 alone. Set G.711 (PCMU or PCMA) in it.`,
  )
}
