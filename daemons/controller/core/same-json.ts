/** Whether two values of JSON say the same. */
import type { Json } from './row.ts'

/** Equal as values: the order of keys does not count; nothing at all is equal to itself alone, and not to null. */
export function isSameJson(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  // A Map: a key may be called as what objects inherit.
  const values = new Map<string, Json>(Object.entries(one))
  const entries = Object.entries(other) as [string, Json][]
  return values.size === entries.length && entries.every(([key, value]) => isSameJson(values.get(key), value))
}
