/** Checksums of messages: what stands behind their bytes, and how it is written. */
import { crc16 } from '../crc16.ts'
import { Fault } from '../fault.ts'

/** The kinds. */
export const CHECKSUM_KINDS = ['sum8', 'lrc', 'xor8', 'crc16-modbus', 'crc-ccitt', 'crc-xmodem'] as const

export interface Checksum {
  kind: (typeof CHECKSUM_KINDS)[number]
  /** Bytes at the beginning of a message that do not count. */
  from: number
  /** `high` and `low`: bytes, the high or the low one first; `hex`: upper-case digits. */
  form: 'high' | 'low' | 'hex'
}

/**
 * The bytes of the checksum of a message. `sum8` is the sum modulo 256, `lrc` its two's complement, `xor8` exclusive or,
 * `crc16-modbus` 0xA001 reflected from 0xFFFF, `crc-ccitt` 0x1021 from 0xFFFF, `crc-xmodem` 0x1021 from 0.
 * @source Modbus over Serial Line V1.02, 6.2.2 (crc16-modbus); ITU-T V.41 (the polynomial 0x1021)
 */
export function checksumBytes({ kind, from, form }: Checksum, message: Uint8Array): Uint8Array {
  const counted = message.subarray(from)
  const size = sizeOf(kind)
  const value = checksumValue(kind, counted)
  if (form === 'hex') {
    const digits = value
      .toString(16)
      .toUpperCase()
      .padStart(size * 2, '0')
    return Uint8Array.from(digits, (sign) => sign.charCodeAt(0))
  }
  if (size === 1) return Uint8Array.of(value)
  const bytes = Uint8Array.of(value >> 8, value & 0xff)
  return form === 'low' ? bytes.toReversed() : bytes
}

/** How many bytes it takes in a message. */
function checksumLength({ kind, form }: Checksum): number {
  return sizeOf(kind) * (form === 'hex' ? 2 : 1)
}

/**
 * The message without its checksum.
 * @throws Fault `reply_checksum`
 */
export function withoutChecksum(checksum: Checksum, frame: Uint8Array): Uint8Array {
  const length = checksumLength(checksum)
  const message = frame.subarray(0, Math.max(0, frame.length - length))
  const seen = frame.subarray(message.length)
  const expected = checksumBytes(checksum, message)
  const isRight = seen.length === length && seen.every((byte, at) => byte === expected[at])
  if (!isRight) throw new Fault('reply_checksum', 'what came fails its checksum')
  return message
}

function sizeOf(kind: Checksum['kind']): 1 | 2 {
  return kind === 'sum8' || kind === 'lrc' || kind === 'xor8' ? 1 : 2
}

function checksumValue(kind: Checksum['kind'], bytes: Uint8Array): number {
  switch (kind) {
    case 'sum8':
      return bytes.reduce((sum, byte) => (sum + byte) & 0xff, 0)
    case 'lrc':
      return -bytes.reduce((sum, byte) => (sum + byte) & 0xff, 0) & 0xff
    case 'xor8':
      return bytes.reduce((sum, byte) => sum ^ byte, 0)
    case 'crc16-modbus':
      return crc16(bytes)
    case 'crc-ccitt':
      return bytes.reduce(step, 0xffff)
    case 'crc-xmodem':
      return bytes.reduce(step, 0)
  }
}

function step(crc: number, byte: number): number {
  crc ^= byte << 8
  for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff
  return crc
}
