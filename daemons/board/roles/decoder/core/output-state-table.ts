/** The life of the output of a decoder: state x event -> next state. */

/**
 * - `starting` the pipeline is being made
 * - `playing` it runs
 * - `waiting` it ended, or could not be made; it is tried again
 * - `closed` the board stops
 */
export type OutputState = 'starting' | 'playing' | 'waiting' | 'closed'

/**
 * - `started` it runs
 * - `failed` it ended by itself, or could not be made
 * - `retry` the wait is over
 * - `closing` the board stops
 */
export type OutputEvent = 'started' | 'failed' | 'retry' | 'closing'

/** A pair that is not listed does not change the state. */
export const outputStateTable: Readonly<Record<OutputState, Partial<Record<OutputEvent, OutputState>>>> = {
  starting: { started: 'playing', failed: 'waiting', closing: 'closed' },
  playing: { failed: 'waiting', closing: 'closed' },
  waiting: { retry: 'starting', closing: 'closed' },
  closed: {},
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextOutputState(state: OutputState, event: OutputEvent): OutputState {
  return outputStateTable[state][event] ?? state
}
