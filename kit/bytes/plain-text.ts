/** Text of strangers, made fit to be kept, logged and shown. */

/**
 * Control characters, line ends, half pairs, and signs that are not seen but turn or hide what stands beside them
 * (bidirectional marks, zero width) go; runs of white space become one space.
 * @param most characters kept
 */
export function plainText(text: string, most: number): string {
  const seen = text
    // What is cut off below is not looked at: text of a stranger may be long.
    .slice(0, most * 4)
    .toWellFormed()
    .normalize('NFC')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replace(/[\p{Cf}\p{Co}\p{Cn}\ufffd]/gu, '')
    .trim()
  return [...seen].slice(0, most).join('').trim()
}
