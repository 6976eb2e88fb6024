/** Where a request comes from, and whether that is provably outside the building. */
import type { Address, Network } from '#kit/net/address.ts'
import { hasProxySign } from '#kit/pure/proxy-signs.ts'
import type { Origin } from './accounts.ts'

/** Parses addresses; `#kit/net/address.ts` implements it. */
export interface Addresses {
  /** IPv4 in IPv6 (`::ffff:10.0.0.1`) is returned as plain IPv4. */
  parseAddress(text: string): Address | undefined
  parseNetwork(text: string): Network | undefined
  isWithin(address: Address, network: Network): boolean
}

/** Headers of a call, keyed by lower-case name. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * Where a call comes from.
 * @param peerAddress the peer of the connection itself, as the socket reports it; empty if the peer has gone or has
 * none
 */
export type OriginOf = (peerAddress: string, headers: Headers) => Origin

interface RemotenessParts {
  addresses: Addresses
  /** Config `trusted_proxies`: `x-forwarded-for` is believed from these proxies only. */
  trustedProxies: readonly Network[]
  /** Config `local_networks`: public addresses that belong to the building. */
  localNetworks: readonly Network[]
  /** Config `forwarded_hops`: how many entries of one `x-forwarded-for` are looked at. */
  hops: number
  tunnel: TunnelKeys
}

/** Keys of the table `tunnel`. */
interface TunnelKeys {
  /** The header with which the tunnel marks the requests it brings. */
  header: string
  /** Addresses and networks that the tunnel connects from. */
  peers: readonly string[]
}

/**
 * Addresses that prove nothing: of the machine, a site, or a carrier's NAT, and those that no peer can have.
 * Documentation and benchmark networks count as public: no building uses them.
 * @source IANA special-purpose address registries; document 1, Authentication 5
 */
const NOT_PUBLIC = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'],
  ...['224.0.0.0/4', '240.0.0.0/4', '::', '::1', 'fe80::/10', 'fec0::/10', 'fc00::/7', 'ff00::/8'],
  // A site's own NAT64: the IPv4 behind it may be anything (RFC 8215).
  '64:ff9b:1::/48',
]

/**
 * Addresses that belong only to the machine, its cable, or a site. This is narrower than "not public": behind a
 * carrier's NAT there are strangers.
 * @source RFC 1122, 3.2.1.3; RFC 1918; RFC 3927; RFC 4193; RFC 4291, 2.5
 */
const PRIVATE = [
  ...['10.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'],
  ...['::1', 'fe80::/10', 'fc00::/7'],
]

/** Peers whose origin is cached. */
const JUDGED_PEERS = 256

/**
 * Recognises calls from the cloud tunnel. The tunnel marks everything it brings, and the mark is believed if it comes
 * from an address the tunnel connects from. A mark makes a caller remote and grants nothing, so forging it gains
 * nothing. It cannot be removed either, as the tunnel sets it on everything.
 * @source document 1, Authentication 5
 */
export function createTunnelMark(
  { parseAddress, parseNetwork, isWithin }: Addresses,
  { header, peers }: TunnelKeys,
): (peerAddress: string, headers: Headers) => boolean {
  const networks = peers.map(parseNetwork).filter((network) => network !== undefined)
  return (peerAddress, headers) => {
    if (headers[header] === undefined) return false
    const address = parseAddress(peerAddress)
    return address !== undefined && networks.some((network) => isWithin(address, network))
  }
}

/**
 * @returns a function that judges origins. The client is the peer; behind a trusted proxy it is the first hop from the
 * right that is not a trusted proxy. If the chain ends or contains something that is not an address, the client is the
 * last hop that was read: it is not known for whom that hop speaks, so it proves nothing. Neither does an untrusted
 * peer that names a client behind it.
 * @source document 1, Audit record and Authentication 5
 */
export function createRemoteness(parts: RemotenessParts): OriginOf {
  const { parseAddress, parseNetwork, isWithin } = parts.addresses
  const networks = (texts: readonly string[]) => texts.map(parseNetwork).filter((network) => network !== undefined)
  const notPublic = [...networks(NOT_PUBLIC), ...parts.localNetworks]
  const ownNetworks = [...networks(PRIVATE), ...parts.localNetworks]
  const isIn = (address: Address, some: readonly Network[]) => some.some((network) => isWithin(address, network))
  const isTrusted = (address: Address) => isIn(address, parts.trustedProxies)
  const isMarked = createTunnelMark(parts.addresses, parts.tunnel)

  function clientOf(peer: string, forwardedFor: string | readonly string[] | undefined) {
    const first = parseAddress(peer)
    if (first === undefined) return undefined
    let client = { text: peer, address: first }
    if (forwardedFor === undefined || !isTrusted(first)) return client
    for (const text of hopsOf(forwardedFor, parts.hops)) {
      const address = parseAddress(text)
      if (address === undefined) return client
      client = { text, address }
      if (!isTrusted(address)) return client
    }
    return client
  }

  function judge(peer: string, forwardedFor: string | readonly string[] | undefined): Origin {
    const client = clientOf(peer, forwardedFor)
    if (client === undefined) return { clientIp: '', isRemote: false, isLocal: false }
    const { address } = client
    const isItsOwn = !isTrusted(address) && (forwardedFor === undefined || client.text !== peer)
    const isLocal = isItsOwn && isIn(address, ownNetworks)
    return { clientIp: textOf(client), isRemote: !isIn(address, notPublic), isLocal }
  }

  /** Cache for peers without a chain: they call again and again, and the result is always the same. */
  const judged = new Map<string, Origin>()

  function judgePeer(peer: string): Origin {
    const known = judged.get(peer)
    if (known) return known
    if (judged.size >= JUDGED_PEERS) judged.clear()
    const origin = judge(peer, undefined)
    judged.set(peer, origin)
    return origin
  }

  return (peerAddress, headers) => {
    const isTunnel = isMarked(peerAddress, headers)
    const forwardedFor = headers['x-forwarded-for']
    const { clientIp, isRemote, isLocal } =
      forwardedFor === undefined ? judgePeer(peerAddress) : judge(peerAddress, forwardedFor)
    // Chains in other forms are not parsed; but their presence means that the call did not begin at the peer.
    const isRelayed = forwardedFor === undefined && hasProxySign(headers)
    return { clientIp, isRemote: isTunnel || isRemote, isLocal: isLocal && !isTunnel && !isRelayed }
  }
}

/** One spelling per address: dotted IPv4, lower-case IPv6 without its zone. */
function textOf({ text, address }: { text: string; address: Address }): string {
  if (address.length === 4) return address.join('.')
  return (text.split('%', 1)[0] ?? '').replace('[', '').replace(']', '').toLowerCase()
}

// The hops of `x-forwarded-for`, nearest first.

/** No proxy writes longer entries: an IPv6 address with zone, brackets, quotes and a port. */
const LONGEST_HOP = 100

/**
 * Parses the header from its right end, where the nearest proxy wrote, and no further than asked: the left part is
 * whatever a stranger sent. Empty entries are skipped (RFC 9110, 5.6.1.2). Quotes, brackets, ports and zones are
 * removed; the rest is not checked to be an address.
 * @param header its lines in the order they came, or joined by commas as Node does
 * @param most how many hops to look at
 * @source document 1, Audit record
 */
export function hopsOf(header: string | readonly string[] | undefined, most: number): string[] {
  const text = typeof header === 'string' ? header : (header ?? []).join(',')
  const hops: string[] = []
  let end = text.length
  for (let looked = 0; looked < most && end >= 0; looked++) {
    const comma = end === 0 ? -1 : text.lastIndexOf(',', end - 1)
    const hop = text.slice(comma + 1, end).trim()
    if (hop !== '') hops.push(hop.length > LONGEST_HOP ? '' : bare(hop))
    end = comma
  }
  return hops
}

/** `"[2001:db8::1]:443"`, `[fe80::1%eth0]`, `192.0.2.1:8080`; an unbracketed IPv6 address has no port. */
function bare(hop: string): string {
  const unquoted = /^"(.*)"$/.exec(hop)?.[1] ?? hop
  const inside = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(unquoted)?.[1]
  if (inside !== undefined) return withoutZone(inside)
  return withoutZone(/^([^:]*):\d{1,5}$/.exec(unquoted)?.[1] ?? unquoted)
}

function withoutZone(address: string): string {
  return address.split('%', 1)[0] ?? ''
}
