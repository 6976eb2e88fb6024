/** SQLite databases among the state files: copied consistently while their daemon writes, and checked. */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { Fault } from '../pure/fault.ts'

/** How long a daemon may lock its database, such as during a checkpoint, before a copy is abandoned. */
const BUSY_MS = 5000

/** Whether a state file is a database, by its ending. */
export function isDatabase(path: string): boolean {
  return path.endsWith('.db')
}

/** Whether a file belongs to a database beside it, or to one being created: neither means anything by itself. */
export function isPartOfDatabase(path: string): boolean {
  return /\.db(?:\.new)?-(?:wal|shm|journal)$|\.db\.new$/.test(path)
}

/**
 * Copies a database as of one instant to a new file, without deleted data. Its writers are not blocked: a database in
 * WAL mode is read without a lock.
 * @returns false if it is gone
 * @throws Fault `backup_failed` if it cannot be read, or is damaged
 */
export function copyDatabase(from: string, to: string): boolean {
  try {
    // Created before it is written to, so that nobody else can read it at any time.
    writeFileSync(to, '', { mode: 0o600 })
    using(from, (database) => database.prepare('VACUUM INTO ?').run(to))
    return true
  } catch (cause) {
    rmSync(to, { force: true })
    if (!existsSync(from)) return false
    throw new Fault('backup_failed', `${from} cannot be copied (${(cause as Error).message})`, { cause })
  }
}

/** @returns what is wrong with a database of a backup; undefined if nothing is */
export function faultOfDatabase(path: string): string | undefined {
  try {
    const verdict = using(
      path,
      (database) => Object.values(database.prepare('PRAGMA integrity_check(1)').get() ?? {})[0],
    )
    return verdict === 'ok' ? undefined : String(verdict)
  } catch (error) {
    return (error as Error).message
  }
}

function using<Result>(path: string, use: (database: DatabaseSync) => Result): Result {
  const place = pathToFileURL(path)
  // A missing database must not be created again, empty.
  place.searchParams.set('mode', 'rw')
  const database = new DatabaseSync(place, { timeout: BUSY_MS })
  try {
    return use(database)
  } finally {
    database.close()
  }
}
