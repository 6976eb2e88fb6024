/** Lists that are far too long, told before anything in them is looked at. */
import { expected, seen } from './describe.ts'
import type { JsonSchema } from './json-schema.ts'
import type { FieldFault } from './sentences.ts'

/** A list up to here is checked entry by entry, so that all faults of a body come at once. */
const LONG = 256

/**
 * Each wrong entry of a list costs several errors: half a megabyte of `{}` stops a daemon for seconds.
 * @returns a fault for each list that is longer than its schema allows, and long; empty where there is none
 */
export function longLists(schema: JsonSchema, value: unknown, path = ''): FieldFault[] {
  if (value === null || typeof value !== 'object') return []
  if (!Array.isArray(value))
    return Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
      Object.hasOwn(value, name)
        ? longLists(property, (value as Record<string, unknown>)[name], path === '' ? name : `${path}.${name}`)
        : [],
    )
  const { items, maxItems } = schema
  if (maxItems !== undefined && value.length > Math.max(LONG, maxItems))
    return [{ field: path, message: `is ${seen(value, false)}, expected ${expected(schema)}` }]
  return items ? value.flatMap((item, at) => longLists(items, item, `${path}[${at}]`)) : []
}
