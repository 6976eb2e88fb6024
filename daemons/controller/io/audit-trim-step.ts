/** Which rows of the audit go when there are too many, or too old ones. */
import type { DatabaseSync } from 'node:sqlite'

/** One step of a trim. */
export interface TrimStep {
  /** Epoch ms: rows from before it may go. */
  beforeAt: number
  /** Rows that may stay. */
  most: number
  /** Rows that may go in this step: what is written meanwhile waits for it. */
  step: number
  /** Tells rows that anybody can have made, as SQL. */
  isCheap: string
}

/**
 * Removes at most `step` of the oldest rows: those that are too old, and those beyond `most`. Of the latter go first what
 * anybody can make, but of the newest half: else a stranger who asks often enough would push out what is known of everybody.
 * Handed to a thread as text: it may use nothing that stands outside of it.
 * @returns whether there may be more to do
 */
export function trimAudit(db: DatabaseSync, { beforeAt, most, step, isCheap }: TrimStep): boolean {
  function removeOldest(rows: number, where = 'true'): number {
    const oldest = `SELECT id FROM request_history WHERE ${where} ORDER BY id LIMIT ?`
    const { changes } = db.prepare(`DELETE FROM request_history WHERE id IN (${oldest})`).run(rows)
    return Number(changes)
  }

  /** In the order of writing, up to the first that is young: a clock that was set back takes nothing with it. */
  function oldRows(): number {
    const times = db.prepare('SELECT at FROM request_history ORDER BY id LIMIT ?').all(step)
    const young = times.findIndex(({ at }) => Number(at) >= beforeAt)
    return young < 0 ? times.length : young
  }

  const tooOld = removeOldest(oldRows())
  const rows = Number(db.prepare('SELECT count(*) AS rows FROM request_history').get()?.rows)
  const over = Math.min(rows - most, step - tooOld)
  if (over <= 0) return tooOld === step
  const newest = Number(db.prepare('SELECT max(id) AS id FROM request_history').get()?.id)
  const cheap = removeOldest(over, `${isCheap} AND id <= ${newest - Math.ceil(most / 2)}`)
  return tooOld + cheap + removeOldest(over - cheap) === step
}
