/** The CRC-16 of Modbus, which other devices use too. */

const table = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xa001 : crc >>> 1
  return crc
})

/**
 * CRC-16 of the given bytes.
 * @returns 0..65535; its low byte goes on the wire first
 * @source Modbus over Serial Line V1.02, 2.5.1.2 and 6.2.2
 */
export function crc16(bytes: Uint8Array): number {
  let crc = 0xffff
  for (const byte of bytes) crc = (crc >>> 8) ^ (table[(crc ^ byte) & 0xff] ?? 0)
  return crc
}
