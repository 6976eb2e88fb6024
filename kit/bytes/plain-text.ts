/** Text of strangers, made fit to be kept, logged and shown. */

/**
 * The first characters of a text, to be kept: what `slice` gives of V8 holds the whole text behind it, as long as it was.
 * @param most characters kept
 */
export function shortCopy(text: string, most: number): string {
  // Joined with another it is copied; what is sliced of that holds one character too many, and no more.
  return text.length <= most ? text : ` ${text.slice(0, most)}`.slice(1)
}

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

/**
 * Terminal escapes and line ends, C1 and the Unicode separators too, and signs that turn what stands beside them, as \uXXXX:
 * within a text of JSON it is the same text.
 */
export function escapeControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  const signs = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g
  return text.replace(signs, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** As `escapeControls`, line by line: what a terminal is shown that others have written. */
export function escapeLines(text: string): string {
  return text.split('\n').map(escapeControls).join('\n')
}
