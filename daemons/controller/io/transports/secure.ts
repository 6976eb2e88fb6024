/**
 * TLS to gateways and recorders: a connection is handed out only after its certificate was checked against the adopted root CA. The one
 * exception is the fetch of that root, which has nothing yet to be checked against.
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
 * @returns a stream whose certificate was checked, host included, and over which nothing was sent yet
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
 * Only for fetching a root CA, which is public. Anybody may be at the other end, so no credentials may go over it.
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
  // `host` is what the certificate is checked for. SNI, which allows no addresses, is sent only for a name.
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

/** One for each session: making one takes longer than a handshake. */
const contexts = new WeakMap<Trust, SecureContext>()

/** Public authorities are not trusted. @throws Fault `device_certificate` */
function contextOf(trust: Trust): SecureContext {
  const known = contexts.get(trust)
  if (known) return known
  // OpenSSL would take a root that cannot be read for none.
  fingerprintOf(trust.root)
  const made = createSecureContext({ ca: [trust.root], minVersion: 'TLSv1.2' })
  contexts.set(trust, made)
  return made
}

/** SHA-256 of an adopted root, as the page of a gateway or the log of a recorder shows it. @throws Fault `device_certificate` */
export function fingerprintOf(root: string): string {
  try {
    return new X509Certificate(root).fingerprint256
  } catch (cause) {
    const sentence = 'config.root_ca is no certificate that can be read: adopt it again'
    throw new Fault('device_certificate', sentence, { cause })
  }
}

/** OpenSSL's codes for a certificate that another CA has signed. @source OpenSSL, X509_verify_cert_error_string */
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
      `its certificate was not issued by the root CA with the fingerprint ${fingerprintOf(place.tls.root)}; if it was set up again, adopt it again`,
    )
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return says(
      `its certificate is not for ${bare(place.host)}: put one of the names or addresses that it is for into transport.host (a gateway's page lists them), or this one into http.hosts there`,
    )
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return says(
      `its certificate ${code === 'CERT_HAS_EXPIRED' ? 'has expired' : 'is not valid yet'}: check the clocks there and here; if both are right, restart it, and if its root CA has expired, adopt it again`,
    )
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_'))
    return says(
      `it does not speak TLS (${code}): switch http.tls on there again, or take tls and root_ca out of the device`,
    )
  return code.startsWith('ERR_TLS_') || code.includes('CERT')
    ? says(`its certificate cannot be trusted (${code}); if it was set up again, adopt it again`)
    : unreachable(name, cause)
}
