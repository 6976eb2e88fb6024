/** What a stream that is sent now names as its clock, by how PTP is. */
import type { OwnRefClock } from '../../wire/streams/ref-clock.ts'
import type { PtpView } from './ptp.ts'
import type { PtpState } from './ptp-state-table.ts'

/** @returns whether sound runs on a time that others share, or did until a moment ago */
export function isLockedState(state: PtpState): boolean {
  return state === 'locked' || state === 'master' || state === 'holdover'
}

/** @param mac of the interface of the streams, `00-1D-C1-12-34-56` */
export function refClockOf({ state, grandmaster }: Pick<PtpView, 'state' | 'grandmaster'>, mac: string): OwnRefClock {
  if (!isLockedState(state) || grandmaster === null) return { kind: 'localmac', mac }
  return { kind: 'ptp', grandmaster: grandmaster.id, domain: grandmaster.domain }
}
