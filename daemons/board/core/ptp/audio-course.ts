/** Where sound's clock goes: by the time of day, by a master's time, or on at the last rate. */
import type { TimeStatus } from '../../wire/ptp/pmc-answer.ts'
import type { AudioClock, AudioInstant } from './audio-clock.ts'
import { createClockFit } from './clock-fit.ts'
import { sampleOf } from './ptp-facts.ts'
import { fitLimitsOf, isNear, isSettled, type PtpLimits, steeringLimitsOf, syncLostMs } from './ptp-limits.ts'
import { createRealtimeWatch } from './realtime-watch.ts'
import { createSteering, type Steered } from './steering.ts'

/** What happens that somebody may want to read of. */
export interface CourseEvents {
  /** The clock jumped by this: forwards where positive. */
  jumped(byNs: number): void
  /** The master's time, or the machine's own rate, is otherwise than it was a moment ago. */
  moved(): void
  /** Somebody set the time of day. */
  timeOfDayStepped(byNs: bigint): void
}

/** How near it is: `unknown` where the master's time is not known well. */
export type Nearness = 'unknown' | 'under_way' | 'there'

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
