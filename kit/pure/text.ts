/** Text for people: made safe to print, counts and durations in words, suggestions for mistyped names. */

/**
 * The first characters of a text, for keeping: V8's `slice` would keep the whole text alive, however long.
 * @param most characters kept
 */
export function shortCopy(text: string, most: number): string {
  // Joining copies the text; the slice of that keeps only one extra character alive.
  return text.length <= most ? text : ` ${text.slice(0, most)}`.slice(1)
}

/**
 * Removes control characters, line ends, half surrogate pairs, and invisible characters that turn or hide their
 * neighbours (bidirectional marks, zero width); runs of white space become one space.
 * @param most characters kept
 */
export function plainText(text: string, most: number): string {
  const seen = text
    // Text beyond the limit is not processed: a stranger's text may be long.
    .slice(0, most * 4)
    .toWellFormed()
    .normalize('NFC')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replace(/[\p{Cf}\p{Co}\p{Cn}\ufffd]/gu, '')
    .trim()
  return [...seen].slice(0, most).join('').trim()
}

/**
 * Writes terminal escapes and line ends, C1 and the Unicode separators, and bidirectional marks as \uXXXX: within JSON
 * text it means the same.
 */
export function escapeControls(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  const signs = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g
  return text.replace(signs, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Like `escapeControls`, line by line: for text of others shown in a terminal. */
export function escapeLines(text: string): string {
  return text.split('\n').map(escapeControls).join('\n')
}

// Articles, counts and durations in sentences, for daemons and pages alike, so that nobody reads `a encoder` or `24814
// ms`.

/** Nouns that take `an`, by sound or by spelling: `an hour`, `an M-Bus`, but `a unit` and `a USB server`. */
const VOWEL = /^(?:[aeio]|hour|honest|un(?!i)|up|[FHLMNRSX](?=[A-Z\d-]|$))/
const CAPITAL_VOWEL = /^(?:[AEIO]|Hour|Un(?!i)|Up)/

/** `an encoder`, `a decoder`. @param noun as written within a sentence */
export function withArticle(noun: string): string {
  return `${VOWEL.test(noun) || CAPITAL_VOWEL.test(noun) ? 'an' : 'a'} ${noun}`
}

/** The noun that fits a number: `character` for 1, else `characters`. */
export function nounFor(value: number, one: string, more = `${one}s`): string {
  return value === 1 ? one : more
}

/** `1 character`, `12 characters`. */
export function counted(value: number, one: string, more?: string): string {
  return `${value} ${nounFor(value, one, more)}`
}

const UNITS: readonly (readonly [name: string, seconds: number])[] = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
]

/** `300 ms`, `24.8 s`, `2 min 5 s`, `3 h`: as exact as a reader needs. */
export function durationText(ms: number): string {
  if (Math.round(ms) < 1000) return `${Math.round(ms)} ms`
  const tenths = Math.round(ms / 100)
  if (tenths < 600) return `${tenths / 10} s`
  let rest = Math.round(ms / 1000)
  const words: string[] = []
  for (const [name, size] of UNITS) {
    const value = Math.floor(rest / size)
    rest -= value * size
    if (value > 0) words.push(`${value} ${name}`)
    if (words.length === 2 || (words.length === 1 && value === 0)) break
  }
  return words.join(' ')
}

// Switches as people and programs write them: on or off in the words that forms, shells and site files use.

const SWITCHES: ReadonlyMap<string, boolean> = new Map([
  ['1', true],
  ['true', true],
  ['on', true],
  ['yes', true],
  ['0', false],
  ['false', false],
  ['off', false],
  ['no', false],
])

/** Accepted spellings of a switch, for messages. */
export const SWITCH_WORDS = '1 or 0 (or true, false, on, off, yes, no)'

/** @returns the switch, in any case; undefined if the text means neither on nor off, such as an empty one */
export function readSwitch(text: string): boolean | undefined {
  return SWITCHES.get(text.trim().toLowerCase())
}

// Finds the known name that an unknown one was probably meant to be.

/** Longer names are not compared: the cost grows with the product of the lengths. */
const LONGEST_COMPARED = 64

/**
 * The known name with the least edit distance, if that is at most a third of the longer name (at least 1).
 * @returns undefined if no known name is near
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > LONGEST_COMPARED) return undefined
  let nearest: string | undefined
  let leastEdits = Number.POSITIVE_INFINITY
  for (const candidate of known) {
    if (candidate.length > LONGEST_COMPARED) continue
    const edits = editsBetween(name.toLowerCase(), candidate.toLowerCase())
    const mostEdits = Math.max(1, Math.floor(Math.max(name.length, candidate.length) / 3))
    if (edits > mostEdits || edits >= leastEdits) continue
    nearest = candidate
    leastEdits = edits
  }
  return nearest
}

/** Levenshtein distance, one row at a time. */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, replaced))
    }
    row = next
  }
  return row[to.length] ?? 0
}

/** A cell of a table for spreadsheets; empty where nothing is known. @source RFC 4180 */
export function csvCell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  // A spreadsheet would take these for a formula, and texts come from devices as well. Where it divides cells by
  // semicolons or tabs, as in much of Europe, quotes within a line mean nothing, and a text may hold further cells.
  const text = value.replace(/(^|[;,\t\r\n"])(?=[=+\-@\t\r\uff1d\uff0b\uff0d\uff20])/g, "$1'")
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
