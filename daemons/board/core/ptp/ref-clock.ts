/** What a stream that is sent now names as its clock, by how PTP is. */
import type { PtpView, RefClock } from './ptp.ts'
import type { PtpState } from './ptp-state-table.ts'

/** @returns whether sound runs on a time that others share, or did until a moment ago */
export function isLockedState(state: PtpState): boolean {
  return state === 'locked' || state === 'master' || state === 'holdover'
}

/** @param mac of the interface of the streams, `00-1D-C1-12-34-56` */
export function refClockOf({ state, grandmaster }: Pick<PtpView, 'state' | 'grandmaster'>, mac: string): RefClock {
  if (!isLockedState(state) || grandmaster === null) return { kind: 'localmac', mac }
  return { kind: 'ptp', grandmaster: grandmaster.id, domain: grandmaster.domain }
}

export function isSameRefClock(one: RefClock, other: RefClock): boolean {
  if (one.kind === 'ptp')
    return other.kind === 'ptp' && one.grandmaster === other.grandmaster && one.domain === other.domain
  return other.kind === 'localmac' && one.mac === other.mac
}
