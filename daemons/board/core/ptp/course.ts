/** Where sound's clock goes: by the time of day, by a master's time, or on at the last rate. */
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

function fitLimitsOf({ window_s }: PtpLimits): ClockFitLimits {
  const most = window_s * MOST_SYNCS_PER_S
  return { windowNs: window_s * 1e9, most, astray: ASTRAY_SAMPLES, astrayNs: ASTRAY_NS }
}

function steeringLimitsOf({ slew_ppm }: PtpLimits): SteeringLimits {
  return { settleNs: SETTLE_NS, smallNs: SMALL_NS, slewPpb: slew_ppm * 1000 }
}

/** Whether the time is known well enough; a lock that is there is kept on somewhat worse grounds. */
function isSettled({ lock_us }: PtpLimits, estimate: ClockEstimate, isLocked: boolean): boolean {
  const mostNs = lock_us * 1000 * (isLocked ? HYSTERESIS : 1)
  return estimate.samples >= (isLocked ? ASTRAY_SAMPLES : ENOUGH_SAMPLES) && estimate.spreadNs <= mostNs
}

/** Whether the clock is where it should be: a lock is within its bound for as long as it is told. */
function isNear({ lock_us }: PtpLimits, errorNs: number, isLocked: boolean): boolean {
  return Math.abs(errorNs) <= (lock_us * 1000) / (isLocked ? 1 : HYSTERESIS)
}

/** After how long without a Sync the master is not followed any more. */
function syncLostMs({ sync_lost_ms }: PtpLimits, estimate: ClockEstimate | undefined): number {
  if (estimate === undefined) return sync_lost_ms
  const gapMs = estimate.spanNs / (estimate.samples - 1) / 1e6
  return Math.max(sync_lost_ms, SYNCS_LOST * gapMs)
}

// What ptp4l has told.

/** Its latest word of each kind; what it has not told yet is absent. */
interface PtpFacts {
  time?: TimeStatus
  current?: CurrentData
  parent?: ParentData
  default?: DefaultData
  port?: PortData
  /** Seconds that ptp4l has added to the master's time: TAI - UTC of a master on TAI, else 0. */
  utcOffsetS?: number
}

/** Keeps it. What comes after `clear` is of another run of ptp4l. */
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

/** @returns the clock that ptp4l follows, or is; undefined until it has told all of it */
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
 * The master's time against CLOCK_MONOTONIC when its last Sync came. ptp4l tells it against CLOCK_REALTIME, and of a
 * master on TAI against UTC, as its own time stamps are; sound counts the master's own seconds.
 * @param realtimeNs CLOCK_REALTIME less CLOCK_MONOTONIC
 */
function sampleOf({ ingressNs, offsetNs }: TimeStatus, realtimeNs: bigint, utcOffsetS: number): ClockSample {
  return {
    monotonicNs: ingressNs - realtimeNs,
    differenceNs: realtimeNs - offsetNs + BigInt(utcOffsetS) * 1_000_000_000n,
  }
}

// How far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC: the same for ever, but for steps.

/** So many readings are compared: one that was interrupted between its two clocks is not believed. */
const READINGS = 5
/** Smaller ones are noise of reading. */
const LEAST_STEP_NS = 100_000n

interface RealtimeWatch {
  /** @returns by how much the time of day has been stepped, 0n where it has not; told once, some readings later */
  see(instant: Pick<AudioInstant, 'monotonicNs' | 'realtimeNs'>): bigint
  /** CLOCK_REALTIME less CLOCK_MONOTONIC. */
  differenceNs(): bigint
}

/** NTP's adjustments of rate move both clocks alike; it is settimeofday, and leap seconds, that move one. */
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

/** What happens that somebody may want to read of. */
interface CourseEvents {
  /** The clock jumped by this: forwards where positive. */
  jumped(byNs: number): void
  /** The master's time, or the machine's own rate, is otherwise than it was a moment ago. */
  moved(): void
  /** Somebody set the time of day. */
  timeOfDayStepped(byNs: bigint): void
}

/** How near it is: `unknown` where the master's time is not known well. */
type Nearness = 'unknown' | 'under_way' | 'there'

export interface AudioCourse {
  /** @returns whether there was a new Sync, and a measurement that can be believed */
  measure(status: TimeStatus, utcOffsetS: number): boolean
  /** What was measured is of another clock. */
  forget(): void
  /** Steers to the master's time. @param isLocked a lock is kept on somewhat worse grounds than it is got */
  aim(isLocked: boolean): Nearness
  /** Goes on at the last rate, unless it goes by the time of day. */
  coast(): void
  /** From now on by the time of day: this board is the clock. */
  goByTimeOfDay(): void
  /** To be called a few times a second. */
  tick(): void
  /** Whether no Sync came for too long. */
  isSilent(): boolean
  /** Sound's clock less the master's, at the last Sync. */
  offsetNs(): number | undefined
  ratePpb(): number | undefined
  spreadNs(): number | undefined
  syncAgeMs(): number | undefined
  steps(): number
}

/** A Sync from before this, or from the future, was told across a step of the time of day. */
const OLDEST_SYNC_NS = 10_000_000_000n
const LATEST_SYNC_NS = -5_000_000n
/** Before the first lock nothing plays by the clock: it need not be gentle. */
const FIRST_JUMP_NS = 1000

/** @param audio reads CLOCK_REALTIME until told otherwise */
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
    // A new Sync with the offset of before: ptp4l has not measured the path to this master, and repeats what it had.
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
