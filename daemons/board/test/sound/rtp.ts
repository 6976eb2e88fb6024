/** RTP packets with linear audio, built and parsed by the standard, to check the board's own against. */

/** Bits of one sample, by encoding. */
export const BITS = { L16: 16, L24: 24 } as const
export type Encoding = keyof typeof BITS

const HEADER_BYTES = 12

/** Header of one packet and its samples, interleaved, as signed integers of the encoding's width. */
export interface RtpPacket {
  payloadType: number
  marker: boolean
  sequence: number
  timestamp: number
  ssrc: number
  samples: Int32Array
}

/** @source RFC 3550, 5.1 (head); RFC 3551, 4.5.11 (L16); RFC 3190, 4 (L24): big-endian, interleaved */
export function rtpBytes(packet: RtpPacket, encoding: Encoding): Buffer {
  const width = BITS[encoding] / 8
  const bytes = Buffer.alloc(HEADER_BYTES + packet.samples.length * width)
  bytes[0] = 0x80
  bytes[1] = (packet.marker ? 0x80 : 0) | packet.payloadType
  bytes.writeUInt16BE(packet.sequence & 0xffff, 2)
  bytes.writeUInt32BE(packet.timestamp >>> 0, 4)
  bytes.writeUInt32BE(packet.ssrc >>> 0, 8)
  packet.samples.forEach((sample, at) => {
    bytes.writeIntBE(sample, HEADER_BYTES + at * width, width)
  })
  return bytes
}

/** @throws Error if it is not RTP version 2, or does not hold whole samples */
export function openRtp(bytes: Buffer, encoding: Encoding): RtpPacket {
  const first = bytes[0] ?? 0
  const second = bytes[1] ?? 0
  if (bytes.length < HEADER_BYTES || first >> 6 !== 2) throw new Error('no RTP of version 2')
  if ((first & 0x3f) !== 0) throw new Error('padding, extension or contributing sources, which AES67 streams have not')
  const width = BITS[encoding] / 8
  const count = (bytes.length - HEADER_BYTES) / width
  if (!Number.isInteger(count)) throw new Error(`${bytes.length - HEADER_BYTES} bytes are no whole samples`)
  const samples = Int32Array.from({ length: count }, (_, at) => bytes.readIntBE(HEADER_BYTES + at * width, width))
  return {
    payloadType: second & 0x7f,
    marker: second >= 0x80,
    sequence: bytes.readUInt16BE(2),
    timestamp: bytes.readUInt32BE(4),
    ssrc: bytes.readUInt32BE(8),
    samples,
  }
}
