/** One run of a macro: its states, its trace, the order of its steps, and how it handles answers. */
import type { AuditReason } from '../audit.ts'
import type { Json } from '../json.ts'
import type { DoingStep, ParallelStep, Step, StepType } from './plan.ts'
import { jsonChars, type MacroLimits } from './values.ts'

// The states of a run: state x event -> next state.

/**
 * - `starting` its row is being written; nothing has been done yet
 * - `queued` it waits for earlier runs of its macro
 * - `running` it executes its steps
 * - `done` all steps were executed, or a stop step was reached
 * - `failed` a step failed for good, or the row could not be written
 * - `cancelled` a newer run replaced it, its calling run ended, or the daemon stopped
 * - `timed_out` it did not start, or did not end, in time
 * - `interrupted` the daemon ended during the run: found at the next start
 */
export type RunState = 'starting' | 'queued' | 'running' | 'done' | 'failed' | 'cancelled' | 'timed_out' | 'interrupted'

/**
 * - `kept` its row is on disk, and other runs come first
 * - `begun` its row is on disk, and it is its turn
 * - `finished` no step is left, or a stop step was reached
 * - `failure` a step failed for good, or its row could not be written
 * - `cancel` it is no longer wanted
 * - `expired` its time is over
 * - `lost` its row has no end, and the daemon starts
 */
export type RunEvent = 'kept' | 'begun' | 'finished' | 'failure' | 'cancel' | 'expired' | 'lost'

/** A pair that is not listed does not change the state. */
export const runStateTable: Readonly<Record<RunState, Partial<Record<RunEvent, RunState>>>> = {
  starting: { kept: 'queued', begun: 'running', failure: 'failed', cancel: 'cancelled', lost: 'interrupted' },
  queued: { begun: 'running', cancel: 'cancelled', expired: 'timed_out', lost: 'interrupted' },
  running: {
    finished: 'done',
    failure: 'failed',
    cancel: 'cancelled',
    expired: 'timed_out',
    lost: 'interrupted',
  },
  done: {},
  failed: {},
  cancelled: {},
  timed_out: {},
  interrupted: {},
}

/** @returns the state after the event; unchanged if the table has no such pair */
export function nextRunState(state: RunState, event: RunEvent): RunState {
  return runStateTable[state][event] ?? state
}

/** Whether this is a final state. */
export function isOver(state: RunState): boolean {
  return Object.keys(runStateTable[state]).length === 0
}

// Randomness: drawn once as the seed of a run, so that a step gets the same chance whenever it asks.

/** A 32-bit seed, from a chance of 0 <= n < 1. */
export function drawSeed(chance: number): number {
  return Math.floor(chance * 2 ** 32) >>> 0
}

/**
 * The chance of the n-th entry of a run, 0 <= chance < 1. It depends only on the seed and the number: a step that is
 * left out in a replay does not change the chance of any other.
 * @source splitmix32, the finalizer of MurmurHash3
 */
export function chanceOf(seed: number, n: number): number {
  let bits = (seed + Math.imul(n + 1, 0x9e3779b9)) >>> 0
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32
}

// The trace: enough to see why each step did what it did, and to replay it exactly. Never contains a secret.

/** The result of one attempt at a step. */
export type Answer =
  | {
      readonly state: 'done'
      /** What was read or answered, if anything. */
      readonly answer?: Json
      /** Set by a condition that is not met. */
      readonly skip?: number
      /** Set by a stop step, or by a condition that is not met: the run ends with this result. */
      readonly stop?: 'done' | 'failed'
      /** What was read is secret and not in `answer`. */
      readonly withheld?: true
    }
  | {
      readonly state: 'failed'
      readonly code: string
      readonly sentence: string
      /** A retry cannot help. */
      readonly final: boolean
      /** For a step that is not authorized: the gate that refused it. */
      readonly reason?: AuditReason
    }

/** One attempt at a step, or the pause before a retry. The names are those in the column `trace`. */
export interface TraceEntry {
  /** The step's label. */
  step: string
  type: StepType | 'retry'
  /** Milliseconds since the run took its first step. */
  at: number
  /** Null while it is in progress; never null after the run has ended. */
  ended_at: number | null
  /**
   * The turn in which the answer came; null if there was none, and for a parallel step, which ends with its branches.
   */
  turn: number | null
  /** The step with its values filled in; null if they did not fit together. */
  decided: Json
  result: Answer | { state: 'cancelled' } | null
  /** A secret took part in the decision, and is null here. */
  withheld?: true
}

/** How a run ended. */
export interface TraceEnd {
  state: RunState
  at: number
  /** The turn in which it was ended from outside; null if its steps ended it. */
  turn: number | null
  code?: string
  sentence?: string
}

/** The column `trace` of macro_run. */
export interface Trace {
  version: 1
  macro: { id: number; name: string }
  /** The steps at that time, with secrets null, so that a trace can be replayed after its macro has changed. */
  plan: readonly Json[]
  /** The args of the call, with secrets null. */
  args: { readonly [name: string]: Json }
  seed: number
  /** 1 for the requested run, 2 for one that it called. */
  depth: number
  /** Epoch ms. */
  started_at: number
  limits: MacroLimits
  entries: readonly TraceEntry[]
  end: TraceEnd
}

/** Replaces a value for which there was no room. */
const CUT: Json = { cut: true }
/** Most characters of one value in a trace. */
const LONGEST_KEPT = 4096

/**
 * Keeps values while there is room. A replacement takes no room, so keeping the same values again cuts the same ones.
 * @returns the value, or its replacement
 */
export function createTraceRoom(mostChars: number): (value: Json) => Json {
  let left = mostChars
  return (value) => {
    try {
      left -= jsonChars(value, Math.min(left, LONGEST_KEPT))
      return value
    } catch {
      return CUT
    }
  }
}

/** Whether a value of a trace was cut. */
export function isCut(value: Json | undefined): boolean {
  return typeof value === 'object' && value !== null && 'cut' in value
}

// The order of steps: what follows an answer, what a failure means, when a step is retried. Uses no clock and no I/O.

/** What a list of steps wants done before it goes on. `tries` counts from 1. */
type Wish =
  | { readonly kind: 'do'; readonly step: DoingStep }
  | { readonly kind: 'pause'; readonly step: Step; readonly tries: number }
  | { readonly kind: 'fork'; readonly step: ParallelStep }

/** How a list of steps ended; `stop` ends the whole run. */
type Ending =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly failure: Answer & { state: 'failed' } }
  | { readonly kind: 'stop'; readonly as: 'done' | 'failed' }

/** A list of steps in progress: it receives the answer to each wish. */
type Walk = Generator<Wish, Ending, Answer>

function* walk(steps: readonly Step[]): Walk {
  for (let index = 0; index < steps.length; index++) {
    const step = steps[index] as Step
    const answer = yield* tried(step)
    if (answer.state === 'failed') {
      if (step.onError !== 'continue') return { kind: 'failed', failure: answer }
    } else {
      if (answer.stop) return { kind: 'stop', as: answer.stop }
      index += answer.skip ?? 0
    }
  }
  return { kind: 'done' }
}

function* tried(step: Step): Generator<Wish, Answer, Answer> {
  for (let tries = 1; ; tries++) {
    const answer = yield step.type === 'parallel' ? { kind: 'fork', step } : { kind: 'do', step }
    const isOver = answer.state === 'done' || answer.final || step.onError !== 'retry' || tries > step.retries
    if (isOver) return answer
    yield { kind: 'pause', step, tries }
  }
}

// The run: executes its steps as answers come in, and records what it did. It handles one answer at a time, at one
// instant: the same answers in the same turns at the same instants produce the same trace.

/** A request of a run; `n` counts its entries from 0. */
export type Ask =
  | { readonly kind: 'do'; readonly n: number; readonly step: DoingStep }
  | { readonly kind: 'pause'; readonly n: number; readonly waitMs: number }

/** What a run shows of a step in its trace. */
export interface Showing {
  /** Null if the values do not fit together. */
  decided(step: DoingStep, n: number): Json
  isWithheld(step: Step, n: number): boolean
}

/** What a run depends on. */
interface RunParts {
  steps: readonly Step[]
  seed: number
  limits: MacroLimits
  showing: Showing
  /** Whole milliseconds since the run began. */
  nowMs(): number
  /** Runs a callback later. */
  soon(run: () => void): void
  /**
   * The callback receives the answer once, now or later; @returns cancels the request: its answer is no longer wanted
   */
  ask(ask: Ask, answer: (answer: Answer) => void): () => void
  /** Called once, in the turn in which the run ends. */
  onEnd(): void
}

type Happening =
  | { kind: 'begin' }
  | { kind: 'answer'; n: number; answer: Answer }
  | { kind: 'end'; event: RunEvent; code: string; sentence: string }

/** A list of steps being executed; `join` is called with its ending. */
interface Walker {
  walk: Walk
  join: ((ending: Ending) => void) | null
}

/** Answers handled before the event loop gets to run: answers that come as promises would otherwise block it. */
const LONGEST_ROW = 10

export class MacroRun {
  readonly entries: TraceEntry[] = []
  #state: RunState = 'starting'
  #end: TraceEnd | undefined
  readonly #parts: RunParts
  readonly #keep: (value: Json) => Json
  readonly #inbox: Happening[] = []
  readonly #open = new Map<number, { resume(answer: Answer): void; end(): void }>()
  #isTaking = false
  #turn = 0
  #row = 0
  #nowMs = 0

  constructor(parts: RunParts) {
    this.#parts = parts
    this.#keep = createTraceRoom(parts.limits.traceChars)
  }

  get state(): RunState {
    return this.#state
  }

  /** Undefined while the run is live. */
  get end(): TraceEnd | undefined {
    return this.#end
  }

  /** Queues the run behind others. */
  wait(): void {
    this.#state = nextRunState(this.#state, 'kept')
  }

  /** Starts the run: it is its turn. */
  begin(): void {
    this.#take({ kind: 'begin' })
  }

  /** Ends the run from outside; does nothing if it has ended. `sentence` says why. */
  stop(event: 'cancel' | 'expired' | 'failure', code: string, sentence: string): void {
    this.#take({ kind: 'end', event, code, sentence })
  }

  #take(happening: Happening): void {
    this.#inbox.push(happening)
    if (!this.#isTaking) this.#takeAll()
  }

  #takeAll(): void {
    this.#isTaking = true
    while (this.#inbox.length > 0 && !isOver(this.#state)) {
      if (this.#row++ === LONGEST_ROW) {
        this.#parts.soon(() => {
          this.#row = 0
          this.#takeAll()
        })
        return
      }
      const happening = this.#inbox.shift() as Happening
      if (happening.kind === 'answer' && !this.#open.has(happening.n)) continue
      if (this.#state === 'running') this.#nowMs = this.#parts.nowMs()
      this.#handle(happening)
      this.#turn++
    }
    this.#isTaking = false
  }

  #handle(happening: Happening): void {
    if (happening.kind === 'end') this.#finish(happening.event, this.#turn, happening)
    else if (happening.kind === 'answer') this.#answered(happening.n, happening.answer)
    else if (nextRunState(this.#state, 'begun') !== this.#state) {
      this.#state = nextRunState(this.#state, 'begun')
      this.#drive({ walk: walk(this.#parts.steps), join: null })
    }
  }

  #answered(n: number, answer: Answer): void {
    const open = this.#open.get(n)
    this.#open.delete(n)
    this.#close(n, answer, this.#turn)
    open?.resume(answer)
  }

  #drive(walker: Walker, answer?: Answer): void {
    // The first call of a generator takes no value.
    const next = walker.walk.next(answer as Answer)
    if (!next.done) this.#grant(walker, next.value)
    else if (walker.join) walker.join(next.value)
    else if (next.value.kind === 'failed') this.#finish('failure', null, next.value.failure)
    else this.#finishAs(next.value.kind === 'stop' ? next.value.as : 'done')
  }

  #grant(walker: Walker, wish: Wish): void {
    const n = this.entries.length
    const { limits, showing, seed } = this.#parts
    const resume = (answer: Answer) => this.#drive(walker, answer)
    if (n >= limits.steps) {
      const sentence = `a run takes at most ${limits.steps} steps`
      this.#finish('failure', null, { code: 'macro_too_many_steps', sentence })
    } else if (wish.kind === 'fork') this.#fork(wish, resume)
    else if (wish.kind === 'pause') {
      const waitMs = pauseMs(limits, wish.tries, chanceOf(seed, n))
      this.#openEntry(wish.step, 'retry', { wait_ms: waitMs })
      this.#ask({ kind: 'pause', n, waitMs }, resume)
    } else {
      this.#openEntry(wish.step, wish.step.type, showing.decided(wish.step, n))
      this.#ask({ kind: 'do', n, step: wish.step }, resume)
    }
  }

  #openEntry(step: Step, type: TraceEntry['type'], decided: Json): void {
    const n = this.entries.length
    const entry: TraceEntry = {
      step: step.label,
      type,
      at: this.#nowMs,
      ended_at: null,
      turn: null,
      decided: this.#keep(decided),
      result: null,
    }
    if (type !== 'retry' && this.#parts.showing.isWithheld(step, n)) entry.withheld = true
    this.entries.push(entry)
  }

  #ask(ask: Ask, resume: (answer: Answer) => void): void {
    const open = { resume, end: () => {} }
    this.#open.set(ask.n, open)
    open.end = this.#parts.ask(ask, (answer) => this.#take({ kind: 'answer', n: ask.n, answer }))
  }

  #fork({ step }: Wish & { kind: 'fork' }, resume: (answer: Answer) => void): void {
    const n = this.entries.length
    this.#openEntry(step, 'parallel', { branches: step.branches.length })
    const fork = { left: step.branches.length, failure: undefined as (Answer & { state: 'failed' }) | undefined }
    const join = () => {
      const answer: Answer = fork.failure ?? { state: 'done' }
      this.#close(n, answer, null)
      resume(answer)
    }
    for (const branch of step.branches) {
      if (isOver(this.#state)) return
      this.#drive({
        walk: walk(branch),
        join: (ending) => {
          if (ending.kind === 'failed') fork.failure ??= ending.failure
          if (ending.kind === 'stop') this.#finishAs(ending.as)
          else if (--fork.left === 0) join()
        },
      })
    }
  }

  #close(n: number, answer: Answer, turn: number | null): void {
    const entry = this.entries[n] as TraceEntry
    entry.ended_at = this.#nowMs
    entry.turn = turn
    if (answer.state === 'failed') entry.result = answer
    else {
      const { withheld, ...rest } = answer
      entry.result = answer.answer === undefined ? rest : { ...rest, answer: this.#keep(answer.answer) }
      if (withheld) entry.withheld = true
    }
  }

  #finishAs(as: 'done' | 'failed'): void {
    if (as === 'done') this.#finish('finished', null)
    else this.#finish('failure', null, { code: 'macro_stopped', sentence: 'a stop step ended the run as failed' })
  }

  #finish(event: RunEvent, turn: number | null, why?: { code: string; sentence: string }): void {
    const next = nextRunState(this.#state, event)
    if (next === this.#state) return
    this.#state = next
    const open = [...this.#open.values()]
    this.#open.clear()
    for (const entry of this.entries) {
      if (entry.ended_at !== null) continue
      entry.ended_at = this.#nowMs
      entry.result = { state: 'cancelled' }
    }
    this.#end = { state: next, at: this.#nowMs, turn }
    if (why) Object.assign(this.#end, { code: why.code, sentence: why.sentence })
    for (const one of open) one.end()
    this.#parts.onEnd()
  }
}

/**
 * Exponential back-off, shortened at random by up to half, so that steps that failed together are not retried together.
 */
function pauseMs(limits: MacroLimits, tries: number, chance: number): number {
  const whole = Math.min(limits.retryMaxMs, limits.retryFirstMs * 2 ** (tries - 1))
  return Math.round(whole * (1 - chance / 2))
}
