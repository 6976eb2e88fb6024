/** Which multicast groups may carry a stream. */
import { type Ipv4, ipv4Fault, ipv4Text, parseIpv4 } from './ipv4.ts'

/**
 * Why a stream cannot be sent to, or heard from, an address; undefined where it can.
 *
 * AES67 streams go to 239.0.0.0/8. Beside it stand groups that other senders of RTP have: source-specific ones (232/8),
 * those that SAP gave out (224.2.128.0/17), and the blocks that belong to networks (233/8 and 234/8). All others are
 * given to protocols or to nobody.
 * @source AES67-2018 (streams in 239.0.0.0/8); RFC 5771; RFC 2365; RFC 4607; RFC 6034; IANA IPv4 Multicast Address Space Registry
 */
export function groupFault(text: string): string | undefined {
  const group = parseIpv4(text)
  if (group === undefined) return ipv4Fault(text)
  const first = group >>> 24
  if (first < 224 || first > 239)
    return `${text} is no multicast group. Streams go to one such as 239.69.${(group >>> 8) & 0xff}.${group & 0xff}.`
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

/** Whether an address is a multicast group, whoever's. */
export function isGroup(text: string): boolean {
  const address = parseIpv4(text)
  return address !== undefined && address >>> 28 === 0xe
}

/**
 * Whether receivers of a group have to name whom they want to hear.
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

/** Groups within the ranges of streams that protocols were given. */
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
 * The group a board sends to until it is given one: two boards are unlikely to have the same, and none that switches
 * send everywhere.
 * @param seed two bytes that differ from board to board
 */
export function firstGroup(seed: Uint8Array): string {
  return ipv4Text(((239 << 24) | (69 << 16) | ((seed[0] ?? 0) << 8) | (seed[1] ?? 0)) >>> 0)
}
