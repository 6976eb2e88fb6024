/** What the board answers over RTSP: the description of its stream, and where its packets are heard. */

import { type RtspRequest, writeReply } from '../../wire/streams/rtsp-message.ts'
import { readSessionPath } from '../../wire/streams/rtsp-path.ts'

/** The stream that is offered. */
export interface RtspSession {
  /** Those that `/by-name/` takes. */
  names: readonly string[]
  /** Those that `/by-id/` takes. */
  ids: readonly string[]
  sdp: string
  group: string
  port: number
  ttl: number
}

/** An answer: what is sent, and whether it was a description. */
export interface RtspAnswer {
  text: string
  isDescription: boolean
}

const METHODS = 'OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN, GET_PARAMETER'
/** Methods of the standard that a board has no use for. @source RFC 2326, 10 */
const OTHERS = new Set(['ANNOUNCE', 'PAUSE', 'RECORD', 'REDIRECT', 'SET_PARAMETER'])
/** One for all: nothing is kept of a client, the stream is there whether anybody plays it or not. */
const SESSION = '26140067'
const SESSION_S = 60
const SDP_TYPE = 'application/sdp'

/**
 * @param session undefined while there is no stream
 * @returns an answer for every request, whatever it asks for
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
  if (method === 'OPTIONS') return answer(200, { Public: METHODS })
  if (OTHERS.has(method)) return answer(405, { Allow: METHODS })
  const answers = ANSWERS.get(method)
  if (!answers) return answer(501)
  if (!session || !isOf(session, request.url)) return answer(404)
  return answer(...answers(request, session))
}

type Answer = [status: number, headers?: Readonly<Record<string, string>>, body?: string]

type Answerer = (request: RtspRequest, session: RtspSession) => Answer

const ANSWERS: ReadonlyMap<string, Answerer> = new Map([
  ['DESCRIBE', describe],
  ['SETUP', setUp],
  ['PLAY', heldSession],
  ['TEARDOWN', heldSession],
  ['GET_PARAMETER', heldSession],
])

function describe({ headers, url }: RtspRequest, { sdp }: RtspSession): Answer {
  const accept = headers.get('accept') ?? SDP_TYPE
  if (!/application\/(?:sdp|\*)|\*\/\*/i.test(accept)) return [406]
  const base = encodeURI(decodedOr(url)).replace(/\/?$/, '/')
  return [200, { 'Content-Base': base, 'Content-Type': SDP_TYPE }, sdp]
}

function setUp({ headers }: RtspRequest, { group, port, ttl }: RtspSession): Answer {
  const offers = (headers.get('transport') ?? '').split(',').map((offer) => offer.trim().toLowerCase())
  const isTaken = (offer: string) => /^rtp\/avp(?:\/udp)?;/.test(offer) && !offer.split(';').includes('unicast')
  if (!offers.some(isTaken)) return [461]
  const transport = `RTP/AVP;multicast;destination=${group};port=${port}-${port + 1};ttl=${ttl}`
  return [200, { Session: `${SESSION};timeout=${SESSION_S}`, Transport: transport }]
}

function heldSession({ headers, method }: RtspRequest): Answer {
  const asked = headers.get('session')?.split(';')[0]?.trim()
  if (asked === undefined && method === 'GET_PARAMETER') return [200]
  return asked === SESSION ? [200, { Session: SESSION }] : [454]
}

function isOf({ ids, names }: RtspSession, url: string): boolean {
  const path = readSessionPath(url)
  if (path?.by === 'name') return names.includes(path.name)
  return path?.by === 'id' ? ids.includes(path.id) : path !== undefined
}

/** A url whose signs were sent as they are is encoded once, another not twice. */
function decodedOr(url: string): string {
  try {
    return decodeURI(url)
  } catch {
    return url
  }
}
