/** Capture files that tcpdump, Wireshark and tshark can read. */

/** The first bytes of a file with microsecond timestamps; they also show the byte order, here little-endian. */
const MAGIC_US = 0xa1b2c3d4
const VERSION_MAJOR = 2
const VERSION_MINOR = 4

const FILE_HEAD_BYTES = 24
const RECORD_HEAD_BYTES = 16

/** The longest record a reader must make room for. */
const SNAP_BYTES = 65_535

/**
 * What the records contain. 147 to 162 are for private use, so the reader has to assign them (in Wireshark: preferences
 * of DLT_USER). 165 is BACnet MS/TP, from the preamble on.
 * @source LINK-LAYER HEADER TYPES, tcpdump.org
 */
export const LINK_TYPES = { modbusRtu: 147, raw: 148, equipment: 149, mbus: 150, dnp3: 151, mstp: 165 } as const

/** One of `LINK_TYPES`. */
export type LinkType = (typeof LINK_TYPES)[keyof typeof LINK_TYPES]

/** The head of a file, 24 bytes. @source PCAP Capture File Format (draft-ietf-opsawg-pcap), 4 */
export function pcapFileHead(linkType: LinkType): Uint8Array {
  const head = new DataView(new ArrayBuffer(FILE_HEAD_BYTES))
  head.setUint32(0, MAGIC_US, true)
  head.setUint16(4, VERSION_MAJOR, true)
  head.setUint16(6, VERSION_MINOR, true)
  head.setUint32(16, SNAP_BYTES, true)
  head.setUint32(20, linkType, true)
  return new Uint8Array(head.buffer)
}

/**
 * The record of one frame with its timestamp.
 * @param epochUs microseconds since 1970-01-01T00:00Z, whole
 * @param frame at most 65535 bytes; copied
 * @source PCAP Capture File Format (draft-ietf-opsawg-pcap), 5
 */
export function pcapRecord(epochUs: number, frame: Uint8Array): Uint8Array {
  const record = new Uint8Array(RECORD_HEAD_BYTES + frame.length)
  const head = new DataView(record.buffer)
  head.setUint32(0, Math.floor(epochUs / 1_000_000), true)
  head.setUint32(4, epochUs % 1_000_000, true)
  head.setUint32(8, frame.length, true)
  head.setUint32(12, frame.length, true)
  record.set(frame, RECORD_HEAD_BYTES)
  return record
}
