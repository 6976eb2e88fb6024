/** Sends what rules tell to webhooks: two tries, no redirects, and never to an address to which nothing is sent. */
import http from 'node:http'
import https from 'node:https'
import type { Clock } from '#kit/clock.ts'
import { exchange } from '#kit/net/post.ts'
import { webhookSignature } from '#kit/net/signature.ts'
import { lookupSafely, parseTarget } from '#kit/net/target.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import type { WebhookPoster } from '../core/rules/actions.ts'

/** Bounds, by the names of their settings. */
interface PosterLimits {
  /** Of each try, for everything. */
  timeoutMs: number
}

/** Bytes of an answer that are read before it is cut off: nobody looks at them. */
const RESPONSE_BYTES = 65_536
const TRIES = 2

export function createWebhookPoster({ clock, limits }: { clock: Clock; limits: PosterLimits }): WebhookPoster {
  async function attempt(address: string, body: Uint8Array, secret: string | null): Promise<void> {
    const cut = new AbortController()
    const late = new Fault('webhook_failed', `The target does not answer within ${durationText(limits.timeoutMs)}.`)
    const timer = clock.after(limits.timeoutMs, () => cut.abort(late))
    const url = parseTarget(address)
    const options = {
      ...{ method: 'POST', agent: false, signal: cut.signal, lookup: lookupSafely },
      headers: {
        'Content-Type': 'application/json',
        'Content-Length': String(body.byteLength),
        'X-Svc-Event': 'alert',
        ...(secret === null ? {} : { 'X-Svc-Signature': webhookSignature(body, secret) }),
      },
    }
    const outgoing = url.protocol === 'https:' ? https.request(url, options) : http.request(url, options)
    try {
      const { status } = await exchange(outgoing, body, { responseBytes: RESPONSE_BYTES, caSetting: '' })
      if (status < 200 || status > 299)
        throw new Fault('webhook_failed', `The target answered ${status}, expected 200 to 299.`)
    } catch (error) {
      throw cut.signal.aborted ? late : failed(error)
    } finally {
      timer.cancel()
      // The status has decided: what follows it is nobody's business.
      outgoing.destroy()
    }
  }

  return {
    async post(url, body, secret) {
      const bytes = new TextEncoder().encode(body)
      for (let left = TRIES - 1; ; left--) {
        try {
          return await attempt(url, bytes, secret)
        } catch (error) {
          if (left === 0) throw error
        }
      }
    },
  }
}

function failed(error: unknown): Fault {
  const fault = faultOf(error, 'webhook_failed', 'It was not taken.')
  return fault.code === 'webhook_failed' ? fault : new Fault('webhook_failed', `Not taken: ${fault.message}.`)
}
