/** A site written down as a document that an import makes the same site of. */
import type { Book, Json, Row } from '../row.ts'
import type { Column, Table } from '../schema/column.ts'
import { isSecretColumn, siteTables, tableOf } from '../schema/registry.ts'
import { withoutSecrets } from '../sensitive-name.ts'
import { isAttributeValue, isSecretAttribute, withoutNested } from './attribute-secrets.ts'
import { userLists } from './draft.ts'

/**
 * `people`: of secrets in columns and attributes only hash and salt of users, which are no passwords; into the controller it came from such a
 * document is imported without losing the others. `all`: everything that a new machine needs, to be kept like a key.
 */
export type ExportedSecrets = 'people' | 'all'

/** Secrets that stand in every export: without them nobody could sign in after an import. */
const ALWAYS: ReadonlySet<string> = new Set(['hash', 'salt'])

/** Columns that the next import gives anew. */
const NEVER: ReadonlySet<string> = new Set(['created_at', 'updated_at'])

/**
 * The document: tables in the order in which they refer to each other, rows with their ids, without what is null or the
 * default. References are ids; roles and sites of users are lists of names, or of ids where a name is not enough.
 */
export function exportSite(book: Book, secrets: ExportedSecrets = 'people'): Record<string, Json> {
  const document: Record<string, Json> = {}
  for (const table of siteTables()) {
    if (userLists.some(({ links }) => links === table.name)) continue
    const rows = book.rows(table.name).map((row) => exportRow(book, table, row, secrets))
    if (rows.length > 0) document[table.name] = rows
  }
  return document
}

function exportRow(book: Book, table: Table, row: Row, secrets: ExportedSecrets): Json {
  const said: Record<string, Json> = {}
  for (const column of table.columns) {
    if (NEVER.has(column.name) || column.isInner) continue
    if (secrets === 'people' && isLeftOut(table, column, row)) continue
    const value = row[column.name] ?? null
    if (value === column.default && !(column.isRequired && column.default === null)) continue
    said[column.name] = secrets === 'people' ? withoutInner(table, column, value) : value
  }
  if (table.name === 'auth_user')
    for (const list of userLists) said[list.key] = linkedTo(book, row.id, list.links, list.column)
  return said
}

function isLeftOut(table: Table, column: Column, row: Row): boolean {
  if (isAttributeValue(table, column)) return isSecretAttribute(row)
  return isSecretColumn(table.name, column.name) && !isUsersHash(table, column)
}

function withoutInner(table: Table, column: Column, value: Json): Json {
  if (isAttributeValue(table, column)) return withoutNested(value)
  return column.isJsonSecret ? withoutSecrets(value) : value
}

function isUsersHash(table: Table, column: Column): boolean {
  return table.name === 'auth_user' && ALWAYS.has(column.name)
}

function linkedTo(book: Book, userId: number, links: string, column: string): Json {
  const target = tableOf(links)?.column(column)?.reference ?? ''
  return book
    .rows(links)
    .filter((link) => link.user_id === userId)
    .flatMap((link) => {
      const id = link[column]
      const name = typeof id === 'number' ? book.row(target, id)?.name : undefined
      if (typeof id !== 'number' || typeof name !== 'string') return []
      return [book.named(target, name).length === 1 ? name : id]
    })
}
