/** HTTP with cameras: one exchange within bounds, HTTP Digest, and what cameras answer over interfaces of their own. */
import { createHash, randomBytes } from 'node:crypto'
import http from 'node:http'
import https from 'node:https'
import type { Clock } from '#kit/clock.ts'
import { checkTargetHost, lookupSafely } from '#kit/net/target.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import type { CameraLogin } from '../core/cameras/onvif.ts'
import type { CameraWeb } from '../core/outputs/dahua-driver.ts'
import { authorizationOf, type Challenge, readChallenge } from '../wire/digest.ts'

/** Bounds of one exchange, by the names of their settings. */
interface WebLimits {
  /** For the whole answer, from the connection on. */
  answerMs: number
  /** Of one answer; beyond, it is cut off. */
  answerBytes: number
}

/** What asking cameras takes. */
export interface WebParts {
  clock: Clock
  limits: WebLimits
  /** Names this recorder to cameras. */
  userAgent: string
}

const HEAD_BYTES = 16_384
/** Interim answers (1xx) to one request. */
const MOST_INTERIM = 8

/** Signed in by HTTP Digest alone, and once. */
export function createCameraWeb(parts: WebParts): CameraWeb {
  return {
    async get(address, login, mayKnow) {
      const url = new URL(address)
      const first = await exchangeOnce(parts, url, { method: 'GET', headers: {} })
      const challenge = first.status === 401 ? readChallenge(first.challenges) : undefined
      // Never Basic, which shows the password to the network.
      if (challenge?.scheme !== 'digest' || !mayKnow(challenge.realm)) return { ...first, isSigned: false }
      // Once: cameras lock a user out after some wrong passwords.
      const authorization = signedBy(challenge, login, { method: 'GET', url, count: 1 })
      return { ...(await exchangeOnce(parts, url, { method: 'GET', headers: { authorization } })), isSigned: true }
    },
  }
}

export type DigestChallenge = Extract<Challenge, { scheme: 'digest' }>

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

export interface HttpAnswer {
  status: number
  challenges: readonly string[]
  text: string
}

export type HeadedAnswer = HttpAnswer & { headers: http.IncomingHttpHeaders }

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
  { clock, limits, userAgent }: WebParts,
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
  asked.on('error', (error) => reject(faultOfHttp(error)))
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
    throw faultOf(error, 'camera_unreachable', 'The camera broke off its answer.')
  }
  return new TextDecoder().decode(Buffer.concat(chunks))
}

/** Of what the parser of HTTP stumbles over the camera is the cause, and not the way to it. */
function faultOfHttp(error: Error): Fault {
  const { code, message } = error as NodeJS.ErrnoException
  if (code?.startsWith('HPE_'))
    return new Fault('onvif_broken', `The camera answers in broken HTTP (${code}). Update its firmware.`, {
      cause: error,
    })
  return faultOf(error, 'camera_unreachable', `The camera cannot be reached: ${code ?? message}.`)
}
