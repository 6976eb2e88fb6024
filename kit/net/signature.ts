/** HMAC-SHA-256 signatures over whole bodies, as webhooks carry them. */
import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * @param body the exact bytes that are sent
 * @returns `sha256=` and 64 lower-case hex digits
 * @source interface document 2, part A, Events 2 and 3
 */
export function signatureOf(body: Uint8Array, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
}

/**
 * Whether a signature is that of the body; takes as long for any wrong one. Hex digits of either case are taken.
 * @internal a receiver's half: tests play it
 */
export function isSignedBy(signature: string, body: Uint8Array, secret: string): boolean {
  const expected = Buffer.from(signatureOf(body, secret))
  const given = Buffer.from(signature.toLowerCase())
  return given.length === expected.length && timingSafeEqual(given, expected)
}
