/** The checksum of Modbus RTU, and frames with and without it. */
import { Fault } from '#kit/fault.ts'

/** Bytes of the longest RTU frame: unit 1, PDU 253, CRC 2. @source Modbus over Serial Line V1.02, 2.5.1 */
export const MAX_RTU_BYTES = 256

const table = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xa001 : crc >>> 1
  return crc
})

/**
 * CRC-16 over the bytes given.
 * @returns 0..65535; its low byte goes on the wire first
 * @source Modbus over Serial Line V1.02, 2.5.1.2 and 6.2.2
 */
export function crc16(bytes: Uint8Array): number {
  let crc = 0xffff
  for (const byte of bytes) crc = (crc >>> 8) ^ (table[(crc ^ byte) & 0xff] ?? 0)
  return crc
}

/** Whether the last two bytes are the checksum of those before. Frames shorter than 4 bytes have none. */
export function hasGoodCrc(frame: Uint8Array): boolean {
  if (frame.length < 4) return false
  const crc = crc16(frame.subarray(0, -2))
  return frame[frame.length - 2] === (crc & 0xff) && frame[frame.length - 1] === crc >>> 8
}

/**
 * A frame: the bytes given and their checksum.
 * @param body unit, function and data, 2..254 bytes
 * @throws Fault `modbus_long` where the frame would be longer than RTU allows
 */
export function sealed(body: ArrayLike<number>): Uint8Array {
  if (body.length + 2 > MAX_RTU_BYTES)
    throw new Fault('modbus_long', `a frame of ${body.length + 2} bytes is longer than the ${MAX_RTU_BYTES} of RTU`)
  const frame = new Uint8Array(body.length + 2)
  frame.set(body)
  const crc = crc16(frame.subarray(0, -2))
  frame[body.length] = crc & 0xff
  frame[body.length + 1] = crc >>> 8
  return frame
}

/** The big-endian word at `at`, 0..65535. Bytes beyond the end count as 0: check the length first. */
export function wordAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
}
