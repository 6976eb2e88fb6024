/** The life of a unit on a Modbus line, as its answers show it: state x event -> next state. */

/**
 * - `unknown` not asked since the line was opened, or not to the end
 * - `well` answers in time; what is lost now and then changes nothing
 * - `slow` answers, but late replies were seen not long ago
 * - `noisy` answers, but of its last exchanges too many came to nothing, or to two answers
 * - `failing` has not answered since the line was opened
 * - `silent` left so many in a row without an answer that polls and background work are held back
 * - `probing` was silent, and is being asked whether it is back
 */
export type UnitState = 'unknown' | 'well' | 'slow' | 'noisy' | 'failing' | 'silent' | 'probing'

/**
 * - `answered` a proven reply in time; an exception is one
 * - `late` a proven reply after its request was given up
 * - `calmed` a proven reply in time, and none late for `slow_unit_ms`
 * - `noise` an exchange is over, and the last ones are noisy, as unit-window.ts judges them; `quiet` they are not
 * - `missed` no proven reply; `gaveUp` for the last time that is borne
 * - `probed` a request goes out to it
 * - `undecided` that request never reached the line
 * - `lineClosed` nothing is known any more
 */
export type UnitEvent =
  | 'answered'
  | 'late'
  | 'calmed'
  | 'noise'
  | 'quiet'
  | 'missed'
  | 'gaveUp'
  | 'probed'
  | 'undecided'
  | 'lineClosed'

/** A pair that is not listed does not change the state. */
export const unitStateTable: Readonly<Record<UnitState, Partial<Record<UnitEvent, UnitState>>>> = {
  unknown: { answered: 'well', late: 'slow', missed: 'failing', gaveUp: 'silent' },
  well: { late: 'slow', noise: 'noisy', gaveUp: 'silent', lineClosed: 'unknown' },
  // One that is often too late misses often: that it is slow says so already.
  slow: { calmed: 'well', gaveUp: 'silent', lineClosed: 'unknown' },
  noisy: { quiet: 'well', late: 'slow', gaveUp: 'silent', lineClosed: 'unknown' },
  failing: { answered: 'well', late: 'slow', gaveUp: 'silent', lineClosed: 'unknown' },
  silent: { probed: 'probing', late: 'slow', lineClosed: 'unknown' },
  probing: { answered: 'well', late: 'slow', missed: 'silent', undecided: 'silent', lineClosed: 'unknown' },
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextUnitState(state: UnitState, event: UnitEvent): UnitState {
  return unitStateTable[state][event] ?? state
}
