/** Packets of the session announcement protocol (SAP): they announce a stream or delete it. */
import { Fault } from '#kit/pure/fault.ts'
import { type Ipv4, ipv4Text, parseIpv4 } from '../addresses.ts'
import { LONGEST_SDP } from './sdp.ts'

/** Groups for announcements: within a site, and beyond. @source RFC 2974, 3; RFC 2365, 6 */
export const SAP_GROUPS = ['239.255.255.255', '224.2.127.254'] as const
/** @source RFC 2974, 3 */
export const SAP_PORT = 9875

/** One packet. */
export interface SapPacket {
  isDeletion: boolean
  /** 1..65535, different for each version of the description; 0 from senders that do not use it. */
  hash: number
  /** Address of the announcer. */
  origin: string
  /** The description; in a deletion its first lines, or nothing. */
  sdp: string
}

const VERSION = 1
const SDP_TYPE = 'application/sdp'
const HEADER_BYTES = 8
/** Header, authentication data and type, before the description: more than any sender uses. */
const MOST_BEFORE = 2048
/** Bits of the first byte. @source RFC 2974, 6 */
const BIT = { isIpv6: 0x10, isDeletion: 0x04, isEncrypted: 0x02, isCompressed: 0x01 } as const

/**
 * @param packet `origin` is an IPv4 address
 * @source RFC 2974, 6
 */
export function writeSap({ hash, isDeletion, origin, sdp }: SapPacket): Uint8Array {
  const payload = new TextEncoder().encode(`${SDP_TYPE}\0${sdp}`)
  const bytes = new Uint8Array(HEADER_BYTES + payload.length)
  bytes[0] = (VERSION << 5) | (isDeletion ? BIT.isDeletion : 0)
  const view = new DataView(bytes.buffer)
  view.setUint16(2, hash)
  view.setUint32(4, parseIpv4(origin) ?? 0)
  bytes.set(payload, HEADER_BYTES)
  return bytes
}

/**
 * Parses one packet. Authentication data is skipped: nobody here has the keys.
 * @param bytes one datagram
 * @throws Fault `sap_malformed` if it is no announcement, `sap_not_read` if it is encrypted, compressed, sent over
 * IPv6, or describes something other than by SDP
 * @source RFC 2974, 6
 */
export function readSap(bytes: Uint8Array): SapPacket {
  const [first = 0, authWords = 0] = bytes
  if (bytes.length < HEADER_BYTES || bytes.length > MOST_BEFORE + LONGEST_SDP)
    throw malformed(`it has ${bytes.length} bytes, where ${HEADER_BYTES} to ${MOST_BEFORE + LONGEST_SDP} are read`)
  if (first >> 5 !== VERSION) throw malformed(`it is of version ${first >> 5}, not ${VERSION}`)
  if (first & BIT.isEncrypted) throw new Fault('sap_not_read', 'the announcement is encrypted')
  if (first & BIT.isCompressed) throw new Fault('sap_not_read', 'the announcement is compressed')
  if (first & BIT.isIpv6) throw new Fault('sap_not_read', 'the announcement comes from an IPv6 address')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const isDeletion = (first & BIT.isDeletion) !== 0
  const at = HEADER_BYTES + 4 * authWords
  if (at > bytes.length) throw malformed(`its authentication data would end at byte ${at} of ${bytes.length}`)
  const sdp = payloadOf(bytes.subarray(at), isDeletion)
  const origin: Ipv4 = view.getUint32(4)
  return { isDeletion, hash: view.getUint16(2), origin: ipv4Text(origin), sdp }
}

/**
 * The payload type ends with a zero byte; without a type the description begins at once. @source RFC 2974, 6: payload
 * type
 */
function payloadOf(bytes: Uint8Array, isDeletion: boolean): string {
  const text = new TextDecoder().decode(bytes)
  if (/^[vo]=/.test(text) || (text === '' && isDeletion)) return text
  const end = text.indexOf('\0')
  const type = end < 0 ? '' : text.slice(0, end)
  if (!/^[\w.+-]+\/[\w.+-]+$/.test(type)) throw malformed('it has neither a description nor the type of one')
  if (type.toLowerCase() !== SDP_TYPE)
    throw new Fault('sap_not_read', `the announcement is of the type ${type.slice(0, 64)}, not ${SDP_TYPE}`)
  return text.slice(end + 1)
}

/**
 * Hash of a description: it changes with the version, and is never 0, which means none.
 * @source RFC 2974, 6: message identifier hash; FNV-1a, folded to 16 bits
 */
export function sapHash(sdp: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < sdp.length; at++) hash = Math.imul(hash ^ sdp.charCodeAt(at), 0x01000193)
  return (hash >>> 16) ^ (hash & 0xffff) || 1
}

function malformed(why: string): Fault {
  return new Fault('sap_malformed', `a packet is not an announcement: ${why}`)
}
