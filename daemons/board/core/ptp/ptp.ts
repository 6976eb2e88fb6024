/** The board's clock as seen by roles: its state, the reference clock of streams, and the clock of sound. */
import type { OwnRefClock } from '../../wire/streams/description.ts'

// State table of the board's clock: state x event -> next state.

/**
 * - `off` switched off by the installer
 * - `absent` this machine has no ptp4l
 * - `starting` ptp4l does not answer yet, or no longer
 * - `listening` it answers, and no other clock is heard
 * - `master` this board is the clock
 * - `locking` another clock is heard, its time not yet known well enough
 * - `locked` sound runs on its time
 * - `holdover` the time was known, and no longer is: sound goes on at the last rate
 * - `fault` ptp4l ends again and again, or cannot be used
 */
export type PtpState =
  | 'off'
  | 'absent'
  | 'starting'
  | 'listening'
  | 'master'
  | 'locking'
  | 'locked'
  | 'holdover'
  | 'fault'

/**
 * - `missing` the program is not on this machine
 * - `answered` ptp4l reports its state
 * - `elected` this board is the clock
 * - `heard` another board is the clock, and its time arrives
 * - `settled` its time is known well enough to play by
 * - `lost` it is no longer heard well, or this board is no longer the clock
 * - `ended` ptp4l ended, or does not answer
 * - `gaveUp` it ended too often; it is tried again at long intervals
 */
export type PtpEvent = 'missing' | 'answered' | 'elected' | 'heard' | 'settled' | 'lost' | 'ended' | 'gaveUp'

/** Events not listed leave the state as it is. */
export const ptpStateTable: Readonly<Record<PtpState, Partial<Record<PtpEvent, PtpState>>>> = {
  off: {},
  absent: { answered: 'listening' },
  starting: { missing: 'absent', answered: 'listening', gaveUp: 'fault' },
  listening: { missing: 'absent', elected: 'master', heard: 'locking', ended: 'starting', gaveUp: 'fault' },
  // Another clock takes over, or ptp4l ends: the old time is held until there is a new one.
  master: { missing: 'holdover', heard: 'holdover', lost: 'holdover', ended: 'holdover', gaveUp: 'holdover' },
  locking: {
    missing: 'absent',
    elected: 'master',
    settled: 'locked',
    lost: 'listening',
    ended: 'starting',
    gaveUp: 'fault',
  },
  locked: { missing: 'holdover', elected: 'master', lost: 'holdover', ended: 'holdover', gaveUp: 'holdover' },
  // A new clock is assessed while the old one's time is held.
  holdover: { missing: 'absent', elected: 'master', settled: 'locked', gaveUp: 'fault' },
  fault: { missing: 'absent', answered: 'listening' },
}

/** @returns the next state; the same if the table has no such pair */
export function nextPtpState(state: PtpState, event: PtpEvent): PtpState {
  return ptpStateTable[state][event] ?? state
}

// What roles and pages see.

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

/** State of the clock, as in the status. Unknown is null. */
export interface PtpView {
  enabled: boolean
  state: PtpState
  /** One sentence for people. */
  text: string
  /** Sound's clock minus the grandmaster's; positive is ahead. */
  offset_ns: number | null
  path_delay_ns: number | null
  /** How much faster the grandmaster runs than this machine. */
  rate_ppm: number | null
  grandmaster: Grandmaster | null
  /** This board's own clock. */
  clock_id: string | null
  /** As reported by ptp4l. A slave stays UNCALIBRATED forever, as ptp4l does not adjust the clock. */
  port_state: string | null
  /** This board's own, from the settings. */
  priority1: number
  domain: number
  /** Epoch ms at which it entered this state. */
  since_at: number | null
  /** Jumps of sound's clock since the start. */
  steps: number
  last_sync_age_ms: number | null
}

/** The clock that sound runs on. */
export interface Ptp {
  view(): PtpView
  /**
   * The reference clock of a stream sent now: the grandmaster while locked, in holdover or master; else this machine.
   */
  refClock(): OwnRefClock
  /** `locked`, `master`, or `holdover` after a lock. */
  isLocked(): boolean
  /** Calls at every change of state or `refClock`, and once for each jump of the clock. @returns ends it */
  onChange(listener: () => void): () => void
}

// The reference clock of a stream sent now.

/** @returns whether sound runs on a shared time, or did until a moment ago */
export function isLockedState(state: PtpState): boolean {
  return state === 'locked' || state === 'master' || state === 'holdover'
}

/** @param mac hardware address of the interface of the streams, `00-1D-C1-12-34-56` */
export function refClockOf({ state, grandmaster }: Pick<PtpView, 'state' | 'grandmaster'>, mac: string): OwnRefClock {
  if (!isLockedState(state) || grandmaster === null) return { kind: 'localmac', mac }
  return { kind: 'ptp', grandmaster: grandmaster.id, domain: grandmaster.domain }
}

// The interface of sound's clock: CLOCK_MONOTONIC of the machine, calibrated to the time of a grandmaster.

/** Three clocks at one instant. */
export interface AudioInstant {
  /** CLOCK_MONOTONIC. */
  monotonicNs: bigint
  /** CLOCK_REALTIME. */
  realtimeNs: bigint
  /** Sound's time: ns since the epoch of the grandmaster. */
  audioNs: bigint
}

/** From `monotonicNs` on, when sound's clock reads `audioNs`, it runs `ratePpb` faster than CLOCK_MONOTONIC. */
export interface Calibration {
  monotonicNs: bigint
  audioNs: bigint
  /** Parts in 1e9, whole. */
  ratePpb: number
}

/** A clock that can be calibrated. `native/node-gst` has the real one. */
export interface AudioClock {
  read(): AudioInstant
  calibrate(at: Calibration): void
}

/**
 * The time that a calibrated clock reads. @returns ns since the epoch of the grandmaster at an instant of
 * CLOCK_MONOTONIC, whole, rounded down
 */
export function audioTimeAt({ monotonicNs, audioNs, ratePpb }: Calibration, atNs: bigint): bigint {
  const passedNs = atNs - monotonicNs
  return audioNs + passedNs + (passedNs * BigInt(ratePpb)) / 1_000_000_000n
}
