/** Writes that the daemon makes itself: seen at once, gathered, written in few transactions, taken back where that fails. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import { createTurn } from '#kit/turn.ts'
import type { WritableBook } from './book.ts'
import { charsOf } from './bounded-value.ts'
import { type Change, rowAfter, rowsAfter } from './change.ts'
import type { Json, Keeper, Row } from './row.ts'
import { tableOf } from './schema/registry.ts'
import { readValue } from './site/site-value.ts'

/** One row as it is to be written. */
export interface KeptRow {
  table: string
  row: Row
}

export interface KeeperParts {
  book: WritableBook
  clock: Clock
  /** How long changes are gathered before they are written; each commit costs a write to the card. */
  commitMs: number
  /** Records of one table that stay in memory; older ones that have ended are on the disk alone. */
  mostRecords: number
  /** Characters of those, as core/bounded-value.ts counts them; the same goes for what is beyond. */
  recordChars: number
  /** An id above all that the table ever had; never the same twice. */
  takeId(table: string): number
  /** Writes all rows in one transaction. Rejects where nothing of it is on the disk. */
  write(rows: readonly KeptRow[]): Promise<void>
}

/** A keeper that also makes changes of a whole site real. */
export interface SiteKeeper extends Keeper {
  /**
   * Adds a record, such as a run of a macro: seen at once, durable when the promise resolves.
   * @param columns what is not named is the default
   * @returns the row, with its id
   * @throws Fault `bad_column`
   */
  add(table: string, columns: Readonly<Record<string, Json>>): Promise<Row>
  /**
   * Makes changes real, all or none, between two writes of its own: `write` puts them on the disk, then the book
   * has them. What `change` was asked meanwhile stays, but for columns that both change.
   */
  apply(prepare: () => Applying | undefined): Promise<void>
  /** Resolves when everything that was asked so far is written or was refused. */
  flush(): Promise<void>
}

/** Changes with what writes them. */
export interface Applying {
  changes: readonly Change[]
  write(): Promise<void>
}

/** JSON that the daemon itself puts into a column is held to this depth. */
const DEEPEST_JSON = 64

/** A row that changed and is not on the disk yet. `before` is what the disk holds; undefined where it has no such row. */
interface Dirty {
  table: string
  id: number
  before: Row | undefined
  columns: Record<string, Json>
}

/** Rows that are written together, and whoever waits for them. */
interface Batch {
  dirty: Map<string, Dirty>
  done: PromiseWithResolvers<void>
}

export function createKeeper(parts: KeeperParts): SiteKeeper {
  const { book, clock, commitMs, write } = parts
  const inTurn = createTurn()
  let open: Batch | undefined

  async function commit(batch: Batch): Promise<void> {
    // Written already, before its time came: by a flush, or before changes of the whole site.
    if (open !== batch) return
    open = undefined
    const rows = [...batch.dirty.values()].flatMap(({ table, id, before, columns }) => {
      // A record may be out of memory by now, and is written all the same.
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
    // Its outcome goes to those who asked for the changes.
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

/** @throws Fault `bad_column` for a table whose rows are no records */
function emptyRow(name: string): Record<string, Json> {
  const table = tableOf(name)
  if (table?.keeping !== 'record') throw new Fault('bad_column', `${name} is no table of records`)
  return { ...table.empty }
}

/** A tenth at a time: each time costs a copy of the table. What has not ended is still to be changed, and stays. */
function forgetOld(book: WritableBook, table: string, most: number): void {
  if (book.count(table) <= most * 1.1) return
  const rows = book.rows(table)
  const end = tableOf(table)?.endColumn
  const open = end === undefined ? [] : rows.slice(0, -most).filter((row) => row[end] === null)
  book.replace(table, [...open, ...rows.slice(-most)])
}

/** Counted once for each row, which nothing changes. */
const charsOfRows = new WeakMap<Row, number>()

function charsOfRow(row: Row): number {
  const chars = charsOfRows.get(row) ?? charsOf(row)
  charsOfRows.set(row, chars)
  return chars
}

/** The oldest that have ended go, of traces that are too long together; what waits for the disk stays, as does the newest. */
export function forgetLong(book: WritableBook, table: string, mostChars: number, waiting?: Batch): void {
  const rows = book.rows(table)
  let over = rows.reduce((sum, row) => sum + charsOfRow(row), 0) - mostChars
  if (over <= 0) return
  // A tenth more than has to be, as each time costs a copy of the table.
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

/** Rows become what the disk holds, with what was asked of them after the batch was closed. */
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

/** Table by table: row by row would copy a table once for each. */
function putAll(book: WritableBook, changes: readonly Change[]): void {
  const { rows } = rowsAfter(book, changes)
  for (const table of new Set(changes.map((change) => change.table)))
    book.replace(table, [...(rows.get(table)?.values() ?? [])])
}

/** What the disk holds of rows that wait has changed under them. */
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
