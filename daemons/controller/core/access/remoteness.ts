/** Where a request comes from, and whether that is provably outside the building. */
import type { Address, Network } from '#kit/net/address.ts'
import { hasProxySign } from '#kit/pure/proxy-signs.ts'
import type { Origin } from './accounts.ts'

/** How addresses are read; `#kit/net/address.ts` does it. */
export interface Addresses {
  /** IPv4 in IPv6 (`::ffff:10.0.0.1`) is the IPv4 it stands for. */
  parseAddress(text: string): Address | undefined
  parseNetwork(text: string): Network | undefined
  isWithin(address: Address, network: Network): boolean
}

/** Headers of a call, by their names in small letters. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * Where a call comes from.
 * @param peerAddress of the connection itself, as the socket tells it; empty where the peer has gone or has none
 */
export type OriginOf = (peerAddress: string, headers: Headers) => Origin

interface RemotenessParts {
  addresses: Addresses
  /** Config `trusted_proxies`: their `x-forwarded-for` is believed; of nobody else. */
  trustedProxies: readonly Network[]
  /** Config `local_networks`: public addresses that belong to the building. */
  localNetworks: readonly Network[]
  /** Config `forwarded_hops`: entries of one `x-forwarded-for` that are looked at. */
  hops: number
  tunnel: TunnelKeys
}

/** Keys of the table `tunnel`. */
interface TunnelKeys {
  /** The header by which the tunnel marks what it brings. */
  header: string
  /** Addresses and networks that the tunnel connects from. */
  peers: readonly string[]
}

/**
 * Addresses from which nothing is provable: of the machine, of a site, of a carrier's NAT, and those that no peer has.
 * Documentation and benchmark networks count as public: no building uses them.
 * @source IANA special-purpose address registries; document 1, Authentication 5
 */
const NOT_PUBLIC = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'],
  ...['224.0.0.0/4', '240.0.0.0/4', '::', '::1', 'fe80::/10', 'fec0::/10', 'fc00::/7', 'ff00::/8'],
  // NAT64 of a site's own: the IPv4 behind it may be anything (RFC 8215).
  '64:ff9b:1::/48',
]

/**
 * Addresses that are of the machine, of its cable, or of a site, and of nothing beyond. Narrower than what is not public:
 * behind a carrier's NAT stand strangers.
 * @source RFC 1122, 3.2.1.3; RFC 1918; RFC 3927; RFC 4193; RFC 4291, 2.5
 */
const PRIVATE = [
  ...['10.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'],
  ...['::1', 'fe80::/10', 'fc00::/7'],
]

/** Peers whose judgement is kept. */
const JUDGED_PEERS = 256

/**
 * Tells which calls the cloud tunnel brought: it marks them itself, and is believed where it connects from. A mark makes a
 * caller remote and gives nothing, so nobody gains by setting it; it cannot be taken off, as the tunnel sets it on
 * everything it brings.
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
 * @returns a judge of origins. The client is the peer; behind a trusted proxy, the first hop from the right that is none
 * of them. Where the chain ends or says something that is no address, it is the last hop that was read: whom that one
 * speaks for is not known, so it proves nothing. Neither does a peer that is not trusted and names somebody behind it.
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

  /** Peers without a chain: each asks again and again, and is judged alike each time. */
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
    // Nobody's chain in another form is read; that there is one says that the peer is not where the call began.
    const isRelayed = forwardedFor === undefined && hasProxySign(headers)
    return { clientIp, isRemote: isTunnel || isRemote, isLocal: isLocal && !isTunnel && !isRelayed }
  }
}

/** One way to write each: IPv4 in dots, IPv6 in small letters without its zone. */
function textOf({ text, address }: { text: string; address: Address }): string {
  if (address.length === 4) return address.join('.')
  return (text.split('%', 1)[0] ?? '').replace('[', '').replace(']', '').toLowerCase()
}

// The hops of `x-forwarded-for`, the nearest first.

/** No proxy writes longer ones: an IPv6 address with zone, brackets, quotes and a port. */
const LONGEST_HOP = 100

/**
 * Takes the header apart from its right end, where the nearest proxy wrote, and no further than asked: what stands on
 * the left is whatever a stranger sent. Empty entries are left out (RFC 9110, 5.6.1.2). Quotes, brackets, ports and
 * zones are taken off; what is left is not checked to be an address.
 * @param header its lines in the order they came, or joined by commas as Node does
 * @param most hops that are looked at
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

/** `"[2001:db8::1]:443"`, `[fe80::1%eth0]`, `192.0.2.1:8080`; a lone IPv6 address has colons and no port. */
function bare(hop: string): string {
  const unquoted = /^"(.*)"$/.exec(hop)?.[1] ?? hop
  const inside = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(unquoted)?.[1]
  if (inside !== undefined) return withoutZone(inside)
  return withoutZone(/^([^:]*):\d{1,5}$/.exec(unquoted)?.[1] ?? unquoted)
}

function withoutZone(address: string): string {
  return address.split('%', 1)[0] ?? ''
}
