/** The tables of the site as an administrator's forms see them: columns from the registry, rows with what is pending. */
import { isObject, isSameJson, type Json, objectOf } from '../json.ts'
import { withoutSecrets } from '../secrets.ts'
import type { Book, Row } from './book.ts'
import { type Change, rowAfter } from './changes.ts'
import type { Column, Table } from './column.ts'
import { userLists } from './drafts.ts'
import { isJsonSecret, isSecretColumn, referredTables, siteTables, tableOf } from './registry.ts'
import { targetTable } from './rows.ts'

// Tables and columns: what a form is made of.

/**
 * How a column is entered. `row` is a reference, `rows` a list of them; `secret` is only ever replaced. A `password` is
 * hashed when it is kept.
 */
export type FieldKind =
  | 'text'
  | 'integer'
  | 'real'
  | 'boolean'
  | 'json'
  | 'time'
  | 'row'
  | 'rows'
  | 'secret'
  | 'password'

/** One field of a form. */
export interface FieldView {
  name: string
  kind: FieldKind
  isRequired: boolean
  default: Json
  choices: readonly string[] | null
  minimum: number | null
  maximum: number | null
  /** The tables that a reference may point into; with several, the column `by` names the one. */
  tables: readonly string[]
  by: string | null
}

/** One table. */
export interface TableView {
  name: string
  /** The column by which people know a row; null if the table has none. */
  label: string | null
  fields: readonly FieldView[]
  count: number
}

/** Columns that a row has by itself. */
const COMMON: ReadonlySet<string> = new Set(['id', 'created_at', 'updated_at'])

/** Made from the password. */
const HASHES: ReadonlySet<string> = new Set(['hash', 'salt'])

/** Entered as lists of their users. */
const LINKS: ReadonlySet<string> = new Set(userLists.map(({ links }) => links))

const USERS = 'auth_user'

/** The tables that a form can change, in the order of the registry. */
function formTables(): readonly Table[] {
  return siteTables().filter(({ name }) => !LINKS.has(name))
}

/** @returns every table with its fields, and how many rows it has now */
export function describeTables(book: Book): TableView[] {
  return formTables().map((table) => ({
    name: table.name,
    label: table.label ?? null,
    fields: fieldsOf(table),
    count: book.rows(table.name).length,
  }))
}

function fieldsOf(table: Table): FieldView[] {
  const isUsers = table.name === USERS
  const own = table.columns
    .filter(({ name, isInner }) => !COMMON.has(name) && !isInner && !(isUsers && HASHES.has(name)))
    .map((column) => fieldOf(table, column))
  if (!isUsers) return own
  // Who somebody is and what they may do comes first; most of the rest stays empty.
  const [name, fullName, email, ...rest] = own
  return [name, fullName, email, PASSWORD, ...userLists.map(listField), ...rest].filter((each) => each !== undefined)
}

function fieldOf(table: Table, column: Column): FieldView {
  const { name, isRequired = false, choices = null, minimum = null, maximum = null, referenceBy = null } = column
  const facts = { name, isRequired, default: column.default, choices, minimum, maximum, by: referenceBy }
  return { ...facts, kind: kindOf(table, column), tables: referredTables(column) }
}

function kindOf(table: Table, column: Column): FieldKind {
  if (isSecretColumn(table.name, column.name)) return 'secret'
  if (column.isTime) return 'time'
  return referredTables(column).length > 0 ? 'row' : column.type
}

const PLAIN = { isRequired: false, default: null, choices: null, minimum: null, maximum: null, by: null } as const

const PASSWORD: FieldView = { ...PLAIN, name: 'password', kind: 'password', tables: [] }

function listField({ key, links, column }: (typeof userLists)[number]): FieldView {
  const to = tableOf(links)?.column(column)?.reference
  return { ...PLAIN, name: key, kind: 'rows', tables: to === undefined ? [] : [to] }
}

// Rows: as they will be after Apply All.

/** Which rows of a table; absent fields do not restrict. */
export interface RowsAsk {
  table: string
  id?: number
  ids?: ReadonlySet<number>
  /** Part of any of a row's texts, without case. */
  find?: string
  /** Only rows with a greater id. */
  after?: number
  limit: number
}

/** One row with the changes that wait. Secrets are not in it. */
export interface RowView {
  id: number
  /** By which people know it; null if it has none. */
  name: string | null
  /** What Apply All will do to it; null if nothing waits. */
  pending: 'add' | 'change' | 'remove' | null
  values: Readonly<Record<string, Json>>
  /** The secret columns that have a value. */
  secrets: readonly string[]
  /** By column: the name of the row that it refers to. */
  names: Readonly<Record<string, string>>
}

/** Rows by id; `next` continues after the last one, and is null at the end. */
export interface RowsPage {
  rows: readonly RowView[]
  next: number | null
}

/** @returns undefined if no form changes such a table */
export function browseRows(book: Book, waiting: readonly Change[], ask: RowsAsk): RowsPage | undefined {
  const table = formTables().find(({ name }) => name === ask.table)
  if (table === undefined) return undefined
  const site = { row: (name: string, id: number) => rowWith(book, waiting, name, id) }
  const found = rowsWith(book, waiting, table.name)
    .filter(({ id }) => id > (ask.after ?? 0) && (ask.id === undefined || id === ask.id) && ask.ids?.has(id) !== false)
    .filter(({ row }) => isFound(table, row, ask.find?.toLowerCase() ?? ''))
  const rows = found.slice(0, ask.limit).map((each) => viewOf(table, each, { book, waiting, ...site }))
  return { rows, next: found.length > ask.limit ? (rows.at(-1)?.id ?? null) : null }
}

/** What drivers change all the time. */
const LIVELY: ReadonlySet<string> = new Set(
  'attribute.value attribute.previous_value attribute.changed_at av_zone.source_id av_zone.volume av_zone.mute'.split(
    ' ',
  ),
)

const REMOVED = { field: 'id', message: 'This row is removed by Apply All: a change would bring a part of it back.' }

/** A change of a row that somebody has looked at before. */
export interface Revision {
  table: string
  id: number
  values: Readonly<Record<string, Json>>
  /** The values that were shown, by column. */
  seen: Readonly<Record<string, Json>>
}

/**
 * What somebody else has done to a row since it was shown, as far as a change would undo it; secrets are shown to nobody.
 * @param now the row as it is; undefined if it is gone
 */
export function overtaken(now: RowView | undefined, { table, id, values, seen }: Revision) {
  if (now === undefined) return [{ field: 'id', message: `There is no ${table} ${id}.` }]
  if (now.pending === 'remove') return [REMOVED]
  return Object.keys(values)
    .filter((name) => Object.hasOwn(seen, name) && Object.hasOwn(now.values, name) && !LIVELY.has(`${table}.${name}`))
    .filter((name) => !isSameJson(seen[name], now.values[name]))
    .map((field) => ({ field, message: 'Somebody else has changed this meanwhile. Open the row again to see it.' }))
}

/** Rows to be written, and what they were when somebody looked at them: lists of rows by table, each with its id. */
interface RowsSeen {
  rows: Readonly<Record<string, readonly Json[]>>
  seen?: Readonly<Record<string, readonly Json[]>> | undefined
}

/**
 * `overtaken` for many rows at once; of rows that nobody says to have looked at, only a removal that waits counts.
 * @returns faults by the places of the rows, as `zone[0].max`
 */
export function overtakenRows(book: Book, waiting: readonly Change[], { rows, seen = {} }: RowsSeen) {
  const removed = new Set(waiting.flatMap(({ kind, table, id }) => (kind === 'remove' ? [`${table} ${id}`] : [])))
  return Object.entries(rows).flatMap(([table, list]) => {
    const looked = byId(Object.hasOwn(seen, table) ? (seen[table] ?? []) : [])
    const now = browseRows(book, waiting, { table, ids: new Set(looked.keys()), limit: looked.size })?.rows ?? []
    const shown = new Map(now.map((row) => [row.id, row]))
    return list.flatMap((row, at) => {
      const id = idOf(row)
      if (id === undefined) return []
      const { id: _, ...values } = row as Readonly<Record<string, Json>>
      const faults = looked.has(id)
        ? overtaken(shown.get(id), { table, id, values, seen: looked.get(id) ?? {} })
        : removed.has(`${table} ${id}`)
          ? [REMOVED]
          : []
      return faults.map(({ field, message }) => ({ field: `${table}[${at}].${field}`, message }))
    })
  })
}

function byId(rows: readonly Json[]): Map<number, Readonly<Record<string, Json>>> {
  return new Map(
    rows.flatMap((row) => {
      const id = idOf(row)
      return id === undefined ? [] : [[id, row as Readonly<Record<string, Json>>] as const]
    }),
  )
}

function idOf(row: Json): number | undefined {
  return isObject(row) && typeof row.id === 'number' ? row.id : undefined
}

/** The next id of a table that neither the site nor the changes that wait have used. */
export function freeId(waiting: readonly Change[], table: string, nextId: (table: string) => number): number {
  const used = waiting.filter((change) => change.table === table).map(({ id }) => id + 1)
  return Math.max(nextId(table), ...used)
}

interface WaitingRow {
  id: number
  row: Row
  pending: RowView['pending']
}

/** By id, those included that will be removed. */
function rowsWith(book: Book, waiting: readonly Change[], table: string): WaitingRow[] {
  const own = new Map(waiting.filter((change) => change.table === table).map((change) => [change.id, change]))
  const here = book.rows(table).map((row): WaitingRow => {
    const change = own.get(row.id)
    own.delete(row.id)
    if (change === undefined) return { id: row.id, row, pending: null }
    return { id: row.id, row: rowAfter(row, change) ?? row, pending: change.kind }
  })
  const added = [...own.values()].flatMap((change): WaitingRow[] =>
    change.kind === 'add' ? [{ id: change.id, row: change.row, pending: 'add' }] : [],
  )
  return [...here, ...added].toSorted((one, other) => one.id - other.id)
}

function rowWith(book: Book, waiting: readonly Change[], table: string, id: number): Row | undefined {
  const change = waiting.find((each) => each.table === table && each.id === id)
  const row = book.row(table, id)
  return change === undefined ? row : rowAfter(row, change)
}

function isFound(table: Table, row: Row, part: string): boolean {
  if (part === '' || String(row.id) === part) return true
  return table.columns.some(({ name, type }) => {
    const value = row[name]
    if (type !== 'text' || typeof value !== 'string' || isSecretColumn(table.name, name)) return false
    return value.toLowerCase().includes(part)
  })
}

interface Site {
  book: Book
  waiting: readonly Change[]
  row(table: string, id: number): Row | undefined
}

function viewOf(table: Table, { id, row, pending }: WaitingRow, site: Site): RowView {
  const values: [string, Json][] = []
  const secrets: string[] = []
  const names: [string, string][] = []
  for (const field of fieldsOf(table)) {
    const { name, kind } = field
    const value = row[name] ?? null
    if (kind === 'password') {
      if (typeof row.hash === 'string') secrets.push(name)
    } else if (kind === 'secret') {
      if (value !== null) secrets.push(name)
    } else if (kind === 'rows') values.push([name, linkedTo(site, id, name)])
    else values.push([name, isJsonSecret(table.name, name) ? withoutSecrets(value) : value])
    const column = table.column(name)
    const to = column && kind === 'row' ? targetTable(column, (by) => row[by]) : undefined
    const known = to && typeof value === 'number' ? site.row(to.name, value)?.[to.label ?? ''] : undefined
    if (typeof known === 'string') names.push([name, known])
  }
  const own = row[table.label ?? '']
  const name = typeof own === 'string' && own !== '' ? own : null
  return { id, name, pending, values: objectOf(values), secrets, names: Object.fromEntries(names) }
}

/** The roles or sites of a user, by name. */
function linkedTo({ book, waiting, row }: Site, userId: number, key: string): Json {
  const list = userLists.find((each) => each.key === key)
  const to = list && tableOf(list.links)?.column(list.column)?.reference
  if (list === undefined || to === undefined) return []
  return rowsWith(book, waiting, list.links)
    .filter((link) => link.pending !== 'remove' && link.row.user_id === userId)
    .map((link) => {
      const other = Number(link.row[list.column])
      return row(to, other)?.[tableOf(to)?.label ?? ''] ?? other
    })
}
