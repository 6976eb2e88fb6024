/** A copy of what came from outside, that nobody changes afterwards and that is no larger than it may be. */
import { isList, putKey } from './json-kind.ts'
import type { Json } from './row.ts'

/** What a value takes beside its text, in characters, be it `[]` or a number. @source measured: an empty object 64 bytes, of four a character */
export const VALUE_CHARS = 16

/** What V8 may keep of an object's shape: where no other has the same names, it is 160 bytes more. @source measured, frozen */
export const SHAPE_CHARS = 32

/** Deeper values are refused; what a device says of itself needs two or three levels. */
const DEEPEST = 8

/**
 * Names from outside, `__proto__` among them: nothing is inherited. What Object.create(null) makes would do, but is a hash
 * table of up to a kilobyte; these are as small as other objects.
 */
export class Plain {
  [name: string]: Json
}
Reflect.deleteProperty(Plain.prototype, 'constructor')
Object.setPrototypeOf(Plain.prototype, null)

/**
 * Copies a value and freezes the copy; objects have no prototype, so that any key is only a key.
 * @param most characters it may have: of names and texts, 16 for each value and each name, 32 for an object that has any
 * @returns undefined where it is no JSON, too deep or too large
 */
export function boundedCopy(value: unknown, most: number): Json | undefined {
  let left = most

  function copyOf(each: unknown, depth: number): Json | undefined {
    left -= VALUE_CHARS + (typeof each === 'string' ? each.length : 0)
    if (left < 0 || depth > DEEPEST) return undefined
    if (each === null || typeof each === 'boolean' || typeof each === 'string') return each
    if (typeof each === 'number') return Number.isFinite(each) ? each : undefined
    if (typeof each !== 'object') return undefined
    if (Array.isArray(each)) {
      const list: Json[] = []
      for (const item of each) {
        const copy = copyOf(item, depth + 1)
        if (copy === undefined) return undefined
        list.push(copy)
      }
      return Object.freeze(list)
    }
    const record: Record<string, Json> = new Plain()
    const entries = Object.entries(each)
    if (entries.length > 0) left -= SHAPE_CHARS
    for (const [key, item] of entries) {
      left -= VALUE_CHARS + key.length
      const copy = copyOf(item, depth + 1)
      if (copy === undefined) return undefined
      putKey(record, key, copy)
    }
    return Object.freeze(record)
  }

  return copyOf(value, 0)
}

/** Characters of a bounded value, counted in the same way. */
export function charsOf(value: Json): number {
  if (typeof value === 'string') return VALUE_CHARS + value.length
  if (value === null || typeof value !== 'object') return VALUE_CHARS
  if (isList(value)) return value.reduce((sum: number, item) => sum + charsOf(item), VALUE_CHARS)
  const entries = Object.entries(value)
  return entries.reduce(
    (sum, [key, item]) => sum + VALUE_CHARS + key.length + charsOf(item),
    VALUE_CHARS + (entries.length > 0 ? SHAPE_CHARS : 0),
  )
}
