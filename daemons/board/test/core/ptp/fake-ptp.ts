/** A fake PTP clock, in the state that a test sets. */
import { isLockedState, type Ptp, type PtpView, refClockOf } from '../../../core/ptp/ptp.ts'

export interface FakePtp extends Ptp {
  /** Changes it, and notifies listeners. */
  become(changed: Partial<PtpView>): void
}

export const FAKE_MAC = '02-00-00-00-00-01'

/** The grandmaster named by the streams of the tests. */
export const GRANDMASTER = '00-1D-C1-FF-FE-12-34-56'

/** PTP is locked. */
export function ptpView(change: Partial<PtpView> = {}): PtpView {
  return {
    enabled: true,
    state: 'locked',
    text: `Locked to ${GRANDMASTER}, 38 ns off.`,
    offset_ns: 38,
    path_delay_ns: 4210,
    rate_ppm: 1.5,
    grandmaster: null,
    clock_id: null,
    port_state: null,
    priority1: 128,
    domain: 0,
    since_at: null,
    steps: 0,
    last_sync_age_ms: 90,
    ...change,
  }
}

const OFF: Partial<PtpView> = {
  ...{ enabled: false, state: 'off', text: 'PTP is switched off.' },
  ...{ offset_ns: null, path_delay_ns: null, rate_ppm: null, last_sync_age_ms: null },
}

/** Off at first: streams name this machine by `FAKE_MAC`. */
export function fakePtp(first: Partial<PtpView> = {}): FakePtp {
  let view = ptpView({ ...OFF, ...first })
  const listeners = new Set<() => void>()
  return {
    view: () => view,
    refClock: () => refClockOf(view, FAKE_MAC),
    isLocked: () => isLockedState(view.state),
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    become(changed) {
      view = { ...view, ...changed }
      for (const listener of listeners) listener()
    },
  }
}
