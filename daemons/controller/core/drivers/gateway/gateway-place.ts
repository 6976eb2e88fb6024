/** Where a gateway listens, and what vouches for one that speaks HTTPS: the root CA that was adopted with it. */
import { Fault } from '#kit/pure/fault.ts'
import { isObject, type Json } from '../../json.ts'
import type { Row } from '../../site/book.ts'
import { type DeviceAnswer, type DeviceRequest, tcpPlaceOf, type WebPlace } from '../driver.ts'

/** An address with its scheme. An IPv6 address has brackets. */
const HTTPS = /^https:\/\/(\[[^\]/@]*\]|[^:/@]*)(?::(\d{1,5}))?\/?$/i

/** The key in a device's config that holds its root CA, PEM. */
export const ROOT_KEY = 'root_ca'

/**
 * HTTPS if the device has a root CA, if `transport.tls` is true, or if the host begins with `https://`; else plain HTTP. A
 * device with a root CA never falls back to plain HTTP.
 * @throws Fault `transport_invalid`
 */
export function gatewayPlaceOf(device: Row): WebPlace {
  const { tls = false } = isObject(device.transport) ? device.transport : {}
  if (typeof tls !== 'boolean')
    throw new Fault('transport_invalid', `transport.tls of device ${device.id} is not true or false`)
  const { isHttps, ...written } = writtenPlace(device)
  const place = tcpPlaceOf({ ...device, transport: written })
  const root = rootOf(device)
  if (root === undefined && !tls && !isHttps) return place
  if (typeof root !== 'string' || !root.includes('-----BEGIN CERTIFICATE-----'))
    throw new Fault('transport_invalid', `config.${ROOT_KEY} of device ${device.id} is no certificate. ${ADOPT_IT}`)
  return { ...place, tls: { root } }
}

/** Host and port of a row, unchecked: the host may be written as `https://HOST` or `https://HOST:PORT`. */
export function writtenPlace({ transport }: Row): { host: Json; port: Json; isHttps: boolean } {
  const { host = null, port = null } = isObject(transport) ? transport : {}
  const named = HTTPS.exec(String(host))
  if (!named) return { host, port, isHttps: false }
  const [, bare = '', ownPort] = named
  return { host: bare, port: ownPort === undefined ? port : Number(ownPort), isHttps: true }
}

/** The root CA in a device's config, unchecked. */
export function rootOf({ config }: Row): Json | undefined {
  return isObject(config) ? (config[ROOT_KEY] ?? undefined) : undefined
}

const ADOPT_IT =
  'Adopt the gateway on the page System, under Found on the network, or put the root CA that its page hands out there.'

/**
 * Before a key goes over plain HTTP, asks the gateway for something public: a gateway that was switched to HTTPS answers
 * with a redirect.
 * @throws Fault `gateway_https`, and the errors of `request`
 */
export async function checkIsPlain(
  place: WebPlace,
  request: (asked: DeviceRequest) => Promise<DeviceAnswer>,
): Promise<void> {
  if (place.tls === undefined) checkNotMoved(place, await request({ ...place, method: 'GET', path: '/api/status' }))
}

/**
 * A redirect over plain HTTP can be forged: it is never followed, and only shows that HTTPS is on.
 * @throws Fault `gateway_https`
 */
export function checkNotMoved({ tls }: WebPlace, { status }: DeviceAnswer): void {
  if (tls === undefined && [301, 302, 307, 308].includes(status)) throw new Fault('gateway_https', SPEAKS_HTTPS)
}

const SPEAKS_HTTPS =
  'the gateway speaks HTTPS, and its root CA was not adopted yet: on the page System, under Found on the network, compare its fingerprint and adopt it'
