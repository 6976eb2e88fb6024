/** What a reader is told of the units of a Modbus line. Instants are epoch milliseconds; unknown is null, never 0. */

/**
 * - `unknown` not asked since the line was opened, or not to the end
 * - `well` answers in time
 * - `slow` answers, but late replies were seen not long ago
 * - `failing` did not answer the last time, or not often enough since
 * - `silent` did not answer so often that polls and background work are held back
 * - `probing` is silent, and is being asked whether it is back
 */
export type UnitState = 'unknown' | 'well' | 'slow' | 'failing' | 'silent' | 'probing'

/** One unit that was asked since the adapter was made. */
export interface UnitView {
  unitId: number
  state: UnitState
  stateSince: number
  requests: number
  replies: number
  exceptions: number
  timeouts: number
  /** Frames with a wrong checksum while this unit was asked. */
  crcErrors: number
  /** Requests to which something came that is no answer. */
  badReplies: number
  lateReplies: number
  lastReplyAt: number | null
  lastError: { code: string; message: string; at: number } | null
  /** From the end of a request to the end of its reply; p50 and p95 are bounds of the histogram. */
  latencyMs: { last: number; p50: number; p95: number; max: number } | null
  /** Replies that took at most `leMs`, each with all before; null: any time. */
  histogram: { leMs: number | null; count: number }[]
  /** Until when it is asked nothing, as it owes an answer. */
  heldUntil: number | null
  /** When polls and background work may ask it again. */
  nextTryAt: number | null
}

/** The units of a line, by number. */
export interface UnitsFace {
  list(): UnitView[]
}
