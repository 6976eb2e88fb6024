/** The life of a firmware update: state x event -> next state. */

export type OtaState = 'idle' | 'receiving' | 'verifying' | 'installing' | 'installed' | 'failed'

/**
 * - `begun` an upload was let in
 * - `received` as many bytes as the manifest says were written
 * - `proven` their checksum is the signed one
 * - `handedOver` the installer took the image
 * - `failure` the upload was refused, cut, or could not be kept; or the installer did not take it
 */
export type OtaEvent = 'begun' | 'received' | 'proven' | 'handedOver' | 'failure'

/** A pair that is not listed does not change the state. After `installed` comes a restart, and nothing else. */
export const otaStateTable: Readonly<Record<OtaState, Partial<Record<OtaEvent, OtaState>>>> = {
  idle: { begun: 'receiving' },
  receiving: { received: 'verifying', failure: 'failed' },
  verifying: { proven: 'installing', failure: 'failed' },
  installing: { handedOver: 'installed', failure: 'failed' },
  installed: {},
  failed: { begun: 'receiving' },
}

/** Whether an upload may begin. */
export function mayBegin(state: OtaState): boolean {
  return otaStateTable[state].begun !== undefined
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextOtaState(state: OtaState, event: OtaEvent): OtaState {
  return otaStateTable[state][event] ?? state
}
