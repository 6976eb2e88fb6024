/** Of which kind a value of JSON is, for the compiler too; and objects whose keys are somebody else's. */
import type { Json } from './row.ts'

/** An object with keys, no list: what JSON calls an object. */
export function isObject(value: unknown): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A list; `Array.isArray` makes `any[]` of one that is only read. */
export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}

/**
 * Sets a key that somebody else has chosen. V8 lays out a list up to a key that is a number: `{"999":0}`, as
 * JSON.parse makes it, is 200 bytes, a copy that is made key by key 12 KiB. A property that is once not to be written is
 * kept in a table instead. `__proto__` is a key like any other.
 */
export function putKey(object: { [key: string]: Json }, key: string, value: Json): void {
  const first = key.charCodeAt(0)
  const isNumber = first >= 48 && first <= 57 && String(Number(key) >>> 0) === key
  if (isNumber && !Object.hasOwn(object, key)) Object.defineProperty(object, key, { ...READ_ONLY, value })
  if (isNumber || key === '__proto__') Object.defineProperty(object, key, { ...WRITABLE, value })
  else object[key] = value
}

const READ_ONLY = { configurable: true, enumerable: true, writable: false }
const WRITABLE = { ...READ_ONLY, writable: true }

/** As Object.fromEntries, for keys that others have chosen. */
export function objectOf(entries: Iterable<readonly [string, Json]>): { [key: string]: Json } {
  const object: { [key: string]: Json } = {}
  for (const [key, value] of entries) putKey(object, key, value)
  return object
}
