/** Passwords of cameras at rest: sealed with a key of this recorder, so that a file of cameras alone gives none away. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '#kit/pure/fault.ts'
import { replaceFile } from '#kit/store/store.ts'

/** Seals texts, and opens what it has sealed. */
export interface Seal {
  /** @param of what the text belongs to: opened with another name, it does not open */
  close(text: string, of: string): string
  /** @throws Fault `seal_broken` if it was sealed by another key, for something else, or was changed */
  open(sealed: string, of: string): string
}

const FILE = 'sealing.key'
const KEY_BYTES = 32
/** @source NIST SP 800-38D, 5.2.1.1: 96 bits of nonce, 8.3: enough for 2^32 random ones */
const NONCE_BYTES = 12
const TAG_BYTES = 16
const CIPHER = 'aes-256-gcm'

/**
 * @param folder the state folder; its key is made if it is missing, for the daemon's user alone
 * @throws Fault `seal_broken` for a file that is no key
 */
export async function openSeal(folder: string): Promise<Seal> {
  const key = await keyOf(join(folder, FILE))
  return {
    close(text, of) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(of))
      const bytes = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, bytes, cipher.getAuthTag()]).toString('base64url')
    },
    open(sealed, of) {
      const bytes = Buffer.from(sealed, 'base64url')
      const [nonce, tag] = [bytes.subarray(0, NONCE_BYTES), bytes.subarray(-TAG_BYTES)]
      try {
        const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
        decipher.setAAD(Buffer.from(of)).setAuthTag(tag)
        const body = bytes.subarray(NONCE_BYTES, -TAG_BYTES)
        return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
      } catch (cause) {
        throw new Fault('seal_broken', 'A sealed password does not open with the key of this recorder.', { cause })
      }
    },
  }
}

async function keyOf(path: string): Promise<Buffer> {
  try {
    const key = readFileSync(path)
    if (key.length === KEY_BYTES) return key
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    const fresh = randomBytes(KEY_BYTES)
    await replaceFile(path, fresh)
    return fresh
  }
  throw new Fault('seal_broken', `${path} is not a key of ${KEY_BYTES} bytes. Put the one of a backup back.`)
}
