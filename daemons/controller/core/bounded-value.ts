/** A copy of what came from outside, that nobody changes afterwards and that is no larger than it may be. */
import type { Json } from './row.ts'

/** What a value takes beside its text, in characters, be it `[]` or a number. @source measured: an empty object 64 bytes, of four a character */
const VALUE_CHARS = 16

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
 * @param most characters it may have: of names and texts, and 16 for each value
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
    for (const [key, item] of Object.entries(each)) {
      left -= VALUE_CHARS + key.length
      const copy = copyOf(item, depth + 1)
      if (copy === undefined) return undefined
      record[key] = copy
    }
    return Object.freeze(record)
  }

  return copyOf(value, 0)
}

/** Characters of a bounded value, counted in the same way. */
export function charsOf(value: Json): number {
  if (typeof value === 'string') return VALUE_CHARS + value.length
  if (value === null || typeof value !== 'object') return VALUE_CHARS
  return Object.entries(value).reduce(
    (sum, [key, item]) => sum + (Array.isArray(value) ? 0 : VALUE_CHARS + key.length) + charsOf(item),
    VALUE_CHARS,
  )
}
