/** SHA-256 as core asks for it. */
import { createHash } from 'node:crypto'
import type { Digest } from '../core/firmware-ports.ts'

export function createSha256(): Digest {
  const hash = createHash('sha256')
  return { feed: (bytes) => void hash.update(bytes), hex: () => hash.digest('hex') }
}
