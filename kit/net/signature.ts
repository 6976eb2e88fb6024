/** HMAC-SHA-256 signatures over whole bodies, as in webhooks. */
import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * @param body the exact bytes that are sent
 * @returns `sha256=` and 64 lower-case hex digits
 * @source interface document 2, part A, Events 2 and 3
 */
export function webhookSignature(body: Uint8Array, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
}

/** Whether a signature matches the body; constant time for any wrong one. Accepts hex digits of either case. */
export function isSignedBy(signature: string, body: Uint8Array, secret: string): boolean {
  const expected = Buffer.from(webhookSignature(body, secret))
  const given = Buffer.from(signature.toLowerCase())
  return given.length === expected.length && timingSafeEqual(given, expected)
}
