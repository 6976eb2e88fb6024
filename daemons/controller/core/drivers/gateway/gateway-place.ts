/** Where a gateway listens, and what vouches for one that speaks HTTPS: the root CA that was adopted with it. */
import { Fault } from '#kit/pure/fault.ts'
import { isObject, type Json } from '../../json.ts'
import type { Row } from '../../site/book.ts'
import { type DeviceAnswer, type DeviceRequest, tcpPlaceOf, type WebPlace } from '../driver.ts'

/** An address with its scheme. An IPv6 address has brackets. */
const HTTPS = /^https:\/\/(\[[^\]/@]*\]|[^:/@]*)(?::(\d{1,5}))?\/?$/i

/** Where the root stands that a device was adopted with. */
export const ROOT_KEY = 'root_ca'

/**
 * TLS with the root of `config.root_ca`, where there is one, where `transport.tls` is true, or where the host begins with
 * `https://`; else plain HTTP. A device with a root never falls back to plain HTTP.
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

/** As somebody has written them, unchecked: a host may stand there as `https://HOST` or `https://HOST:PORT`. */
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
 * Asks a gateway without a root for something that needs no key: where it speaks HTTPS by now, it shall not get the key
 * unencrypted.
 * @throws Fault `gateway_https`, and the errors of `request`
 */
export async function checkIsPlain(
  place: WebPlace,
  request: (asked: DeviceRequest) => Promise<DeviceAnswer>,
): Promise<void> {
  if (place.tls === undefined) checkNotMoved(place, await request({ ...place, method: 'GET', path: '/api/status' }))
}

/** No redirect is followed: whoever is in between could send one. @throws Fault `gateway_https` */
export function checkNotMoved({ tls }: WebPlace, { status }: DeviceAnswer): void {
  if (tls === undefined && [301, 302, 307, 308].includes(status)) throw new Fault('gateway_https', SPEAKS_HTTPS)
}

const SPEAKS_HTTPS =
  'the gateway speaks HTTPS, and its root CA was not adopted yet: on the page System, under Found on the network, compare the fingerprint and adopt it'
