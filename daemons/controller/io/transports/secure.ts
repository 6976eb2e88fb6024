/**
 * TLS to gateways: a connection is handed out once its certificate was found to be from the root that was adopted. Only the
 * root itself is fetched before, over a connection that nothing vouches for.
 */
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { type ConnectionOptions, connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import type { Place, Trust, WebPlace } from '../../core/drivers/driver.ts'
import { addressText, bare, connectTcp, unreachable, untilOpen } from './tcp.ts'

interface SecureParts {
  clock: Clock
  /** Timeout of connecting, and then of the handshake. */
  connectMs: number
}

/**
 * @returns a stream that nothing was sent over yet, and whose certificate is right for that host
 * @throws Fault `device_certificate`, `device_unreachable`, `device_cut_off`, or the reason of `signal`
 */
export function connectSecure(
  place: Place & { tls: Trust },
  parts: SecureParts,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const refused = (cause: NodeJS.ErrnoException) => refusalOf(place, cause)
  return shakeHands(place, { rejectUnauthorized: true, secureContext: contextOf(place.tls) }, refused, {
    ...parts,
    signal,
  })
}

/**
 * For the fetch of the root alone, which anybody may read: whoever answers is not known, so no credentials go over it.
 * @throws Fault `device_unreachable`, `device_cut_off`, or the reason of `signal`
 */
export function connectUnverified(place: Place, parts: SecureParts, signal: AbortSignal): Promise<TLSSocket> {
  const options = { rejectUnauthorized: false, secureContext: createSecureContext({ ca: [], minVersion: 'TLSv1.2' }) }
  return shakeHands(place, options, (cause) => unreachable(addressText(place), cause), { ...parts, signal })
}

async function shakeHands(
  place: Place,
  options: ConnectionOptions,
  refused: (cause: NodeJS.ErrnoException) => Fault,
  { clock, connectMs, signal }: SecureParts & { signal: AbortSignal },
): Promise<TLSSocket> {
  const wire = await connectTcp(place, { clock, connectMs }, signal)
  const host = bare(place.host)
  // The name to be verified is that of the place, also where it is an address, which is not told to the server.
  const name = isIP(host) === 0 ? { servername: host } : {}
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const stream = connect({ ...options, ...name, socket: wire, host, ALPNProtocols: ['http/1.1'] })
  // Stays for good: errors of an open connection are reported by its end.
  stream.on('error', (cause: NodeJS.ErrnoException) => reject(refused(cause)))
  stream.once('secureConnect', resolve)
  const slow = `${addressText(place)} did not agree on TLS within ${durationText(connectMs)}`
  await untilOpen(promise, {
    ...{ clock, connectMs, signal },
    late: () => new Fault('device_unreachable', slow),
    destroy: () => {
      stream.destroy()
      wire.destroy()
    },
  })
  return stream
}

/** Made once for a session: making one takes longer than a handshake. */
const contexts = new WeakMap<Trust, SecureContext>()

/** The public authorities are not among those that vouch. @throws Fault `device_certificate` */
function contextOf(trust: Trust): SecureContext {
  const known = contexts.get(trust)
  if (known) return known
  // OpenSSL would take a root that cannot be read for none.
  fingerprintOf(trust.root)
  const made = createSecureContext({ ca: [trust.root], minVersion: 'TLSv1.2' })
  contexts.set(trust, made)
  return made
}

/** SHA-256 of an adopted root, as the page of a gateway shows it. @throws Fault `device_certificate` */
export function fingerprintOf(root: string): string {
  try {
    return new X509Certificate(root).fingerprint256
  } catch (cause) {
    const sentence = 'config.root_ca is no certificate that can be read: adopt the gateway again'
    throw new Fault('device_certificate', sentence, { cause })
  }
}

/** Codes that say a certificate is from somebody else. @source OpenSSL, X509_verify_cert_error_string */
const STRANGERS = new Set([
  'CERT_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

function refusalOf(place: WebPlace & { tls: Trust }, cause: NodeJS.ErrnoException): Fault {
  const name = addressText(place)
  const { code = '' } = cause
  const says = (sentence: string) => new Fault('device_certificate', `${name}: ${sentence}`, { cause })
  if (STRANGERS.has(code))
    return says(
      `its certificate is not from the root that was adopted (fingerprint ${fingerprintOf(place.tls.root)}); if the gateway was set up anew, adopt it again`,
    )
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return says(
      `its certificate is not for ${bare(place.host)}: put one of the names or addresses that the gateway's page lists into transport.host, or this one into http.hosts of the gateway`,
    )
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return says(
      `its certificate ${code === 'CERT_HAS_EXPIRED' ? 'has ended' : 'does not hold yet'}: set the clock of the gateway and of this machine; if they are right, restart the gateway, or adopt it again where its root has ended`,
    )
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_'))
    return says(
      `it does not speak TLS (${code}): switch http.tls on at the gateway again, or take tls and root_ca out of the device`,
    )
  return code.startsWith('ERR_TLS_') || code.includes('CERT')
    ? says(`its certificate is refused (${code}): adopt it again, if the gateway was set up anew`)
    : unreachable(name, cause)
}
