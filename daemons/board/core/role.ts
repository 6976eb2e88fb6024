/** What a role is to the board, and the board to a role; whether a machine can fill one. */
import type { Clock } from '#kit/clock.ts'
import type { Metrics } from '#kit/http/metrics.ts'
import type { Route } from '#kit/http/route.ts'
import type { Log } from '#kit/log.ts'
import type { Recorder, Refusals, SendRecorder } from '#kit/records/records.ts'
import type { Parts } from '#kit/run/parts.ts'
import { type RoleName, roleNames } from '../wire/names.ts'
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

// In place of a role that this machine cannot fill: it says so, and the rest of the board works.

/** @param why in a sentence */
export function silentRole(why: string): RoleHouse {
  return {
    verdict: () => ({ state: 'fault', text: why }),
    state: () => null,
    routes: [],
    measure() {},
  }
}

// Whether a machine has what a role needs, for whoever is to choose one.

/** What the roles need of a machine, as it is now. */
export interface RoleFacts {
  /** Serial lines that the system has. */
  serialLines: number
  hasUsb: boolean
  /** The kernel's side of USB/IP is loaded. */
  hasUsbipHost: boolean
  /** GStreamer with the plugins of sound, and ALSA's library. */
  hasSound: boolean
  /** Sound devices that play, and that record. */
  playing: number
  recording: number
}

/** One role on this machine. Nobody is kept from choosing it: what is missing may come later. */
export interface RoleFitness {
  role: RoleName
  can: boolean
  /** Why not, or what has to be known where it can, in one sentence; else empty. */
  text: string
}

/** Each role in the order in which they are offered. */
export function roleFitness(facts: RoleFacts): RoleFitness[] {
  return roleNames.map((role) => {
    const hindrance = WHY_NOT[role](facts)
    return { role, can: hindrance === '', text: hindrance || (TO_KNOW[role]?.(facts) ?? '') }
  })
}

function withoutSound({ hasSound }: RoleFacts): string {
  if (hasSound) return ''
  return 'Sound needs GStreamer: apt-get install gstreamer1.0-plugins-base gstreamer1.0-plugins-good linuxptp.'
}

const WHY_NOT: Readonly<Record<RoleName, (facts: RoleFacts) => string>> = {
  encoder: withoutSound,
  decoder: withoutSound,
  serial: ({ serialLines }) => (serialLines === 0 ? 'No serial line is there yet: plug an adapter in.' : ''),
  usbip({ hasUsb, hasUsbipHost }) {
    if (!hasUsb) return 'This system has no USB.'
    return hasUsbipHost ? '' : 'The kernel of this system has no usbip-host, so it cannot share USB.'
  },
}

/** What is said of a role though the machine has what it takes. */
const TO_KNOW: Partial<Record<RoleName, (facts: RoleFacts) => string>> = {
  encoder: ({ recording }) => (recording === 0 ? 'No sound card that records is there yet: plug one in.' : ''),
  decoder: ({ playing }) => (playing === 0 ? 'No sound card that plays is there yet: plug one in.' : ''),
}
