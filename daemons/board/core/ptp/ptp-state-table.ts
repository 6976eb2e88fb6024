/** The life of the board's clock: state x event -> next state. */

/**
 * - `off` switched off by the installer
 * - `absent` this machine has no ptp4l
 * - `starting` ptp4l does not answer yet, or not any more
 * - `listening` it answers, and no clock is heard
 * - `master` this board is the clock
 * - `locking` another clock is heard, its time not yet known well enough
 * - `locked` sound runs on its time
 * - `holdover` the time was known, and is not any more: sound goes on at the last rate
 * - `fault` ptp4l ends again and again, or cannot be used
 */
export type PtpState =
  | 'off'
  | 'absent'
  | 'starting'
  | 'listening'
  | 'master'
  | 'locking'
  | 'locked'
  | 'holdover'
  | 'fault'

/**
 * - `missing` the program is not on this machine
 * - `answered` ptp4l tells how it is
 * - `elected` this board is the clock
 * - `heard` another board is, and tells the time
 * - `settled` its time is known well enough to play by
 * - `lost` it is not heard well any more, or this board is the clock no longer
 * - `ended` ptp4l ended, or does not answer
 * - `gaveUp` it ended too often; it is tried again, seldom
 */
export type PtpEvent = 'missing' | 'answered' | 'elected' | 'heard' | 'settled' | 'lost' | 'ended' | 'gaveUp'

/** A pair that is not listed does not change the state. */
export const ptpStateTable: Readonly<Record<PtpState, Partial<Record<PtpEvent, PtpState>>>> = {
  off: {},
  absent: { answered: 'listening' },
  starting: { missing: 'absent', answered: 'listening', gaveUp: 'fault' },
  listening: { missing: 'absent', elected: 'master', heard: 'locking', ended: 'starting', gaveUp: 'fault' },
  // Another takes over, or ptp4l ends: until there is a new time, the old one is held.
  master: { missing: 'holdover', heard: 'holdover', lost: 'holdover', ended: 'holdover', gaveUp: 'holdover' },
  locking: {
    missing: 'absent',
    elected: 'master',
    settled: 'locked',
    lost: 'listening',
    ended: 'starting',
    gaveUp: 'fault',
  },
  locked: { missing: 'holdover', elected: 'master', lost: 'holdover', ended: 'holdover', gaveUp: 'holdover' },
  // A new clock is judged while the old one's time is held.
  holdover: { missing: 'absent', elected: 'master', settled: 'locked', gaveUp: 'fault' },
  fault: { missing: 'absent', answered: 'listening' },
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextPtpState(state: PtpState, event: PtpEvent): PtpState {
  return ptpStateTable[state][event] ?? state
}
