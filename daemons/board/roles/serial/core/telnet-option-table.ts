/** One side's stand on a Telnet option: state x event -> next state. */

/**
 * - `off` nobody has spoken of it
 * - `asked` we offered it and wait for the answer
 * - `on` both sides have it
 * - `refused` the other side will not have it
 */
export type TelnetOptionState = 'off' | 'asked' | 'on' | 'refused'

/**
 * - `offered` we speak of it first
 * - `agreed` WILL or DO came
 * - `declined` WONT or DONT came
 */
export type TelnetOptionEvent = 'offered' | 'agreed' | 'declined'

/** A pair that is not listed does not change the state. @source RFC 854; RFC 1143, 7 (we never end an option) */
export const telnetOptionTable: Readonly<
  Record<TelnetOptionState, Partial<Record<TelnetOptionEvent, TelnetOptionState>>>
> = {
  off: { offered: 'asked', agreed: 'on', declined: 'refused' },
  asked: { agreed: 'on', declined: 'refused' },
  on: { declined: 'refused' },
  refused: { agreed: 'on' },
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextOptionState(state: TelnetOptionState, event: TelnetOptionEvent): TelnetOptionState {
  return telnetOptionTable[state][event] ?? state
}
