/** Keeps sound's clock on the time of the grandmaster, and reports its state. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import type { PmcAnswer, TimeStatus } from '../../wire/linuxptp.ts'
import { isSameClock, type OwnRefClock } from '../../wire/streams/description.ts'
import {
  type AudioCourse,
  createAudioCourse,
  createFactsOfPtp,
  grandmasterOf,
  isMaster,
  type PtpLimits,
} from './course.ts'
import {
  type AudioClock,
  type Grandmaster,
  isLockedState,
  nextPtpState,
  type Ptp,
  type PtpEvent,
  type PtpState,
  type PtpView,
  refClockOf,
} from './ptp.ts'

// Interfaces to ptp4l.

/** Callbacks from ptp4l. Sentences are for people. */
export interface PtpListener {
  /** An answer about its state; its time status comes several times a second. */
  answer(answer: PmcAnswer): void
  /** It is not on this machine, or cannot be used: trying again soon is pointless. */
  missing(sentence: string): void
  /** It has ended, or does not answer; it is restarted. */
  ended(sentence: string): void
  /** It has ended too often in a row; it is tried again at long intervals. */
  gaveUp(sentence: string): void
}

/** ptp4l: started, polled and supervised. */
export interface PtpProgram {
  start(listener: PtpListener): void
  /** Resolves within its deadline; nothing of it runs afterwards. */
  stop(): Promise<void>
}

// The clock's state in one sentence for people.

interface PtpTextFacts {
  state: PtpState
  /** Why it is absent, ended or at fault; undefined if unknown. */
  trouble: string | undefined
  domain: number
  /** The grandmaster being followed, or the last one. */
  grandmaster: string | undefined
  offsetNs: number | null
  spreadNs: number | undefined
  /** Whether another clock is announced. */
  isElsewhere: boolean
}

const STATE_SENTENCES: Readonly<Record<PtpState, (facts: PtpTextFacts) => string>> = {
  off: () => 'PTP is switched off: sound runs on the clock of this machine.',
  absent: ({ trouble }) => `There is no PTP on this machine: ${trouble ?? 'ptp4l is not there.'}`,
  starting: ({ trouble }) => (trouble === undefined ? 'PTP is starting.' : `PTP is started again: ${trouble}`),
  listening: ({ domain, isElsewhere }) =>
    isElsewhere
      ? `A clock announces itself in domain ${domain}, and its time does not arrive.`
      : `No other clock is heard in domain ${domain} yet.`,
  master: ({ domain }) => `This board is the clock of domain ${domain}: others follow its time of day.`,
  locking: ({ grandmaster, spreadNs }) =>
    `The clock ${grandmaster ?? 'of another board'} is heard, and its time measured${
      spreadNs === undefined ? '' : `: samples are ${microsecondsText(spreadNs)} apart`
    }.`,
  locked: ({ grandmaster, offsetNs }) =>
    `Sound follows the clock ${grandmaster ?? 'of another board'}${offsetNs === null ? '' : ` to ${microsecondsText(offsetNs)}`}.`,
  holdover: ({ grandmaster, trouble }) =>
    trouble === undefined
      ? `The clock ${grandmaster ?? 'that was followed'} is not heard well any more: sound goes on at its last rate.`
      : `Sound goes on at its last rate: ${trouble}`,
  fault: ({ trouble }) => `PTP does not run: ${trouble ?? 'ptp4l ends again and again.'}`,
}

function ptpText(facts: PtpTextFacts): string {
  return STATE_SENTENCES[facts.state](facts)
}

function microsecondsText(ns: number): string {
  const size = Math.abs(ns) / 1000
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} us`
}

// The clock.

interface PtpClockOptions {
  clock: Clock
  log: Log
  /** Reads CLOCK_REALTIME until it is calibrated. */
  audio: AudioClock
  /** Undefined if PTP is switched off. */
  program: PtpProgram | undefined
  domain: number
  priority1: number
  limits: PtpLimits
  /** Hardware address of the interface of the streams, `00-1D-C1-12-34-56`. */
  mac(): string
}

/** The clock of a board, which can be started and stopped. */
interface PtpClock extends Ptp {
  start(): void
  stop(): Promise<void>
}

/** How often to check for a silent master, and to steer a clock that goes by the time of day. */
const TICK_MS = 250

export function createPtpClock(options: PtpClockOptions): PtpClock {
  return new KeptClock(options)
}

class KeptClock implements PtpClock {
  readonly #options: PtpClockOptions
  readonly #course: AudioCourse
  readonly #facts = createFactsOfPtp()
  readonly #listeners = new Set<() => void>()
  #timer: Timer | undefined
  #state: PtpState
  #sinceAt: number
  #trouble: string | undefined
  /** The clock whose time sound runs on, or ran on last. */
  #named: Grandmaster | undefined
  /** The clock whose time was measured. */
  #measured: string | undefined
  #told: { state: PtpState; refClock: OwnRefClock; steps: number }

  constructor(options: PtpClockOptions) {
    const { audio, clock, limits, log, program } = options
    this.#options = options
    this.#course = createAudioCourse(audio, limits, {
      jumped: (byNs) => log.notice('sound clock set', { ms: byNs / 1e6 }),
      moved: () => log.info('ptp time moved', { grandmaster: this.#measured }),
      timeOfDayStepped: (byNs) => log.notice('time of day stepped', { ms: Number(byNs) / 1e6 }),
    })
    this.#state = program === undefined ? 'off' : 'starting'
    this.#sinceAt = clock.epochMs()
    this.#told = { state: this.#state, refClock: this.refClock(), steps: 0 }
  }

  start(): void {
    const { clock, program } = this.#options
    this.#timer = clock.every(TICK_MS, () => this.#tick())
    const told = (event: PtpEvent) => (sentence: string) => this.#ended(event, sentence)
    const listener: PtpListener = {
      answer: (answer) => this.#answer(answer),
      missing: told('missing'),
      ended: told('ended'),
      gaveUp: told('gaveUp'),
    }
    program?.start(listener)
  }

  async stop(): Promise<void> {
    this.#timer?.cancel()
    await this.#options.program?.stop()
  }

  view(): PtpView {
    const { domain, priority1, program } = this.#options
    const { current, default: own, port } = this.#facts.now()
    const isFollowing = this.#state === 'locking' || this.#state === 'locked'
    const ratePpb = this.#course.ratePpb()
    return {
      enabled: program !== undefined,
      state: this.#state,
      text: this.#text(),
      offset_ns: isFollowing ? (this.#course.offsetNs() ?? null) : null,
      // ptp4l reports 0 until it has measured it; real measurements are fractions of a nanosecond.
      path_delay_ns: isFollowing ? current?.pathDelayNs || null : null,
      rate_ppm: ratePpb === undefined ? null : ratePpb / 1000,
      grandmaster: this.#grandmaster() ?? null,
      clock_id: own?.clock ?? null,
      port_state: port?.state ?? null,
      priority1,
      domain,
      since_at: this.#sinceAt,
      steps: this.#course.steps(),
      last_sync_age_ms: this.#course.syncAgeMs() ?? null,
    }
  }

  refClock(): OwnRefClock {
    return refClockOf({ state: this.#state, grandmaster: this.#named ?? null }, this.#options.mac())
  }

  isLocked(): boolean {
    return isLockedState(this.#state)
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #answer(answer: PmcAnswer): void {
    this.#facts.heard(answer)
    this.#event('answered')
    this.#ownRole()
    if (answer.kind === 'parent') this.#measureOnly(answer.grandmaster)
    if (answer.kind === 'time_status') this.#time(answer)
    this.#tell()
  }

  #ended(event: PtpEvent, sentence: string): void {
    this.#trouble = sentence
    this.#facts.clear()
    this.#lose(event)
    this.#tell()
  }

  /** Discards all measurements. */
  #lose(event: PtpEvent): void {
    this.#course.forget()
    this.#course.coast()
    this.#event(event)
  }

  #ownRole(): void {
    const facts = this.#facts.now()
    if (!isMaster(facts)) {
      if (this.#state === 'master') this.#event('lost')
      return
    }
    // Port and parent are reported one after the other: only both together identify the clock.
    const own = grandmasterOf(facts)
    if (!own?.is_self || this.#state === 'master') return
    if (this.#event('elected') !== 'master') return
    this.#named = own
    this.#course.forget()
    this.#course.goByTimeOfDay()
  }

  /** Discards samples when the grandmaster changes: they say nothing about another clock. */
  #measureOnly(grandmaster: string): void {
    if (this.#measured === grandmaster) return
    this.#measured = grandmaster
    if (this.#state !== 'master') this.#lose('lost')
  }

  /** Called several times a second, mostly for the same Sync. */
  #time(status: TimeStatus): void {
    this.#measureOnly(status.grandmaster)
    const { utcOffsetS } = this.#facts.now()
    if (!status.isGrandmasterElsewhere || utcOffsetS === undefined) return
    if (!this.#course.measure(status, utcOffsetS)) return
    this.#event('heard')
    const isLocked = this.#state === 'locked'
    const nearness = this.#course.aim(isLocked)
    if (nearness === 'there') {
      this.#named = grandmasterOf(this.#facts.now()) ?? this.#named
      this.#event('settled')
      return
    }
    if (nearness === 'unknown') this.#course.coast()
    if (isLocked) this.#event('lost')
  }

  #tick(): void {
    if (this.#course.isSilent()) this.#lose('lost')
    this.#course.tick()
    this.#tell()
  }

  #grandmaster(): Grandmaster | undefined {
    if (this.#state === 'locking') return grandmasterOf(this.#facts.now())
    return isLockedState(this.#state) ? this.#named : undefined
  }

  #event(event: PtpEvent): PtpState {
    const from = this.#state
    const to = nextPtpState(from, event)
    if (event === 'answered' || event === 'settled' || event === 'elected') this.#trouble = undefined
    if (to === from) return to
    this.#state = to
    this.#sinceAt = this.#options.clock.epochMs()
    const { log } = this.#options
    const isBad = to === 'holdover' || to === 'fault' || to === 'absent'
    if (isBad) log.warning('ptp', { state: to, from, why: this.#trouble ?? event })
    else log.notice('ptp', { state: to, from })
    return to
  }

  #tell(): void {
    const refClock = this.refClock()
    const steps = this.#course.steps()
    const { state } = this.#told
    if (state === this.#state && steps === this.#told.steps && isSameClock(this.#told.refClock, refClock)) return
    this.#told = { state: this.#state, refClock, steps }
    for (const listener of this.#listeners) listener()
  }

  #text(): string {
    return ptpText({
      state: this.#state,
      trouble: this.#trouble,
      domain: this.#options.domain,
      grandmaster: this.#grandmaster()?.id,
      offsetNs: this.#course.offsetNs() ?? null,
      spreadNs: this.#course.spreadNs(),
      isElsewhere: this.#facts.now().time?.isGrandmasterElsewhere === true,
    })
  }
}
