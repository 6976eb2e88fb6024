/** The life of a run of a macro: state x event -> next state. */

/**
 * - `starting` its row is on its way to the disk; nothing was done yet
 * - `queued` runs of its macro are before it
 * - `running` it takes its steps
 * - `done` all steps were taken, or a stop step was reached
 * - `failed` a step failed for good, or it could not be kept
 * - `cancelled` a newer run took its place, its caller ended, or the daemon stopped
 * - `timed_out` it had no turn, or no end, in time
 * - `interrupted` the daemon went while it lived: found at the next start
 */
export type RunState = 'starting' | 'queued' | 'running' | 'done' | 'failed' | 'cancelled' | 'timed_out' | 'interrupted'

/**
 * - `kept` its row is on the disk, and others are before it
 * - `begun` its row is on the disk, and it is its turn
 * - `finished` no step is left, or one said stop
 * - `failure` a step failed for good; its row could not be written
 * - `cancel` it is wanted no more
 * - `expired` its time is over
 * - `lost` its row has no end, and the daemon starts
 */
export type RunEvent = 'kept' | 'begun' | 'finished' | 'failure' | 'cancel' | 'expired' | 'lost'

/** A pair that is not listed does not change the state. */
export const runStateTable: Readonly<Record<RunState, Partial<Record<RunEvent, RunState>>>> = {
  starting: { kept: 'queued', begun: 'running', failure: 'failed', cancel: 'cancelled', lost: 'interrupted' },
  queued: { begun: 'running', cancel: 'cancelled', expired: 'timed_out', lost: 'interrupted' },
  running: {
    finished: 'done',
    failure: 'failed',
    cancel: 'cancelled',
    expired: 'timed_out',
    lost: 'interrupted',
  },
  done: {},
  failed: {},
  cancelled: {},
  timed_out: {},
  interrupted: {},
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextRunState(state: RunState, event: RunEvent): RunState {
  return runStateTable[state][event] ?? state
}

/** Whether nothing follows any more. */
export function isOver(state: RunState): boolean {
  return Object.keys(runStateTable[state]).length === 0
}
