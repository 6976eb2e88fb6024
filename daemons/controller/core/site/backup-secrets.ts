/**
 * What of the site leaves the controller in a backup of the page: everything that a session may see, and what people
 * sign in with. The secrets of other machines stay where they are.
 */
import type { Json } from '../json.ts'
import { withoutSecrets } from '../secrets.ts'
import type { Row } from './book.ts'
import type { Table } from './column.ts'
import { isSecretColumn, tableOf, tables } from './registry.ts'
import { keepSecrets } from './rows.ts'

/** What people sign in with. */
const PEOPLE = 'auth_user'

/** Tables with secrets of other machines. */
export function tablesWithSecrets(): readonly Table[] {
  return tables().filter(
    ({ name, columns, keeping }) =>
      name !== PEOPLE && keeping !== 'audit' && columns.some((column) => isHidden(name, column)),
  )
}

/** Whether nobody is shown the whole value. */
function isHidden(table: string, { name, isJsonSecret }: Table['columns'][number]): boolean {
  return isSecretColumn(table, name) || isJsonSecret === true
}

/** A row without the secrets of other machines. */
export function withoutForeignSecrets(table: Table, row: Row): Row {
  if (table.name === 'pending_change') return { ...row, columns: withoutThoseOfChange(row) }
  return { ...row, ...shown(table, row, () => null) }
}

/** A waiting change keeps the columns that it does not name: so a secret is left out, and not made null. */
function withoutThoseOfChange({ entity, kind, columns }: Row): Json {
  const table = tableOf(String(entity))
  if (table === undefined || table.name === PEOPLE) return columns ?? null
  return shown(table, columns as Readonly<Record<string, Json>>, () => (kind === 'add' ? null : undefined))
}

/** @param secret what stands in the place of a secret; undefined leaves it out */
function shown(
  table: Table,
  values: Readonly<Record<string, Json>>,
  secret: () => null | undefined,
): Record<string, Json> {
  const seen: Record<string, Json> = {}
  for (const [name, value] of Object.entries(values)) {
    const column = table.column(name)
    const next = isSecretColumn(table.name, name) ? secret() : column?.isJsonSecret ? withoutSecrets(value) : value
    if (next !== undefined) seen[name] = next
  }
  return seen
}

/** A row of a backup with the secrets that it has here already: the same row, under the same name. */
export function withKeptSecrets(table: Table, row: Row, here: Row | undefined): Row {
  if (here === undefined || table.name === 'pending_change') return row
  if (table.label !== undefined && row[table.label] !== here[table.label]) return row
  const kept: Record<string, Json> = {}
  for (const column of table.columns) {
    const { name } = column
    const [value, had] = [row[name] ?? null, here[name] ?? null]
    if (isSecretColumn(table.name, name)) kept[name] = value ?? had
    else if (column.isJsonSecret) kept[name] = keepSecrets(value, had)
  }
  return { ...row, ...kept }
}
