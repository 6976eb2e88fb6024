/** Changes of accounts that wait for Apply All, found anew when others wait than before. */
import type { DatabaseSync } from 'node:sqlite'
import type { WaitingOf } from '../core/people-ports.ts'
import type { Json, Row } from '../core/row.ts'

/** Both ends of what waits: ids grow and are never given twice, so other changes have others. Two looks into the index. */
const MARK = 'SELECT (SELECT min(id) FROM pending_change) AS "first", (SELECT max(id) FROM pending_change) AS "last"'

/**
 * The command line stages from a process of its own, so the file is asked each time.
 * @param read all that waits, in the order in which it is applied
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
      // A disk that cannot be read keeps nobody from reading out of memory: what was known counts.
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
