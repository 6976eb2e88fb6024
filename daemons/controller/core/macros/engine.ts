/** Runs macros: the engine that starts and queues runs, the API call, and the clean-up of interrupted runs. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Session } from '../access/accounts.ts'
import { type AuditReason, NOT_ALLOWED, type Outcome } from '../audit.ts'
import { isObject, type Json } from '../json.ts'
import type { Row } from '../site/book.ts'
import { KeptRun, runAuditFacts, viewOf } from './kept-run.ts'
import { checkedArgs, failureOf, liveDoer } from './perform.ts'
import type { MacroBook, MacroPlan } from './plan.ts'
import {
  answerOfCalled,
  type CallWish,
  calledPlan,
  type Doer,
  type Done,
  type LiveRun,
  type MacroPorts,
  type RunCall,
  type RunKeeper,
} from './ports.ts'
import { nextRunState } from './run.ts'
import { type MacroLimits, makeArgs } from './values.ts'

// The engine: admits runs by the mode of their macro and within the limits, and starts the next one when one has ended.

interface MacroEngineParts {
  book: MacroBook
  ports: MacroPorts
  limits: MacroLimits
  /** Most live runs that one user has asked for; the house's own have a limit of their own. */
  userRuns: number
}

/** The running macros of a building. Nothing is checked here: the caller must have checked permissions before. */
export class MacroEngine {
  readonly #parts: MacroEngineParts
  /** By macro, in order of arrival. */
  readonly #living = new Map<number, KeptRun[]>()
  readonly #writing = new Set<Promise<void>>()
  #count = 0
  #isStopping = false
  #holds = 0

  constructor(parts: MacroEngineParts) {
    this.#parts = parts
  }

  /**
   * Starts a run, or queues it. Its first step is taken after its row has been written to disk, never within this call.
   * @throws Fault `macro_args`; `macro_busy`, `macro_queue_full` by the mode of the macro; `macro_too_many_runs`,
   * `macro_stopping`
   */
  start(call: RunCall): LiveRun {
    return this.#start(call)
  }

  /** All live runs, including queued ones. */
  living(): LiveRun[] {
    return [...this.#living.values()].flat()
  }

  /** Admits no runs until it is let go: the controller is about to be restarted. @returns lets go, once */
  hold(): () => void {
    this.#holds++
    let isHeld = true
    return () => {
      if (isHeld) this.#holds--
      isHeld = false
    }
  }

  /** Ends all runs and admits no more. Resolves when their ends have been written. */
  async stop(): Promise<void> {
    this.#isStopping = true
    for (const run of this.living()) run.cancel('the controller stops')
    while (this.#writing.size > 0) await Promise.all(this.#writing)
  }

  #start(call: RunCall, parent?: KeptRun): KeptRun {
    const { plan } = call
    const { limits, ports, book } = this.#parts
    const args = checkedArgs(plan, call.args, limits.valueChars)
    if (parent === undefined) this.#refuseGreedy(call)
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

  /** One user must not take all runs that there may be. */
  #refuseGreedy({ caller }: RunCall): void {
    const { userRuns } = this.#parts
    if (caller === null) return
    const own = [...this.#living.values()]
      .flat()
      .filter((run) => run.root === run && run.call.caller?.userId === caller.userId)
    if (own.length >= userRuns)
      throw new Fault('macro_too_many_runs', `${own.length} runs that this user asked for live already`)
  }

  /** Applies the mode of the macro to its live runs. */
  #makeRoom(plan: MacroPlan): void {
    const { limits } = this.#parts
    if (this.#isStopping) throw new Fault('macro_stopping', 'the controller stops')
    if (this.#holds > 0) throw new Fault('macro_stopping', 'the controller is about to restart with an update')
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
    const { chain = 0, plan: requested } = run.root.call
    const running = { caller, isElevated: requested.isElevated, chain, macroId: plan.id, runId: run.id as number }
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

/** Whether a retry may help: other runs may have ended by then. */
function isTransient(thrown: unknown): boolean {
  return thrown instanceof Fault && ['macro_busy', 'macro_queue_full', 'macro_too_many_runs'].includes(thrown.code)
}

// The call of /api/control/macro, or of /api/control/command with a macro_id: its checks, its run, its answer.

interface MacroCallParts {
  book: MacroBook
  engine: Pick<MacroEngine, 'start'>
  clock: Clock
  limits: Pick<MacroLimits, 'answerMs' | 'valueChars'>
}

/**
 * @param body JSON as sent: `macro_id`, `macro` and `args`
 * @returns resolves when the run has ended, or after `answerMs` while it goes on
 */
export type RunMacro = (session: Session, body: unknown) => Promise<Outcome>

/** Faults in the call, rather than in its macro. */
const ARGS_FAULTS = ['macro_args', 'macro_value_size', 'macro_value']

/** @source document 1, POST /api/control/:action, Elevated gates; Authentication 7 and 8 */
export function createMacroCall(parts: MacroCallParts): RunMacro {
  return async (session, body) => {
    if (!session.may('macro')) return refusal(403, 'unauthorized', 'role_denied')
    if (!isObject(body)) return refusal(400, 'malformed body', 'bad_command')
    const { row, refused } = askedFor(body, parts.book)
    if (!row) return refused
    const asked = { target: `macro ${row.id}`, action: actionOf(row) }
    if (row.elevated === true && !session.isElevated)
      return { ...refusal(403, 'unauthorized', 'elevation_denied', asked.action), target: asked.target }
    const stray = Object.keys(body).filter((key) => !MACRO_KEYS.includes(key) && body[key] !== null)
    if (stray.length > 0) return { ...strayFields(stray), target: asked.target }
    const args = body.args ?? {}
    if (!isObject(args)) return invalidArgs(asked, 'args is not an object')
    const started = startedRun(parts, session, { row, args, asked })
    if ('refused' in started) return started.refused
    const { run } = started
    await endedOrDue(run, parts)
    const outcome = { body: { json: viewOf(run, session.isElevated) }, ...runAuditFacts(run, asked.action) }
    return { status: 200, target: asked.target, ...outcome, ...(run.id === null ? {} : { runId: run.id }) }
  }
}

const MACRO_KEYS = ['macro_id', 'macro', 'args']

/** Values that nobody reads would be lost in silence: they belong into args. */
function strayFields(fields: readonly string[]): Outcome {
  const message = `nobody reads this beside ${MACRO_KEYS.join(', ')}: what the macro is called with stands in args`
  const json = { error: 'unknown field', message, fields: fields.slice(0, 20).map((field) => ({ field, message })) }
  return { ...refusal(400, 'unknown field', 'bad_command'), body: { json } }
}

/** The macro that a body names; if both keys are given, both must match. Null counts as absent. */
function askedFor(body: { readonly [key: string]: Json }, book: MacroBook): { row: Row; refused?: never } | Refused {
  const id = ownOf(body, 'macro_id')
  const name = ownOf(body, 'macro')
  if (id === null && name === null) {
    const message = 'say which macro to run: macro_id is its id, macro its name'
    const fields = ['macro_id', 'macro'].map((field) => ({ field, message }))
    return {
      refused: {
        ...refusal(400, 'macro required', 'bad_target'),
        body: { json: { error: 'macro required', message, fields } },
      },
    }
  }
  const rows = [...(id === null ? [] : [book.find({ id })]), ...(name === null ? [] : [book.find({ name })])]
  const [row] = rows
  if (!row || rows.includes(undefined)) {
    const unknown = refusal(403, 'unknown macro', 'unknown_macro')
    return { refused: Number.isSafeInteger(id) ? { ...unknown, target: `macro ${id}` } : unknown }
  }
  return rows.every((other) => other?.id === row.id)
    ? { row }
    : { refused: refusal(400, 'ambiguous target', 'bad_target') }
}

interface Refused {
  row?: never
  refused: Outcome
}

function startedRun(
  { book, engine, limits }: MacroCallParts,
  session: Session,
  { row, args, asked }: { row: Row; args: { readonly [name: string]: Json }; asked: Asked },
): { run: LiveRun } | Refused {
  try {
    const plan = book.plan(row)
    return { run: engine.start({ plan, args: makeArgs(Object.entries(args), limits.valueChars), caller: session }) }
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    const { code, message } = thrown
    if (ARGS_FAULTS.includes(code)) return { refused: invalidArgs(asked, message) }
    const told = { success: false, state: 'refused', error: code }
    const json = session.isElevated ? { ...told, message } : told
    const facts = { action: asked.action, outcome: 'failed', detail: `${code}: ${message}` } as const
    return { refused: { status: 200, body: { json }, reason: null, target: asked.target, facts } }
  }
}

/**
 * Ends a run that was requested: for whoever requested it, and for elevated sessions. To others it is unknown.
 * @param body JSON as sent, with `run_id`
 */
export function createMacroCancel(engine: Pick<MacroEngine, 'living'>): (session: Session, body: unknown) => Outcome {
  return (session, body) => {
    if (!session.may('macro')) return refusal(403, 'unauthorized', 'role_denied')
    const id = isObject(body) ? ownOf(body, 'run_id') : null
    const run = engine.living().find((one) => one.id === id && one.id !== null && one.depth === 1)
    const isOwn = run?.call.caller?.userId === session.userId
    if (run === undefined || !(isOwn || session.isElevated))
      return {
        ...refusal(200, 'unknown run', 'unknown_macro', 'cancel a run'),
        body: { json: { success: false, error: 'unknown run' } },
      }
    run.cancel(`${session.username} ended it`)
    const { plan } = run.call
    const facts = { action: `cancel macro ${JSON.stringify(plan.name)}`, outcome: 'done', detail: null } as const
    const json = { success: true, run_id: run.id, state: run.state }
    return { status: 200, body: { json }, reason: null, target: `macro ${plan.id}`, facts, runId: Number(run.id) }
  }
}

/** Resolves when the run has ended, or when the answer is due anyway. */
function endedOrDue(run: LiveRun, { clock, limits }: MacroCallParts): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.after(limits.answerMs, resolve)
    run.onEnd(() => {
      timer.cancel()
      resolve()
    })
  })
}

/** What was requested, for the audit. */
interface Asked {
  target: string
  action: string
}

function actionOf({ id, name }: Row): string {
  return typeof name === 'string' ? `macro ${JSON.stringify(name)}` : `macro ${id}`
}

function refusal(status: number, error: string, reason: AuditReason, action = 'macro'): Outcome {
  const message = MESSAGES[error] ?? NOT_ALLOWED
  return { status, body: { json: { error, message } }, reason, facts: { action, outcome: 'refused', detail: null } }
}

/** The sentence beside `error`. */
const MESSAGES: Readonly<Record<string, string>> = {
  'unknown macro': 'There is no such macro, or it is disabled.',
  'malformed body': 'The body is no object.',
  'ambiguous target': 'macro_id and macro name different macros; send one of them.',
}

function invalidArgs({ target, action }: Asked, message: string): Outcome {
  const facts = { action, outcome: 'refused', detail: message } as const
  return { status: 400, body: { json: { error: 'invalid args', message } }, reason: 'bad_args', target, facts }
}

function ownOf(body: { readonly [key: string]: Json }, key: string): Json {
  return Object.hasOwn(body, key) ? (body[key] ?? null) : null
}

// Runs that were alive when the daemon was killed: their rows have no end, and get one at the next start.

/**
 * Marks runs without an end as `interrupted`. A run's row is written before its first step, so every run that may have
 * done something is covered. What it had done was only in memory and is lost: its trace is null. Call this once at
 * start, before any run is admitted.
 * @param atMs epoch ms for ended_at: the time of discovery, since the real end is unknown
 * @returns how many there were
 */
export async function tellInterrupted(keeper: RunKeeper, atMs: number): Promise<number> {
  const ids = await keeper.unended()
  const result = nextRunState('running', 'lost')
  await Promise.all(ids.map((id) => keeper.end(id, { ended_at: atMs, result, trace: null })))
  return ids.length
}
