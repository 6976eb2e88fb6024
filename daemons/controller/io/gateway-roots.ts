/** Fetches the root CAs that gateways and recorders hand out, for somebody to compare. Sends no credentials and keeps nothing. */
import { X509Certificate } from 'node:crypto'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Place } from '../core/drivers/driver.ts'
import { KeptBytes } from './transports/bounds.ts'
import { requestOnce, requestOver } from './transports/http.ts'
import { connectUnverified } from './transports/secure.ts'

/** A root is about a thousand bytes. */
const ROOT_BYTES = 16_384
/** A person compares one at a time. None waits for another, which may be of a gateway that never answers. */
const MOST_AT_ONCE = 4
/** For a whole fetch. */
const FETCH_MS = 15_000

export interface FetchedRoot {
  /** PEM. */
  root: string
  fingerprint: string
  endsAt: number
}

export interface GatewayRoots {
  /**
   * Fetches the root, then connects again to check the daemon's own certificate against it and against the address.
   * @throws Fault `found_root_unread`
   */
  fetch(place: Place): Promise<FetchedRoot>
}

export function createGatewayRoots({ clock, connectMs }: { clock: Clock; connectMs: number }): GatewayRoots {
  let running = 0
  const parts = { clock, kept: new KeptBytes(MOST_AT_ONCE * ROOT_BYTES), limits: { connectMs, httpBytes: ROOT_BYTES } }

  async function fetchRoot(place: Place, signal: AbortSignal): Promise<FetchedRoot> {
    const stream = await connectUnverified(place, { clock, connectMs }, signal)
    const asked = { ...place, method: 'GET', path: '/api/system/ca-cert' }
    const { status, body } = await requestOver(stream, asked, parts, signal)
    if (status !== 200) throw new Fault('device_answer', `it answers ${status} to ${asked.path}`)
    const certificate = rootIn(body)
    const root = certificate.toString()
    // Whether the root is the right one, only a person can say; whether the daemon's certificate is from it is checked here.
    await requestOnce({ ...asked, tls: { root } }, parts, signal)
    return { root, fingerprint: certificate.fingerprint256, endsAt: certificate.validToDate.getTime() }
  }

  return {
    async fetch(place) {
      if (running >= MOST_AT_ONCE)
        throw new Fault('found_root_unread', `${running} root CAs are being read. Try again in a moment.`)
      running++
      const late = new AbortController()
      const timer = clock.after(FETCH_MS, () =>
        late.abort(new Fault('device_unreachable', `it did not answer within ${FETCH_MS / 1000} s`)),
      )
      try {
        return await fetchRoot(place, late.signal)
      } catch (cause) {
        const why = cause instanceof Error ? cause.message : String(cause)
        throw new Fault('found_root_unread', `Its root CA could not be read: ${why}.`, { cause })
      } finally {
        running--
        timer.cancel()
      }
    },
  }
}

/** @throws Fault `device_certificate` */
function rootIn(body: Uint8Array): X509Certificate {
  const refused = (cause?: unknown) =>
    new Fault('device_certificate', 'what it hands out is not the certificate of a CA', { cause })
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(body)
  } catch (cause) {
    throw refused(cause)
  }
  if (!certificate.ca) throw refused()
  return certificate
}
