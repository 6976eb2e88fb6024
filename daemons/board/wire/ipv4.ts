/** IPv4 addresses, masks and groups as people type them, and why one of them does not do. */

/** 0..4294967295. */
export type Ipv4 = number

/** Reads four decimal numbers. Leading zeros are refused: some programs take them for octal. */
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

/** Why a text is no address of four numbers, in a sentence that names the number at fault. */
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

/** Bits of a mask whose ones stand together, `255.255.255.0` is 24; undefined for any other. */
export function prefixOfMask(mask: Ipv4): number | undefined {
  const prefix = Math.clz32(~mask)
  return maskOfPrefix(prefix) === mask ? prefix : undefined
}

/** @param prefix 0..32 */
export function maskOfPrefix(prefix: number): Ipv4 {
  return prefix === 0 ? 0 : (0xffff_ffff << (32 - prefix)) >>> 0
}

/** Whether an address lies in the network that another one is in. */
export function isInNetwork(address: Ipv4, of: Ipv4, prefix: number): boolean {
  const mask = maskOfPrefix(prefix)
  return (address & mask) >>> 0 === (of & mask) >>> 0
}

/** First and last address of the network that an address is in: those that no host may have. */
export function edgesOf(address: Ipv4, prefix: number): { first: Ipv4; last: Ipv4 } {
  const mask = maskOfPrefix(prefix)
  const first = (address & mask) >>> 0
  return { first, last: (first | ~mask) >>> 0 }
}

/**
 * Why an address can belong to no host, whatever its network.
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
