/** The life of a device that is, or is to be, shared: state x event -> next state. */

export type ShareState =
  | 'local'
  | 'binding'
  | 'exported'
  | 'handing'
  | 'attached'
  | 'freeing'
  | 'releasing'
  | 'failed'
  | 'gone'

/**
 * - `wanted` it is to be shared, and has its own driver
 * - `bound` usbip-host has it, and no host
 * - `refused` what was asked of the helper did not work
 * - `asked` a host asks for it
 * - `taken` the kernel took the host's connection
 * - `notTaken` it did not
 * - `ended` the host went, or is told to go
 * - `foundUsed` a host has it that nobody here knows of, from a run before
 * - `freed` the kernel has let go of the host
 * - `lost` another driver has it
 * - `letGo` it is to have its own driver again, or usbip-host says it is in error
 * - `released` its own driver has it again
 * - `unplugged` it is not there any more
 */
export type ShareEvent =
  | 'wanted'
  | 'bound'
  | 'refused'
  | 'asked'
  | 'taken'
  | 'notTaken'
  | 'ended'
  | 'foundUsed'
  | 'freed'
  | 'lost'
  | 'letGo'
  | 'released'
  | 'unplugged'

/** A pair that is not listed does not change the state. */
export const shareStateTable: Readonly<Record<ShareState, Partial<Record<ShareEvent, ShareState>>>> = {
  local: { wanted: 'binding', bound: 'exported', foundUsed: 'freeing', letGo: 'releasing', unplugged: 'gone' },
  binding: { bound: 'exported', refused: 'failed', unplugged: 'gone' },
  exported: { asked: 'handing', foundUsed: 'freeing', lost: 'local', letGo: 'releasing', unplugged: 'gone' },
  handing: { taken: 'attached', notTaken: 'exported', unplugged: 'gone' },
  attached: { ended: 'freeing', freed: 'exported', lost: 'local', letGo: 'releasing', unplugged: 'gone' },
  freeing: { freed: 'exported', lost: 'local', letGo: 'releasing', unplugged: 'gone' },
  releasing: { released: 'local', refused: 'failed', unplugged: 'gone' },
  failed: { wanted: 'binding', bound: 'exported', lost: 'local', letGo: 'releasing', unplugged: 'gone' },
  gone: {},
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextShareState(state: ShareState, event: ShareEvent): ShareState {
  return shareStateTable[state][event] ?? state
}
