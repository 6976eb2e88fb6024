/** A book for tests: tables as lists of rows, which can be replaced. */
import type { Book, Row } from '../../../core/site/book.ts'

export interface TestBook extends Book {
  /** Replaces a table. */
  set(table: string, rows: readonly Record<string, unknown>[]): void
}

export function bookOf(tables: Record<string, readonly Record<string, unknown>[]>): TestBook {
  const kept = new Map<string, { rows: readonly Row[]; revision: number }>()
  const rows = (table: string) => kept.get(table)?.rows ?? []
  function set(table: string, given: readonly Record<string, unknown>[]): void {
    kept.set(table, { rows: given as unknown as Row[], revision: (kept.get(table)?.revision ?? 0) + 1 })
  }
  for (const [table, given] of Object.entries(tables)) set(table, given)
  return {
    rows,
    row: (table, id) => rows(table).find((row) => row.id === id),
    named: (table, name) => rows(table).filter((row) => row.name === name),
    revision: (table) => kept.get(table)?.revision ?? 0,
    set,
  }
}
