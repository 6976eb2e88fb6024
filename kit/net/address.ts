/** IP addresses as bytes, and which of them mean something special. */
import { isIP } from 'node:net'

/** An address: 4 or 16 bytes in network order. IPv4-mapped IPv6 (`::ffff:10.0.0.1`) is read as the IPv4 it stands for. */
export type Address = Uint8Array

/** A range of addresses. */
export interface Network {
  address: Address
  prefix: number
}

/** Classes that callers treat apart; `ordinary` is every other address, private networks included. */
export type AddressClass =
  | 'loopback'
  | 'link-local'
  | 'metadata'
  | 'multicast'
  | 'unspecified'
  | 'reserved'
  | 'ordinary'

/** @returns undefined where the text is no address; a zone (`fe80::1%eth0`) is left out */
export function parseAddress(text: string): Address | undefined {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text
  const family = isIP(bare)
  if (family === 4) return Uint8Array.from(bare.split('.'), Number)
  return family === 6 ? unmapped(bytesOfV6(bare.split('%', 1)[0] ?? '')) : undefined
}

/**
 * A peer's address as people write it: an IPv4 one that came in on a socket for both families without its `::ffff:`.
 * @param text undefined where the peer has gone already
 */
export function plainAddress(text: string | undefined): string {
  if (text === undefined) return ''
  if (!text.startsWith(':')) return text
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(text)?.[1] ?? text
}

/**
 * Reads `10.0.0.0/8`, `fd00::/8`, or a lone address as a range of one. Bits behind the prefix have to be zero. An address
 * of one interface (`fe80::1%eth0`) is none: it would stand for the same one on every other too.
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

/** The class of an address. Addresses inside IPv6 transition ranges (NAT64, 6to4) are classed by the IPv4 inside. */
export function classOf(address: Address): AddressClass {
  const inner = innerV4(address)
  if (inner) return classOf(inner)
  return CLASSES.find(([, network]) => isWithin(address, network))?.[0] ?? 'ordinary'
}

/**
 * What a remote address is counted by: an IPv4 address itself, of IPv6 the /64, since every host may choose
 * within its own at will.
 */
export function networkOf(remoteAddress: string): string {
  const address = parseAddress(remoteAddress)
  if (!address) return remoteAddress
  return address.length === 4 ? address.join('.') : `${Buffer.from(address.subarray(0, 8)).toString('hex')}/64`
}

/** What connections of an address are counted by; undefined where they are not. */
export type ShareOf = (remoteAddress: string) => string | undefined

/**
 * @param trusted addresses and networks that have no share, such as a proxy through which many call; each as
 * `parseNetwork` takes it
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
 * What networks take turns by where many come at once: of IPv4 the /24, of IPv6 the /48 that a site gets, which holds
 * 65,536 of the networks above.
 */
export function wideNetworkOf(remoteAddress: string): string {
  const address = parseAddress(remoteAddress)
  return address ? Buffer.from(address.subarray(0, address.length === 4 ? 3 : 6)).toString('hex') : remoteAddress
}

/**
 * First match wins. Metadata services hand out a cloud machine's credentials to whoever asks from inside. Those of Azure,
 * Oracle and Alibaba are no link-local ones, nor are those over IPv6 of Amazon (fd00:ec2), Google (fd20:ce), Oracle (fd00:c1),
 * Scaleway (fd00:42), Linode (fd00:a9fe:a9fe) and Alibaba (fd00:100).
 * @source IANA special-purpose address registries; RFC 3927, RFC 4291, RFC 5771; the clouds' own manuals
 */
const CLASSES: readonly (readonly [AddressClass, Network])[] = (
  [
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
).map(([name, text]) => [name, networkOfTable(text)])

/**
 * NAT64 (RFC 6052, and a building's own prefix by RFC 8215 where it is a /96), IPv4-translated (RFC 2765, 2.1),
 * IPv4-compatible (RFC 4291, 2.5.5.1), 6to4 (RFC 3056), Teredo (RFC 4380, 4: inverted) and ISATAP (RFC 5214, 6.1) with the
 * place of the IPv4 inside.
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

/** Bytes of text that `isIP` took for IPv6. */
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
