/** The store of a site: its book in memory, the daemon's own writes, and changes that wait for Apply All. */
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { startWriter, type Work, type Writer } from '#kit/store/sqlite-writer.ts'
import type { WaitingOf } from '../core/access/accounts.ts'
import { isSameJson, type Json } from '../core/json.ts'
import { WRITER_HEAP_MIB } from '../core/keys.ts'
import { type Book, createBook, type Keeper, type LivelyBook, type Row, type WritableBook } from '../core/site/book.ts'
import {
  type Applying,
  type Change,
  createKeeper,
  type Difference,
  differenceOf,
  forgetLong,
  oppositeOf,
  rowAfter,
  rowsAfter,
  type SiteKeeper,
} from '../core/site/changes.ts'
import type { Table } from '../core/site/column.ts'
import { tableOf } from '../core/site/registry.ts'
import { checkWhole } from '../core/site/site-file.ts'
import { createFaultList } from '../core/site/site-text.ts'
import { DATABASE_FILE, openMigrated, readSite, readTable } from './database-file.ts'
import { createHistoryFile, type HistoryFile, withHistory } from './history.ts'
import { deleteStatement, encodeRow, forgetStatement, insertStatement, upsertStatement } from './sql.ts'

// Pending changes of accounts, read again whenever they have changed.

/** First and last id of the pending changes: ids are never reused, so the pair identifies them. Two index look-ups. */
const MARK = 'SELECT (SELECT min(id) FROM pending_change) AS "first", (SELECT max(id) FROM pending_change) AS "last"'

/**
 * The command line stages changes from its own process, so the file is asked each time.
 * @param read returns all pending changes, in the order in which they are applied
 */
export function createWaitingAccounts(database: DatabaseSync, read: () => readonly Row[]): WaitingOf {
  const mark = database.prepare(MARK)
  let seen = 'nothing'
  let waiting: ReadonlyMap<number, Waiting> = new Map()

  function look(): void {
    const { first, last } = mark.get() as { first: number | null; last: number | null }
    if (`${first} ${last}` === seen) return
    waiting = byUser(read())
    seen = `${first} ${last}`
  }

  return (userId) => {
    try {
      look()
    } catch {
      // If the disk cannot be read, access must go on from memory: the last known state counts.
    }
    return waiting.get(userId)
  }
}

type Waiting = NonNullable<ReturnType<WaitingOf>>

function byUser(rows: readonly Row[]): Map<number, Waiting> {
  const waiting = new Map<number, Waiting>()
  for (const { entity, kind, row_id: userId, columns } of rows) {
    if (entity !== 'auth_user' || kind === 'add') continue
    waiting.set(Number(userId), kind === 'remove' ? 'removed' : (columns as Readonly<Record<string, Json>>))
  }
  return waiting
}

// The store.
export interface StoreLimits {
  /** How long changes are gathered before they are written. */
  commitMs: number
  /** How long another process may hold the database. */
  busyMs: number
  /** Most records of one table in memory, and on disk. */
  records: number
  recordChars: number
  keptRecords: number
  /** Most characters of the changes that undo the last Apply All, as JSON. */
  undoChars: number
  /** Most faults reported when pending changes no longer fit. */
  faults: number
}

/** One pending change in readable form, with its author and time (epoch ms). `pendingId` grows with time. */
export interface StagedDifference extends Difference {
  pendingId: number
  at: number
  author: string
}

/** Changes from an import that have not been applied yet. */
interface Pending {
  /** The pending changes, in the order in which they are applied. */
  list(): StagedDifference[]
  /** The pending changes as they would be applied. */
  changes(): readonly Change[]
  /** How many there are, and the `pendingId` of the last; quick, however many there are. */
  mark(): { count: number; lastId: number }
  /**
   * Stores changes until they are applied or discarded; they survive a restart. If the same changes are already
   * pending, nothing happens.
   * @param author who asked for them, for the list
   * @throws Fault `pending_waiting` if other changes are pending already, `store_write_failed`
   */
  stage(changes: readonly Change[], author: string): Promise<void>
  /**
   * Replaces all pending changes by others, in one transaction; those that stay the same keep their time and author.
   * @param seenId `lastId` of the mark that the caller looked at
   * @throws Fault `pending_changed` if others were staged since, `store_write_failed`
   */
  restage(changes: readonly Change[], author: string, seenId: number): Promise<void>
  /**
   * Applies all of them in one transaction.
   * @returns how many
   * @throws Fault `pending_stale` if they no longer fit the site, `store_write_failed`; they then stay pending
   */
  applyAll(): Promise<number>
  /** @returns how many were discarded */
  discard(): Promise<number>
  /** How many changes the last `applyAll` since the start made, if they can be undone; else 0. */
  undoable(): number
  /**
   * Stages what takes the last `applyAll` back.
   * @returns how many changes wait then
   * @throws Fault `pending_waiting`, `nothing_to_undo`, `store_write_failed`
   */
  undo(author: string): Promise<number>
}

/** An open store. */
export interface SiteStore {
  /** What opening it changed in the data of an older version, each a sentence for people. */
  effects: readonly string[]
  book: LivelyBook
  /** `add` is only for tables of records. */
  keeper: Keeper & Pick<SiteKeeper, 'add'>
  pending: Pending
  /** Replaces a row in memory by one with other live values; it is not written. */
  touch(table: 'attribute' | 'av_zone', row: Row): void
  history: HistoryFile
  /** The pending change of one account. */
  waitingOf: WaitingOf
  /** Rows of an internal table of the store, as the file has them now. */
  innerRows(table: string): readonly Row[]
  /** An id above every id that the table ever had. */
  nextId(table: string): number
  /** Applies changes at once, in one transaction: for a controller that is not running. */
  applyNow(changes: readonly Change[]): Promise<void>
  /** Writes what is queued and closes the file. */
  close(): Promise<void>
}

/** What the parts of an open store share. */
interface Open {
  path: string
  database: DatabaseSync
  book: WritableBook
  keeper: SiteKeeper
  writer: Writer
  clock: Clock
  limits: StoreLimits
  highest: Map<string, number>
}

/**
 * Opens or creates the store in a state folder, and reads the site into memory.
 * @param file another name than controller.db, for a new database under construction
 * @throws Fault as `openDatabase`
 */
export function openSiteStore(folder: string, clock: Clock, limits: StoreLimits, file = DATABASE_FILE): SiteStore {
  const path = join(folder, file)
  const { database, effects } = openMigrated(path, clock.epochMs(), limits.busyMs)
  const book = createBook()
  let highest: Map<string, number>
  try {
    const read = readSite(database, path, limits.records)
    for (const [table, rows] of read.rows) {
      book.replace(table, table === 'attribute' ? withHistory(database, rows) : rows)
      if (tableOf(table)?.keeping === 'record') forgetLong(book, table, limits.recordChars)
    }
    highest = read.highest
  } catch (error) {
    database.close()
    throw error
  }
  // A macro is answered by its run's number, which is on the disk by then or the answer has none.
  const writer = startWriter(path, { busyMs: limits.busyMs, heapMib: WRITER_HEAP_MIB, startsAtOnce: true })
  const takeId = (table: string) => {
    const id = (highest.get(table) ?? 0) + 1
    highest.set(table, id)
    return id
  }
  const keeper = createKeeper({
    book,
    clock,
    commitMs: limits.commitMs,
    mostRecords: limits.records,
    recordChars: limits.recordChars,
    takeId,
    write: (rows) => writer.write(workOfRows(rows, limits.keptRecords)),
  })
  const open: Open = { path, database, book, keeper, writer, clock, limits, highest }
  return {
    ...{ book, keeper, effects },
    touch: (table, row) => book.touch(table, row),
    history: createHistoryFile({
      ...{ database, book, writer, nowMs: () => clock.epochMs() },
      takeId: () => takeId('attribute_history'),
    }),
    pending: pendingOf(open),
    waitingOf: createWaitingAccounts(database, () => stagedRows(open)),
    innerRows: (table) => readTable(database, path, required(table)),
    nextId: (table) => (highest.get(table) ?? 0) + 1,
    applyNow: (changes) => keeper.apply(() => ({ changes, write: () => writeChanges(open, changes) })),
    async close() {
      await keeper.flush()
      await writer.close()
      database.close()
    },
  }
}

/** Executed for each beat of a page: it reads none of possibly thousands of changes. */
const COUNT_PENDING = 'SELECT count(*) AS "count", coalesce(max(id), 0) AS "lastId" FROM pending_change'

function pendingOf(open: Open): Pending {
  const { book, database, keeper, writer } = open
  const counting = database.prepare(COUNT_PENDING)
  const mark = () => counting.get() as { count: number; lastId: number }
  const undo = createUndo(open)
  return {
    mark,
    changes: () => staged(open).changes,
    list: () =>
      stagedRows(open).map((row) => ({
        ...differenceOf(book, changeOf(row)),
        pendingId: row.id,
        at: Number(row.created_at),
        author: String(row.author),
      })),
    stage: (changes, author) => keeper.apply(() => stagingAlone(open, changes, author)),
    async restage(changes, author, seenId) {
      // Takes turns with applyAll, which must not apply changes that are being replaced.
      await keeper.apply(() => {
        const before = stagedRows(open)
        const lastId = before.at(-1)?.id ?? 0
        if (lastId !== seenId)
          throw new Fault('pending_changed', 'Other changes were made at the same moment. Try again.')
        const known = new Map(before.map((row) => [`${row.entity} ${row.row_id}`, row]))
        const earlier = (change: Change) => {
          const row = known.get(`${change.table} ${change.id}`)
          return row !== undefined && isSameAs([changeOf(row)], [change]) ? row : undefined
        }
        const work = stagingOf(open, changes, (change) => earlier(change) ?? author)
        return { changes: [], write: () => writer.write([forgetPending(lastId), work]) }
      })
    },
    async applyAll() {
      let count = 0
      await keeper.apply(() => {
        const { changes, lastId } = staged(open)
        count = changes.length
        if (count === 0) return undefined
        refuseStale(open, changes)
        undo.prepare(changes)
        // A change staged by another process in the meantime has a higher id, and stays.
        return { changes, write: () => writeChanges(open, changes, [forgetPending(lastId)]) }
      })
      if (count > 0) undo.applied()
      return count
    },
    undoable: undo.count,
    async undo(author) {
      let count = 0
      await keeper.apply(() => {
        const changes = undo.changes()
        count = changes.length
        return stagingAlone(open, changes, author)
      })
      undo.taken()
      return count
    },
    async discard() {
      let count = 0
      // Takes turns with applyAll: changes that it applies must not be reported as discarded.
      await keeper.apply(() => {
        const { count: waiting, lastId } = mark()
        count = waiting
        return { changes: [], write: () => writer.write([forgetPending(lastId)]) }
      })
      return count
    },
  }
}

/** What takes the last Apply All back: as text, so that its size is known, since a whole site may have been replaced. */
function createUndo({ book, limits }: Open) {
  let kept: { count: number; text: string } | undefined
  let next: typeof kept
  return {
    count: () => kept?.count ?? 0,
    /** Before they are applied. */
    prepare(changes: readonly Change[]) {
      const text = JSON.stringify(changes.flatMap((change) => oppositeOf(book, change) ?? []))
      next = text.length > limits.undoChars ? undefined : { count: changes.length, text }
    },
    /** Keeps what was prepared. */
    applied() {
      kept = next
    },
    /** It was staged: it is not offered again. */
    taken() {
      kept = undefined
    },
    changes(): Change[] {
      if (kept === undefined)
        throw new Fault('nothing_to_undo', 'There is no Apply All since the start that could be undone.')
      return JSON.parse(kept.text) as Change[]
    },
  }
}

/**
 * What stages changes, in turn with all else that stages or applies some.
 * @returns undefined if the same ones wait already
 * @throws Fault `pending_waiting`
 */
function stagingAlone(open: Open, changes: readonly Change[], author: string): Applying | undefined {
  const { changes: waiting } = staged(open)
  if (isSameAs(waiting, changes)) return undefined
  if (waiting.length > 0)
    throw new Fault('pending_waiting', `${waiting.length} changes wait already: apply or discard them first`)
  return { changes: [], write: () => open.writer.write([stagingOf(open, changes, () => author)]) }
}

/** @param by who asked for a change, or its row where it was staged before */
function stagingOf(open: Open, changes: readonly Change[], by: (change: Change) => string | Row): Work {
  const { book, clock, highest } = open
  const nowMs = clock.epochMs()
  const first = (highest.get('pending_change') ?? 0) + 1
  highest.set('pending_change', first + changes.length)
  const rows = changes.map((change, index) => {
    const from = by(change)
    const common =
      typeof from === 'string'
        ? { created_at: nowMs, author: from }
        : { created_at: from.created_at ?? nowMs, author: from.author ?? null }
    const summary = differenceOf(book, change).sentence
    return { ...common, updated_at: nowMs, id: first + index, ...stagedColumns(change), summary }
  })
  return workOf('pending_change', insertStatement, rows)
}

/** Whether two lists of changes are the same, ignoring their times. */
function isSameAs(some: readonly Change[], others: readonly Change[]): boolean {
  const wish = (change: Change): Json => {
    const { kind, entity, row_id, columns } = stagedColumns(change)
    const { created_at: _made, updated_at: _changed, ...rest } = (columns ?? {}) as Record<string, Json>
    return [kind, entity, row_id, rest]
  }
  return some.length === others.length && isSameJson(some.map(wish), others.map(wish))
}

function forgetPending(lastId: number): Work {
  return { sql: forgetStatement(required('pending_change')), values: [[lastId]] }
}

function required(name: string): Table {
  const table = tableOf(name)
  if (table === undefined) throw new Fault('bad_column', `there is no table ${name}`)
  return table
}

function stagedColumns(change: Change): { kind: string; entity: string; row_id: number; columns: Json } {
  const { kind, table: entity, id: row_id } = change
  return { kind, entity, row_id, columns: kind === 'add' ? change.row : kind === 'change' ? change.columns : null }
}

/** Read from disk each time: the command line stages changes from its own process. */
function stagedRows({ database, path }: Open): Row[] {
  return readTable(database, path, required('pending_change'))
}

function staged(open: Open): { changes: Change[]; lastId: number } {
  const rows = stagedRows(open)
  return { changes: rows.map(changeOf), lastId: rows.at(-1)?.id ?? 0 }
}

function changeOf(row: Row): Change {
  const place = { table: String(row.entity), id: Number(row.row_id) }
  if (row.kind === 'add') return { ...place, kind: 'add', row: row.columns as Row }
  if (row.kind === 'remove') return { ...place, kind: 'remove' }
  return { ...place, kind: 'change', columns: row.columns as Readonly<Record<string, Json>> }
}

/** The site may have changed since: what the changes refer to may be gone, or already exist. */
function refuseStale({ book, limits }: Open, changes: readonly Change[]): void {
  const { rows, lost } = rowsAfter(book, changes)
  const faults = createFaultList(limits.faults)
  for (const { table, id } of lost) faults.add(`${table} ${id}`, 'is gone')
  for (const { kind, table, id } of changes)
    if (kind === 'add' && book.row(table, id) !== undefined) faults.add(`${table} ${id}`, 'is there already')
  checkWhole(rows, (table, id) => `${table} ${id}`, faults)
  if (faults.count === 0) return
  try {
    faults.refuse()
  } catch (cause) {
    const { details } = cause as Fault
    const sentence = `the changes that wait do not fit the site any more (${faults.count} faults): discard them and import again`
    throw new Fault('pending_stale', sentence, { cause, details })
  }
}

/** Upserts rows; in tables of records the oldest are deleted. */
function workOfRows(rows: readonly { table: string; row: Row }[], keptRecords: number): Work[] {
  return [...groupRows(rows)].flatMap(([name, group]) => {
    const work = workOf(name, upsertStatement, group)
    const table = required(name)
    if (table.keeping !== 'record') return [work]
    const newest = group.reduce((highest, { id }) => Math.max(highest, id), 0)
    return [work, { sql: forgetStatement(table), values: [[newest - keptRecords]] }]
  })
}

async function writeChanges(open: Open, changes: readonly Change[], more: readonly Work[] = []): Promise<void> {
  await open.writer.write([...workOfChanges(open.book, changes), ...more])
  for (const { kind, table, id } of changes)
    if (kind === 'add') open.highest.set(table, Math.max(open.highest.get(table) ?? 0, id))
}

/** Deletes all changed rows before inserting any, so that two users may swap their names. */
function workOfChanges(book: Book, changes: readonly Change[]): Work[] {
  const gone = Map.groupBy(
    changes.filter(({ kind }) => kind !== 'add'),
    ({ table }) => table,
  )
  const there: { table: string; row: Row }[] = []
  for (const change of changes) {
    const { table, id } = change
    const row = rowAfter(book.row(table, id), change)
    if (row !== undefined) there.push({ table, row })
  }
  const deletes = [...gone].map(([name, group]) => ({
    sql: deleteStatement(required(name)),
    values: group.map(({ id }) => [id]),
  }))
  return [...deletes, ...[...groupRows(there)].map(([table, rows]) => workOf(table, insertStatement, rows))]
}

function groupRows(rows: readonly { table: string; row: Row }[]): Map<string, Row[]> {
  const groups = new Map<string, Row[]>()
  for (const { table, row } of rows) {
    const group = groups.get(table)
    if (group === undefined) groups.set(table, [row])
    else group.push(row)
  }
  return groups
}

function workOf(name: string, statement: typeof insertStatement, rows: readonly Row[]): Work {
  const table = required(name)
  return { sql: statement(table), values: rows.map((row) => encodeRow(table, row)) }
}
