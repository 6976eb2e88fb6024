/** A run that is stored on disk: its row, its timers, its trace, and what a caller sees of it. */
import { durationText } from '#kit/pure/text.ts'
import type { AuditFacts, AuditReason } from '../audit.ts'
import { sayCommand } from '../control/command.ts'
import { isObject, type Json, objectOf } from '../json.ts'
import { type Decided, decide } from './decide.ts'
import { failureOf, perform } from './perform.ts'
import type { CallBook, CalledRun, Doer, Done, LiveRun, MacroPorts, RunCall } from './ports.ts'
import {
  type Ask,
  chanceOf,
  createTraceRoom,
  drawSeed,
  isOver,
  MacroRun,
  type RunState,
  type Trace,
  type TraceEnd,
  type TraceEntry,
} from './run.ts'
import { type ShownStart, showingOf } from './showing.ts'
import type { MacroLimits } from './values.ts'

// What a caller sees of a run: everything in elevated sessions, else only its steps and how they ended.

type Told = { [key: string]: Json }

/** Most steps in one answer, including those of called runs. */
const MOST_TOLD = 500

/**
 * The body of an answer. A run in progress is reported without its steps.
 * @param isElevated whether the caller may read traces: a step may have seen what the caller may not
 */
export function viewOf(run: LiveRun, isElevated: boolean): Told {
  const { id, state, end } = run
  if (!end) return { success: true, run_id: id, state: state === 'queued' ? 'queued' : 'running' }
  const count = { left: MOST_TOLD }
  const told: Told = { success: state === 'done', run_id: id, state }
  if (state !== 'done') {
    told.error = errorOf(end.code ?? state)
    if (isElevated && end.sentence !== undefined) told.message = end.sentence
  }
  return { ...told, steps: stepsOf(run, isElevated, count) }
}

/** Failed steps that the audit names; the rest are only counted. */
const MOST_NAMED = 3

/** A step that failed for good, in the run or in one it called; a failure that a retry fixed does not count. */
interface FailedStep {
  said: string
  reason: AuditReason | undefined
}

/** What the audit says about a run, and the gate that refused one of its steps. */
export function runAuditFacts(run: LiveRun, action: string): { facts: AuditFacts; reason: AuditReason | null } {
  const { end } = run
  const failed = failedSteps(run)
  const reason = failed.find((step) => step.reason !== undefined)?.reason ?? null
  if (!end) return { facts: { action, outcome: 'running', detail: 'it went on when this was answered' }, reason }
  const named = failed.slice(0, MOST_NAMED).map(({ said }) => said)
  const more = failed.length > MOST_NAMED ? [`${failed.length - MOST_NAMED} more steps failed`] : []
  const why = failed.length === 0 && end.state !== 'done' ? [end.sentence ?? end.code ?? end.state] : []
  const detail = [...named, ...more, ...why].join('; ')
  const outcome = end.state !== 'done' ? 'failed' : failed.length > 0 ? 'partly' : 'done'
  return { facts: { action, outcome, detail: detail === '' ? null : detail }, reason }
}

function failedSteps(run: CalledRun): FailedStep[] {
  return failedEntries(run).flatMap(({ entry, place }) => {
    const { result } = entry
    if (result?.state !== 'failed') return []
    return [{ said: `step ${place}, ${saidOf(entry)}: ${result.sentence}`, reason: result.reason }]
  })
}

/** The failed entries, each with its place: the calling steps and its own. */
function failedEntries(run: CalledRun, before = ''): { entry: TraceEntry; place: string }[] {
  const last = new Map(run.entries.map((entry, n) => [entry.step, n]))
  return run.entries.flatMap((entry, n) => {
    const { result, type, step } = entry
    const called = run.called.get(n)
    if (type === 'retry' || type === 'parallel' || last.get(step) !== n) return []
    const inner = called === undefined ? [] : failedEntries(called, `${before}${step} > `)
    // The calling step failed because of these.
    if (inner.length > 0 || result?.state !== 'failed') return inner
    return [{ entry, place: `${before}${step}` }]
  })
}

/** Describes a step in words, from what its trace shows. */
function saidOf({ type, decided }: TraceEntry): string {
  if (type !== 'command' || !isObject(decided) || typeof decided.command !== 'string') return type
  const { zone_id, zone, device_id, device } = decided
  const place = zone ?? device
  const target = typeof place === 'string' ? JSON.stringify(place) : zone_id ? `zone ${zone_id}` : `device ${device_id}`
  return `${sayCommand(decided.command, isObject(decided.args) ? decided.args : {})} on ${target}`
}

function stepsOf(run: CalledRun, isElevated: boolean, count: { left: number }): Json[] {
  const steps: Json[] = []
  for (const [n, entry] of run.entries.entries()) {
    if (entry.type === 'retry') continue
    if (--count.left < 0) break
    const told = isElevated ? wholeOf(entry) : outlineOf(entry)
    const called = run.called.get(n)
    steps.push(called ? { ...told, steps: stepsOf(called, isElevated, count) } : told)
  }
  return steps
}

function outlineOf(entry: TraceEntry): Told {
  const told: Told = { step: entry.step, type: entry.type, state: entry.result?.state ?? 'running' }
  if (entry.result?.state === 'failed') told.error = errorOf(entry.result.code)
  return told
}

function wholeOf(entry: TraceEntry): Told {
  const told: Told = { ...outlineOf(entry), at: entry.at, ended_at: entry.ended_at, decided: entry.decided }
  if (entry.result?.state === 'failed') told.message = entry.result.sentence
  if (entry.result?.state === 'done' && entry.result.answer !== undefined) told.answer = entry.result.answer
  return told
}

/** @source document 1, POST /api/control/:action: "... is refused with `not authorized`" */
function errorOf(code: string): string {
  return code === 'not_authorized' ? 'not authorized' : code
}

// The run: its row is written before its first step, its trace when it is over.

/** What the engine gives to a run. */
interface KeptRunParts {
  book: CallBook
  ports: MacroPorts
  limits: MacroLimits
  /** Executes one entry of the run. */
  doerOf(run: KeptRun, n: number): Doer
  /** The row has been written: the engine now starts or queues the run. */
  onKept(run: KeptRun): void
  onEnd(run: KeptRun): void
}

/** Limits on what is kept of called runs after they end, besides their rows. */
interface CalledRoom {
  keep(value: Json): Json
  stepsLeft: number
}

/** Failed steps kept of a called run when room runs out, so that a failure is not reported as success. */
const MOST_FAILED = 3

/** Replaces the text of a notification of which nothing can be shown without its secrets. */
const WITHHELD = '(withheld)'

export class KeptRun implements LiveRun {
  readonly call: RunCall
  readonly depth: number
  readonly called = new Map<number, CalledRun>()
  /** Number of runs called, at all levels; counted on the root run. */
  calls = 0
  #id: number | null = null
  readonly #parent: KeptRun | undefined
  readonly #parts: KeptRunParts
  readonly #run: MacroRun
  readonly #start: ShownStart
  readonly #seed: number
  readonly #startedAt: number
  /** Room for the records of called runs, during the root run's life; shared from the root run. */
  readonly #calledRoom: CalledRoom
  #begunMs = 0
  #ending: Promise<void> | undefined
  #timer: { cancel(): void } | undefined
  readonly #endListeners: (() => void)[] = []

  /** @param parent the run whose step calls this one */
  constructor(call: RunCall, parent: KeptRun | undefined, parts: KeptRunParts) {
    const { ports, limits } = parts
    this.call = call
    this.#parent = parent
    this.depth = (parent?.depth ?? 0) + 1
    this.#parts = parts
    this.#calledRoom = parent
      ? parent.root.#calledRoom
      : { keep: createTraceRoom(limits.traceChars), stepsLeft: limits.steps }
    this.#seed = drawSeed(ports.chance())
    this.#startedAt = ports.clock.epochMs()
    this.#start = showingOf({ ...call, seed: this.#seed }, { book: parts.book, secrets: ports.secrets, limits }, limits)
    this.#run = new MacroRun({
      steps: call.plan.steps,
      seed: this.#seed,
      limits,
      showing: this.#start.showing,
      nowMs: () => Math.floor(ports.clock.monotonicMs() - this.#begunMs),
      soon: (run) => void ports.clock.soon(run),
      ask: (ask, answer) => this.#ask(ask, answer),
      onEnd: () => this.#ended(),
    })
  }

  get id(): number | null {
    return this.#id
  }

  get state(): RunState {
    return this.#run.state
  }

  get end(): TraceEnd | undefined {
    return this.#run.end
  }

  get entries(): readonly TraceEntry[] {
    return this.#run.entries
  }

  /** The run that was requested: this one, or the one at the top of its call chain. */
  get root(): KeptRun {
    let root: KeptRun = this
    while (root.#parent) root = root.#parent
    return root
  }

  /** Called when a called run has ended: keeps what an answer reports of it, as far as there is room. */
  endedCall(n: number, ended: CalledRun): void {
    const room = this.#calledRoom
    const hasRoom = ended.entries.length <= room.stepsLeft
    const entries = hasRoom ? ended.entries : failedEntries(ended).map(({ entry }) => entry)
    const told = entries.slice(0, hasRoom ? undefined : MOST_FAILED).map((entry): TraceEntry => {
      const { result } = entry
      const hasAnswer = result?.state === 'done' && result.answer !== undefined
      const kept = hasAnswer ? { ...result, answer: room.keep(result.answer as Json) } : result
      return { ...entry, decided: room.keep(entry.decided), result: kept }
    })
    if (hasRoom) room.stepsLeft -= told.length
    this.called.set(n, { entries: told, called: hasRoom ? ended.called : new Map() })
  }

  /** Whether the macro is this run's own, or one of those in its call chain. */
  isWithin(macroId: number): boolean {
    for (let run: KeptRun | undefined = this; run; run = run.#parent) if (run.call.plan.id === macroId) return true
    return false
  }

  /** Writes the row. Resolves after the run has ended and everything has been handed over for writing. */
  async keep(): Promise<void> {
    const { ports } = this.#parts
    const { plan, caller } = this.call
    try {
      this.#id = await ports.keeper.begin({
        macro_id: plan.id,
        user_id: caller?.userId ?? null,
        seed: this.#seed,
        started_at: this.#startedAt,
      })
    } catch {
      this.#run.stop('failure', 'macro_not_kept', 'the run could not be written down, so nothing was done')
      return
    }
    if (isOver(this.state)) return this.#writeEnd(this.#id)
    this.#parts.onKept(this)
    await new Promise<void>((resolve) => this.onEnd(resolve))
    await this.#ending
  }

  /** Called when it is the run's turn. */
  begin(): void {
    const { clock } = this.#parts.ports
    const { timeoutMs } = this.call.plan
    this.#timer?.cancel()
    this.#begunMs = clock.monotonicMs()
    const sentence = `the run did not end within ${durationText(timeoutMs)}`
    this.#timer = clock.after(timeoutMs, () => this.#run.stop('expired', 'macro_timed_out', sentence))
    this.#run.begin()
  }

  /** Queues the run behind others. */
  wait(): void {
    const { ports, limits } = this.#parts
    this.#run.wait()
    const sentence = `the run had no turn within ${durationText(limits.queueMs)}`
    this.#timer = ports.clock.after(limits.queueMs, () => this.#run.stop('expired', 'macro_no_turn', sentence))
  }

  cancel(sentence: string): void {
    this.#run.stop('cancel', 'macro_cancelled', sentence)
  }

  onEnd(listener: () => void): void {
    if (this.end) listener()
    else this.#endListeners.push(listener)
  }

  trace(): Trace {
    const { plan } = this.call
    return {
      version: 1,
      macro: { id: plan.id, name: plan.name },
      plan: this.#start.plan,
      args: objectOf(this.#start.args.values),
      seed: this.#seed,
      depth: this.depth,
      started_at: this.#startedAt,
      limits: this.#parts.limits,
      entries: this.#run.entries,
      end: this.#run.end ?? { state: this.state, at: 0, turn: null },
    }
  }

  #ask(ask: Ask, done: Done): () => void {
    const { clock } = this.#parts.ports
    if (ask.kind === 'pause') {
      const timer = clock.after(ask.waitMs, () => done({ state: 'done' }))
      return () => timer.cancel()
    }
    try {
      const chance = () => chanceOf(this.#seed, ask.n)
      const decided = decide(ask.step, { args: this.#start.calledWith, limits: this.#parts.limits, chance })
      return perform(this.#withoutSecrets(decided, ask), this.#parts.doerOf(this, ask.n), done)
    } catch (thrown) {
      done(failureOf(thrown, true))
      return () => {}
    }
  }

  /** A notification is stored and mailed where its trace is not, so it contains only what the trace shows. */
  #withoutSecrets(decided: Decided, { step, n }: Ask & { kind: 'do' }): Decided {
    if (decided.type !== 'notify') return decided
    const shown = this.#start.showing.decided(step, n)
    const { text, subject } = isObject(shown) ? shown : {}
    return {
      ...decided,
      text: typeof text === 'string' ? text : WITHHELD,
      subject: typeof subject === 'string' ? subject : null,
    }
  }

  #ended(): void {
    this.#timer?.cancel()
    if (this.#id !== null) this.#ending = this.#writeEnd(this.#id)
    this.#parts.onEnd(this)
    for (const listener of this.#endListeners.splice(0)) listener()
  }

  #writeEnd(id: number): Promise<void> {
    const { keeper, clock } = this.#parts.ports
    return keeper.end(id, { ended_at: clock.epochMs(), result: this.state, trace: this.trace() })
  }
}
