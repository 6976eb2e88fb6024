/** Asks cameras over ONVIF: HTTP with bounds, signed by WS-Security in the camera's own time, or by HTTP Digest where it wants that. */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type http from 'node:http'
import { Fault } from '#kit/pure/fault.ts'
import type { CameraLogin, OnvifClient } from '../core/cameras/onvif.ts'
import { readChallenge } from '../wire/digest.ts'
import type { OnvifOperation } from '../wire/onvif.ts'
import { getSystemDateAndTime } from '../wire/onvif-clock.ts'
import { messageIdText, readSoap, type SoapSigning, soapText } from '../wire/soap.ts'
import {
  type DigestChallenge,
  exchangeOnce,
  type HeadedAnswer,
  type HttpAnswer,
  signedBy,
  type WebParts,
} from './camera-web.ts'

const MOST_REDIRECTS = 2
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

export function createOnvifClient(parts: WebParts): OnvifClient {
  return {
    async open(service, login) {
      const session = createSession(parts, login)
      await session.learnTime(service)
      return session
    },
  }
}

function createSession(parts: WebParts, login: CameraLogin) {
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
    const named = addressing === undefined ? '' : addressing + messageIdText(randomUUID())
    const text = soapText(body, isOpen || digest ? undefined : signing(), named)
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

/**
 * One question, with redirects on the same host.
 * @param sign makes the headers for an address
 * @throws Fault `camera_unreachable`, `onvif_broken`, `bad_target`
 */
async function post(
  parts: WebParts,
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

function postOnce(
  parts: WebParts,
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
