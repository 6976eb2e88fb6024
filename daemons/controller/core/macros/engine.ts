/** Lets runs in, by the mode of their macro and within the bounds, and lets the next one in when one has ended. */
import { Fault } from '#kit/fault.ts'
import { answerOfCalled, type CallWish, calledPlan } from './call-step.ts'
import type { Doer, Done } from './doer.ts'
import { KeptRun } from './kept-run.ts'
import type { MacroLimits } from './limits.ts'
import { checkedArgs, liveDoer } from './live-doer.ts'
import type { LiveRun, RunCall } from './live-run.ts'
import type { MacroBook } from './macro-book.ts'
import { failureOf } from './perform.ts'
import type { MacroPlan } from './plan.ts'
import type { MacroPorts } from './ports.ts'

export interface MacroEngineParts {
  book: MacroBook
  ports: MacroPorts
  limits: MacroLimits
}

/** The macros of a building, running. Whoever has asked whether they may starts them here: no gate stands before it. */
export class MacroEngine {
  readonly #parts: MacroEngineParts
  /** By macro, in the order they came. */
  readonly #living = new Map<number, KeptRun[]>()
  readonly #writing = new Set<Promise<void>>()
  #count = 0
  #isStopping = false

  constructor(parts: MacroEngineParts) {
    this.#parts = parts
  }

  /**
   * Starts a run, or lets it wait. Its first step is taken once its row is on the disk, never within this call.
   * @throws Fault `macro_args`; `macro_busy`, `macro_queue_full` by the mode of the macro; `macro_too_many_runs`,
   *   `macro_stopping`
   */
  start(call: RunCall): LiveRun {
    return this.#start(call)
  }

  /** Runs that live, waiting ones among them. */
  living(): LiveRun[] {
    return [...this.#living.values()].flat()
  }

  /** Ends all runs and lets none in. Resolves when their ends are written. */
  async stop(): Promise<void> {
    this.#isStopping = true
    for (const run of this.living()) run.cancel('the controller stops')
    while (this.#writing.size > 0) await Promise.all(this.#writing)
  }

  #start(call: RunCall, parent?: KeptRun): KeptRun {
    const { plan } = call
    const { limits, ports, book } = this.#parts
    const args = checkedArgs(plan, call.args, limits.valueChars)
    this.#makeRoom(plan)
    const run = new KeptRun({ ...call, args }, parent, {
      book,
      ports,
      limits,
      doerOf: (of, n) => this.#doerOf(of, n),
      onKept: (of) => (this.#isTurnOf(of) ? of.begin() : of.wait()),
      onEnd: (of) => this.#letOut(of),
    })
    this.#living.set(plan.id, [...(this.#living.get(plan.id) ?? []), run])
    this.#count++
    const kept = run.keep().finally(() => this.#writing.delete(kept))
    this.#writing.add(kept)
    return run
  }

  /** What the mode of a macro means for runs of it that live. */
  #makeRoom(plan: MacroPlan): void {
    const { limits } = this.#parts
    if (this.#isStopping) throw new Fault('macro_stopping', 'the controller stops')
    const others = this.#living.get(plan.id) ?? []
    if (plan.mode === 'single' && others.length > 0) throw new Fault('macro_busy', 'the macro is running already')
    if (plan.mode === 'parallel' && others.length >= plan.maxRuns)
      throw new Fault('macro_busy', `the macro is running ${others.length} times already`)
    if (plan.mode === 'queued' && others.length >= plan.maxRuns)
      throw new Fault('macro_queue_full', `${others.length} runs of the macro live already`)
    if (plan.mode === 'restart') for (const other of [...others]) other.cancel('a newer run took its place')
    if (this.#count >= limits.runs) throw new Fault('macro_too_many_runs', `${this.#count} runs live already`)
  }

  #isTurnOf(run: KeptRun): boolean {
    return run.call.plan.mode !== 'queued' || this.#living.get(run.call.plan.id)?.[0] === run
  }

  #letOut(run: KeptRun): void {
    const { id } = run.call.plan
    const others = (this.#living.get(id) ?? []).filter((other) => other !== run)
    this.#count--
    if (others.length > 0) this.#living.set(id, others)
    else this.#living.delete(id)
    const [next] = others
    if (next?.state === 'queued') next.begin()
  }

  #doerOf(run: KeptRun, n: number): Doer {
    const { caller, plan } = run.call
    const running = { caller, macroId: plan.id, runId: run.id as number }
    const doer: Doer = liveDoer(this.#parts.ports, running, (wish, done) => this.#call({ run, n, doer }, wish, done))
    return doer
  }

  #call({ run, n, doer }: { run: KeptRun; n: number; doer: Doer }, wish: CallWish, done: Done): () => void {
    const { root } = run
    const isWithin = (macroId: number) => run.isWithin(macroId)
    const place = { depth: run.depth, calls: root.calls, isWithin, isGated: doer.isGated() }
    try {
      const plan = calledPlan(wish, place, this.#parts.book, this.#parts.limits)
      const called = this.#start({ plan, args: wish.args, caller: run.call.caller }, run)
      root.calls++
      run.called.set(n, called)
      called.onEnd(() => {
        run.endedCall(n, called)
        done(answerOfCalled(called))
      })
      return () => called.cancel('the run that called it ended')
    } catch (thrown) {
      done(failureOf(thrown, !isTransient(thrown)))
      return () => {}
    }
  }
}

/** Whether trying again may help: others may have ended by then. */
function isTransient(thrown: unknown): boolean {
  return thrown instanceof Fault && ['macro_busy', 'macro_queue_full', 'macro_too_many_runs'].includes(thrown.code)
}
