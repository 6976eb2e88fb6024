/** Changes of the configuration: by an import or a form, as readable text, and by the daemon itself. */

import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import { isSensitiveName } from '#kit/pure/sensitive-name.ts'
import { charsOf, isSameJson, type Json } from '../json.ts'
import { withoutSecrets } from '../secrets.ts'
import type { Book, Keeper, Row, WritableBook } from './book.ts'
import type { Column, Table } from './column.ts'
import { bookTables, isSecretColumn, tableOf } from './registry.ts'
import { readValue } from './site-text.ts'

// Changes of rows: what an import or a form asks for, before it is applied.

/** One change of one row. */
export type Change =
  | { readonly kind: 'add'; readonly table: string; readonly id: number; readonly row: Row }
  | {
      readonly kind: 'change'
      readonly table: string
      readonly id: number
      /** The new values of the columns that change; others stay as they are when the change is applied. */
      readonly columns: Readonly<Record<string, Json>>
    }
  | { readonly kind: 'remove'; readonly table: string; readonly id: number }

/** Rows by table and id, for all tables that a book holds. */
export type SiteRows = ReadonlyMap<string, ReadonlyMap<number, Row>>

/** The current rows of a book. The maps are copies: the caller may change them. */
export function bookRows(book: Book): Map<string, Map<number, Row>> {
  return new Map(bookTables().map(({ name }) => [name, new Map(book.rows(name).map((row) => [row.id, row]))]))
}

/**
 * The rows of a book after these changes.
 * @returns also the changes that no longer apply, because their rows are gone
 */
export function rowsAfter(book: Book, changes: readonly Change[]): { rows: SiteRows; lost: readonly Change[] } {
  const rows = bookRows(book)
  const lost: Change[] = []
  for (const change of changes) {
    const table = rows.get(change.table)
    const row = rowAfter(table?.get(change.id), change)
    if (row !== undefined) table?.set(change.id, row)
    else if (!table?.delete(change.id) && change.kind !== 'remove') lost.push(change)
  }
  return { rows, lost }
}

/** A row after a change; undefined if it no longer exists. */
export function rowAfter(row: Row | undefined, change: Change): Row | undefined {
  if (change.kind === 'add') return change.row
  return change.kind === 'remove' || row === undefined ? undefined : { ...row, ...change.columns }
}

/** What takes a change back, as long as it has not been applied; undefined if it changes nothing. */
export function oppositeOf(book: Book, change: Change): Change | undefined {
  const { table, id } = change
  const row = book.row(table, id)
  if (change.kind === 'add') return { kind: 'remove', table, id }
  if (row === undefined) return undefined
  if (change.kind === 'remove') return { kind: 'add', table, id, row }
  const before = Object.keys(change.columns).map((column): [string, Json] => [column, row[column] ?? null])
  return { kind: 'change', table, id, columns: Object.fromEntries(before) }
}

/** The changes that turn the rows of a book into these, row by row; changed rows get `nowMs` as `updated_at`. */
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
  // Column names come from the registry, never from outside.
  for (const column of Object.keys(after)) {
    const value = after[column] ?? null
    if (column === 'updated_at' || isSameJson(before[column] ?? null, value)) continue
    changed ??= {}
    changed[column] = value
  }
  return changed
}

// Differences: changes in readable form. They never show a secret.

/** One changed column, with values that are safe to show. */
interface ColumnDifference {
  column: string
  before: string
  after: string
}

/** One change in readable form. */
export interface Difference {
  kind: Change['kind']
  table: string
  id: number
  /** The name of the row; empty if it has none. */
  name: string
  columns: ColumnDifference[]
  /** `zone 12 "Hall": max 100 -> 80` */
  sentence: string
}

/** Longer values are shortened. */
const LONGEST_SHOWN = 60

/** Describes what a change does to the rows of a book. */
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

/** The value of an attribute may be JSON with secrets inside. */
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

// The keeper: writes by the daemon itself. They are visible at once, written together in few transactions, and undone
// if the write fails.

/** One row to be written. */
export interface KeptRow {
  table: string
  row: Row
}

interface KeeperParts {
  book: WritableBook
  clock: Clock
  /** How long changes are gathered before they are written; each commit costs a write to the card. */
  commitMs: number
  /** Records of one table kept in memory; older ones that have ended are only on disk. */
  mostRecords: number
  /** Most characters of those, as core/json.ts counts them; older ones beyond that are only on disk. */
  recordChars: number
  /** Returns an id above all that the table ever had; never the same one twice. */
  takeId(table: string): number
  /** Writes all rows in one transaction. Rejects if nothing was written. */
  write(rows: readonly KeptRow[]): Promise<void>
}

/** A keeper that also applies changes of a whole site. */
export interface SiteKeeper extends Keeper {
  /**
   * Adds a record, such as a run of a macro: visible at once, durable when the promise resolves.
   * @param columns columns that are not named get their default
   * @returns the row, with its id
   * @throws Fault `bad_column`
   */
  add(table: string, columns: Readonly<Record<string, Json>>): Promise<Row>
  /**
   * Applies changes, all or none, between two writes of its own: `write` puts them on disk, then the book gets them.
   * Changes made by `change` in the meantime stay, except for columns that both change.
   */
  apply(prepare: () => Applying | undefined): Promise<void>
  /** Resolves when everything requested so far has been written or refused. */
  flush(): Promise<void>
}

/** Changes, and the function that writes them. */
export interface Applying {
  changes: readonly Change[]
  write(): Promise<void>
}

/** Greatest depth of JSON that the daemon itself puts into a column. */
const DEEPEST_JSON = 64

/** A changed row that is not on disk yet. `before` is the row on disk; undefined if it is not there. */
interface Dirty {
  table: string
  id: number
  before: Row | undefined
  columns: Record<string, Json>
}

/** Rows that are written together, and the promise of their writers. */
interface Batch {
  dirty: Map<string, Dirty>
  done: PromiseWithResolvers<void>
}

export function createKeeper(parts: KeeperParts): SiteKeeper {
  const { book, clock, commitMs, write } = parts
  const inTurn = createSerialTurn()
  let open: Batch | undefined

  async function commit(batch: Batch): Promise<void> {
    // Already written before its time: by a flush, or before changes of the whole site.
    if (open !== batch) return
    open = undefined
    const rows = [...batch.dirty.values()].flatMap(({ table, id, before, columns }) => {
      // A record may have left memory by now, but is written all the same.
      const row = book.row(table, id) ?? (before === undefined ? (columns as Row) : undefined)
      return row === undefined ? [] : [{ table, row }]
    })
    try {
      await write(rows)
      batch.done.resolve()
      for (const table of recordTablesOf(rows)) forgetLong(book, table, parts.recordChars, open)
    } catch (fault) {
      takeBack(book, batch, open)
      batch.done.reject(fault)
    }
  }

  function gather(): Batch {
    if (open !== undefined) return open
    const batch: Batch = { dirty: new Map(), done: Promise.withResolvers() }
    open = batch
    // Errors are reported to the callers that made the changes.
    clock.after(commitMs, () => void inTurn(() => commit(batch)))
    return batch
  }

  return {
    async change(table, id, columns) {
      const row = book.row(table, id)
      if (row === undefined) throw new Fault('row_gone', `there is no ${table} ${id} any more`)
      const checked = { ...checkedColumns(table, columns), updated_at: clock.epochMs() }
      const { dirty, done } = gather()
      const key = `${table} ${id}`
      const entry = dirty.get(key) ?? { table, id, before: row, columns: {} }
      Object.assign(entry.columns, checked)
      dirty.set(key, entry)
      book.put(table, { ...row, ...checked })
      await done.promise
    },
    async add(table, columns) {
      const nowMs = clock.epochMs()
      const id = parts.takeId(table)
      const row = { ...emptyRow(table), ...checkedColumns(table, columns), id, created_at: nowMs, updated_at: nowMs }
      const { dirty, done } = gather()
      dirty.set(`${table} ${id}`, { table, id, before: undefined, columns: { ...row } })
      book.put(table, row)
      forgetOld(book, table, parts.mostRecords)
      await done.promise
      return row
    },
    apply: (prepare) =>
      inTurn(async () => {
        if (open !== undefined) await commit(open)
        const applying = prepare()
        if (applying === undefined) return
        await applying.write()
        putAll(book, applying.changes)
        if (open !== undefined) rebase(open, applying.changes)
      }),
    flush: () => inTurn(async () => (open === undefined ? undefined : commit(open))),
  }
}

/** @throws Fault `bad_column` for a table whose rows are not records */
function emptyRow(name: string): Record<string, Json> {
  const table = tableOf(name)
  if (table?.keeping !== 'record') throw new Fault('bad_column', `${name} is not a table of records`)
  return { ...table.empty }
}

/**
 * Drops a tenth at a time, since each time copies the table. Records that have not ended will still change, and stay.
 */
function forgetOld(book: WritableBook, table: string, most: number): void {
  if (book.count(table) <= most * 1.1) return
  const rows = book.rows(table)
  const end = tableOf(table)?.endColumn
  const open = end === undefined ? [] : rows.slice(0, -most).filter((row) => row[end] === null)
  book.replace(table, [...open, ...rows.slice(-most)])
}

/** Counted once per row, since rows are immutable. */
const charsOfRows = new WeakMap<Row, number>()

function charsOfRow(row: Row): number {
  const chars = charsOfRows.get(row) ?? charsOf(row)
  charsOfRows.set(row, chars)
  return chars
}

/** Drops the oldest ended records if the traces are too long together; unwritten records and the newest stay. */
export function forgetLong(book: WritableBook, table: string, mostChars: number, waiting?: Batch): void {
  const rows = book.rows(table)
  let over = rows.reduce((sum, row) => sum + charsOfRow(row), 0) - mostChars
  if (over <= 0) return
  // A tenth more than necessary, since each time copies the table.
  over += mostChars / 10
  const end = tableOf(table)?.endColumn
  const kept = rows.filter((row, at) => {
    const isOpen = end !== undefined && row[end] === null
    if (over <= 0 || isOpen || at === rows.length - 1 || waiting?.dirty.has(`${table} ${row.id}`)) return true
    over -= charsOfRow(row)
    return false
  })
  book.replace(table, kept)
}

function recordTablesOf(rows: readonly KeptRow[]): string[] {
  return [...new Set(rows.map(({ table }) => table))].filter((table) => tableOf(table)?.keeping === 'record')
}

/** @throws Fault `bad_column`, which never quotes the value */
function checkedColumns(table: string, columns: Readonly<Record<string, Json>>): Record<string, Json> {
  const checked = Object.entries(columns).map(([name, value]) => {
    const column = tableOf(table)?.column(name)
    if (column === undefined || name === 'id') throw new Fault('bad_column', `${table} has no column ${name} to change`)
    const read = readValue(column, value, DEEPEST_JSON)
    if (read.fault !== undefined) throw new Fault('bad_column', `${table}.${name} ${read.fault}`)
    return [name, read.value] as const
  })
  return Object.fromEntries(checked)
}

/** Restores rows to their state on disk, plus the changes made after the batch was closed. */
function takeBack(book: WritableBook, batch: Batch, later: Batch | undefined): void {
  for (const [key, { table, id, before }] of batch.dirty) {
    if (book.row(table, id) === undefined) continue
    const entry = later?.dirty.get(key)
    if (entry !== undefined) entry.before = before
    if (before !== undefined) book.put(table, { ...before, ...entry?.columns })
    else {
      book.remove(table, id)
      later?.dirty.delete(key)
    }
  }
}

/** Replaces whole tables: row by row would copy a table once per row. */
function putAll(book: WritableBook, changes: readonly Change[]): void {
  const { rows } = rowsAfter(book, changes)
  for (const table of new Set(changes.map((change) => change.table)))
    book.replace(table, [...(rows.get(table)?.values() ?? [])])
}

/** Updates `before` of waiting rows after the rows on disk have changed. */
function rebase({ dirty }: Batch, changes: readonly Change[]): void {
  for (const change of changes) {
    const key = `${change.table} ${change.id}`
    const entry = dirty.get(key)
    if (entry === undefined) continue
    const before = rowAfter(entry.before, change)
    if (before === undefined) dirty.delete(key)
    else entry.before = before
  }
}
