/** Keys of programs: `plk_<id>_<secret>`, of which only a hash is kept. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** Tells a key from a login's token, for programs and for those who search logs and repositories for lost secrets. */
const FORM = /^plk_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/

/** A key that was just made. */
export interface NewApiKey {
  /** 16 hex digits; not secret. */
  id: string
  /** The whole key; shown once and never kept. */
  text: string
  secretHash: string
}

/** A new key, with 32 random bytes as its secret. */
export function makeApiKey(): NewApiKey {
  const id = randomBytes(8).toString('hex')
  const secret = randomBytes(32).toString('base64url')
  return { id, text: `plk_${id}_${secret}`, secretHash: hashOf(secret) }
}

/** Whether a bearer token says that it is a key, well formed or not. */
export function looksLikeApiKey(token: string): boolean {
  return token.startsWith('plk_')
}

/** @returns undefined where the text is no key */
export function parseApiKey(text: string): { id: string; secret: string } | undefined {
  const [, id, secret] = FORM.exec(text) ?? []
  return id === undefined || secret === undefined ? undefined : { id, secret }
}

/** Stands in for a key that does not exist: its refusal takes as long as any. */
const DECOY = hashOf(randomBytes(32).toString('base64url'))

/**
 * Compares in constant time.
 * @param secretHash undefined for a key that does not exist: takes as long, and is never right
 */
export function isSecretOf(secret: string, secretHash: string | undefined): boolean {
  const isEqual = timingSafeEqual(Buffer.from(hashOf(secret)), Buffer.from(secretHash ?? DECOY))
  return isEqual && secretHash !== undefined
}

/** SHA-256 in base64url, 43 characters. A quick hash does: nobody guesses 256 random bits, as they would a password. */
function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}
