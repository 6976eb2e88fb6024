/** What a reader is told of the units of a Modbus line. Instants are epoch milliseconds; unknown is null, never 0. */
import type { LatencyView } from './unit-latency.ts'
import type { UnitState } from './unit-state-table.ts'
import type { Lately } from './unit-window.ts'

/** One unit that was asked, or that a scan found, since the adapter was made or it was forgotten. */
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
  /** Answers that came a second time. */
  copies: number
  /** How its last exchanges went: what `noisy` is judged by. */
  lately: Lately
  lastReplyAt: number | null
  lastError: { code: string; message: string; at: number } | null
  /** From the end of a request to the end of its reply, late ones too. */
  latencyMs: LatencyView | null
  /** Replies that took at most `leMs`, those of the bounds before it too; null: all. */
  histogram: { leMs: number | null; count: number }[]
  /** Until when it is asked nothing, as it owes an answer. */
  heldUntil: number | null
  /** When polls and background work may ask it again. */
  nextTryAt: number | null
}

/** Payload of `unit`: its state changed. */
export interface UnitPayload {
  unitId: number
  state: UnitState
  previous: UnitState
  message: string
  lately: Lately
}

/** The units of a line, by number. */
export interface UnitsFace {
  list(): UnitView[]
  /** How many are in each state; none of a state: left out. */
  states(): Partial<Record<UnitState, number>>
  /**
   * Its counts and its state; what it owes stays known, and who asks it again makes it anew.
   * @throws Fault `unknown_unit`
   */
  forget(unitId: number): void
}
