/** The registry as SQL: statements, and conversion of rows to and from SQLite values. */
import type { SqlValue } from '#kit/store/sqlite-writer.ts'
import type { Json } from '../core/json.ts'
import type { Row } from '../core/site/book.ts'
import type { Column, Table } from '../core/site/column.ts'

const TYPES = { integer: 'INTEGER', real: 'REAL', text: 'TEXT', boolean: 'INTEGER', json: 'TEXT' } as const

/** Statements that create a table. AUTOINCREMENT, so that the id of a removed row is never reused. */
export function createStatements(table: Table): string[] {
  const columns = table.columns.map((column) =>
    column.name === 'id' ? '"id" INTEGER PRIMARY KEY AUTOINCREMENT' : columnSql(column),
  )
  const unique = table.columns.filter((column) => column.isUnique).map((column) => [column])
  const together = table.uniqueTogether.flatMap((name) => table.column(name) ?? [])
  const indexes = [...unique, ...(together.length === 0 ? [] : [together])]
  return [
    `CREATE TABLE "${table.name}" (${columns.join(', ')}) STRICT`,
    ...indexes.map((index) => uniqueIndex(table, index)),
  ]
}

/** A statement that adds a column that the table lacks. */
export function addColumnStatement(table: Table, column: Column): string {
  return `ALTER TABLE "${table.name}" ADD COLUMN ${columnSql(column)}`
}

/** All rows by id; or only the newest plus those that have not ended. */
export function selectStatement(table: Table, most?: number): string {
  const all = `SELECT ${columnList(table)} FROM "${table.name}"`
  if (most === undefined) return `${all} ORDER BY id`
  const open = table.endColumn === undefined ? '' : ` OR "${table.endColumn}" IS NULL`
  return `${all} WHERE id IN (SELECT id FROM "${table.name}" ORDER BY id DESC LIMIT ${most})${open} ORDER BY id`
}

/** Rows beyond an id, in that order; parameters are the id and the limit. */
export function pieceStatement(table: Table, isNewestFirst: boolean): string {
  const [sign, order] = isNewestFirst ? ['<', ' DESC'] : ['>', '']
  return `SELECT ${columnList(table)} FROM "${table.name}" WHERE id ${sign} ? ORDER BY id${order} LIMIT ?`
}

/** Deletes the rows up to an id. */
export function forgetStatement(table: Table): string {
  return `DELETE FROM "${table.name}" WHERE id <= ?`
}

export function insertStatement(table: Table): string {
  return `INSERT INTO "${table.name}" (${columnList(table)}) VALUES (${table.columns.map(() => '?').join(', ')})`
}

/** Inserts a row, or replaces the one with its id. */
export function upsertStatement(table: Table): string {
  const set = table.columns.filter(({ name }) => name !== 'id').map(({ name }) => `"${name}" = excluded."${name}"`)
  return `${insertStatement(table)} ON CONFLICT (id) DO UPDATE SET ${set.join(', ')}`
}

export function deleteStatement(table: Table): string {
  return `DELETE FROM "${table.name}" WHERE id = ?`
}

/** A row as values in the order of the columns. */
export function encodeRow(table: Table, row: Row): SqlValue[] {
  return table.columns.map((column) => encode(column, row[column.name] ?? null))
}

/**
 * Builds rows from values in the order of the columns. Each row is a copy of an empty one: all share one shape, and
 * null values, which are most, cost nothing.
 * @returns a function that throws SyntaxError if a value is not valid JSON
 */
export function rowDecoder(table: Table): (values: readonly unknown[]) => Row {
  const { columns } = table
  const empty: Record<string, Json> = { ...table.empty }
  for (const name of Object.keys(empty)) empty[name] = null
  const shared = createSharedTexts()
  return (values) => {
    const row = { ...empty }
    for (let place = 0; place < columns.length; place++) {
      const column = columns[place]
      const value = values[place]
      if (column === undefined || value === null) continue
      row[column.name] = typeof value === 'string' && column.type !== 'json' ? shared(value) : decode(column, value)
    }
    return row as Row
  }
}

/** Longest text that is likely to stand in many rows, such as a name, a type or a unit. */
const SHARED_CHARS = 32
/** Texts looked up; more are rarely repeated. */
const MOST_SHARED = 4096

/** SQLite makes a string per row: 50,000 attributes would hold the name `level` 10,000 times. */
function createSharedTexts(): (text: string) => string {
  const texts = new Map<string, string>()
  return (text) => {
    if (text.length > SHARED_CHARS) return text
    const known = texts.get(text)
    if (known !== undefined) return known
    if (texts.size < MOST_SHARED) texts.set(text, text)
    return text
  }
}

function encode(column: Column, value: Json): SqlValue {
  if (value === null) return null
  if (column.type === 'json') return JSON.stringify(value)
  if (typeof value === 'boolean') return value ? 1 : 0
  return value as SqlValue
}

function decode(column: Column, value: unknown): Json {
  if (column.type === 'json') return JSON.parse(String(value)) as Json
  return column.type === 'boolean' ? value === 1 : (value as Json)
}

function columnList(table: Table): string {
  return table.columns.map(({ name }) => `"${name}"`).join(', ')
}

function uniqueIndex(table: Table, columns: readonly Column[]): string {
  const parts = columns.map((column) => `"${column.name}"${column.isNoCase ? ' COLLATE NOCASE' : ''}`)
  const name = [table.name, ...columns.map((column) => column.name)].join('_')
  return `CREATE UNIQUE INDEX "${name}" ON "${table.name}" (${parts.join(', ')})`
}

function columnSql(column: Column): string {
  const check = column.type === 'boolean' ? ` CHECK ("${column.name}" IN (0, 1))` : ''
  return `"${column.name}" ${TYPES[column.type]}${defaultSql(column)}${check}`
}

/** SQLite adds a NOT NULL column only with a default. */
function defaultSql(column: Column): string {
  const initial = column.default ?? (column.isRequired ? emptyOf(column) : null)
  if (initial === null) return ''
  const literal = typeof initial === 'string' ? `'${initial.replaceAll("'", "''")}'` : Number(initial)
  return `${column.isRequired ? ' NOT NULL' : ''} DEFAULT ${literal}`
}

function emptyOf(column: Column): Json {
  return column.type === 'text' || column.type === 'json' ? '' : 0
}
