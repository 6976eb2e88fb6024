/** Which branch of a union schema a value means, so that defaults and sentences speak of that branch alone. */
import type { JsonSchema } from './json-schema.ts'

/** The branch meant: its index, or the name of the tag that was not understood, or neither. */
export interface Meant {
  index: number | undefined
  /** Property that tells the branches apart, and the values it may have. */
  tag: { name: string; values: unknown[] } | undefined
}

/**
 * Branches that are objects are told apart by a property that is a constant in each of them (`mode`, `kind`);
 * a lone object (or list) branch beside `null` is meant by every object (or list).
 */
export function branchMeant(branches: readonly JsonSchema[], value: unknown): Meant {
  if (Array.isArray(value)) return { index: loneOf(branches, 'array'), tag: undefined }
  if (value === null || typeof value !== 'object') return { index: undefined, tag: undefined }
  const lone = loneOf(branches, 'object')
  if (lone !== undefined) return { index: lone, tag: undefined }
  const objects = branches.filter((branch) => branch.type === 'object')
  const name = Object.keys(objects[0]?.properties ?? {}).find((property) =>
    objects.every((branch) => branch.properties?.[property]?.const !== undefined),
  )
  if (name === undefined) return { index: undefined, tag: undefined }
  const seen = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
  const index = branches.findIndex((branch) => branch.properties?.[name]?.const === seen && seen !== undefined)
  const values = objects.map((branch) => branch.properties?.[name]?.const)
  return { index: index < 0 ? undefined : index, tag: { name, values } }
}

function loneOf(branches: readonly JsonSchema[], type: string): number | undefined {
  const index = branches.findIndex((branch) => branch.type === type)
  return index >= 0 && branches.filter((branch) => branch.type === type).length === 1 ? index : undefined
}
