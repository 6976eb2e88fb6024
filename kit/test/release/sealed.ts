/** `SVC_ENC_V1` once more, by node:crypto and the sheet alone, so that tests can make containers that no writer makes. */
import { createCipheriv, createHash, createHmac, hkdfSync } from 'node:crypto'

/** What a container of a test may have otherwise. */
interface Odd {
  salt?: Uint8Array
  /** Bytes put into the header before it is proven, at their place. */
  header?: readonly [at: number, bytes: Uint8Array]
  /** The chunks; default the plaintext in pieces of 64 KiB. */
  chunks?: readonly Uint8Array[]
  /** The last byte of the nonce of each chunk; default 1 for the last. */
  isLast?: (at: number, count: number) => boolean
}

/** The container of a plaintext. @param key 32 bytes */
export function sealed(plain: Uint8Array, key: Uint8Array, odd: Odd = {}): Buffer {
  const { salt = Buffer.alloc(32, 7), chunks = inPieces(plain), isLast = (at, count) => at === count - 1 } = odd
  const derived = (label: string) => Buffer.from(hkdfSync('sha256', key, salt, label, 32))
  const hash = createHash('sha256').update(plain).digest()
  const start = Buffer.concat([Buffer.from('SVC_ENC_V1\n\x01\x10\x00\x00\x70', 'latin1'), salt, hash])
  if (odd.header) start.set(odd.header[1], odd.header[0])
  const parts = [start, createHmac('sha256', derived('SVC_ENC_V1 header')).update(start).digest()]
  for (const [at, chunk] of chunks.entries()) {
    const nonce = Buffer.alloc(12)
    nonce.writeUInt32BE(at, 7)
    nonce.writeUInt8(isLast(at, chunks.length) ? 1 : 0, 11)
    const cipher = createCipheriv('aes-256-gcm', derived('SVC_ENC_V1 payload'), nonce)
    parts.push(cipher.update(chunk), cipher.final(), cipher.getAuthTag())
  }
  return Buffer.concat(parts)
}

function inPieces(plain: Uint8Array): Uint8Array[] {
  const pieces = [plain.subarray(0, 65_536)]
  for (let at = 65_536; at < plain.length; at += 65_536) pieces.push(plain.subarray(at, at + 65_536))
  return pieces
}
