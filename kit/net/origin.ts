/** Which Host and Origin headers a server takes: against DNS rebinding, and against pages of other sites. */
import { isIP } from 'node:net'

/**
 * Whether a request may carry this Host. Addresses and `localhost` always may: a page that rebinds a name has that
 * name in Host, never an address.
 * @param host the Host header, with or without port
 * @param allowed names, compared without case; empty allows every name
 */
export function isHostAllowed(host: string | undefined, allowed: readonly string[]): boolean {
  return allowed.length === 0 || isHostAmong(host, allowed)
}

/** The same where an empty list allows no name: addresses, `localhost` and these names alone. */
export function isHostAmong(host: string | undefined, names: readonly string[]): boolean {
  const name = hostName(host)
  return name !== undefined && (isAddress(name) || names.some((one) => one.toLowerCase() === name))
}

/**
 * Whether a request speaks to this box under a name that is its own: an address, `localhost`, the machine's own name, bare or
 * with `.local`, or one of those allowed. Where nobody has signed in yet, this keeps away a page that has bent a name of its
 * own to this box's address; what the box is called anybody on the network can ask, and put his own domain behind it.
 * @param hostname what the machine calls itself
 */
export function isOwnHost(host: string | undefined, hostname: string, allowed: readonly string[]): boolean {
  const name = hostName(host)
  if (name === undefined) return false
  const [own = ''] = hostname.toLowerCase().split('.')
  const isOwn = own !== '' && (name === own || name === `${own}.local`)
  return isAddress(name) || isOwn || allowed.some((one) => one.toLowerCase() === name)
}

function isAddress(name: string): boolean {
  const bare = name.startsWith('[') ? name.slice(1, -1) : name
  return isIP(bare) !== 0 || name === 'localhost'
}

/**
 * Whether a request comes from a page of this very server, or from no page at all (programs send no Origin).
 * Host and port count: another port of the same machine is another site. A TLS proxy in front may have taken `https`
 * off, so both schemes are taken.
 * @param origin the Origin header
 * @param host the Host header
 */
export function isOwnOrigin(origin: string | undefined, host: string | undefined): boolean {
  if (origin === undefined) return true
  const from = parseOrigin(origin)
  return from !== undefined && isOriginOf(from, host)
}

/** Where a page comes from. */
export interface Origin {
  /** As browsers write it: lower case, without the scheme's own port: `http://10.0.0.7:8080`. */
  text: string
  scheme: 'http' | 'https'
  /** Lower case; IPv6 in its brackets. */
  host: string
  port: number
}

/**
 * Reads an Origin header: scheme, host and port and nothing else. A path, a user, a zone, `null` and a list of several
 * are no origin of a page that anybody could have opened here.
 * @source RFC 6454, 7.1
 */
export function parseOrigin(text: string): Origin | undefined {
  return /^https?:\/\/[^/?#@\\\s,]+$/i.test(text) ? originOf(text) : undefined
}

/** The origin of the page that a Referer names; undefined for what no browser sends. @source RFC 9110, 10.1.3 */
export function originOfReferer(text: string): Origin | undefined {
  return /^https?:\/\/[^/?#@\\\s,]+([/?][^\s]*)?$/i.test(text) ? originOf(text) : undefined
}

/** Whether a page of this origin was served under the Host that the request names. */
export function isOriginOf({ scheme, text }: Origin, host: string | undefined): boolean {
  return host !== undefined && originOf(`${scheme}://${host}`)?.text === text && hostName(host) !== undefined
}

function originOf(text: string): Origin | undefined {
  const url = urlOf(text)
  if (!url || url.hostname === '' || url.username !== '' || url.password !== '') return undefined
  const scheme = url.protocol === 'https:' ? 'https' : 'http'
  const port = url.port === '' ? (scheme === 'https' ? 443 : 80) : Number(url.port)
  return { text: url.origin, scheme, host: url.hostname, port }
}

/** Host without port, lower case, IPv6 in its brackets and without its zone; undefined where it is no host at all. */
function hostName(host: string | undefined): string | undefined {
  if (!host || /[/?#@\\\s,]/.test(host)) return undefined
  // A zone is the caller's own name for an interface, and nothing that a page's address can hold. RFC 6874, 1.
  const unzoned = host.replace(/^(\[[0-9a-f:.]+)%[a-z0-9._~%-]+\]/i, '$1]')
  return urlOf(`http://${unzoned}`)?.hostname.replace(/\.$/, '')
}

function urlOf(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined
}
