/** The life of a port: state x event -> next state. */

export type PortState = 'closed' | 'opening' | 'open' | 'absent' | 'failed'

/**
 * - `openAsked` by PUT, by POST open, or at start
 * - `closeAsked` by POST close, DELETE, or at stop
 * - `opened` the driver took the line and every setting
 * - `notThere` the device does not exist
 * - `refused` the driver, another program's lock or the rules said no
 * - `gone` an open line was unplugged or failed
 * - `retryDue` the backoff is over
 */
export type PortStateEvent = 'openAsked' | 'closeAsked' | 'opened' | 'notThere' | 'refused' | 'gone' | 'retryDue'

/** A pair that is not listed does not change the state. */
export const portStateTable: Readonly<Record<PortState, Partial<Record<PortStateEvent, PortState>>>> = {
  closed: { openAsked: 'opening' },
  opening: { closeAsked: 'closed', opened: 'open', notThere: 'absent', refused: 'failed' },
  open: { closeAsked: 'closed', gone: 'absent' },
  absent: { openAsked: 'opening', closeAsked: 'closed', retryDue: 'opening' },
  failed: { openAsked: 'opening', closeAsked: 'closed', retryDue: 'opening' },
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextPortState(state: PortState, event: PortStateEvent): PortState {
  return portStateTable[state][event] ?? state
}
