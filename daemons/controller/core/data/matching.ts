/** A query's conditions as one question to what a caller sees of a row. */
import type { Condition, Operator, Where } from '../../wire/query/query.ts'
import type { QueryValue } from '../../wire/query/query-value.ts'
import type { Json } from '../row.ts'
import { testOf } from './compare.ts'
import type { Steps } from './data-turns.ts'
import type { TableFace } from './schema-face.ts'

/** What a caller sees of a row, by column. */
export type Cells = Readonly<Record<string, Json>>

/** @param where names columns of the table only: guards and checks have passed */
export function matcherOf(where: Where, table: TableFace): (cells: Cells) => boolean {
  const tests = where.conditions.map((condition) => {
    const test = testOf(condition, table.columns.get(condition.column)?.type ?? 'text')
    return (cells: Cells) => test(cells[condition.column])
  })
  for (const group of where.either) {
    const parts = group.map((part) => matcherOf(part, table))
    tests.push((cells) => parts.some((part) => part(cells)))
  }
  return (cells) => {
    for (const test of tests) if (!test(cells)) return false
    return true
  }
}

/**
 * The same for texts and patterns of any length, with a pause wherever others may have their turn: behind each pattern,
 * since one on a long text takes milliseconds, and a query may have a thousand.
 */
export function steppedMatcherOf(where: Where, table: TableFace): (cells: Cells) => Steps<boolean> {
  const isLong = ({ operator }: Condition) => PATTERNS.has(operator)
  const short = matcherOf({ conditions: where.conditions.filter((one) => !isLong(one)), either: [] }, table)
  const alone = (condition: Condition, value: QueryValue) =>
    matcherOf({ conditions: [{ ...condition, values: [value] }], either: [] }, table)
  const groups = [
    ...where.conditions.filter(isLong).map((one) =>
      one.values.map((value) => {
        const test = alone(one, value)
        return function* (cells: Cells): Steps<boolean> {
          yield
          return test(cells)
        }
      }),
    ),
    ...where.either.map((group) => group.map((part) => steppedMatcherOf(part, table))),
  ]
  return function* (cells) {
    if (!short(cells)) return false
    for (const group of groups) if (!(yield* anyOf(group, cells))) return false
    return true
  }
}

/** Any of their values is enough, as it is for a condition with all of them. */
const PATTERNS: ReadonlySet<Operator> = new Set<Operator>(['like', 'contains'])

function* anyOf(tests: readonly ((cells: Cells) => Steps<boolean>)[], cells: Cells): Steps<boolean> {
  for (const test of tests) if (yield* test(cells)) return true
  return false
}

/** Whether a pattern stands anywhere in it. */
export function hasPattern(where: Where): boolean {
  return where.conditions.some(({ operator }) => PATTERNS.has(operator)) || where.either.flat().some(hasPattern)
}

/** How many questions a row is asked. */
export function sizeOf(where: Where): number {
  return where.either.flat().reduce((sum, part) => sum + sizeOf(part), where.conditions.length)
}
