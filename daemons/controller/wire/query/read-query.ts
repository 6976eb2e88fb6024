/** Reads the query string of GET /api/data/:entity. */
import { Fault } from '#kit/fault.ts'
import { branchOfQuery } from './branch.ts'
import { readWhere } from './conditions.ts'
import { isModifier, readModifiers } from './modifiers.ts'
import type { Query, QueryLimits } from './query.ts'

/**
 * A whole query; everything in it has a meaning here or is refused, nothing is dropped.
 * @param raw without the `?`, as it stands in the request line
 * @throws Fault `query_unreadable`, `query_unknown_name`
 * @source document 1, GET /api/data/:entity, Modifiers
 */
export function readQuery(raw: string, limits: QueryLimits): Query {
  if (raw.length > limits.queryBytes)
    throw new Fault('query_unreadable', `the query has ${raw.length} bytes, at most ${limits.queryBytes} are read`)
  const root = branchOfQuery(raw)
  return { where: readWhere(root, limits, isModifier), ...readModifiers(root) }
}
