/** Announcing a board's own stream: its session, announcements over SAP, and answers over RTSP. */
import { Type } from 'typebox'
import type { Clock, Timer } from '#kit/clock.ts'
import { count, milliseconds } from '#kit/pure/setting-keys.ts'
import { plainText } from '#kit/pure/text.ts'
import type { StreamDescription } from '../../wire/streams/description.ts'
import { type RtspRequest, readSessionPath, writeReply } from '../../wire/streams/rtsp.ts'
import { sapHash, writeSap } from '../../wire/streams/sap.ts'

// The table `streams` of board.toml: how streams are announced and found.

export const streamKeys = Type.Object(
  {
    announce_s: seconds(30, 1, 300, 'how often an encoder announces its stream over SAP'),
    sap_ttl: Type.Integer({
      default: 255,
      minimum: 1,
      maximum: 255,
      description: 'routers that announcements over SAP may cross, and one more',
    }),
    ravenna: Type.Boolean({
      default: true,
      description: 'streams are offered to RAVENNA devices (mDNS and RTSP), and theirs are looked for',
    }),
    rtsp_port: Type.Integer({
      default: 8554,
      minimum: 0,
      maximum: 65_535,
      description: 'TCP port of descriptions over RTSP; where it is taken, or 0, a free one, which is announced',
    }),
    rtsp_clients: count(32, 1, 1024, 'clients of RTSP at once'),
    rtsp_clients_per_host: count(8, 1, 1024, 'clients of RTSP at once from one address (IPv6: one /64)'),
    rtsp_request_ms: milliseconds(5000, 100, 60_000, 'time for one request or one answer over RTSP'),
    rtsp_idle_s: seconds(75, 1, 3600, 'time after which a client of RTSP that says nothing is closed'),
    most: count(512, 1, 4096, 'streams listed; where there are more, those that stay go before new ones'),
    per_sender: count(128, 1, 4096, 'streams listed of one sender'),
    new_per_second: count(500, 1, 100_000, 'streams never heard of before that are looked at in a second'),
    sessions: count(128, 1, 1024, 'sessions of RAVENNA devices that are asked for their descriptions'),
    describe_s: seconds(60, 5, 3600, 'how often a session of a RAVENNA device is asked for its description again'),
    ask_s: seconds(10, 1, 600, 'how often is asked which sessions of RAVENNA devices there are'),
  },
  { additionalProperties: false, default: {}, description: 'how streams are announced and found' },
)

function seconds(value: number, minimum: number, maximum: number, description: string) {
  return Type.Integer({ default: value, minimum, maximum, unit: 's', description })
}

// The session: its number, its version, and its name in lists of streams.

/** A stream before it has a session number. */
export type OwnStream = Omit<StreamDescription, 'sessionId' | 'version'>

/** Seconds from 1900 to 1970. @source RFC 5905, 6 */
const NTP_EPOCH_S = 2_208_988_800

/**
 * Numbers each change: the version is the time of the change, so that it grows over restarts too.
 * @param sessionId digits; the same at each start, so that receivers recognize the stream
 * @source RFC 4566, 5.2
 */
export function createOwnSession(clock: Clock, sessionId: string) {
  let version = 0
  let last = ''

  return {
    describe(stream: OwnStream): StreamDescription {
      const text = JSON.stringify(stream)
      if (text !== last) version = Math.max(version + 1, Math.floor(clock.epochMs() / 1000) + NTP_EPOCH_S)
      last = text
      return { ...stream, sessionId, version: String(version) }
    },
  }
}

/** Longest label of a name. @source RFC 1035, 2.3.4 */
const LABEL_BYTES = 63

/**
 * The stream's name in lists of RAVENNA devices, with the board's host name behind it, since names must be unique on a
 * network and two boards may have the same. Dots are replaced: they separate labels.
 */
export function sessionLabel(name: string, hostname: string): string {
  const host = plainText(hostname.replaceAll('.', '-'), 40)
  const room = LABEL_BYTES - new TextEncoder().encode(host).length - 1
  let text = plainText(name.replaceAll('.', '-'), room)
  while (new TextEncoder().encode(text).length > room) text = [...text].slice(0, -1).join('')
  return `${text.trim()} ${host}`.trim() || 'board'
}

// SAP: when it is announced, and withdrawn.

/** An announcement. */
export interface Announced {
  sdp: string
  /** IPv4 address of the board. */
  origin: string
}

/** Dependencies. */
interface SapAnnouncingOptions {
  clock: Clock
  everyMs: number
  /** The stream as it is now; undefined if there is nothing to announce. */
  describe(): Announced | undefined
  /** @returns whether it could be sent */
  send(bytes: Uint8Array): boolean
}

/** Changes within this time are announced together. */
const SETTLE_MS = 200

/**
 * Announces at once, then at intervals, and at once again when the description has changed: the old version is then
 * deleted, as RFC 2974 asks, before the new one, since receivers know both by one session.
 * @source RFC 2974, 3 to 6
 */
export class SapAnnouncing {
  readonly #options: SapAnnouncingOptions
  #rhythm: Timer | undefined
  #settling: Timer | undefined
  #said: Announced | undefined
  /** Hash of the last announcement. */
  #hash = 0
  #lastAt: number | null = null
  #count = 0

  constructor(options: SapAnnouncingOptions) {
    this.#options = options
  }

  start(): void {
    const { clock, everyMs } = this.#options
    this.#rhythm ??= clock.every(everyMs, () => this.#announce())
    this.#announce()
  }

  /** The description, or where it is sent, may have changed. */
  changed(): void {
    if (!this.#rhythm) return
    this.#settling ??= this.#options.clock.after(SETTLE_MS, () => {
      this.#settling = undefined
      const now = this.#options.describe()
      if (now?.sdp !== this.#said?.sdp) this.#announce()
    })
  }

  /** Announces now even without a change: there may be new listeners. */
  again(): void {
    if (this.#rhythm) this.#announce()
  }

  /** Withdraws the announcement. */
  stop(): void {
    this.#rhythm?.cancel()
    this.#settling?.cancel()
    this.#rhythm = undefined
    this.#settling = undefined
    this.#takeBack()
  }

  /** @returns `lastAt` in epoch milliseconds, null before the first; `count` since the start */
  view(): { lastAt: number | null; count: number } {
    return { lastAt: this.#lastAt, count: this.#count }
  }

  #announce(): void {
    const now = this.#options.describe()
    if (now?.sdp !== this.#said?.sdp) this.#takeBack()
    if (!now) return
    if (!this.#said) this.#hash = otherHashThan(this.#hash, sapHash(now.sdp))
    if (!this.#options.send(this.#packetOf(now, false))) return
    this.#said = now
    this.#count++
    this.#lastAt = this.#options.clock.epochMs()
  }

  #takeBack(): void {
    if (this.#said) this.#options.send(this.#packetOf(this.#said, true))
    this.#said = undefined
  }

  #packetOf({ origin, sdp }: Announced, isDeletion: boolean): Uint8Array {
    return writeSap({ isDeletion, hash: this.#hash, origin, sdp })
  }
}

/** A new version must have another hash than the one before, and 16 bits may collide. @source RFC 2974, 6 */
function otherHashThan(last: number, hash: number): number {
  return hash === last ? (hash % 0xffff) + 1 : hash
}

// RTSP answers: the description of the stream, and where its packets are sent.

/** The stream on offer. */
export interface RtspSession {
  /** Names accepted by `/by-name/`. */
  names: readonly string[]
  /** Ids accepted by `/by-id/`. */
  ids: readonly string[]
  sdp: string
  group: string
  port: number
  ttl: number
}

/** An answer: its text, and whether it is a description. */
interface RtspAnswer {
  text: string
  isDescription: boolean
}

const RTSP_METHODS = 'OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN, GET_PARAMETER'
/** Standard methods that a board does not need. @source RFC 2326, 10 */
const UNUSED_METHODS = new Set(['ANNOUNCE', 'PAUSE', 'RECORD', 'REDIRECT', 'SET_PARAMETER'])
/** The same for all: no state is kept per client; the stream runs whether anybody plays it or not. */
const RTSP_SESSION = '26140067'
const RTSP_SESSION_S = 60
const SDP_TYPE = 'application/sdp'

/**
 * @param session undefined if there is no stream
 * @returns an answer for every request, whatever it is
 * @source RFC 2326, 10 and 11
 */
export function answerRtsp(request: RtspRequest, session: RtspSession | undefined): RtspAnswer {
  const { headers, method, version } = request
  const cseq = headers.get('cseq') ?? ''
  const answer = (status: number, more: Readonly<Record<string, string>> = {}, body = '') => {
    const sequence: Record<string, string> = /^\d{1,10}$/.test(cseq) ? { CSeq: cseq } : {}
    return { text: writeReply(status, { ...sequence, ...more }, body), isDescription: body !== '' }
  }
  if (version !== '1.0') return answer(505)
  if (!/^\d{1,10}$/.test(cseq)) return answer(400)
  const required = headers.get('require')
  if (required !== undefined) return answer(551, { Unsupported: required.slice(0, 200) })
  if (method === 'OPTIONS') return answer(200, { Public: RTSP_METHODS })
  if (UNUSED_METHODS.has(method)) return answer(405, { Allow: RTSP_METHODS })
  const answers = ANSWER_OF_METHOD.get(method)
  if (!answers) return answer(501)
  if (!session || !isSessionOfUrl(session, request.url)) return answer(404)
  return answer(...answers(request, session))
}

type AnswerParts = [status: number, headers?: Readonly<Record<string, string>>, body?: string]

type AnswersMethod = (request: RtspRequest, session: RtspSession) => AnswerParts

const ANSWER_OF_METHOD: ReadonlyMap<string, AnswersMethod> = new Map([
  ['DESCRIBE', describe],
  ['SETUP', setUp],
  ['PLAY', heldSession],
  ['TEARDOWN', heldSession],
  ['GET_PARAMETER', heldSession],
])

function describe({ headers, url }: RtspRequest, { sdp }: RtspSession): AnswerParts {
  const accept = headers.get('accept') ?? SDP_TYPE
  if (!/application\/(?:sdp|\*)|\*\/\*/i.test(accept)) return [406]
  const base = encodeURI(decodedOr(url)).replace(/\/?$/, '/')
  return [200, { 'Content-Base': base, 'Content-Type': SDP_TYPE }, sdp]
}

function setUp({ headers }: RtspRequest, { group, port, ttl }: RtspSession): AnswerParts {
  const offers = (headers.get('transport') ?? '').split(',').map((offer) => offer.trim().toLowerCase())
  const isTaken = (offer: string) => /^rtp\/avp(?:\/udp)?;/.test(offer) && !offer.split(';').includes('unicast')
  if (!offers.some(isTaken)) return [461]
  const transport = `RTP/AVP;multicast;destination=${group};port=${port}-${port + 1};ttl=${ttl}`
  return [200, { Session: `${RTSP_SESSION};timeout=${RTSP_SESSION_S}`, Transport: transport }]
}

function heldSession({ headers, method }: RtspRequest): AnswerParts {
  const asked = headers.get('session')?.split(';')[0]?.trim()
  if (asked === undefined && method === 'GET_PARAMETER') return [200]
  return asked === RTSP_SESSION ? [200, { Session: RTSP_SESSION }] : [454]
}

function isSessionOfUrl({ ids, names }: RtspSession, url: string): boolean {
  const path = readSessionPath(url)
  if (path?.by === 'name') return names.includes(path.name)
  return path?.by === 'id' ? ids.includes(path.id) : path !== undefined
}

/** Decodes a URL, so that it is encoded exactly once afterwards. */
function decodedOr(url: string): string {
  try {
    return decodeURI(url)
  } catch {
    return url
  }
}

// The announcements in the status.

/** How the stream is announced now. */
export interface AnnouncementView {
  /** Whether it is announced over SAP. */
  sap: boolean
  /** Epoch ms of the last one; null before the first. */
  last_at: number | null
  /** Since the start. */
  count: number
  /** Whether RAVENNA devices can find it. */
  rtsp: boolean
  /** RTSP URL of the description; null when the stream is not announced. */
  url: string | null
  /** Clients connected over RTSP now. */
  clients: number
  /** Descriptions sent over RTSP since the start. */
  described: number
  /** Empty if there is no stream. */
  sdp: string
}
