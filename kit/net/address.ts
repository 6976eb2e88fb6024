/** IP addresses and origins: parse, compare, allow, and list this machine's own. */
import { isIP } from 'node:net'
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'
import { Fault } from '../pure/fault.ts'

/** An address: 4 or 16 bytes in network order. IPv4-mapped IPv6 (`::ffff:10.0.0.1`) is read as its IPv4 address. */
export type Address = Uint8Array

/** A range of addresses. */
export interface Network {
  address: Address
  prefix: number
}

/** Classes that callers distinguish; `ordinary` is every other address, private networks included. */
export type AddressClass =
  | 'loopback'
  | 'link-local'
  | 'metadata'
  | 'multicast'
  | 'unspecified'
  | 'reserved'
  | 'ordinary'

/** @returns undefined if the text is not an address; a zone (`fe80::1%eth0`) is dropped */
export function parseAddress(text: string): Address | undefined {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text
  const family = isIP(bare)
  if (family === 4) return Uint8Array.from(bare.split('.'), Number)
  return family === 6 ? unmapped(bytesOfV6(bare.split('%', 1)[0] ?? '')) : undefined
}

/**
 * A peer's address as people write it: without `::ffff:` for IPv4 on a dual-stack socket.
 * @param text undefined if the peer has gone already
 */
export function plainAddress(text: string | undefined): string {
  if (text === undefined) return ''
  if (!text.startsWith(':')) return text
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(text)?.[1] ?? text
}

/**
 * Reads `10.0.0.0/8`, `fd00::/8`, or a single address as a range of one. Bits behind the prefix must be zero. An
 * address with a zone (`fe80::1%eth0`) is refused: it would match the same address on every other interface too.
 */
export function parseNetwork(text: string): Network | undefined {
  if (text.includes('%')) return undefined
  const [host = '', length, ...rest] = text.split('/')
  const address = parseAddress(host)
  if (!address || rest.length > 0 || (length !== undefined && !/^\d{1,3}$/.test(length))) return undefined
  const prefix = length === undefined ? address.length * 8 : Number(length)
  if (prefix > address.length * 8) return undefined
  return equal(address, masked(address, prefix)) ? { address, prefix } : undefined
}

/** Whether an address lies in a range. */
export function isWithin(address: Address, { address: network, prefix }: Network): boolean {
  return address.length === network.length && equal(masked(address, prefix), network)
}

/**
 * The class of an address. Addresses inside IPv6 transition ranges (NAT64, 6to4) are classed by their inner IPv4
 * address.
 */
export function classOf(address: Address): AddressClass {
  const inner = innerV4(address)
  if (inner) return classOf(inner)
  classes ??= CLASSES.map(([name, text]) => [name, networkOfTable(text)])
  return classes.find(([, network]) => isWithin(address, network))?.[0] ?? 'ordinary'
}

/**
 * The key by which a remote address is counted: an IPv4 address itself, for IPv6 the /64, since a host may choose any
 * address within its own.
 */
export function networkOf(remoteAddress: string): string {
  const address = parseAddress(remoteAddress)
  if (!address) return remoteAddress
  return address.length === 4 ? address.join('.') : `${Buffer.from(address.subarray(0, 8)).toString('hex')}/64`
}

/** The key by which connections of an address are counted; undefined if they are not counted. */
export type ShareOf = (remoteAddress: string) => string | undefined

/**
 * @param trusted addresses and networks that are not counted, such as a proxy through which many call; each as
 * `parseNetwork` reads it
 */
export function createShareOf(trusted: readonly string[]): ShareOf {
  const networks = trusted.flatMap((text) => parseNetwork(text) ?? [])
  return (remoteAddress) => {
    const address = parseAddress(remoteAddress)
    if (address && networks.some((network) => isWithin(address, network))) return undefined
    return networkOf(remoteAddress)
  }
}

/**
 * The wider networks that take turns when many addresses call at once: for IPv4 the /24, for IPv6 the /48 that a site
 * gets, which holds 65,536 of the networks above.
 */
export function wideNetworkOf(remoteAddress: string): string {
  const address = parseAddress(remoteAddress)
  return address ? Buffer.from(address.subarray(0, address.length === 4 ? 3 : 6)).toString('hex') : remoteAddress
}

/**
 * The first match wins. Metadata services hand out a cloud machine's credentials to anyone who asks from inside. Those
 * of Azure, Oracle and Alibaba are not link-local, nor are the IPv6 ones of Amazon (fd00:ec2), Google (fd20:ce), Oracle
 * (fd00:c1), Scaleway (fd00:42), Linode (fd00:a9fe:a9fe) and Alibaba (fd00:100).
 * @source IANA special-purpose address registries; RFC 3927, RFC 4291, RFC 5771; the clouds' own manuals
 */
const CLASSES = [
  ['metadata', '169.254.169.254'],
  ['metadata', '169.254.170.2'],
  ['metadata', '169.254.170.23'],
  ['metadata', '100.100.100.200'],
  ['metadata', '168.63.129.16'],
  ['metadata', '192.0.0.192'],
  ['metadata', 'fd00:ec2::254'],
  ['metadata', 'fd00:ec2::23'],
  ['metadata', 'fd20:ce::254'],
  ['metadata', 'fd00:c1::a9fe:a9fe'],
  ['metadata', 'fd00:42::42'],
  ['metadata', 'fd00:a9fe:a9fe::1'],
  ['metadata', 'fd00:100::100:200'],
  ['loopback', '127.0.0.0/8'],
  ['loopback', '::1'],
  ['link-local', '169.254.0.0/16'],
  ['link-local', 'fe80::/10'],
  ['multicast', '224.0.0.0/4'],
  ['multicast', 'ff00::/8'],
  ['unspecified', '0.0.0.0/8'],
  ['unspecified', '::'],
  ['reserved', '240.0.0.0/4'],
] as const

/** Read on first use: Node's pattern for IPv6 takes 15 ms to compile. */
let classes: readonly (readonly [AddressClass, Network])[] | undefined

/**
 * Finds the inner IPv4 address of NAT64 (RFC 6052, and a building's own prefix by RFC 8215 if it is a /96),
 * IPv4-translated (RFC 2765, 2.1), IPv4-compatible (RFC 4291, 2.5.5.1), 6to4 (RFC 3056), Teredo (RFC 4380, 4: inverted)
 * and ISATAP (RFC 5214, 6.1).
 */
function innerV4(address: Address): Address | undefined {
  if (address.length === 4) return undefined
  if (startsWith(address, [0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0])) return address.slice(12)
  if (startsWith(address, [0x00, 0x64, 0xff, 0x9b, 0, 1])) return address.slice(12)
  if (startsWith(address, [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0])) return address.slice(12)
  if (startsWith(address, [0x20, 0x02])) return address.slice(2, 6)
  if (startsWith(address, [0x20, 0x01, 0, 0])) return address.slice(12).map((byte) => byte ^ 0xff)
  if (startsWith(address.subarray(8), [0, 0, 0x5e, 0xfe]) || startsWith(address.subarray(8), [2, 0, 0x5e, 0xfe]))
    return address.slice(12)
  const isCompatible = startsWith(address, new Array(12).fill(0)) && address.subarray(12, 15).some((byte) => byte !== 0)
  return isCompatible ? address.slice(12) : undefined
}

function networkOfTable(text: string): Network {
  const network = parseNetwork(text)
  if (!network) throw new Error(`the table of address classes holds ${text}`)
  return network
}

/** Bytes of a text that `isIP` accepted as IPv6. */
function bytesOfV6(text: string): Address {
  const [before = '', after] = text.split('::')
  const head = groupsOf(before)
  const tail = after === undefined ? [] : groupsOf(after)
  const groups = [...head, ...new Array(8 - head.length - tail.length).fill(0), ...tail]
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 0xff]))
}

function groupsOf(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return [Number.parseInt(part, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number)
    return [(a << 8) | b, (c << 8) | d]
  })
}

function unmapped(address: Address): Address {
  return startsWith(address, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]) ? address.slice(12) : address
}

/** An address with the bits behind a prefix set to zero. */
export function masked(address: Address, prefix: number): Address {
  return address.map((byte, i) => byte & (0xff00 >> Math.min(8, Math.max(0, prefix - 8 * i))))
}

function startsWith(address: Address, start: readonly number[]): boolean {
  return start.every((byte, i) => address[i] === byte)
}

function equal(one: Address, other: Address): boolean {
  return one.length === other.length && one.every((byte, i) => byte === other[i])
}

// Allow lists: addresses and networks that may connect, in one text as an installer types it.

/** The parsed list. */
interface AllowList {
  /** @param remoteAddress of a peer, as its socket gives it; text that is not an address is not allowed */
  allows(remoteAddress: string): boolean
}

/**
 * Reads addresses and CIDR blocks of both families, separated by commas or spaces: `10.20.4.0/24, fd00::7`. An empty
 * list allows everybody. IPv4 in IPv6 (`::ffff:10.0.0.1`) counts as its IPv4 address, in the list and for peers.
 * @param maxEntries more are refused
 * @throws Fault `bad_allow` naming the first invalid entry, with what was probably meant
 */
export function parseAllowList(text: string, maxEntries: number): AllowList {
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== '')
  if (entries.length > maxEntries)
    throw new Fault('bad_allow', `holds ${entries.length} addresses and networks, expected at most ${maxEntries}`)
  const networks = entries.map(networkOfEntry)
  return {
    allows(remoteAddress) {
      if (networks.length === 0) return true
      const address = parseAddress(remoteAddress)
      return address !== undefined && networks.some((network) => isWithin(address, network))
    },
  }
}

function networkOfEntry(entry: string): Network {
  const network = parseNetwork(entry)
  if (network) return network
  const shown = JSON.stringify(entry.slice(0, 60))
  const hint = hasBitsBehind(entry) ? `has bits behind its prefix, expected the first address of the network` : NEITHER
  throw new Fault('bad_allow', `${shown} ${hint}`)
}

const NEITHER = 'is neither an address nor a network, expected such as 10.20.4.7, 10.20.4.0/24 or fd00::/64'

/** Whether the entry would be valid if the address were the first of its network. */
function hasBitsBehind(entry: string): boolean {
  const [host = '', length = '', ...rest] = entry.split('/')
  const address = parseAddress(host)
  return address !== undefined && rest.length === 0 && /^\d{1,3}$/.test(length) && Number(length) <= address.length * 8
}

// The interfaces and addresses of this machine.

/** One address that others can reach. */
interface OwnAddress {
  interface: string
  address: string
  /** Bits of the network. */
  prefix: number
  family: 'IPv4' | 'IPv6'
}

let known: NodeJS.Dict<NetworkInterfaceInfo[]> = {}

/**
 * `os.networkInterfaces` that never throws: it needs a file descriptor, and a process without a free one gets the last
 * known result.
 */
export function interfacesNow(read = networkInterfaces): NodeJS.Dict<NetworkInterfaceInfo[]> {
  try {
    known = read()
  } catch {
    // Callers ask again every few seconds; there is nothing to do but wait.
  }
  return known
}

/** All addresses but loopback, by interface; cheap enough for every request. */
export function reachableAddresses(): OwnAddress[] {
  return Object.entries(interfacesNow()).flatMap(([name, list]) =>
    (list ?? [])
      .filter(({ internal }) => !internal)
      .map(({ address, family, cidr }) => ({ interface: name, address, prefix: Number(cidr?.split('/')[1]), family })),
  )
}

/** Whether an address is of this machine, or of a network that it is in: what comes through a router is not. */
export function isOfOwnNetwork(remoteAddress: string): boolean {
  return ownNetworkTest()(remoteAddress)
}

/** The same for many addresses, by the networks of this moment, which take longer to list than to compare. */
export function ownNetworkTest(): (remoteAddress: string) => boolean {
  const networks = reachableAddresses().flatMap(({ address, prefix }) => {
    const own = parseAddress(address)
    return own ? [{ address: masked(own, prefix), prefix }] : []
  })
  return (remoteAddress) => {
    const remote = parseAddress(remoteAddress)
    if (!remote) return false
    return classOf(remote) === 'loopback' || networks.some((network) => isWithin(remote, network))
  }
}

// Checks of Host and Origin headers: against DNS rebinding, and against pages of other sites.

/**
 * Whether a request may carry this Host. Addresses and `localhost` are always allowed: a page that rebinds a name has
 * that name in Host, never an address.
 * @param host the Host header, with or without port
 * @param allowed names, compared without case; empty allows every name
 */
export function isHostAllowed(host: string | undefined, allowed: readonly string[]): boolean {
  return allowed.length === 0 || isHostAmong(host, () => allowed)
}

/**
 * The same, but an empty list allows no name: only addresses, `localhost` and these names.
 * @param names not called for an address: a box may have to look up what it is called
 */
export function isHostAmong(host: string | undefined, names: () => readonly string[]): boolean {
  const name = hostName(host)
  return name !== undefined && (isAddress(name) || names().some((one) => one.toLowerCase() === name))
}

/**
 * Whether a request uses a name that belongs to this box: an address, `localhost`, the machine's own name, bare or with
 * `.local`, or an allowed one. As long as nobody has signed in yet, this keeps out a page that has pointed a name of
 * its own at this box. Only the bare name and `.local` count: anybody on the network can ask what the box is called,
 * and put a domain of their own behind it.
 * @param hostname the machine's own host name
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
 * Whether a request comes from a page of this very server, or from no page at all (programs send no Origin). Host and
 * port count: another port of the same machine is another site. Both schemes are accepted, since a TLS proxy in front
 * may have removed `https`.
 * @param origin the Origin header
 * @param host the Host header
 */
export function isOwnOrigin(origin: string | undefined, host: string | undefined): boolean {
  if (origin === undefined) return true
  const from = parseOrigin(origin)
  return from !== undefined && isOriginOf(from, host)
}

/** Origin of a page. */
interface Origin {
  /** As browsers write it: lower case, without the scheme's own port: `http://10.0.0.7:8080`. */
  text: string
  scheme: 'http' | 'https'
  /** Lower case; IPv6 in brackets. */
  host: string
  port: number
}

/**
 * Reads an Origin header: scheme, host and port and nothing else. A path, a user, a zone, `null` or a list is not the
 * origin of a page that anybody could have opened here.
 * @source RFC 6454, 7.1
 */
export function parseOrigin(text: string): Origin | undefined {
  return /^https?:\/\/[^/?#@\\\s,]+$/i.test(text) ? originOf(text) : undefined
}

/** The origin of the page in a Referer header; undefined for what no browser sends. @source RFC 9110, 10.1.3 */
export function originOfReferer(text: string): Origin | undefined {
  return /^https?:\/\/[^/?#@\\\s,]+([/?][^\s]*)?$/i.test(text) ? originOf(text) : undefined
}

/** Whether a page of this origin was served under the Host of the request. */
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

/** Host without port, lower case, IPv6 in brackets and without its zone; undefined if it is not a host. */
function hostName(host: string | undefined): string | undefined {
  if (!host || /[/?#@\\\s,]/.test(host)) return undefined
  // A zone is the caller's own name for an interface; a page's address cannot hold one. RFC 6874, 1.
  const unzoned = host.replace(/^(\[[0-9a-f:.]+)%[a-z0-9._~%-]+\]/i, '$1]')
  return urlOf(`http://${unzoned}`)?.hostname.replace(/\.$/, '')
}

function urlOf(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined
}
