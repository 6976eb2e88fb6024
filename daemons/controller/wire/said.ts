/** Reads what a device says as JSON, of which nothing is believed: a value of another kind is null. */
import { plainText } from '#kit/pure/text.ts'

export type Said = Readonly<Record<string, unknown>>

/** A value that a zone shows; null is not known. Texts hold no control characters. */
export type SaidValue = string | number | boolean | null

const LONGEST_TEXT = 200

/** @returns undefined if it is no JSON in UTF-8 @source RFC 8259 */
export function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}

/** @source RFC 8259, 4 */
export function isObject(value: unknown): value is Said {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** @returns at most 200 characters of it @source what pages and logs show of a device */
export function text(value: unknown): string | null {
  return typeof value === 'string' ? plainText(value, LONGEST_TEXT) : null
}

/** @source RFC 8259, 6 */
export function number(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

/** @source RFC 8259, 3 */
export function flag(value: unknown): boolean | null {
  return typeof value === 'boolean' ? value : null
}
