/** The interface between a role and the board; and whether a machine can fill a role. */
import type { Clock } from '#kit/clock.ts'
import type { Metrics } from '#kit/http/metrics.ts'
import type { Route } from '#kit/http/route.ts'
import type { Log } from '#kit/log.ts'
import type { Condition } from '#kit/records/ledger-entry.ts'
import type { Recorder, Refusals, SendRecorder } from '#kit/records/records.ts'
import type { Parts } from '#kit/run/parts.ts'
import { type RoleName, roleNames } from '../wire/names.ts'
import type { PtpView } from './ptp/ptp.ts'

/** A state, as shown at the top of a page. */
export interface Verdict {
  state: 'ok' | 'busy' | 'warn' | 'fault' | 'off'
  /** One sentence for people: what was seen, and what to do about it. */
  text: string
}

/** What the board provides to every role. */
export interface RoleWorld {
  clock: Clock
  log: Log
  /** Exists and is locked by this process. */
  stateFolder: string
  parts: Parts
  /** For actions of people and programs. */
  recorder: Recorder & SendRecorder
  /** For refused callers: limited, however many there are. */
  refusals: Pick<Refusals, 'add'>
  /** Call when the result of `verdict` or `state` has changed: the page is updated soon after. */
  onChange(): void
}

/** Sound levels, dBFS, a number for each channel; null is silence. */
export interface Meters {
  peak_db: readonly (number | null)[]
  rms_db: readonly (number | null)[]
}

/** An assembled role. */
export interface RoleHouse {
  verdict(): Verdict
  /** Its own live state, JSON: in `GET /api/status` under the name of the role. */
  state(): unknown
  /** What is wrong with it, for the ledger; if absent, a verdict of `fault` is. */
  conditions?: () => readonly Condition[]
  routes: readonly Route[]
  /** Only in a role with sound: reports its levels as often as they are measured. @returns ends it */
  onMeters?: (hear: (meters: Meters) => void) => () => void
  /** Only in a role with sound: the clock it runs on, in `GET /api/status` as `ptp`. */
  ptp?: () => PtpView
  /** Adds its counts and gauges. */
  measure(metrics: Metrics): void
}

// Replaces a role that this machine cannot fill: it shows why, and the rest of the board works.

/** @param why in a sentence */
export function silentRole(why: string): RoleHouse {
  return {
    verdict: () => ({ state: 'fault', text: why }),
    state: () => null,
    routes: [],
    measure() {},
  }
}

// Whether a machine has what a role needs, for the choice of a role.

/** What roles need to know of a machine. */
export interface RoleFacts {
  /** Serial lines that the system has. */
  serialLines: number
  hasUsb: boolean
  /** Whether the kernel's side of USB/IP is loaded. */
  hasUsbipHost: boolean
  /** Whether GStreamer with the sound plugins, and ALSA's library, are installed. */
  hasSound: boolean
  /** Number of sound devices that play, and that record. */
  playing: number
  recording: number
}

/** One role on this machine. It can be chosen anyway: what is missing may come later. */
export interface RoleFitness {
  role: RoleName
  can: boolean
  /** Why not, or a hint if it can, in one sentence; else empty. */
  text: string
}

/** The roles in the order in which they are offered. */
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

/** Hints for a role that the machine can fill. */
const TO_KNOW: Partial<Record<RoleName, (facts: RoleFacts) => string>> = {
  encoder: ({ recording }) => (recording === 0 ? 'No sound card that records is there yet: plug one in.' : ''),
  decoder: ({ playing }) => (playing === 0 ? 'No sound card that plays is there yet: plug one in.' : ''),
}
