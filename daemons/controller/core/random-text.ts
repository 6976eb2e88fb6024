/** Random texts: tokens, nonces and the codes that people type. */

/** Letters and digits: 32 of them are 190 bits, and pass through headers, cookies and shells as they are. */
export const PLAIN_LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Without 0, O, 1, I and L, which people take for one another. @source document 1, Authentication 6 */
export const CODE_LETTERS = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'

/**
 * Each letter is as likely as any other: bytes beyond the last whole multiple of the alphabet are thrown away.
 * @param alphabet 2..256 letters
 * @param randomBytes gives as many as it is asked for
 */
export function randomText(alphabet: string, length: number, randomBytes: (count: number) => Uint8Array): string {
  const fair = 256 - (256 % alphabet.length)
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(2 * (length - text.length))) {
      if (byte < fair && text.length < length) text += alphabet[byte % alphabet.length]
    }
  }
  return text
}

/** Compares in a time that tells nothing of where two texts differ; only their lengths are told. */
export function isSameText(one: string, other: string): boolean {
  if (one.length !== other.length) return false
  let difference = 0
  for (let i = 0; i < one.length; i++) difference |= one.charCodeAt(i) ^ other.charCodeAt(i)
  return difference === 0
}
