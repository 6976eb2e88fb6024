/** A copy of what came from outside, that nobody changes afterwards and that is no larger than it may be. */
import type { Json } from './row.ts'

/** Deeper values are refused; what a device says of itself needs two or three levels. */
const DEEPEST = 8

/**
 * Copies a value and freezes the copy; objects have no prototype, so that any key is only a key.
 * @param most characters it may have as text, roughly: names, texts and 8 for anything else
 * @returns undefined where it is no JSON, too deep or too large
 */
export function boundedCopy(value: unknown, most: number): Json | undefined {
  let left = most

  function copyOf(each: unknown, depth: number): Json | undefined {
    left -= typeof each === 'string' ? each.length : 8
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
    const record: Record<string, Json> = Object.create(null)
    for (const [key, item] of Object.entries(each)) {
      left -= key.length
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
  if (typeof value === 'string') return value.length
  if (value === null || typeof value !== 'object') return 8
  return Object.entries(value).reduce(
    (sum, [key, item]) => sum + (Array.isArray(value) ? 0 : key.length) + charsOf(item),
    8,
  )
}
