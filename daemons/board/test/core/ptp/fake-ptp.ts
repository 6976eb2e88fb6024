/** A clock of the board for tests of what runs on it: it is as a test says. */
import type { Ptp, PtpView } from '../../../core/ptp/ptp.ts'
import { isLockedState, refClockOf } from '../../../core/ptp/ref-clock.ts'

export interface FakePtp extends Ptp {
  /** Makes it otherwise, and tells who listens. */
  become(changed: Partial<PtpView>): void
}

export const FAKE_MAC = '02-00-00-00-00-01'

/** Off, until told otherwise: streams name this machine by `FAKE_MAC`. */
export function fakePtp(first: Partial<PtpView> = {}): FakePtp {
  let view: PtpView = {
    enabled: false,
    state: 'off',
    text: 'PTP is switched off.',
    offset_ns: null,
    path_delay_ns: null,
    rate_ppm: null,
    grandmaster: null,
    clock_id: null,
    port_state: null,
    priority1: 128,
    domain: 0,
    since_at: null,
    steps: 0,
    last_sync_age_ms: null,
    ...first,
  }
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
