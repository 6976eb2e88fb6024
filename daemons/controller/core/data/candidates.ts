/** Which rows of the book may match at all: where ids or names are given, the others need not be looked at. */
import type { Where } from '../../wire/query/query.ts'
import type { QueryValue } from '../../wire/query/query-value.ts'
import type { Book, Row } from '../row.ts'

/** Columns that the book finds rows by; neither is ever hidden from who may read the table. */
const FOUND_BY = ['id', 'name'] as const

/**
 * Rows of a table, by id: all of them, or at least those that the conditions on `id` and `name` leave.
 * @param hasName the table has a column `name`, of texts
 */
export function candidatesOf(book: Book, table: string, where: Where, hasName: boolean): readonly Row[] {
  for (const column of FOUND_BY) {
    if (column === 'name' && !hasName) continue
    const condition = where.conditions.find((condition) => condition.column === column && condition.operator === 'in')
    const texts = condition && textsOf(condition.values)
    if (texts)
      return byId(
        column === 'name' ? [...texts].flatMap((name) => book.named(table, name)) : rowsOf(book, table, texts),
      )
  }
  return book.rows(table)
}

function rowsOf(book: Book, table: string, ids: ReadonlySet<string>): Row[] {
  return [...ids].flatMap((id) => book.row(table, Number(id)) ?? [])
}

function byId(rows: readonly Row[]): Row[] {
  return [...new Set(rows)].sort((one, other) => one.id - other.id)
}

/** As the book is asked for them; undefined where it cannot be. */
function textsOf(values: readonly QueryValue[]): Set<string> | undefined {
  const texts = new Set<string>()
  for (const value of values) {
    if (value === null || typeof value === 'boolean') return undefined
    texts.add(typeof value === 'object' ? value.text : value)
  }
  return texts
}
