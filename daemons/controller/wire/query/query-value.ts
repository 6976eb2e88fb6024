/** What a condition compares with: texts that read as numbers are numbers. */

/** A number, and the text that it has where texts are compared: `007` is 7 and `7`; digits beyond 2^53 stay in the text. */
export interface QueryNumber {
  readonly number: number
  readonly text: string
}

/** Null comes from JSON only. */
export type QueryValue = null | boolean | string | QueryNumber

/** Each digit has one place to go in this pattern: it takes time in proportion to the text. */
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
const WHOLE = /^[+-]?\d+$/

/**
 * A text as a number: decimal and exponent forms of what a double can hold.
 * @returns undefined for everything else: empty, hexadecimal, Infinity, NaN, with spaces
 * @source document 1, GET /api/data/:entity, a parameter value that parses as a number
 */
export function readNumber(text: string): QueryNumber | undefined {
  if (!DECIMAL.test(text)) return undefined
  const number = Number(text)
  if (!Number.isFinite(number)) return undefined
  return { number, text: WHOLE.test(text) ? wholeText(text) : String(number) }
}

/** A value as it stands in a query string. */
export function valueOfText(text: string): QueryValue {
  return readNumber(text) ?? text
}

/** A value as it stands in JSON: its type is said there, so a text stays a text (`"007"` is not 7). */
export function valueOfJson(json: null | boolean | number | string): QueryValue {
  return typeof json === 'number' ? { number: json, text: String(json) } : json
}

/** Serial numbers have more digits than a double. */
function wholeText(text: string): string {
  let at = text.startsWith('-') || text.startsWith('+') ? 1 : 0
  while (at < text.length - 1 && text[at] === '0') at++
  const digits = text.slice(at)
  return text.startsWith('-') && digits !== '0' ? `-${digits}` : digits
}
