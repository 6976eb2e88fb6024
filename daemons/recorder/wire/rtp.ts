/**
 * Packets of RTP.
 * @source RFC 3550, 5.1 and 5.3.1
 */
import { Fault } from '#kit/pure/fault.ts'

/** One packet; `payload` is part of the bytes it was read from. */
export interface RtpPacket {
  payloadType: number
  /** Set on the last packet of a picture. */
  isMarked: boolean
  /** 0..65535, wraps. */
  sequence: number
  /** In units of the payload's clock; 32 bits, wraps. */
  timestamp: number
  /** Changes when the camera begins anew. */
  source: number
  payload: Uint8Array
}

/** @throws Fault `rtp_broken` */
export function readRtp(bytes: Uint8Array): RtpPacket {
  if (bytes.length < 12) throw broken(`has ${bytes.length} bytes, needs at least 12`)
  // Without a DataView: some thousand packets come each second, and one would be made for each.
  const first = bytes[0] ?? 0
  const second = bytes[1] ?? 0
  if (first >> 6 !== 2) throw broken(`is of version ${first >> 6}, expected 2`)
  let begin = 12 + 4 * (first & 0x0f)
  if (first & 0x10) {
    if (bytes.length < begin + 4) throw broken('ends inside of its header extension')
    begin += 4 + 4 * u16(bytes, begin + 2)
  }
  // The last byte says how much was added.
  const end = bytes.length - (first & 0x20 ? (bytes[bytes.length - 1] ?? 0) : 0)
  if (begin > end) throw broken(`has ${bytes.length} bytes, and its header and padding need more`)
  return {
    payloadType: second & 0x7f,
    isMarked: (second & 0x80) !== 0,
    sequence: u16(bytes, 2),
    timestamp: u32(bytes, 4),
    source: u32(bytes, 8),
    payload: bytes.subarray(begin, end),
  }
}

/** @returns the packet's bytes, without extension, padding or further sources */
export function writeRtp({ isMarked, payload, payloadType, sequence, source, timestamp }: RtpPacket): Uint8Array {
  const bytes = new Uint8Array(12 + payload.length)
  const view = new DataView(bytes.buffer)
  view.setUint8(0, 2 << 6)
  view.setUint8(1, (isMarked ? 0x80 : 0) | payloadType)
  view.setUint16(2, sequence)
  view.setUint32(4, timestamp)
  view.setUint32(8, source)
  bytes.set(payload, 12)
  return bytes
}

function u16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
}

function u32(bytes: Uint8Array, at: number): number {
  return ((u16(bytes, at) << 16) | u16(bytes, at + 2)) >>> 0
}

function broken(seen: string): Fault {
  return new Fault('rtp_broken', `an RTP packet ${seen}`)
}
