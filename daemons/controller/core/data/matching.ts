/** A query's conditions as one question to what a caller sees of a row. */
import type { Where } from '../../wire/query/query.ts'
import type { Json } from '../row.ts'
import { testOf } from './compare.ts'
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

/** How many questions a row is asked. */
export function sizeOf(where: Where): number {
  return where.either.flat().reduce((sum, part) => sum + sizeOf(part), where.conditions.length)
}
