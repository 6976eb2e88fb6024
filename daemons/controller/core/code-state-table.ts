/** The life of a two-factor code: state x event -> next state. */

/**
 * - `none` no code stands on the account: never issued, used up, or void
 * - `issued` one was mailed and is still accepted
 * - `lapsed` its time is over, or when it was issued cannot be told
 */
export type CodeState = 'none' | 'issued' | 'lapsed'

/**
 * - `asked` a sign-in without a code: a new one is mailed
 * - `matched` the code was submitted
 * - `missed` another one was
 * - `voided` the last miss that is let pass
 */
export type CodeEvent = 'asked' | 'matched' | 'missed' | 'voided'

/** A pair that is not listed does not change the state. @source document 1, States, Two-factor code */
export const codeStateTable: Readonly<Record<CodeState, Partial<Record<CodeEvent, CodeState>>>> = {
  none: { asked: 'issued' },
  issued: { asked: 'issued', matched: 'none', voided: 'none' },
  lapsed: { asked: 'issued', matched: 'none', missed: 'none', voided: 'none' },
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextCodeState(state: CodeState, event: CodeEvent): CodeState {
  return codeStateTable[state][event] ?? state
}
