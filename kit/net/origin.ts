/** Which Host and Origin headers a server takes: against DNS rebinding, and against pages of other sites. */
import { isIP } from 'node:net'

/**
 * Whether a request may carry this Host. Addresses and `localhost` always may: a page that rebinds a name has that
 * name in Host, never an address.
 * @param host the Host header, with or without port
 * @param allowed names, compared without case; empty allows every name
 */
export function isHostAllowed(host: string | undefined, allowed: readonly string[]): boolean {
  if (allowed.length === 0) return true
  const name = hostName(host)
  return name !== undefined && (isAddress(name) || allowed.some((one) => one.toLowerCase() === name))
}

/**
 * Whether a request speaks to this box under a name that can be its own: an address, `localhost`, the machine's own name
 * with any domain behind it, or one of those allowed. Where nobody has signed in yet, this keeps away a page that has
 * bent a name of its own to this box's address; it cannot know what the box is called.
 * @param hostname what the machine calls itself
 */
export function isOwnHost(host: string | undefined, hostname: string, allowed: readonly string[]): boolean {
  const name = hostName(host)
  if (name === undefined) return false
  const [label] = name.split('.')
  const [own] = hostname.toLowerCase().split('.')
  return isAddress(name) || (label === own && own !== '') || allowed.some((one) => one.toLowerCase() === name)
}

function isAddress(name: string): boolean {
  const bare = name.startsWith('[') ? name.slice(1, -1) : name
  return isIP(bare) !== 0 || name === 'localhost'
}

/**
 * Whether a request comes from a page of this very server, or from no page at all (programs send no Origin).
 * Scheme and port count: another port of the same machine is another site.
 * @param origin the Origin header
 * @param host the Host header
 * @param scheme what this server speaks; a TLS proxy in front may have taken `https` off, so both are taken
 */
export function isOwnOrigin(origin: string | undefined, host: string | undefined): boolean {
  if (origin === undefined) return true
  if (host === undefined || !/^https?:\/\//i.test(origin)) return false
  const from = urlOf(origin)
  const own = from && urlOf(`${from.protocol}//${host}`)
  return own !== undefined && own.host === from?.host && from.host !== ''
}

/** Host without port, lower case, IPv6 in its brackets; undefined where it is no host at all. */
function hostName(host: string | undefined): string | undefined {
  if (!host || /[/?#@\\\s]/.test(host)) return undefined
  return urlOf(`http://${host}`)?.hostname.replace(/\.$/, '')
}

function urlOf(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined
}
