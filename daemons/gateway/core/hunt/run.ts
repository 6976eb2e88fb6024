/** One hunt, from start to end: it listens at each setting, and asks where nobody talks and its caller wants it to. */
import type { Clock } from '#kit/clock.ts'
import type { Fault } from '#kit/pure/fault.ts'
import type { ScanProgress } from '../bus/scan-run.ts'
import { foundAt, type HuntFinding, rankFindings, type Strange, verdictOf } from './findings.ts'
import { answerSilenceMs, type HuntLine } from './hunt-line.ts'
import { createEar, type HuntHeard, type HuntProtocol, type HuntQuestion } from './hunted.ts'
import {
  groupsAsked,
  type HuntLimits,
  type HuntPlan,
  type HuntRound,
  type HuntTry,
  huntRounds,
  questionsOf,
  sameSounding,
  settingName,
} from './plan.ts'

/** A setting is listened to no longer once so many frames were heard. */
const ENOUGH_FRAMES = 8
/** The line is listened to for so long before it is asked at the next setting: somebody may have begun to talk. */
const BEFORE_ASKING_MS = 50

/** How far a hunt is, and what it found. */
export interface HuntJob extends ScanProgress {
  protocols: readonly string[]
  ask: boolean
  /** Whom it asks; null: the usual addresses of each protocol. */
  from: number | null
  to: number | null
  phase: 'listen' | 'ask' | null
  /** What is tried: `19200 8E1`, or `19200 8E1, unit 7`. */
  current: string | null
  /** Settings that were tried, of all, in both phases; a phase that is not needed counts as done. */
  tried: number
  total: number
  etaMs: number | null
  /** The best first. */
  found: HuntFinding[]
  /** Settings that the driver refused. */
  refused: string[]
  /** What came of it, in words; null while it runs. */
  verdict: string | null
}

interface HuntRunParts {
  clock: Clock
  limits: HuntLimits
  plan: HuntPlan
  line: HuntLine
  /** Its port was in use until now. */
  isTaken: boolean
}

/** `work` resolves when it is over, and the line can be closed. */
export class HuntRun {
  readonly #parts: HuntRunParts
  readonly #startedMs: number
  readonly #startedAt: number
  #stopped: { state: 'cancelled' | 'failed'; fault?: Fault } | undefined
  #endedAt: number | undefined
  #endedMs: number | undefined
  #phase: HuntJob['phase'] = 'listen'
  #current: string | null = null
  #tried = 0
  /** What was heard, and what came after questions and was no answer, by the names of settings. */
  readonly #heard = new Map<string, Strange>()
  readonly #muddled = new Map<string, Strange>()
  /** The best first. */
  #found: HuntFinding[] = []
  readonly #refused = new Set<string>()
  /** Why it ends early of itself. */
  #cut: 'talk' | 'time' | undefined
  #questions = 0
  #listenedMs = 0
  readonly #listenedAt = new Set<string>()

  constructor(parts: HuntRunParts) {
    this.#parts = parts
    this.#startedMs = parts.clock.monotonicMs()
    this.#startedAt = parts.clock.epochMs()
  }

  /** Ends it early; `work` resolves soon after. */
  stop(state: 'cancelled' | 'failed', fault?: Fault): void {
    if (this.#stopped || this.#endedAt !== undefined) return
    this.#stopped = fault ? { state, fault } : { state }
    this.#parts.line.end()
  }

  /** @throws Fault where the line fails; `stop` tells it of that then */
  async work(): Promise<void> {
    const { clock, isTaken, limits, line } = this.#parts
    const limit = clock.after(limits.most_ms, () => {
      this.#cut = 'time'
      line.end()
    })
    try {
      // What the port asked last may still be answered, and would pass for somebody who talks.
      if (isTaken) await line.listen(limits.listen_ms, () => false)
      await this.#listen()
      if (this.#mayAsk()) await this.#ask()
    } finally {
      limit.cancel()
    }
  }

  /** The line was given back: from now on it counts as ended. */
  over(): void {
    this.#current = null
    this.#phase = null
    this.#endedAt = this.#parts.clock.epochMs()
    this.#endedMs = this.#parts.clock.monotonicMs()
  }

  view(): HuntJob {
    const { plan } = this.#parts
    const isOver = this.#endedAt !== undefined
    const fault = this.#stopped?.fault
    return {
      state: isOver ? (this.#stopped?.state ?? 'done') : 'running',
      startedAt: this.#startedAt,
      endedAt: this.#endedAt ?? null,
      fault: fault ? { code: fault.code, message: fault.message } : null,
      protocols: plan.protocols,
      ask: plan.ask,
      from: plan.units?.from ?? null,
      to: plan.units?.to ?? null,
      phase: this.#phase,
      current: this.#current,
      tried: this.#tried,
      total: triesIn(plan),
      etaMs: isOver ? null : this.#etaMs(),
      found: this.#found,
      refused: [...this.#refused],
      verdict: isOver ? this.#verdict() : null,
    }
  }

  get #isOver(): boolean {
    return this.#stopped !== undefined || this.#cut !== undefined
  }

  #verdict(): string {
    const { clock, plan } = this.#parts
    return verdictOf({
      found: this.#found,
      heard: this.#heard,
      muddled: this.#muddled,
      isQuiet: this.#isQuiet(),
      listenedMs: this.#listenedMs,
      spentMs: (this.#endedMs ?? clock.monotonicMs()) - this.#startedMs,
      settings: this.#listenedAt.size,
      questions: this.#questions,
      mayAsk: plan.ask,
      cut: this.#stopped?.state ?? this.#cut,
    })
  }

  // Listening.

  /** All settings once; then again those at which nothing was heard, if somebody talks at times. */
  async #listen(): Promise<void> {
    const { limits, plan } = this.#parts
    const silent: HuntTry[] = []
    for (const group of plan.groups) {
      for (const one of group) {
        const bytes = await this.#listenAt(one, limits.listen_ms)
        if (this.#isOver) return
        this.#tried++
        if (bytes === 0) silent.push(one)
      }
      // The other parities of this rate were heard as well, so that what fits as well is known.
      if (this.#isFound()) return
    }
    if (this.#isQuiet()) return
    for (const one of silent) {
      await this.#listenAt(one, limits.listen_most_ms)
      if (this.#isOver || this.#isFound()) return
    }
  }

  /** @returns how many bytes came; undefined if the driver refuses the setting */
  async #listenAt(one: HuntTry, limitMs: number): Promise<number | undefined> {
    const { clock, line } = this.#parts
    if (!(await this.#setTo(one))) return undefined
    const ears = one.protocols.map(([name, protocol]) => ({ name, protocol, ear: createEar(protocol.frames) }))
    let bytes = 0
    const startMs = clock.monotonicMs()
    const wrong = await line.listen(limitMs, (heard) => {
      bytes += heard.length
      for (const { ear } of ears) ear.hear(heard)
      return ears.some(({ ear }) => isEnough(ear.heard()))
    })
    this.#listenedMs += clock.monotonicMs() - startMs
    this.#listenedAt.add(settingName(one.setting))
    if (bytes > 0) note(this.#heard, settingName(one.setting), { bytes, wrong })
    const at = { setting: one.setting, also: sameSounding(one.setting) }
    for (const { ear, name, protocol } of ears) {
      ear.end()
      const { frames, isSure, units } = ear.heard()
      const facts = { how: 'heard', frames, bytes, wrong, units, isSure, gave: [] } as const
      if (frames > 0) this.#found = rankFindings([...this.#found, foundAt(at, [name, protocol], facts)])
    }
    return bytes
  }

  /** Whether nobody talks on the line: what was heard is at most the noise of a line without bias. */
  #isQuiet(): boolean {
    return [...this.#heard.values()].every(({ bytes }) => bytes <= this.#parts.limits.quiet_bytes)
  }

  #isFound(): boolean {
    return this.#found.some(({ isSure }) => isSure)
  }

  // Asking.

  #mayAsk(): boolean {
    const { plan } = this.#parts
    if (!plan.ask || this.#isOver || this.#found.length > 0) return false
    return this.#isQuiet()
  }

  async #ask(): Promise<void> {
    const { plan } = this.#parts
    this.#phase = 'ask'
    this.#tried = plan.groups.flat().length
    for (const round of huntRounds) {
      for (const group of groupsAsked(plan, round)) {
        for (const one of group) {
          if (!(await this.#askAt(one, round)) || this.#isOver) return
          this.#tried++
        }
        if (this.#isFound()) return
      }
      // What may be chance is something to begin with: the verdict says how to go on.
      if (this.#found.length > 0) return
    }
  }

  /** @returns false if somebody has begun to talk, so that nothing more is sent */
  async #askAt(one: HuntTry, round: HuntRound): Promise<boolean> {
    const { limits, plan } = this.#parts
    if (!(await this.#setTo(one))) return true
    if (await this.#hearsTalk(BEFORE_ASKING_MS)) return false
    let isClean = true
    for (const known of one.protocols)
      for (const question of questionsOf(plan, known[1], round)) {
        if (this.#isOver) return true
        const strangeBytes = await this.#askOne(one, known, question)
        // What is no answer may be somebody who talks at another rate.
        if (isClean && strangeBytes > 0 && (await this.#hearsTalk(limits.listen_ms))) return false
        isClean &&= strangeBytes === 0
      }
    return true
  }

  async #hearsTalk(limitMs: number): Promise<boolean> {
    const { limits, line } = this.#parts
    let bytes = 0
    await line.listen(limitMs, (heard) => {
      bytes += heard.length
      return bytes > limits.quiet_bytes
    })
    if (bytes > limits.quiet_bytes) this.#cut = 'talk'
    return bytes > limits.quiet_bytes
  }

  /** @returns how many bytes came that were no answer */
  async #askOne({ setting }: HuntTry, known: readonly [string, HuntProtocol], question: HuntQuestion): Promise<number> {
    const { limits, line } = this.#parts
    const name = settingName(setting)
    this.#current = `${name}, ${question.to}`
    this.#questions++
    const withinMs = limits.ask_ms + (known[1].asking?.slowerByMs(setting) ?? 0)
    const { answer, strangeBytes: bytes } = await line.ask(question, withinMs)
    if (bytes > 0) note(this.#muddled, name, { bytes, wrong: null })
    if (!answer) return bytes
    const before = this.#found.find((one) => one.protocol === known[0] && one.line === setting)
    const units = [...new Set([...(before?.units ?? []), ...(answer.unit === undefined ? [] : [answer.unit])])].sort(
      (a, b) => a - b,
    )
    const gave = [...new Set([...(before?.gave ?? []), ...(answer.gave === undefined ? [] : [answer.gave])])]
    const facts = { how: 'answered', frames: (before?.frames ?? 0) + 1, bytes: 0, wrong: null, units, gave } as const
    const isSure = answer.isSure || (before?.isSure ?? false)
    const finding = foundAt({ setting, also: sameSounding(setting) }, known, { ...facts, isSure })
    this.#found = rankFindings([...this.#found.filter((one) => one !== before), finding])
    return 0
  }

  /** @returns false if the driver refuses it */
  async #setTo({ setting }: HuntTry): Promise<boolean> {
    this.#current = settingName(setting)
    const refused = await this.#parts.line.set(setting)
    if (refused) this.#refused.add(this.#current)
    return refused === undefined
  }

  /** What is left, if nothing is found before. */
  #etaMs(): number {
    const { clock, limits, plan } = this.#parts
    const left = plannedMs(plan, limits) - (clock.monotonicMs() - this.#startedMs)
    const settings = triesIn(plan) - this.#tried
    return Math.round(Math.max(settings > 0 ? limits.listen_ms : 0, left))
  }
}

/** How often a setting is tried in all phases and rounds. */
function triesIn(plan: HuntPlan): number {
  const asked = plan.ask ? huntRounds.flatMap((round) => groupsAsked(plan, round).flat()) : []
  return plan.groups.flat().length + asked.length
}

function isEnough({ frames, isSure }: HuntHeard): boolean {
  return isSure && frames >= ENOUGH_FRAMES
}

/** How long a hunt takes where nothing is found: once through all settings, and the questions at each. */
export function plannedMs(plan: HuntPlan, limits: HuntLimits): number {
  const listenMs = plan.groups.flat().length * limits.listen_ms
  if (!plan.ask) return listenMs
  const inRound = (round: HuntRound) =>
    groupsAsked(plan, round)
      .flat()
      .reduce((sum, one) => sum + askMs(one, round, plan, limits), 0)
  return huntRounds.reduce((sum, round) => sum + inRound(round), listenMs)
}

function askMs({ protocols, setting }: HuntTry, round: HuntRound, plan: HuntPlan, limits: HuntLimits): number {
  return protocols.reduce((sum, [, protocol]) => {
    const eachMs = limits.ask_ms + (protocol.asking?.slowerByMs(setting) ?? 0) + answerSilenceMs(setting)
    return sum + questionsOf(plan, protocol, round).length * eachMs
  }, BEFORE_ASKING_MS)
}

function note(at: Map<string, Strange>, name: string, { bytes, wrong }: Strange): void {
  const before = at.get(name)
  at.set(name, { bytes: (before?.bytes ?? 0) + bytes, wrong: wrong === null ? null : (before?.wrong ?? 0) + wrong })
}
