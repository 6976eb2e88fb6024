/** What the clock's rules are held to, of the table `ptp` of board.toml. */
import type { ClockEstimate, ClockFitLimits } from './clock-fit.ts'
import type { PtpConfig } from './ptp-keys.ts'
import type { SteeringLimits } from './steering.ts'

export type PtpLimits = Pick<PtpConfig, 'lock_us' | 'step_us' | 'slew_ppm' | 'window_s' | 'sync_lost_ms'>

/** Samples that say where a clock is; eight Syncs a second make that a second. */
const ENOUGH_SAMPLES = 8
/** Sixteen Syncs a second are the most that AES67 knows: its Sync interval is -4 at least. */
const MOST_SYNCS_PER_S = 16
/** More than a burst of packets that came late together, less than a second of a clock that jumped. */
const ASTRAY_SAMPLES = 5
const ASTRAY_NS = 20_000
/** Noise of single samples is smoothed by this time, and a stall of the process while it is made up for does no harm. */
const SETTLE_NS = 1e9
const SMALL_NS = 100_000
/** Silence of so many Syncs is a loss. */
const SYNCS_LOST = 4
/** A lock is given up at this multiple of what it takes to get it, so that it does not come and go. */
const HYSTERESIS = 2

export function fitLimitsOf({ window_s }: PtpLimits): ClockFitLimits {
  const most = window_s * MOST_SYNCS_PER_S
  return { windowNs: window_s * 1e9, most, astray: ASTRAY_SAMPLES, astrayNs: ASTRAY_NS }
}

export function steeringLimitsOf({ slew_ppm }: PtpLimits): SteeringLimits {
  return { settleNs: SETTLE_NS, smallNs: SMALL_NS, slewPpb: slew_ppm * 1000 }
}

/** Whether the time is known well enough; a lock that is there is kept on somewhat worse grounds. */
export function isSettled({ lock_us }: PtpLimits, estimate: ClockEstimate, isLocked: boolean): boolean {
  const mostNs = lock_us * 1000 * (isLocked ? HYSTERESIS : 1)
  return estimate.samples >= (isLocked ? ASTRAY_SAMPLES : ENOUGH_SAMPLES) && estimate.spreadNs <= mostNs
}

/** Whether the clock is where it should be: a lock is within its bound for as long as it is told. */
export function isNear({ lock_us }: PtpLimits, errorNs: number, isLocked: boolean): boolean {
  return Math.abs(errorNs) <= (lock_us * 1000) / (isLocked ? 1 : HYSTERESIS)
}

/** After how long without a Sync the master is not followed any more. */
export function syncLostMs({ sync_lost_ms }: PtpLimits, estimate: ClockEstimate | undefined): number {
  if (estimate === undefined) return sync_lost_ms
  const gapMs = estimate.spanNs / (estimate.samples - 1) / 1e6
  return Math.max(sync_lost_ms, SYNCS_LOST * gapMs)
}
