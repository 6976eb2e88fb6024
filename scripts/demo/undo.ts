/** How what the demo started is stopped. */

/** Each thing that was started says here how it is stopped; run from the last to the first. */
export type Undo = (() => unknown)[]
