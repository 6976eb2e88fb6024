/** The life of a serial port's line: state x event -> next state. */

export type SerialPortState = 'off' | 'opening' | 'open' | 'absent' | 'failed'

/**
 * - `enabled` the settings want it, at start or by POST
 * - `disabled` they do not, or the daemon stops
 * - `opened` the driver took the line and every setting
 * - `notThere` the device does not exist
 * - `refused` the driver or another program's lock said no
 * - `gone` an open line was unplugged or failed
 * - `retryDue` the wait before the next try is over
 */
export type SerialPortEvent = 'enabled' | 'disabled' | 'opened' | 'notThere' | 'refused' | 'gone' | 'retryDue'

/** A pair that is not listed does not change the state. */
export const serialPortTable: Readonly<Record<SerialPortState, Partial<Record<SerialPortEvent, SerialPortState>>>> = {
  off: { enabled: 'opening' },
  opening: { disabled: 'off', opened: 'open', notThere: 'absent', refused: 'failed' },
  open: { disabled: 'off', gone: 'absent' },
  absent: { disabled: 'off', retryDue: 'opening' },
  failed: { disabled: 'off', retryDue: 'opening' },
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextSerialPortState(state: SerialPortState, event: SerialPortEvent): SerialPortState {
  return serialPortTable[state][event] ?? state
}
