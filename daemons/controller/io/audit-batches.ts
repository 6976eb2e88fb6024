/** Records that wait for the disk, in batches: each is one commit, and all of its records hear of it together. */
import type { SqlRow } from './audit-table.ts'

/** Rows that become durable together. */
export interface AuditBatch {
  rows: SqlRow[]
  /** When it is written at the latest, in monotonic ms; at once where an answer waits for one of it. */
  dueMs: number
  done: PromiseWithResolvers<void>
}

/** What waits, oldest first. */
export interface AuditBatches {
  /** @returns the batch that has the row now */
  add(row: SqlRow, dueMs: number): AuditBatch
  /** Takes off the first: nothing is added to it afterwards. */
  take(): AuditBatch | undefined
  /** Puts back, before all others, what could not be written. */
  putBack(batch: AuditBatch): void
  /** When the first is due; undefined where nothing waits. */
  dueMs(): number | undefined
  /** All of it is due now. @returns the last one, where something waits */
  hurry(nowMs: number): AuditBatch | undefined
  /** Rows that wait. */
  size(): number
}

/** @param mostRows of one batch */
export function createAuditBatches(mostRows: number): AuditBatches {
  const batches: AuditBatch[] = []
  let size = 0
  /** The only one that may still grow: what was put back is as it was asked for. */
  let open: AuditBatch | undefined

  return {
    add(row, dueMs) {
      if (!open || open.rows.length >= mostRows) {
        open = { rows: [], dueMs, done: Promise.withResolvers() }
        batches.push(open)
      }
      open.rows.push(row)
      // A full one waits for nothing.
      open.dueMs = open.rows.length >= mostRows ? Number.NEGATIVE_INFINITY : Math.min(open.dueMs, dueMs)
      size++
      return open
    },
    take() {
      const batch = batches.shift()
      if (batch === open) open = undefined
      size -= batch?.rows.length ?? 0
      return batch
    },
    putBack(batch) {
      batches.unshift(batch)
      size += batch.rows.length
    },
    dueMs: () => batches[0]?.dueMs,
    hurry(nowMs) {
      for (const batch of batches) batch.dueMs = Math.min(batch.dueMs, nowMs)
      return batches.at(-1)
    },
    size: () => size,
  }
}
