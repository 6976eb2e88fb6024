/** The databases of a backup: whether a controller could start with them, and which secrets stand in them. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { tablesWithSecrets, withKeptSecrets, withoutForeignSecrets } from '../core/site/backup-secrets.ts'
import type { Row } from '../core/site/book.ts'
import type { Table } from '../core/site/column.ts'
import { AUDIT_FILE } from './audit-file.ts'
import { isAudit } from './audit-reader.ts'
import { DATABASE_FILE, hasDatabase, openDatabase, readTable, tryDatabase } from './database-file.ts'
import { encodeRow, upsertStatement } from './sql.ts'

/** What a database fault means for a backup; other faults are reported as they are. */
const MEANINGS: ReadonlyMap<string, string> = new Map([
  ['database_foreign', 'is a database of another program'],
  ['database_newer', 'was written by a newer version: install that one first'],
  ['database_damaged', 'is damaged: a row of it cannot be read'],
])

/**
 * Whether a controller could start with the files of a backup, before they replace the present ones.
 * @throws Fault `bad_backup`
 */
export function checkState(folder: string): void {
  if (hasDatabase(folder)) tryToOpen(join(folder, DATABASE_FILE))
  const audit = join(folder, AUDIT_FILE)
  if (existsSync(audit) && !isAudit(audit))
    throw new Fault('bad_backup', `${AUDIT_FILE} in the backup is no audit of a controller`)
}

function tryToOpen(path: string): void {
  try {
    tryDatabase(path, systemClock.epochMs())
  } catch (cause) {
    const { code, message } = cause as Fault
    throw new Fault('bad_backup', `${DATABASE_FILE} in the backup ${MEANINGS.get(code) ?? message}`, { cause })
  }
}

/** What a database says of the site in it. */
export interface SiteFacts {
  site: string | null
  zones: number
  people: number
}

/** @param path a database that nobody writes to, or that is written to in WAL mode */
export function siteFactsOf(path: string): SiteFacts {
  const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS })
  const count = (table: string) => Number(database.prepare(`SELECT count(*) AS n FROM "${table}"`).get()?.n)
  try {
    const name = database.prepare('SELECT name FROM site ORDER BY id LIMIT 1').get()?.name
    return { site: typeof name === 'string' ? name : null, zones: count('zone'), people: count('auth_user') }
  } finally {
    database.close()
  }
}

/** How long the daemon may hold its database. */
const BUSY_MS = 5000

/** Takes the secrets of other machines out of a copy, and out of its free pages. */
export function leaveOutForeignSecrets(copy: string): void {
  const database = openDatabase(copy, systemClock.epochMs(), 0)
  try {
    for (const table of tablesWithSecrets())
      rewrite(database, table, readTable(database, copy, table), (row) => withoutForeignSecrets(table, row))
    database.exec('VACUUM')
  } finally {
    database.close()
  }
}

/** Gives the rows of a backup the secrets that the same rows have here. */
export function keepForeignSecrets(unpacked: string, present: string): void {
  const database = openDatabase(unpacked, systemClock.epochMs(), 0)
  const here = new DatabaseSync(present, { readOnly: true, timeout: BUSY_MS })
  try {
    for (const table of tablesWithSecrets()) {
      const known = new Map(readTable(here, present, table).map((row) => [row.id, row]))
      rewrite(database, table, readTable(database, unpacked, table), (row) =>
        withKeptSecrets(table, row, known.get(row.id)),
      )
    }
  } finally {
    here.close()
    database.close()
  }
}

function rewrite(database: DatabaseSync, table: Table, rows: readonly Row[], next: (row: Row) => Row): void {
  const statement = database.prepare(upsertStatement(table))
  database.exec('BEGIN')
  for (const row of rows) statement.run(...encodeRow(table, next(row)))
  database.exec('COMMIT')
}
