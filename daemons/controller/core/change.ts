/** Changes of the configuration: what an import or a form asks for, before it becomes real. */
import type { Book, Json, Row } from './row.ts'
import { isSameJson } from './same-json.ts'
import { bookTables } from './schema/registry.ts'

/** One change of one row. */
export type Change =
  | { readonly kind: 'add'; readonly table: string; readonly id: number; readonly row: Row }
  | {
      readonly kind: 'change'
      readonly table: string
      readonly id: number
      /** What becomes of the columns that change; others stay as they are when it becomes real. */
      readonly columns: Readonly<Record<string, Json>>
    }
  | { readonly kind: 'remove'; readonly table: string; readonly id: number }

/** Rows by table and id, all tables that a book holds. */
export type SiteRows = ReadonlyMap<string, ReadonlyMap<number, Row>>

/** The rows of a book, as they are. Maps of ours: who gets them may change them. */
export function rowsOf(book: Book): Map<string, Map<number, Row>> {
  return new Map(bookTables().map(({ name }) => [name, new Map(book.rows(name).map((row) => [row.id, row]))]))
}

/**
 * The rows of a book after these changes.
 * @returns also the changes that have nothing to change any more: rows that are gone
 */
export function rowsAfter(book: Book, changes: readonly Change[]): { rows: SiteRows; lost: readonly Change[] } {
  const rows = rowsOf(book)
  const lost: Change[] = []
  for (const change of changes) {
    const table = rows.get(change.table)
    const row = rowAfter(table?.get(change.id), change)
    if (row !== undefined) table?.set(change.id, row)
    else if (!table?.delete(change.id) && change.kind !== 'remove') lost.push(change)
  }
  return { rows, lost }
}

/** A row after a change; undefined where there is none then. */
export function rowAfter(row: Row | undefined, change: Change): Row | undefined {
  if (change.kind === 'add') return change.row
  return change.kind === 'remove' || row === undefined ? undefined : { ...row, ...change.columns }
}

/** What turns the rows of a book into these, row by row; `updated_at` of what changes becomes `nowMs`. */
export function changesBetween(book: Book, next: SiteRows, nowMs: number): Change[] {
  const changes: Change[] = []
  for (const [table, rows] of next) {
    for (const { id } of book.rows(table)) if (!rows.has(id)) changes.push({ kind: 'remove', table, id })
    for (const [id, row] of rows) {
      const before = book.row(table, id)
      if (before === row) continue
      if (before === undefined) {
        changes.push({ kind: 'add', table, id, row })
        continue
      }
      const columns = changedColumns(before, row)
      if (columns !== undefined) changes.push({ kind: 'change', table, id, columns: { ...columns, updated_at: nowMs } })
    }
  }
  return changes
}

function changedColumns(before: Row, after: Row): Record<string, Json> | undefined {
  let changed: Record<string, Json> | undefined
  // Column names are those of the registry: no key from outside is among them.
  for (const column of Object.keys(after)) {
    const value = after[column] ?? null
    if (column === 'updated_at' || isSameJson(before[column] ?? null, value)) continue
    changed ??= {}
    changed[column] = value
  }
  return changed
}
