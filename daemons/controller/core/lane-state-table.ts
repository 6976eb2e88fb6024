/** The life of one device as it is driven: state x event -> next state. */

/**
 * - `closed` not driven, before the first opening and after the last
 * - `opening` its driver makes a session
 * - `ready` there is a session with nothing to do
 * - `busy` one command or poll is under way
 * - `stuck` its deadline is over, and the driver has not let go of it
 * - `leaving` the device is lost, its session is being closed
 * - `waiting` until the next try
 * - `closing` for good
 */
export type LaneState = 'closed' | 'opening' | 'ready' | 'busy' | 'stuck' | 'leaving' | 'waiting' | 'closing'

/**
 * - `openAsked` the device is in the book
 * - `opened`, `failed` the driver made a session; it did not, or not in time
 * - `sent` the driver was given a command or a poll
 * - `settled` the driver is done with it, well or not
 * - `late` the deadline is over
 * - `lost` the driver said that the device is gone, or did not let go in time
 * - `left` the session is closed, or took too long to
 * - `retryDue` the wait is over, or a command cut it short
 * - `closeAsked` the row changed or went, or the daemon stops
 */
export type LaneEvent =
  | 'openAsked'
  | 'opened'
  | 'failed'
  | 'sent'
  | 'settled'
  | 'late'
  | 'lost'
  | 'left'
  | 'retryDue'
  | 'closeAsked'

/** A pair that is not listed does not change the state. */
export const laneStateTable: Readonly<Record<LaneState, Partial<Record<LaneEvent, LaneState>>>> = {
  closed: { openAsked: 'opening' },
  opening: { opened: 'ready', failed: 'waiting', closeAsked: 'closing' },
  ready: { sent: 'busy', lost: 'leaving', closeAsked: 'closing' },
  busy: { settled: 'ready', late: 'stuck', lost: 'leaving', closeAsked: 'closing' },
  stuck: { settled: 'ready', lost: 'leaving', closeAsked: 'closing' },
  leaving: { left: 'waiting', closeAsked: 'closing' },
  waiting: { retryDue: 'opening', closeAsked: 'closing' },
  closing: { left: 'closed' },
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextLaneState(state: LaneState, event: LaneEvent): LaneState {
  return laneStateTable[state][event] ?? state
}
