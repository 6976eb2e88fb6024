/** What the tables of a building hold, as everything behind the store sees it. */

/** A value of a column: JSON columns are already read, booleans are booleans. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** One row. Every table has `id`, `created_at` and `updated_at` (epoch ms); a row is never changed, only replaced. */
export interface Row {
  readonly id: number
  readonly [column: string]: Json
}

/** The configuration of a building, in memory, as it is applied: pending changes are no part of it. */
export interface Book {
  /** All rows of a table, by id ascending; the same array until the table changes. Empty for a table without rows. */
  rows(table: string): readonly Row[]
  row(table: string, id: number): Row | undefined
  /** Rows whose column `name` is exactly this, by id. */
  named(table: string, name: string): readonly Row[]
  /** Grows with every change of a table: what was derived from its rows is stale when it differs. */
  revision(table: string): number
}

/** Writes that the daemon makes itself, beside imports and Apply All: durable when the promise resolves. */
export interface Keeper {
  /** Changes columns of one row; what is not named stays. @throws Fault `row_gone` */
  change(table: string, id: number, columns: Readonly<Record<string, Json>>): Promise<void>
}
