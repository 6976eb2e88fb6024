/** Defaults of a schema, filled in before the check, also inside unions (where ajv leaves them out). */
import type { JsonSchema } from './json-schema.ts'
import { branchMeant } from './union.ts'

/**
 * Fills in what is missing and has a default, deep, in place.
 * @returns the value given, or the default where the value itself was missing
 */
export function withDefaults(schema: JsonSchema, value: unknown): unknown {
  const filled = value === undefined && schema.default !== undefined ? structuredClone(schema.default) : value
  if (filled === null || typeof filled !== 'object') return filled
  const branches = schema.anyOf ?? schema.oneOf
  if (branches) {
    const branch = branches[branchMeant(branches, filled).index ?? -1]
    return branch ? withDefaults(branch, filled) : filled
  }
  for (const part of schema.allOf ?? []) withDefaults(part, filled)
  if (Array.isArray(filled)) fillItems(schema.items, filled)
  else fillProperties(schema, filled as Record<string, unknown>)
  return filled
}

function fillItems(items: JsonSchema | undefined, list: unknown[]): void {
  if (items) for (let i = 0; i < list.length; i++) list[i] = withDefaults(items, list[i])
}

function fillProperties(schema: JsonSchema, object: Record<string, unknown>): void {
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const filled = withDefaults(property, Object.hasOwn(object, name) ? object[name] : undefined)
    if (filled !== undefined) object[name] = filled
  }
  for (const property of Object.values(schema.patternProperties ?? {}))
    for (const name of Object.keys(object)) object[name] = withDefaults(property, object[name])
}
