/** Tests of core/ptp/ptp.ts, row by row. */
import t from 'tap'
import { nextPtpState, type PtpEvent, type PtpState } from '../../../core/ptp/ptp.ts'

const EVENTS: PtpEvent[] = ['missing', 'answered', 'elected', 'heard', 'settled', 'lost', 'ended', 'gaveUp']

/** The state after each of the events, in that order. */
const ROWS: Record<PtpState, PtpState[]> = {
  off: ['off', 'off', 'off', 'off', 'off', 'off', 'off', 'off'],
  absent: ['absent', 'listening', 'absent', 'absent', 'absent', 'absent', 'absent', 'absent'],
  starting: ['absent', 'listening', 'starting', 'starting', 'starting', 'starting', 'starting', 'fault'],
  listening: ['absent', 'listening', 'master', 'locking', 'listening', 'listening', 'starting', 'fault'],
  master: ['holdover', 'master', 'master', 'holdover', 'master', 'holdover', 'holdover', 'holdover'],
  locking: ['absent', 'locking', 'master', 'locking', 'locked', 'listening', 'starting', 'fault'],
  locked: ['holdover', 'locked', 'master', 'locked', 'locked', 'holdover', 'holdover', 'holdover'],
  holdover: ['absent', 'holdover', 'master', 'holdover', 'locked', 'holdover', 'holdover', 'fault'],
  fault: ['absent', 'listening', 'fault', 'fault', 'fault', 'fault', 'fault', 'fault'],
}

for (const [state, nexts] of Object.entries(ROWS) as [PtpState, PtpState[]][])
  for (const [index, event] of EVENTS.entries())
    t.test(`${state} and ${event} is ${nexts[index]}`, async (t) => {
      t.equal(nextPtpState(state, event), nexts[index])
    })
