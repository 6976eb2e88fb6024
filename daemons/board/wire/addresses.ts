/**
 * Parses IPv4 addresses, masks and multicast groups as people type them, explains what is wrong with one, and decides
 * which groups may carry a stream.
 * @source RFC 791, 3.2 (addresses); RFC 4632, 3.1 (masks)
 */

/** 0..4294967295. */
export type Ipv4 = number

/** Parses a dotted quad. Leading zeros are refused, since some programs read them as octal. */
export function parseIpv4(text: string): Ipv4 | undefined {
  if (!/^(?:(?:0|[1-9]\d{0,2})(?:\.(?!$)|$)){4}$/.test(text)) return undefined
  const parts = text.split('.').map(Number)
  if (parts.some((part) => part > 255)) return undefined
  return parts.reduce((address, part) => address * 256 + part, 0)
}

/** `10.0.0.7`. */
export function ipv4Text(address: Ipv4): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 0xff).join('.')
}

/** Why a text is not an IPv4 address, in a sentence that names the faulty number; undefined if it is one. */
export function ipv4Fault(text: string): string | undefined {
  if (parseIpv4(text) !== undefined) return undefined
  const parts = text.split('.')
  if (parts.length !== 4 || parts.some((part) => !/^\d+$/.test(part)))
    return 'An address is four numbers with dots between, such as 10.20.4.11.'
  const place = parts.findIndex((part) => Number(part) > 255)
  if (place >= 0) return `The ${ORDINALS[place]} number goes up to 255.`
  const padded = parts.findIndex((part) => part.length > 1 && part.startsWith('0'))
  return `The ${ORDINALS[padded]} number begins with 0. Leave that out.`
}

const ORDINALS = ['first', 'second', 'third', 'fourth'] as const

/** Prefix length of a mask: 24 for `255.255.255.0`; undefined if its ones are not contiguous. */
export function prefixOfMask(mask: Ipv4): number | undefined {
  const prefix = Math.clz32(~mask)
  return maskOfPrefix(prefix) === mask ? prefix : undefined
}

/** @param prefix 0..32 */
export function maskOfPrefix(prefix: number): Ipv4 {
  return prefix === 0 ? 0 : (0xffff_ffff << (32 - prefix)) >>> 0
}

/** Whether an address lies in the network of another. */
export function isInNetwork(address: Ipv4, of: Ipv4, prefix: number): boolean {
  const mask = maskOfPrefix(prefix)
  return (address & mask) >>> 0 === (of & mask) >>> 0
}

/** First and last address of the network an address is in; no host may use either. */
export function edgesOf(address: Ipv4, prefix: number): { first: Ipv4; last: Ipv4 } {
  const mask = maskOfPrefix(prefix)
  const first = (address & mask) >>> 0
  return { first, last: (first | ~mask) >>> 0 }
}

/**
 * Why an address can belong to no host, whatever its network; undefined if it can.
 * @source IANA IPv4 Special-Purpose Address Registry; RFC 1122, 3.2.1.3
 */
export function hostFault(address: Ipv4): string | undefined {
  const [first, second] = [address >>> 24, (address >>> 16) & 0xff]
  const text = ipv4Text(address)
  if (first === 0) return `${text} stands for no address. Take one of the network the board is in.`
  if (first === 127) return `${text} is every machine's own address. Take one of the network the board is in.`
  if (first >= 224 && first <= 239) return `${text} is a multicast group. A board has an address of its own.`
  if (first >= 240) return `${text} is reserved. Take one of the network the board is in.`
  if (first === 169 && second === 254)
    return `${text} is a link-local address, which machines give themselves. Take one of the network the board is in.`
  return undefined
}

// Multicast groups.

/**
 * Why a stream cannot be sent to, or received at, a group; undefined if it can.
 *
 * AES67 streams use 239.0.0.0/8. Other RTP senders also use source-specific groups (232/8), groups allocated by SAP
 * (224.2.128.0/17), and the blocks owned by networks (233/8 and 234/8). All others belong to other protocols or are
 * unassigned.
 * @source AES67-2018 (streams in 239.0.0.0/8); RFC 5771; RFC 2365; RFC 4607; RFC 6034; IANA IPv4 Multicast Address
 * Space Registry
 */
export function groupFault(text: string): string | undefined {
  const group = parseIpv4(text)
  if (group === undefined) return ipv4Fault(text)
  const first = group >>> 24
  if (first < 224 || first > 239)
    return `${text} is not a multicast group. Streams go to one such as 239.69.${(group >>> 8) & 0xff}.${group & 0xff}.`
  if (group >>> 8 === 0xe0_00_00)
    return `${text} is for the control of this network and never leaves it. Take one from 239.0.1.0 to 239.255.255.255.`
  const owner = OWNED.get(text)
  if (owner) return `${text} belongs to ${owner}. Take another one from 239.0.1.0 to 239.255.255.255.`
  if (!isForStreams(group))
    return `${text} is given to other protocols. Take one from 239.0.1.0 to 239.255.255.255, or from 232.0.1.0 to 232.255.255.255.`
  if ((group & 0x7f_ff_ff) < 256)
    return `${text} has the same Ethernet address as 224.0.0.${group & 0xff}, so switches send it everywhere. Take another one, such as 239.69.1.${group & 0xff}.`
  return undefined
}

/** Whether a text is a multicast address, of any kind. */
export function isGroup(text: string): boolean {
  const address = parseIpv4(text)
  return address !== undefined && address >>> 28 === 0xe
}

/**
 * Whether receivers have to name the sender when they join the group.
 * @source RFC 4607, 1
 */
export function isSourceSpecific(group: string): boolean {
  const address = parseIpv4(group)
  return address !== undefined && address >>> 24 === 232
}

function isForStreams(group: Ipv4): boolean {
  const first = group >>> 24
  return first === 239 || first === 232 || first === 233 || first === 234 || group >>> 15 === 0xe0_02_80_00 >>> 15
}

/** Groups within the stream ranges that are assigned to protocols. */
const OWNED: ReadonlyMap<string, string> = new Map([
  ['239.255.255.250', 'UPnP, which finds devices'],
  ['239.255.255.253', 'the service location protocol'],
  ['239.255.255.254', 'NTP'],
  ['239.255.255.255', 'SAP, which announces streams'],
  ['239.192.255.255', 'SAP, which announces streams'],
  ['239.195.255.255', 'SAP, which announces streams'],
  ['224.2.127.254', 'SAP, which announces streams'],
])

/**
 * The default group of a board: it rarely collides with another board's, and switches do not flood it.
 * @param seed two bytes that differ from board to board
 */
export function firstGroup(seed: Uint8Array): string {
  return ipv4Text(((239 << 24) | (69 << 16) | ((seed[0] ?? 0) << 8) | (seed[1] ?? 0)) >>> 0)
}
