/** Rows as a site file states them: values read, references still as they were written. */
import type { Json } from '../row.ts'
import type { Column, Table } from '../schema/column.ts'

/** A reference as it was written: an id, or what the row is called. */
export type Wish = { id: number } | { name: string }

/** One row of a site file. */
export interface Draft {
  readonly table: Table
  /** `zone[3]` */
  readonly path: string
  /** As stated, later as given. */
  id: number | undefined
  readonly values: Map<string, Json>
  wishes: Map<string, Wish> | undefined
  /** Set for a user whose password stands in the file; hashed when everything else is good. */
  password?: string
  /** Columns of which what was stated is a fault already. */
  refused: Set<string> | undefined
  /** Which of `userLists` a user states. */
  lists: Set<string> | undefined
  /** The user in whose list a link stands. */
  readonly user?: Draft
}

/** A document whose form is good, before names mean anything. */
export interface SiteDraft {
  /** By table, in the file's order; a table that the file does not name is missing. */
  readonly tables: ReadonlyMap<string, readonly Draft[]>
  /** Rows of auth_user_role and auth_user_site that come from lists of users. */
  readonly links: ReadonlyMap<string, readonly Draft[]>
}

/** Whether a column says which row is meant, in place of a value. */
export function isReference(column: Column): boolean {
  return column.reference !== undefined || column.referenceBy !== undefined
}

/** A draft that states nothing yet. What few rows have is made when it is needed: there may be 200,000 of them. */
export function emptyDraft(table: Table, path: string, user?: Draft): Draft {
  const none = undefined
  return { table, path, id: none, values: new Map(), wishes: none, password: none, refused: none, lists: none, user }
}

/** Notes that what was stated of a column is a fault already. */
export function refuse(draft: Draft, column: string): void {
  draft.refused ??= new Set()
  draft.refused.add(column)
}

export function wish(draft: Draft, column: string, said: Wish): void {
  draft.wishes ??= new Map()
  draft.wishes.set(column, said)
}

/** The lists that a user may carry, and the rows that they stand for. */
export const userLists = [
  { key: 'roles', links: 'auth_user_role', column: 'role_id' },
  { key: 'sites', links: 'auth_user_site', column: 'site_id' },
] as const
