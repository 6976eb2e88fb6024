/** Queries parsed with the default limits, and their conditions in the form that tests compare. */
import type { Condition, Query, QueryLimits } from '../../wire/query.ts'
import { readQuery } from '../../wire/read-query.ts'

export const limits: QueryLimits = { queryBytes: 16_384, conditions: 64, depth: 4, listItems: 1000, patternChars: 1000 }

export function read(raw: string): Query {
  return readQuery(raw, limits)
}

/** Conditions as short lines: `id in 7|Hall`, numbers as numbers. */
function lines({ conditions, either }: Query['where']): unknown[] {
  const line = ({ column, operator, values }: Condition) => [
    column,
    operator,
    ...values.map((value) => (typeof value === 'object' && value !== null ? value.number : value)),
  ]
  return [...conditions.map(line), ...either.map((group) => ({ or: group.map(lines) }))]
}

/** The conditions of a query, one line each. */
export function where(raw: string): unknown[] {
  return lines(read(raw).where)
}
