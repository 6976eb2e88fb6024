/**
 * One run of a macro: goes through its steps as the world answers, and writes down what it did. It takes one answer at a
 * time, at one instant; so the same answers in the same turns at the same instants make the same trace.
 */
import type { Json } from '../row.ts'
import { chanceOf } from './chance.ts'
import type { MacroLimits } from './limits.ts'
import { isOver, nextRunState, type RunEvent, type RunState } from './run-state-table.ts'
import type { DoingStep, Step } from './step.ts'
import { type Answer, createTraceRoom, type TraceEnd, type TraceEntry } from './trace.ts'
import { type Ending, type Walk, type Wish, walk } from './walk.ts'

/** What a run asks of the world; `n` counts its entries from 0. */
export type Ask =
  | { readonly kind: 'do'; readonly n: number; readonly step: DoingStep }
  | { readonly kind: 'pause'; readonly n: number; readonly waitMs: number }

/** What a run shows of a step in its trace. */
export interface Showing {
  /** Null where the values do not fit together. */
  decided(step: DoingStep, n: number): Json
  isWithheld(step: Step, n: number): boolean
}

/** What a run needs. */
export interface RunParts {
  steps: readonly Step[]
  seed: number
  limits: MacroLimits
  showing: Showing
  /** Whole milliseconds since the run began. */
  nowMs(): number
  /** Runs later what need not be now. */
  soon(run: () => void): void
  /** Is told the answer once, now or later; @returns ends it: no answer is wanted any more */
  ask(ask: Ask, answer: (answer: Answer) => void): () => void
  /** Once, in the turn in which it ends. */
  onEnd(): void
}

type Happening =
  | { kind: 'begin' }
  | { kind: 'answer'; n: number; answer: Answer }
  | { kind: 'end'; event: RunEvent; code: string; sentence: string }

/** A list of steps that is being walked; `join` is told how it ended. */
interface Walker {
  walk: Walk
  join: ((ending: Ending) => void) | null
}

/** Answers taken before others of the process have their turn: those that come as promises let nobody else in. */
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

  /** Undefined while it lives. */
  get end(): TraceEnd | undefined {
    return this.#end
  }

  /** Others are before it. */
  wait(): void {
    this.#state = nextRunState(this.#state, 'kept')
  }

  /** It is its turn. */
  begin(): void {
    this.#take({ kind: 'begin' })
  }

  /** Ends it from outside; does nothing where it has ended. `sentence` says why. */
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

/** Doubles with each try, and is up to a half shorter by chance, so that what failed together is not tried together. */
function pauseMs(limits: MacroLimits, tries: number, chance: number): number {
  const whole = Math.min(limits.retryMaxMs, limits.retryFirstMs * 2 ** (tries - 1))
  return Math.round(whole * (1 - chance / 2))
}
