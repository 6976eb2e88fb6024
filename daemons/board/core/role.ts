/** What a role is to the board, and the board to a role. */
import type { Clock } from '#kit/clock.ts'
import type { Metrics } from '#kit/http/metrics.ts'
import type { Route } from '#kit/http/route.ts'
import type { Log } from '#kit/log.ts'
import type { Recorder, SendRecorder } from '#kit/recorder.ts'
import type { Refusals } from '#kit/refusals.ts'
import type { Parts } from '#kit/run/parts.ts'
import type { PtpView } from './ptp/ptp.ts'

/** How something is, the way the top of a page says it. */
export interface Verdict {
  state: 'ok' | 'busy' | 'warn' | 'fault' | 'off'
  /** One sentence for people: what was seen, and what to do about it. */
  text: string
}

/** What every role gets of the board. */
export interface RoleWorld {
  clock: Clock
  log: Log
  /** Exists and belongs to this process alone. */
  stateFolder: string
  parts: Parts
  /** Of what people and programs change. */
  recorder: Recorder & SendRecorder
  /** Of those who were turned away: bounded, however many come. */
  refusals: Pick<Refusals, 'add'>
  /** To be called when what `verdict` or `state` say is otherwise: the page is told soon after. */
  onChange(): void
}

/** How loud it is, dBFS, a number for each channel; null is silence. */
export interface Meters {
  peak_db: readonly (number | null)[]
  rms_db: readonly (number | null)[]
}

/** A role that was put together. */
export interface RoleHouse {
  verdict(): Verdict
  /** Its own live state, JSON: in `GET /api/status` under the name of the role. */
  state(): unknown
  routes: readonly Route[]
  /** Where the role has sound: tells its levels as often as they are measured. @returns what ends it */
  onMeters?: (hear: (meters: Meters) => void) => () => void
  /** Where the role has sound: the clock it runs on, in `GET /api/status` as `ptp`. */
  ptp?: () => PtpView
  /** Adds its counts and gauges. */
  measure(metrics: Metrics): void
}
