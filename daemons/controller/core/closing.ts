/** Accounts that a change closes which waits for Apply All: closing them does not wait. */
import type { Clock } from '#kit/clock.ts'
import { isLive } from './accounts.ts'
import type { WaitingOf } from './people-ports.ts'
import type { Book } from './row.ts'

/** Whether an account is closed by what waits. */
export type IsClosing = (userId: number) => boolean

/**
 * Disabled, revoked, removed, or put out of its time. What would open an account waits: it is asked of accounts that are
 * open as they are. On the page elevated sessions go by what is applied, as that is where they apply or discard changes.
 * @source document 1, Authentication 3 and 4
 */
export function createClosing(book: Book, clock: Clock, waitingOf: WaitingOf): IsClosing {
  return (userId) => {
    const waiting = waitingOf(userId)
    const user = waiting && book.row('auth_user', userId)
    if (waiting === undefined || user === undefined) return false
    return waiting === 'removed' || !isLive({ ...user, ...waiting }, clock.epochMs())
  }
}
