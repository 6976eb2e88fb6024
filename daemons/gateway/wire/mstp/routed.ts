/**
 * BACnet messages between networks: addresses of the NPDU, messages of routers, and their envelope on UDP (BVLC).
 *
 * @source ANSI/ASHRAE 135-2016, clause 6 and Annex J
 */
import { Fault } from '#kit/pure/fault.ts'

/** A network and an address on it; an empty address is everybody there. */
interface Station {
  network: number
  address: Uint8Array
}

/** A message with its addresses. The bytes are views of what was read. */
export interface RoutedNpdu {
  /** The low bits of the control octet: priority, and whether a reply is expected. */
  flags: number
  /** Behind a router; `ALL_NETWORKS` is everybody. */
  to?: Station
  from?: Station
  /** Routers that it may still pass; only with `to`. */
  hops: number
  /** Of a message among routers: its type, one octet, stands before. */
  message?: number
  /** The APDU, or what follows the type. */
  rest: Uint8Array
}

export const ALL_NETWORKS = 0xffff
/** @source ANSI/ASHRAE 135-2016, 6.2.2 */
const [IS_NETWORK, HAS_TO, HAS_FROM, FLAGS] = [0x80, 0x20, 0x08, 0x07] as const
export const EXPECTS_REPLY = 0x04
const MOST_HOPS = 255

/** @source ANSI/ASHRAE 135-2016, 6.4 */
export const ROUTER_MESSAGES = {
  whoIsRouter: 0x00,
  iAmRouter: 0x01,
  reject: 0x03,
  whatIsNetworkNumber: 0x12,
  networkNumberIs: 0x13,
} as const

/**
 * @throws Fault `bacnet_cut` if it breaks off, `bacnet_version` if it is of another version or has addresses that nobody has
 * @source ANSI/ASHRAE 135-2016, 6.2
 */
export function readRouted(bytes: Uint8Array): RoutedNpdu {
  const control = byteAt(bytes, 1)
  if (bytes[0] !== 1) throw new Fault('bacnet_version', `The message is of version ${bytes[0]}, and 1 is known.`)
  let at = 2
  const station = (): Station => {
    const network = wordAt(bytes, at)
    const length = byteAt(bytes, at + 2)
    if (at + 3 + length > bytes.length) throw cut(bytes)
    const address = bytes.subarray(at + 3, at + 3 + length)
    at += 3 + length
    return { network, address }
  }
  const to = control & HAS_TO ? station() : undefined
  const from = control & HAS_FROM ? station() : undefined
  const isSomebody = from === undefined || (from.address.length > 0 && from.network > 0 && from.network < ALL_NETWORKS)
  if (!isSomebody) throw new Fault('bacnet_version', 'The message comes from everybody, which nobody is.')
  const hops = to ? byteAt(bytes, at++) : MOST_HOPS
  const isMessage = (control & IS_NETWORK) !== 0
  const message = isMessage ? byteAt(bytes, at++) : undefined
  return {
    ...{ flags: control & FLAGS, hops, rest: bytes.subarray(at) },
    ...{ ...(to && { to }), ...(from && { from }), ...(message !== undefined && { message }) },
  }
}

/** @source ANSI/ASHRAE 135-2016, 6.2 */
export function encodeRouted({ flags, from, hops, message, rest, to }: RoutedNpdu): Uint8Array {
  const isMessage = message !== undefined
  const control = flags | (isMessage ? IS_NETWORK : 0) | (to ? HAS_TO : 0) | (from ? HAS_FROM : 0)
  const octets = (station: Station | undefined) =>
    station ? [...wordOctets(station.network), station.address.length, ...station.address] : []
  const head = [1, control, ...octets(to), ...octets(from), ...(to ? [hops] : []), ...(isMessage ? [message] : [])]
  const bytes = new Uint8Array(head.length + rest.length)
  bytes.set(head)
  bytes.set(rest, head.length)
  return bytes
}

/** A message among routers, for those on the same network. */
export function encodeRouterMessage(message: number, rest: readonly number[]): Uint8Array {
  return encodeRouted({ flags: 0, hops: MOST_HOPS, message, rest: Uint8Array.from(rest) })
}

/** The two octets of a network's number. */
export function wordOctets(word: number): [number, number] {
  return [word >> 8, word & 0xff]
}

/** Numbers of networks, one after another. */
export function networksOf(rest: Uint8Array): number[] {
  return Array.from({ length: rest.length >> 1 }, (_, at) => wordAt(rest, 2 * at))
}

// The envelope on UDP.

/** @source ANSI/ASHRAE 135-2016, Annex J.2 */
export const BVLC = {
  result: 0x00,
  writeDistribution: 0x01,
  readDistribution: 0x02,
  forwarded: 0x04,
  registerForeign: 0x05,
  readForeign: 0x06,
  foreignTable: 0x07,
  deleteForeign: 0x08,
  distribute: 0x09,
  unicast: 0x0a,
  broadcast: 0x0b,
} as const

const BVLC_TYPE = 0x81
const BVLC_HEAD = 4
/** IPv4 address and port. */
export const IP_ADDRESS_BYTES = 6

/**
 * @returns the function, and what follows the head
 * @throws Fault `bacnet_envelope` if it is none, or is of another length than it says
 * @source ANSI/ASHRAE 135-2016, Annex J.2
 */
export function readBvlc(bytes: Uint8Array): { kind: number; rest: Uint8Array } {
  if (bytes.length < BVLC_HEAD || bytes[0] !== BVLC_TYPE || wordAt(bytes, 2) !== bytes.length)
    throw new Fault('bacnet_envelope', `These ${bytes.length} bytes are no message of BACnet/IP.`)
  return { kind: byteAt(bytes, 1), rest: bytes.subarray(BVLC_HEAD) }
}

/** @source ANSI/ASHRAE 135-2016, Annex J.2 */
export function encodeBvlc(kind: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, BVLC_HEAD)
  const bytes = Uint8Array.of(BVLC_TYPE, kind, ...wordOctets(length), ...new Array(length - BVLC_HEAD).fill(0))
  let at = BVLC_HEAD
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

/** @source ANSI/ASHRAE 135-2016, Annex J.1.2 */
export function ipAddressOctets(host: string, port: number): Uint8Array {
  return Uint8Array.of(...host.split('.').map(Number), ...wordOctets(port))
}

/** The reverse of `ipAddressOctets`. */
export function ipAddressOf(octets: Uint8Array): { host: string; port: number } {
  return { host: octets.subarray(0, 4).join('.'), port: wordAt(octets, 4) }
}

function byteAt(bytes: Uint8Array, at: number): number {
  const byte = bytes[at]
  if (byte === undefined) throw cut(bytes)
  return byte
}

function wordAt(bytes: Uint8Array, at: number): number {
  return byteAt(bytes, at) * 256 + byteAt(bytes, at + 1)
}

function cut(bytes: Uint8Array): Fault {
  return new Fault('bacnet_cut', `The message breaks off after ${bytes.length} bytes.`)
}
