/** Text in a field of fixed length, ended by a zero byte. */

/**
 * @returns `size` bytes: one for each character, cut so that a zero byte is behind them; a character beyond Latin-1 is ?
 */
export function textBytes(text: string, size: number): Uint8Array {
  const bytes = new Uint8Array(size)
  for (let i = 0; i < Math.min(text.length, size - 1); i++) {
    const code = text.charCodeAt(i)
    bytes[i] = code > 0xff ? 0x3f : code
  }
  return bytes
}

/** @returns the characters before the first zero byte; undefined where there is none. What is behind it means nothing. */
export function textOf(bytes: Uint8Array): string | undefined {
  const end = bytes.indexOf(0)
  return end < 0 ? undefined : String.fromCharCode(...bytes.subarray(0, end))
}
