/** What sound's clock follows: the time of day, a master's time, or the last known rate. */
import type { CurrentData, DefaultData, ParentData, PmcAnswer, PortData, TimeStatus } from '../../wire/linuxptp.ts'
import {
  type ClockEstimate,
  type ClockFitLimits,
  type ClockSample,
  createClockFit,
  createSteering,
  type Steered,
  type SteeringLimits,
} from './clock-fit.ts'
import type { PtpConfig } from './keys.ts'
import type { AudioClock, AudioInstant, Grandmaster } from './ptp.ts'

// Limits, from the table `ptp` of board.toml.

export type PtpLimits = Pick<PtpConfig, 'lock_us' | 'step_us' | 'slew_ppm' | 'window_s' | 'sync_lost_ms'>

/** Samples needed to know a clock; eight Syncs a second make that a second. */
const ENOUGH_SAMPLES = 8
/** Sixteen Syncs a second are the most in AES67: its Sync interval is at least -4. */
const MOST_SYNCS_PER_S = 16
/** More than a burst of packets delayed together, and less than a second after a clock has jumped. */
const ASTRAY_SAMPLES = 5
const ASTRAY_NS = 20_000
/** Averages the noise of single samples, while a stall of the process during a correction does no harm. */
const SETTLE_NS = 1e9
const SMALL_NS = 100_000
/** Silence of this many Syncs counts as a loss. */
const SYNCS_LOST = 4
/** A lock is lost at this multiple of the limit for getting it, so that it does not flap. */
const HYSTERESIS = 2

function fitLimitsOf({ window_s }: PtpLimits): ClockFitLimits {
  const most = window_s * MOST_SYNCS_PER_S
  return { windowNs: window_s * 1e9, most, astray: ASTRAY_SAMPLES, astrayNs: ASTRAY_NS }
}

function steeringLimitsOf({ slew_ppm }: PtpLimits): SteeringLimits {
  return { settleNs: SETTLE_NS, smallNs: SMALL_NS, slewPpb: slew_ppm * 1000 }
}

/** Whether the time is known well enough; keeping a lock needs somewhat less. */
function isSettled({ lock_us }: PtpLimits, estimate: ClockEstimate, isLocked: boolean): boolean {
  const mostNs = lock_us * 1000 * (isLocked ? HYSTERESIS : 1)
  return estimate.samples >= (isLocked ? ASTRAY_SAMPLES : ENOUGH_SAMPLES) && estimate.spreadNs <= mostNs
}

/** Whether the clock is at its target: while locked, it is within the stated limit. */
function isNear({ lock_us }: PtpLimits, errorNs: number, isLocked: boolean): boolean {
  return Math.abs(errorNs) <= (lock_us * 1000) / (isLocked ? 1 : HYSTERESIS)
}

/** How long without a Sync until the master is no longer followed. */
function syncLostMs({ sync_lost_ms }: PtpLimits, estimate: ClockEstimate | undefined): number {
  if (estimate === undefined) return sync_lost_ms
  const gapMs = estimate.spanNs / (estimate.samples - 1) / 1e6
  return Math.max(sync_lost_ms, SYNCS_LOST * gapMs)
}

// State reported by ptp4l.

/** Its latest answer of each kind; what it has not reported yet is absent. */
interface PtpFacts {
  time?: TimeStatus
  current?: CurrentData
  parent?: ParentData
  default?: DefaultData
  port?: PortData
  /** Seconds that ptp4l has added to the master's time: TAI - UTC for a master on TAI, else 0. */
  utcOffsetS?: number
}

/** Collects the answers. After `clear` they come from another run of ptp4l. */
export function createFactsOfPtp() {
  let facts: PtpFacts = {}
  let isPtpTimescale: boolean | undefined
  let settingsUtcOffsetS: number | undefined

  return {
    now: (): Readonly<PtpFacts> => facts,
    heard(answer: PmcAnswer): void {
      if (answer.kind === 'time_status') facts = { ...facts, time: answer }
      else if (answer.kind === 'current') facts = { ...facts, current: answer }
      else if (answer.kind === 'parent') facts = { ...facts, parent: answer }
      else if (answer.kind === 'default') facts = { ...facts, default: answer }
      else if (answer.kind === 'port') facts = { ...facts, port: answer }
      else if (answer.kind === 'time_properties') isPtpTimescale = answer.isPtpTimescale
      else settingsUtcOffsetS = answer.utcOffsetS
      if (isPtpTimescale === undefined || settingsUtcOffsetS === undefined) return
      facts = { ...facts, utcOffsetS: isPtpTimescale ? settingsUtcOffsetS : 0 }
    },
    clear(): void {
      facts = {}
      isPtpTimescale = undefined
      settingsUtcOffsetS = undefined
    },
  }
}

/** Whether this board is the clock that others follow. */
export function isMaster({ port }: PtpFacts): boolean {
  return port?.state === 'MASTER' || port?.state === 'GRAND_MASTER'
}

/** @returns the clock that ptp4l follows, or is; undefined until it has reported everything */
export function grandmasterOf({ default: own, parent }: PtpFacts): Grandmaster | undefined {
  if (!own || !parent) return undefined
  return {
    id: parent.grandmaster,
    domain: own.domain,
    priority1: parent.priority1,
    priority2: parent.priority2,
    clock_class: parent.clockClass,
    is_self: parent.grandmaster === own.clock,
  }
}

/**
 * The master's time against CLOCK_MONOTONIC when its last Sync came. ptp4l reports it against CLOCK_REALTIME, and for a
 * master on TAI against UTC, like its own time stamps; sound counts the master's own seconds.
 * @param realtimeNs CLOCK_REALTIME minus CLOCK_MONOTONIC
 */
function sampleOf({ ingressNs, offsetNs }: TimeStatus, realtimeNs: bigint, utcOffsetS: number): ClockSample {
  return {
    monotonicNs: ingressNs - realtimeNs,
    differenceNs: realtimeNs - offsetNs + BigInt(utcOffsetS) * 1_000_000_000n,
  }
}

// How far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC: constant except for steps.

/** Number of readings compared: one that was interrupted between its two clocks is ignored. */
const READINGS = 5
/** Smaller differences are reading noise. */
const LEAST_STEP_NS = 100_000n

interface RealtimeWatch {
  /** @returns by how much the time of day was stepped, 0n if not; reported once, some readings later */
  see(instant: Pick<AudioInstant, 'monotonicNs' | 'realtimeNs'>): bigint
  /** CLOCK_REALTIME minus CLOCK_MONOTONIC. */
  differenceNs(): bigint
}

/** NTP's rate adjustments move both clocks alike; only settimeofday and leap seconds move one. */
export function createRealtimeWatch(first: Pick<AudioInstant, 'monotonicNs' | 'realtimeNs'>): RealtimeWatch {
  let seen: bigint[] = [first.realtimeNs - first.monotonicNs]
  let toldNs = middle(seen)
  return {
    see({ monotonicNs, realtimeNs }) {
      seen = [...seen, realtimeNs - monotonicNs].slice(-READINGS)
      const stepNs = middle(seen) - toldNs
      if (stepNs < LEAST_STEP_NS && stepNs > -LEAST_STEP_NS) return 0n
      toldNs = middle(seen)
      return stepNs
    },
    differenceNs: () => middle(seen),
  }
}

function middle(values: readonly bigint[]): bigint {
  const sorted = [...values].sort((one, other) => (one < other ? -1 : Number(one > other)))
  return sorted[values.length >> 1] ?? 0n
}

// The course.

/** Events worth logging. */
interface CourseEvents {
  /** The clock jumped by this much; positive is forwards. */
  jumped(byNs: number): void
  /** The master's time, or the machine's own rate, has suddenly changed. */
  moved(): void
  /** Somebody set the time of day. */
  timeOfDayStepped(byNs: bigint): void
}

/** How near the clock is; `unknown` if the master's time is not known well. */
type Nearness = 'unknown' | 'under_way' | 'there'

export interface AudioCourse {
  /** @returns whether there was a new Sync with a credible measurement */
  measure(status: TimeStatus, utcOffsetS: number): boolean
  /** Discards measurements: they are of another clock. */
  forget(): void
  /** Steers to the master's time. @param isLocked keeping a lock needs somewhat less than getting it */
  aim(isLocked: boolean): Nearness
  /** Continues at the last rate, unless it goes by the time of day. */
  coast(): void
  /** From now on goes by the time of day: this board is the clock. */
  goByTimeOfDay(): void
  /** Call a few times a second. */
  tick(): void
  /** Whether there was no Sync for too long. */
  isSilent(): boolean
  /** Sound's clock minus the master's, at the last Sync. */
  offsetNs(): number | undefined
  ratePpb(): number | undefined
  spreadNs(): number | undefined
  syncAgeMs(): number | undefined
  steps(): number
}

/** A Sync older than this, or from the future, was reported across a step of the time of day. */
const OLDEST_SYNC_NS = 10_000_000_000n
const LATEST_SYNC_NS = -5_000_000n
/** Before the first lock nothing plays by the clock, so even small errors may jump. */
const FIRST_JUMP_NS = 1000

/** @param audio reads CLOCK_REALTIME until it is calibrated */
export function createAudioCourse(audio: AudioClock, limits: PtpLimits, events: CourseEvents): AudioCourse {
  return new Course(audio, limits, events)
}

class Course implements AudioCourse {
  readonly #audio
  readonly #limits
  readonly #events
  readonly #fit
  readonly #steering
  readonly #realtime
  #isByTimeOfDay = true
  #isFirst = true
  #last: TimeStatus | undefined
  #lastSyncNs: bigint | undefined
  #offsetNs: number | undefined
  #ratePpb = 0
  #steps = 0

  constructor(audio: AudioClock, limits: PtpLimits, events: CourseEvents) {
    this.#audio = audio
    this.#limits = limits
    this.#events = events
    this.#fit = createClockFit(fitLimitsOf(limits))
    this.#steering = createSteering(audio, steeringLimitsOf(limits))
    this.#realtime = createRealtimeWatch(audio.read())
  }

  measure(status: TimeStatus, utcOffsetS: number): boolean {
    const instant = this.#see()
    const before = this.#last
    this.#last = status
    if (before === undefined || status.ingressNs === 0n || before.ingressNs === status.ingressNs) return false
    // A new Sync with the old offset: ptp4l has not measured the path to this master yet, and repeats the old value.
    if (before.offsetNs === status.offsetNs) return false
    const sample = sampleOf(status, this.#realtime.differenceNs(), utcOffsetS)
    const ageNs = instant.monotonicNs - sample.monotonicNs
    if (ageNs > OLDEST_SYNC_NS || ageNs < LATEST_SYNC_NS) return false
    this.#lastSyncNs = sample.monotonicNs
    this.#offsetNs = Number(instant.audioNs - instant.monotonicNs - sample.differenceNs)
    if (!this.#fit.add(sample)) this.#events.moved()
    return true
  }

  forget(): void {
    this.#fit.clear()
    this.#lastSyncNs = undefined
    this.#offsetNs = undefined
  }

  aim(isLocked: boolean): Nearness {
    const estimate = this.#fit.estimate()
    if (!estimate || !isSettled(this.#limits, estimate, isLocked)) return 'unknown'
    this.#isByTimeOfDay = false
    this.#ratePpb = estimate.ratePpb
    const jumpNs = this.#isFirst ? FIRST_JUMP_NS : this.#limits.step_us * 1000
    this.#isFirst = false
    const steered = this.#steering.follow({ ...estimate, jumpNs })
    this.#count(steered)
    return steered.jumped || isNear(this.#limits, steered.errorNs, isLocked) ? 'there' : 'under_way'
  }

  coast(): void {
    if (!this.#isByTimeOfDay) this.#steering.coast(this.#ratePpb)
  }

  goByTimeOfDay(): void {
    this.#isByTimeOfDay = true
    this.#isFirst = false
  }

  tick(): void {
    this.#see()
    if (!this.#isByTimeOfDay) return
    const differenceNs = this.#realtime.differenceNs()
    const jumpNs = this.#limits.step_us * 1000
    this.#count(this.#steering.follow({ differenceAt: () => differenceNs, ratePpb: 0, jumpNs }))
  }

  isSilent(): boolean {
    const ageMs = this.syncAgeMs()
    return ageMs !== undefined && ageMs > syncLostMs(this.#limits, this.#fit.estimate())
  }

  offsetNs(): number | undefined {
    return this.#offsetNs
  }

  ratePpb(): number | undefined {
    return this.#isByTimeOfDay ? undefined : this.#ratePpb
  }

  spreadNs(): number | undefined {
    return this.#fit.estimate()?.spreadNs
  }

  syncAgeMs(): number | undefined {
    if (this.#lastSyncNs === undefined) return undefined
    return Math.max(0, Number(this.#audio.read().monotonicNs - this.#lastSyncNs) / 1e6)
  }

  steps(): number {
    return this.#steps
  }

  #see(): AudioInstant {
    const instant = this.#audio.read()
    const stepNs = this.#realtime.see(instant)
    if (stepNs !== 0n) this.#events.timeOfDayStepped(stepNs)
    return instant
  }

  #count({ errorNs, jumped }: Steered): void {
    if (!jumped) return
    this.#steps++
    this.#events.jumped(-errorNs)
  }
}
