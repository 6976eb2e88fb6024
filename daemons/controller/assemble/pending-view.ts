/** Changes that wait, as people read them: rows that a column points to have names, and instants are known to be some. */
import type { Book, Json } from '../core/row.ts'
import { isSecretColumn, tableOf } from '../core/schema/registry.ts'
import type { PendingChange, PendingColumn } from '../core/ui-ports.ts'
import type { StagedDifference } from '../io/database.ts'

/** @param book the site as it is: what a change points to is in there, or among the changes */
export function pendingView(staged: readonly StagedDifference[], book: Pick<Book, 'row'>): PendingChange[] {
  const named = new Map(staged.flatMap(({ table, id, name }) => (name === '' ? [] : [[`${table} ${id}`, name]])))
  const nameOf = (table: string, id: Json): string | null => {
    if (typeof id !== 'number') return null
    const label = tableOf(table)?.label
    const now = label === undefined ? undefined : book.row(table, id)?.[label]
    return typeof now === 'string' && now !== '' ? now : (named.get(`${table} ${id}`) ?? null)
  }
  return staged.map(({ kind, table, id, name, columns, pendingId, at, author }) => ({
    ...{ id: pendingId, at, by: author, kind, table, rowId: kind === 'add' ? null : id },
    name: name === '' ? null : name,
    columns: columns.map((column) => columnView(table, column, nameOf)),
  }))
}

function columnView(
  table: string,
  { column, before, after }: StagedDifference['columns'][number],
  nameOf: (table: string, id: Json) => string | null,
): PendingColumn {
  if (isSecretColumn(table, column)) return { column, isSecret: true, before: null, after: null }
  const facts = tableOf(table)?.column(column)
  const plain = { column, isSecret: false, before: plainOf(before), after: plainOf(after) }
  if (facts?.isTime) return { ...plain, kind: 'time' }
  const to = facts?.reference
  if (to === undefined) return plain
  return { ...plain, kind: 'row', names: { before: nameOf(to, plain.before), after: nameOf(to, plain.after) } }
}

/** A difference has values as one-line texts; those that were cut stay texts. */
function plainOf(shown: string): Json {
  if (shown === 'none') return null
  try {
    return JSON.parse(shown) as Json
  } catch {
    return shown
  }
}
