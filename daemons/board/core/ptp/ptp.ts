/** The board's clock as roles see it: how it is, what streams name as their reference, and when that changes. */
import type { OwnRefClock } from '../../wire/streams/ref-clock.ts'
import type { PtpState } from './ptp-state-table.ts'

/** The clock that all others of a domain follow. */
export interface Grandmaster {
  /** EUI-64 as in SDP: `00-1D-C1-FF-FE-12-34-56`. @source RFC 7273, 4.3 */
  id: string
  domain: number
  /** Lower wins. @source IEEE 1588-2008, 7.6.2.2 */
  priority1: number
  priority2: number
  /** 6: locked to a reference such as GPS; 248: a plain clock. @source IEEE 1588-2008, 7.6.2.4 */
  clock_class: number
  is_self: boolean
}

/** How the clock is, as the status says it. Unknown is null. */
export interface PtpView {
  enabled: boolean
  state: PtpState
  /** One sentence for people. */
  text: string
  /** Where sound's clock is against the grandmaster's; positive is ahead. */
  offset_ns: number | null
  path_delay_ns: number | null
  /** How much faster the grandmaster runs than this machine. */
  rate_ppm: number | null
  grandmaster: Grandmaster | null
  /** This board's own clock. */
  clock_id: string | null
  /** As ptp4l says it. A slave stays UNCALIBRATED for ever, as its clock is not touched. */
  port_state: string | null
  /** This board's own, of the settings. */
  priority1: number
  domain: number
  /** Epoch ms since when the state is what it is. */
  since_at: number | null
  /** Jumps of sound's clock since the start. */
  steps: number
  last_sync_age_ms: number | null
}

/** The clock that sound runs on. */
export interface Ptp {
  view(): PtpView
  /** By what a stream that is sent now is timed: the grandmaster while locked, in holdover or master; else this machine. */
  refClock(): OwnRefClock
  /** `locked`, `master`, or `holdover` after a lock. */
  isLocked(): boolean
  /** Calls at every change of state or `refClock`, and once for each jump of the clock. @returns what ends it */
  onChange(listener: () => void): () => void
}
