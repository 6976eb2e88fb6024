/** How a sound card is kept on the audio clock: state x event -> next state. */

/** In `settling` it is found out what the buffer's fill is when all is well; in `resting` nothing is corrected. */
export type CardServoState = 'settling' | 'resting' | 'catching' | 'holding'

/**
 * - `started` the card was started, or started anew with a fresh fill
 * - `settled` the fill has been looked at long enough
 * - `known` so it has, and the card's drift is known from before
 * - `strayed` the fill has left the band in which it is let be
 * - `caught` it is back in the middle, and stays
 * - `even` the card has no drift that is worth a correction
 */
export type CardServoEvent = 'started' | 'settled' | 'known' | 'strayed' | 'caught' | 'even'

/** A pair that is not listed does not change the state. */
export const cardServoStateTable: Readonly<Record<CardServoState, Partial<Record<CardServoEvent, CardServoState>>>> = {
  settling: { settled: 'resting', known: 'holding' },
  resting: { started: 'settling', strayed: 'catching' },
  catching: { started: 'settling', caught: 'holding' },
  holding: { started: 'settling', strayed: 'catching', even: 'resting' },
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextCardServoState(state: CardServoState, event: CardServoEvent): CardServoState {
  return cardServoStateTable[state][event] ?? state
}
