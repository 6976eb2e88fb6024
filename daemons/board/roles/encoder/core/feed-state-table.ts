/** The life of what feeds the stream of an encoder: state x event -> next state. */

/**
 * - `opening` its source is being opened
 * - `sending` what it gives goes out
 * - `waiting` it ended, or could not be opened; it is tried again
 * - `closed` the board stops
 */
export type FeedState = 'opening' | 'sending' | 'waiting' | 'closed'

/**
 * - `opened` the source plays
 * - `failed` it ended by itself, or could not be opened
 * - `retry` the wait is over
 * - `changed` another source is wanted
 * - `closing` the board stops
 */
export type FeedEvent = 'opened' | 'failed' | 'retry' | 'changed' | 'closing'

/** A pair that is not listed does not change the state. */
export const feedStateTable: Readonly<Record<FeedState, Partial<Record<FeedEvent, FeedState>>>> = {
  opening: { opened: 'sending', failed: 'waiting', closing: 'closed' },
  sending: { failed: 'waiting', changed: 'opening', closing: 'closed' },
  waiting: { retry: 'opening', changed: 'opening', closing: 'closed' },
  closed: {},
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextFeedState(state: FeedState, event: FeedEvent): FeedState {
  return feedStateTable[state][event] ?? state
}
