/** Changes as a person reads them before they become real; never shows a secret. */
import type { Change } from '../change.ts'
import type { Book, Json, Row } from '../row.ts'
import type { Column, Table } from '../schema/column.ts'
import { isSecretColumn, tableOf } from '../schema/registry.ts'
import { isSensitiveName, withoutSecrets } from '../sensitive-name.ts'

/** One column that changes, with values as they may be shown. */
export interface ColumnDifference {
  column: string
  before: string
  after: string
}

/** One change, readable. */
export interface Difference {
  kind: Change['kind']
  table: string
  id: number
  /** What the row is called; empty where it has no name. */
  name: string
  columns: ColumnDifference[]
  /** `zone 12 "Hall": max 100 -> 80` */
  sentence: string
}

/** Longer values are cut. */
const LONGEST_SHOWN = 60

/** What a change does to the rows of a book. */
export function differenceOf(book: Book, change: Change): Difference {
  const table = tableOf(change.table)
  const before = book.row(change.table, change.id)
  const after = change.kind === 'change' ? change.columns : change.kind === 'add' ? change.row : {}
  const columns = table === undefined || change.kind === 'remove' ? [] : columnsOf(table, before, after)
  const label = table?.label === undefined ? undefined : (before ?? after)[table.label]
  const name = typeof label === 'string' ? label : ''
  const row = `${change.table} ${change.id}${name === '' ? '' : ` ${JSON.stringify(shortened(name))}`}`
  const { kind, id } = change
  return { kind, table: change.table, id, name, columns, sentence: sentenceOf(change, row, columns) }
}

function columnsOf(table: Table, before: Row | undefined, after: Readonly<Record<string, Json>>): ColumnDifference[] {
  return table.columns.flatMap((column) => {
    const value = after[column.name]
    const isOwn = !['id', 'created_at', 'updated_at', table.label].includes(column.name) || before !== undefined
    if (value === undefined || !isOwn || column.name === 'updated_at') return []
    const had = before === undefined ? column.default : (before[column.name] ?? null)
    if (before === undefined && value === had) return []
    const row: Readonly<Record<string, Json>> = { ...before, ...after }
    return [{ column: column.name, before: shown(table, column, had, row), after: shown(table, column, value, row) }]
  })
}

function sentenceOf(change: Change, row: string, columns: readonly ColumnDifference[]): string {
  if (change.kind === 'remove') return `- ${row}`
  const parts = columns.map(({ column, before, after }) =>
    change.kind === 'add' ? `${column} ${after}` : `${column} ${before} -> ${after}`,
  )
  const said = parts.length === 0 ? '' : `: ${parts.join('; ')}`
  return `${change.kind === 'add' ? '+' : '~'} ${row}${said}`
}

function shown(table: Table, column: Column, value: Json, row: Readonly<Record<string, Json>>): string {
  if (value === null) return 'none'
  if (isSecretColumn(table.name, column.name)) return '(secret)'
  if (table.name === 'attribute' && column.isAnyJson)
    return row.secure === true || isSensitiveName(String(row.name)) ? '(secret)' : shownText(String(value))
  if (column.type === 'json') return shortened(JSON.stringify(withoutSecrets(value)))
  return typeof value === 'string' ? JSON.stringify(shortened(value)) : String(value)
}

/** The value of an attribute may be a blob with secrets inside. */
function shownText(value: string): string {
  try {
    return shortened(JSON.stringify(withoutSecrets(JSON.parse(value) as Json)))
  } catch {
    return JSON.stringify(shortened(value))
  }
}

function shortened(text: string): string {
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…`.toWellFormed() : text
}
