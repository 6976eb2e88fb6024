/** The file controller.db: opened, checked, migrated to the tables of the registry, and read. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Fault } from '#kit/pure/fault.ts'
import { isDamaged } from '#kit/store/sqlite-writer.ts'
import { makePlain } from '#kit/store/store.ts'
import type { Row } from '../core/site/book.ts'
import type { Table } from '../core/site/column.ts'
import { bookTables, tables } from '../core/site/registry.ts'
import { addColumnStatement, createStatements, insertStatement, rowDecoder, selectStatement } from './sql.ts'

/** The file's name in the state folder. */
export const DATABASE_FILE = 'controller.db'

/** Identifies our files: `PLCT`. */
const APPLICATION_ID = 0x504c4354

/** Increased when existing data changes its meaning; added tables and columns need no new version. */
const SCHEMA_VERSION = 2

/** Whether a state folder has a database. */
export function hasDatabase(folder: string): boolean {
  return existsSync(join(folder, DATABASE_FILE))
}

/**
 * Opens or creates a database. Recovers what a crash left in its log, except for a torn end.
 * @param busyMs how long another process may hold it
 * @throws Fault `database_damaged`, `database_foreign`, `database_newer`, `database_unusable`; the file is then
 * unchanged
 */
export function openDatabase(path: string, nowMs: number, busyMs: number): DatabaseSync {
  return openMigrated(path, nowMs, busyMs).database
}

/** As `openDatabase`. @returns also what of its data was changed, each a sentence for people */
export function openMigrated(
  path: string,
  nowMs: number,
  busyMs: number,
): { database: DatabaseSync; effects: readonly string[] } {
  let database: DatabaseSync | undefined
  try {
    // The log and its index copy the mode and owner of the file: nobody else may read hashes and passwords.
    makePlain(path)
    database = new DatabaseSync(path, { timeout: busyMs, enableForeignKeyConstraints: false })
    prove(database, path)
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    return { database, effects: migrate(database, nowMs) }
  } catch (error) {
    database?.close()
    throw faultOf(path, error)
  }
}

/**
 * Opens a database from a backup as a start would, reads all of it, and closes it; missing tables and columns are
 * added.
 * @throws Fault as `openDatabase`
 */
export function tryDatabase(path: string, nowMs: number): void {
  const database = openDatabase(path, nowMs, 0)
  try {
    // A history may be longer than memory holds.
    for (const table of bookTables()) for (const _ of rowsOf(database, path, table));
  } finally {
    database.close()
  }
}

/**
 * The rows of a table by id: all, or only the newest plus those that have not ended. @throws Fault `database_damaged`
 */
export function readTable(database: DatabaseSync, path: string, table: Table, most?: number): Row[] {
  // Row by row: reading all at once would hold every row twice.
  return [...rowsOf(database, path, table, most)]
}

function* rowsOf(database: DatabaseSync, path: string, table: Table, most?: number): Generator<Row> {
  try {
    const statement = database.prepare(selectStatement(table, most))
    statement.setReturnArrays(true)
    const decode = rowDecoder(table)
    for (const values of statement.iterate() as unknown as Iterable<unknown[]>) yield decode(values)
  } catch (error) {
    throw error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ERR_OUT_OF_RANGE'
      ? damaged(path, `a row of ${table.name} cannot be read`, error)
      : faultOf(path, error)
  }
}

/**
 * The rows of a book, and the highest id that each table ever had, all read in one transaction: another process may
 * write in the meantime, and half of a change would be a different site.
 * @param records most records of one table
 * @throws Fault `database_damaged`
 */
export function readSite(
  database: DatabaseSync,
  path: string,
  records: number,
): { rows: ReadonlyMap<string, readonly Row[]>; highest: Map<string, number> } {
  const most = ({ keeping, isOnDisk }: Table) => (isOnDisk ? 0 : keeping === 'record' ? records : undefined)
  database.exec('BEGIN')
  try {
    const rows = new Map(
      bookTables().map((table) => [table.name, readTable(database, path, table, most(table))] as const),
    )
    return { rows, highest: highestIds(database) }
  } finally {
    database.exec('COMMIT')
  }
}

/** The highest id that each table ever had. */
function highestIds(database: DatabaseSync): Map<string, number> {
  const rows = database.prepare('SELECT name, seq FROM sqlite_sequence').all()
  return new Map(rows.map((row) => [String(row.name), Number(row.seq)]))
}

/** @throws Fault if it is damaged or not one of our databases */
function prove(database: DatabaseSync, path: string): void {
  const isEmpty = number(database, 'SELECT count(*) FROM sqlite_schema') === 0
  if (!isEmpty && number(database, 'PRAGMA application_id') !== APPLICATION_ID)
    throw new Fault('database_foreign', `${path} is a database of another program: move it away`)
  const [verdict] = Object.values(database.prepare('PRAGMA quick_check(1)').get() ?? {})
  if (verdict !== 'ok') throw damaged(path, String(verdict))
  const version = number(database, 'PRAGMA user_version')
  if (version > SCHEMA_VERSION)
    throw new Fault(
      'database_newer',
      `${path} was written by a newer version (schema ${version}, this one knows ${SCHEMA_VERSION}): install that again, or put a backup back`,
    )
}

/**
 * Adds tables and columns that the file lacks and changes what an older version meant otherwise, in one transaction, and
 * records it: it is done once. An update that is taken back puts the file of before back, as its version has moved.
 */
function migrate(database: DatabaseSync, nowMs: number): string[] {
  const kept = tables().filter((table) => table.keeping !== 'audit')
  const statements = kept.flatMap((table) => missingIn(database, table))
  const version = number(database, 'PRAGMA user_version')
  if (statements.length === 0 && version === SCHEMA_VERSION) return []
  const log = kept.find((table) => table.name === 'schema_migration')
  const record = (name: string) => {
    if (log !== undefined) database.prepare(insertStatement(log)).run(null, nowMs, nowMs, SCHEMA_VERSION, name)
  }
  database.exec('BEGIN IMMEDIATE')
  try {
    for (const sql of statements) database.exec(sql)
    // The names of what was added are recorded: enough to see when a column came.
    const name = statements.length > kept.length / 2 ? 'tables of the registry' : statements.join('; ')
    if (statements.length > 0) record(name)
    // A new file has no version, and nothing of before.
    const effects = version === 1 ? endEndlessSessions(database, nowMs) : []
    for (const effect of effects) record(effect)
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`)
    database.exec('COMMIT')
    return effects
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

/** @source document 3, C. Applying an update: one-time effects */
const LONGEST_SESSION_MIN = 43_200

/** An account with a PIN and no password can sign in at a wall panel alone. */
const ENDLESS = `SELECT role.id AS role, role.name, user.id AS user, user.username,
  user.pin IS NOT NULL AND user.hash IS NULL AS panel
  FROM auth_role role JOIN auth_user_role given ON given.role_id = role.id JOIN auth_user user ON user.id = given.user_id
  WHERE role.session_timeout_min = 0 ORDER BY user.username, role.id`

/**
 * Sessions that never ended end after 30 days. Accounts of wall panels keep theirs: a role that they share with others is
 * copied for them.
 * @returns sentences that name the accounts
 */
function endEndlessSessions(database: DatabaseSync, nowMs: number): string[] {
  const rows = database.prepare(ENDLESS).all() as {
    role: number
    name: string
    user: number
    username: string
    panel: number
  }[]
  const people = [...new Set(rows.flatMap(({ panel, username }) => (panel ? [] : [username])))]
  for (const [role, given] of Map.groupBy(rows, ({ role: id }) => id)) {
    const panels = given.filter(({ panel }) => panel)
    if (panels.length === given.length) continue
    if (panels.length > 0)
      keepForPanels(
        database,
        role,
        panels.map(({ user }) => user),
      )
    database
      .prepare('UPDATE auth_role SET session_timeout_min = ?, updated_at = ? WHERE id = ?')
      .run(LONGEST_SESSION_MIN, nowMs, role)
  }
  // Roles that nobody has: whoever gets one is no exception.
  database
    .prepare(
      `UPDATE auth_role SET session_timeout_min = ?, updated_at = ?
       WHERE session_timeout_min = 0 AND id NOT IN (SELECT role_id FROM auth_user_role)`,
    )
    .run(LONGEST_SESSION_MIN, nowMs)
  if (people.length === 0) return []
  return [`sessions of ${people.join(', ')} never ended (session timeout 0); it is ${LONGEST_SESSION_MIN} minutes now`]
}

function keepForPanels(database: DatabaseSync, role: number, users: readonly number[]): void {
  const columns = database
    .prepare("SELECT name FROM pragma_table_info('auth_role') WHERE name NOT IN ('id', 'name')")
    .all()
    .map(({ name }) => `"${name}"`)
    .join(', ')
  const { lastInsertRowid: copy } = database
    .prepare(
      `INSERT INTO auth_role (name, ${columns}) SELECT name || ' (wall panel)', ${columns} FROM auth_role WHERE id = ?`,
    )
    .run(role)
  const give = database.prepare('UPDATE auth_user_role SET role_id = ? WHERE role_id = ? AND user_id = ?')
  for (const user of users) give.run(copy, role, user)
}

function missingIn(database: DatabaseSync, table: Table): string[] {
  const there = new Set(
    database
      .prepare('SELECT name FROM pragma_table_info(?)')
      .all(table.name)
      .map((row) => row.name),
  )
  if (there.size === 0) return createStatements(table)
  return table.columns.filter(({ name }) => !there.has(name)).map((column) => addColumnStatement(table, column))
}

function number(database: DatabaseSync, sql: string): number {
  return Number(Object.values(database.prepare(sql).get() ?? {})[0])
}

function damaged(path: string, what: string, cause?: unknown): Fault {
  const sentence = `${path} is damaged (${what}): put a backup back with plantroom restore, or move it and the files ${path}-wal and ${path}-shm away to start afresh`
  return new Fault('database_damaged', sentence, { cause })
}

function faultOf(path: string, error: unknown): Fault {
  if (error instanceof Fault) return error
  const { errcode, message } = error as Error & { errcode?: number }
  if (isDamaged(errcode)) return damaged(path, message, error)
  return new Fault('database_unusable', `${path} cannot be used (${message})`, { cause: error })
}
