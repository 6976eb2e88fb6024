/** Databases of SQLite among the files of a state: copied as one state while their daemon writes, and proven. */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { Fault } from '#kit/pure/fault.ts'

/** How long a daemon may hold its database for itself, as when it takes the log in, before a copy is given up. */
const BUSY_MS = 5000

/** Whether a file of a state is a database: as what ends in `.json` is JSON. */
export function isDatabase(path: string): boolean {
  return path.endsWith('.db')
}

/** Whether a file belongs to a database beside it, or to one that is being made: neither says anything by itself. */
export function isPartOfDatabase(path: string): boolean {
  return /\.db(?:\.new)?-(?:wal|shm|journal)$|\.db\.new$/.test(path)
}

/**
 * Writes a database as it was at one instant to a new file, without what was deleted from it. Who writes to it goes on
 * meanwhile: a database with a log ahead (WAL) is read without a lock.
 * @returns false where it is gone
 * @throws Fault `backup_failed` where it cannot be read, or is damaged
 */
export function copyDatabase(from: string, to: string): boolean {
  try {
    // Made before it is written to, so that nobody else can read it at any time.
    writeFileSync(to, '', { mode: 0o600 })
    using(from, (database) => database.prepare('VACUUM INTO ?').run(to))
    return true
  } catch (cause) {
    rmSync(to, { force: true })
    if (!existsSync(from)) return false
    throw new Fault('backup_failed', `${from} cannot be copied (${(cause as Error).message})`, { cause })
  }
}

/** @returns what is wrong with a database of a backup; undefined where it is whole */
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
  // One that is gone must not be made anew, and empty.
  place.searchParams.set('mode', 'rw')
  const database = new DatabaseSync(place, { timeout: BUSY_MS })
  try {
    return use(database)
  } finally {
    database.close()
  }
}
