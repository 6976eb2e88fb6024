/** The lock on a state folder: one process at a time, let go by the kernel when its holder dies. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Fault } from '#kit/fault.ts'
import { makePlain } from '#kit/store/whole-file.ts'

/** A folder that is locked. */
export interface StateLock {
  release(): void
}

/** The file that carries the lock; empty, and never removed, since a removed one can be locked twice. */
export const LOCK_FILE = 'daemon.lock'

/**
 * Locks a state folder for this process.
 *
 * Node has no flock, and a file with a process id in it outlives a SIGKILL and can be replaced by two at once. SQLite,
 * which is built in, takes a POSIX lock on a file of its own in one call; the kernel lets it go with the process.
 * @throws Fault `state_locked` when another process holds it, `state_unusable` when the folder cannot be written
 */
export function lockState(folder: string): StateLock {
  const path = join(folder, LOCK_FILE)
  let database: DatabaseSync | undefined
  try {
    makePlain(path)
    database = new DatabaseSync(path, { timeout: 0 })
    // The journal in memory leaves no second file behind.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    database?.close()
    throw faultOfLock(folder, error)
  }
  const held = database
  return { release: () => held.close() }
}

/** SQLITE_BUSY. */
const BUSY = 5

function faultOfLock(folder: string, error: unknown): Fault {
  if ((error as { errcode?: number }).errcode === BUSY)
    return new Fault('state_locked', `${folder} is in use by a daemon that runs: stop that one first`, { cause: error })
  const { code } = error as NodeJS.ErrnoException
  const why = code === 'ELOOP' ? `: ${LOCK_FILE} in it is no plain file` : ''
  return new Fault('state_unusable', `the state folder ${folder} cannot be written${why}`, { cause: error })
}
