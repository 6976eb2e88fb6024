/** Stops what the demo has started. */

/** Functions that stop what was started; run in reverse. */
export type Undo = (() => unknown)[]
