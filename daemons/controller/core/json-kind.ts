/** Of which kind a value of JSON is, for the compiler too. */
import type { Json } from './row.ts'

/** An object with keys, no list: what JSON calls an object. */
export function isObject(value: unknown): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A list; `Array.isArray` makes `any[]` of one that is only read. */
export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}
