/** Asks cameras over ONVIF: HTTP with bounds, signed by WS-Security in the camera's own time, or by HTTP Digest where it wants that. */
import { createHash, randomBytes } from 'node:crypto'
import http from 'node:http'
import https from 'node:https'
import type { Clock } from '#kit/clock.ts'
import { checkTargetHost, lookupSafely } from '#kit/net/target.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import type { CameraLogin, OnvifClient } from '../core/cameras/onvif.ts'
import { authorizationOf, type Challenge, readChallenge } from '../wire/digest.ts'
import type { OnvifOperation } from '../wire/onvif.ts'
import { getSystemDateAndTime } from '../wire/onvif-clock.ts'
import { readSoap, type SoapSigning, soapText } from '../wire/soap.ts'

/** Bounds of one exchange, by the names of their settings. */
export interface OnvifLimits {
  /** For the whole answer, from the connection on. */
  answerMs: number
  /** Of one answer; beyond, it is cut off. */
  answerBytes: number
}

/** What asking cameras takes. */
export interface ClientParts {
  clock: Clock
  limits: OnvifLimits
  /** Names this recorder to cameras. */
  userAgent: string
}

const MOST_REDIRECTS = 2
const HEAD_BYTES = 16_384
/** Interim answers (1xx) to one request. */
const MOST_INTERIM = 8
/** As in the tokens of common programs: some cameras take no longer ones. */
const NONCE_BYTES = 16

type Question = Pick<OnvifOperation<unknown>, 'addressing' | 'body' | 'holdMs'>

/** How something is asked. */
interface Asking {
  /** For what is answered to anyone: it is signed only if the camera wants it. */
  isOpen: boolean
  /** Gives it up. */
  signal: AbortSignal | undefined
}

/** What is sent. */
interface Body {
  text: string
  holdMs: number
  signal: AbortSignal | undefined
}

export function createOnvifClient(parts: ClientParts): OnvifClient {
  return {
    async open(service, login) {
      const session = createSession(parts, login)
      await session.learnTime(service)
      return session
    },
  }
}

function createSession(parts: ClientParts, login: CameraLogin) {
  const { clock } = parts
  let aheadMs = 0
  let digest: DigestChallenge | undefined
  let nonceUses = 0

  function signing(): SoapSigning {
    return {
      ...login,
      nonce: randomBytes(NONCE_BYTES),
      cameraMs: clock.epochMs() + aheadMs,
      sha1: (bytes) => createHash('sha1').update(bytes).digest('base64'),
      base64: (bytes) => Buffer.from(bytes).toString('base64'),
    }
  }

  function send(address: string, operation: Question, { isOpen, signal }: Asking): Promise<HttpAnswer> {
    const { addressing, body, holdMs = 0 } = operation
    // Who wants HTTP Digest may not understand the other one.
    const text = soapText(body, isOpen || digest ? undefined : signing(), addressing)
    return post(parts, address, { text, holdMs, signal }, (url) => {
      if (!digest) return {}
      nonceUses++
      return { authorization: signedBy(digest, login, { method: 'POST', url, count: nonceUses }) }
    })
  }

  async function ask<Answer>(address: string, operation: OnvifOperation<Answer>, asking: Asking): Promise<Answer> {
    let answer = await send(address, operation, asking)
    if (answer.status === 401) {
      const challenge = readChallenge(answer.challenges)
      // Never Basic, which shows the password to the network.
      if (challenge?.scheme === 'digest' && (!digest || challenge.isStale)) {
        digest = challenge
        nonceUses = 0
        answer = await send(address, operation, asking)
      }
    }
    return operation.read(opened(answer, operation.answer))
  }

  return {
    ask: <Answer>(address: string, operation: OnvifOperation<Answer>, signal?: AbortSignal) =>
      ask(address, operation, { isOpen: false, signal }),
    /** Tokens are made in the camera's time. One that does not tell it is taken to be right. */
    async learnTime(service: string): Promise<void> {
      try {
        const { utcMs } = await ask(service, getSystemDateAndTime, { isOpen: true, signal: undefined })
        if (utcMs !== undefined) aheadMs = utcMs - clock.epochMs()
      } catch (error) {
        if (!(error instanceof Fault) || !TELLS_NO_TIME.has(error.code)) throw error
      }
    },
  }
}

type DigestChallenge = Extract<Challenge, { scheme: 'digest' }>

/** The header that answers a challenge. @param count how often its nonce was used, this time included */
export function signedBy(
  challenge: DigestChallenge,
  login: CameraLogin,
  { count, method, url }: { method: 'GET' | 'POST'; url: URL; count: number },
): string {
  const cnonce = randomBytes(8).toString('hex')
  const wish = { ...login, method, uri: url.pathname + url.search, cnonce, count }
  return authorizationOf(challenge, wish, (name, text) => createHash(name).update(text).digest('hex'))
}

const TELLS_NO_TIME: ReadonlySet<string> = new Set(['onvif_unsupported', 'onvif_failed', 'camera_refused'])

/** @throws Fault, as of `readSoap` */
function opened({ status, text }: HttpAnswer, name: string) {
  if (status === 401 || status === 403)
    throw new Fault(
      'camera_refused',
      `The camera does not take this user name and password for ONVIF (HTTP ${status}).`,
    )
  // Faults come with 400 and 500, and say more than these.
  if (status !== 200 && !text.includes('Envelope'))
    throw new Fault('onvif_failed', `The camera answered with HTTP ${status}. Switch ONVIF on in its settings.`)
  return readSoap(text, name)
}

interface HttpAnswer {
  status: number
  challenges: readonly string[]
  text: string
}

/**
 * One question, with redirects on the same host.
 * @param sign makes the headers for an address
 * @throws Fault `camera_unreachable`, `onvif_broken`, `bad_target`
 */
async function post(
  parts: ClientParts,
  address: string,
  body: Body,
  sign: (url: URL) => http.OutgoingHttpHeaders,
): Promise<HttpAnswer> {
  let url = new URL(address)
  for (let turns = 0; ; turns++) {
    const { headers, ...answer } = await postOnce(parts, url, body, sign(url))
    if (headers.location === undefined || answer.status < 300 || answer.status > 399) return answer
    const next = URL.parse(headers.location, url)
    if (next?.hostname !== url.hostname || !/^https?:$/.test(next.protocol))
      throw new Fault('onvif_broken', 'The camera leads to another host, to which nothing is sent.')
    if (turns >= MOST_REDIRECTS) throw new Fault('onvif_broken', 'The camera leads from one address to the next.')
    url = next
  }
}

type HeadedAnswer = HttpAnswer & { headers: http.IncomingHttpHeaders }

function postOnce(
  parts: ClientParts,
  url: URL,
  { holdMs, signal, text }: Body,
  signed: http.OutgoingHttpHeaders,
): Promise<HeadedAnswer> {
  const headers = {
    'content-type': 'application/soap+xml; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    ...signed,
  }
  return exchangeOnce(parts, url, { method: 'POST', headers, text, holdMs, signal })
}

interface Sending {
  method: 'GET' | 'POST'
  headers: http.OutgoingHttpHeaders
  text?: string
  /** How long the camera may take beyond the usual. */
  holdMs?: number
  signal?: AbortSignal | undefined
}

/**
 * One request to a camera and its whole answer, within bounds; redirects are not followed.
 * @throws Fault `camera_unreachable`, `onvif_broken`, `bad_target`
 */
export async function exchangeOnce(
  { clock, limits, userAgent }: ClientParts,
  url: URL,
  { headers, holdMs = 0, method, signal, text }: Sending,
): Promise<HeadedAnswer> {
  checkTargetHost(url.hostname)
  const { promise, reject, resolve } = Promise.withResolvers<HeadedAnswer>()
  // A camera's certificate is of its own making: nobody here could have signed it, and the login is hashed anyway.
  const options = {
    ...{ method, agent: false, lookup: lookupSafely, maxHeaderSize: HEAD_BYTES, rejectUnauthorized: false },
    ...(signal && { signal }),
    headers: { 'user-agent': userAgent, ...headers },
  }
  const asked = url.protocol === 'https:' ? https.request(url, options) : http.request(url, options)
  const fail = (fault: Fault) => {
    reject(fault)
    asked.destroy()
  }
  const late = new Fault('camera_unreachable', `The camera does not answer within ${durationText(limits.answerMs)}.`)
  const timer = clock.after(limits.answerMs + holdMs, () => fail(late))
  let interim = 0
  asked.on('information', () => {
    interim++
    if (interim > MOST_INTERIM) fail(new Fault('onvif_broken', 'The camera sends interim answers on and on.'))
  })
  let isAnswered = false
  asked.on('response', (incoming) => {
    isAnswered = true
    bodyOf(incoming, limits.answerBytes).then((text) => {
      const { headers, statusCode: status = 0 } = incoming
      const challenges = incoming.headersDistinct['www-authenticate'] ?? []
      resolve({ status, headers, challenges, text })
    }, reject)
  })
  asked.on('error', (error) => reject(faultOf(error, 'camera_unreachable', sentenceOf(error))))
  asked.on('close', () => {
    // One that switched to another protocol answers nothing either.
    if (!isAnswered) reject(new Fault('camera_unreachable', 'The camera closed the connection without an answer.'))
  })
  asked.end(text)
  try {
    return await promise
  } finally {
    timer.cancel()
    asked.destroy()
  }
}

/** @throws Fault `onvif_broken` beyond the bound, `camera_unreachable` where it breaks off */
async function bodyOf(incoming: http.IncomingMessage, most: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of incoming as AsyncIterable<Uint8Array>) {
      bytes += chunk.length
      if (bytes > most) throw new Fault('onvif_broken', `The camera answered with more than ${most} bytes.`)
      chunks.push(chunk)
    }
  } catch (error) {
    throw faultOf(error, 'camera_unreachable', sentenceOf(error))
  }
  return new TextDecoder().decode(Buffer.concat(chunks))
}

function sentenceOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return `The camera cannot be reached over ONVIF: ${code ?? message}.`
}
