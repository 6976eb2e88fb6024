/** Secrets at rest: sealed with a key of this daemon, so that the file they stand in gives none away by itself. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../pure/fault.ts'
import { replaceFile } from './store.ts'

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
 * systemd may hand in the key, so that it does not lie beside what it opens. @source systemd.exec(5), LoadCredential
 * @param folder the state folder; without such a key one is made in it if it is missing, for the daemon's user alone
 * @throws Fault `seal_broken` for a file that is no key
 */
export async function openSeal(folder: string, credentials = process.env.CREDENTIALS_DIRECTORY): Promise<Seal> {
  const given = credentials === undefined ? undefined : join(credentials, FILE)
  const key = given !== undefined && existsSync(given) ? keyIn(given) : await keyOf(join(folder, FILE))
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
        throw new Fault('seal_broken', 'A sealed secret does not open with the key of this daemon.', { cause })
      }
    },
  }
}

async function keyOf(path: string): Promise<Buffer> {
  try {
    return keyIn(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    const fresh = randomBytes(KEY_BYTES)
    await replaceFile(path, fresh)
    return fresh
  }
}

function keyIn(path: string): Buffer {
  const key = readFileSync(path)
  if (key.length === KEY_BYTES) return key
  throw new Fault('seal_broken', `${path} is not a key of ${KEY_BYTES} bytes. Put the one of a backup back.`)
}
