/** What macros need from the rest of the controller, and the interface of a run. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Session } from '../access/accounts.ts'
import type { AuditReason } from '../audit.ts'
import type { Ack } from '../drivers/driver.ts'
import type { Json } from '../json.ts'
import type { Row } from '../site/book.ts'
import type { MacroTarget } from './decide.ts'
import type { MacroPlan } from './plan.ts'
import type { Answer, RunState, Trace, TraceEnd, TraceEntry } from './run.ts'
import type { MacroArgs } from './values.ts'

/** One command of a step; it is sent like a call of /api/control/command, except for the gates. */
export interface MacroOrder {
  target: MacroTarget
  verb: string
  args: Readonly<Record<string, Json>>
  /**
   * The caller who supplied the target; if an override redirects it, the new target is checked against the caller
   * again. Null if the target comes from the macro itself, or the building runs it: then nothing is checked.
   */
  caller: Session | null
}

/** An attribute by name: the controller's own if the target has no key. */
export interface AttributeRef {
  name: string
  target: MacroTarget
}

export interface AttributeReading {
  value: Json
  isSecure: boolean
}

interface MacroAttributes {
  /** Undefined if there is no such attribute. */
  read(ref: AttributeRef): AttributeReading | undefined
  /**
   * Resolves when the value is set. @throws Fault with any code; macros do not depend on a particular one
   * @param chain that of the run: triggers that this change sets off are one further
   */
  set(ref: AttributeRef, value: Json, chain: number): Promise<void>
  /** @returns ends the subscription */
  onChange(listener: () => void): () => void
}

/** The current state of zones and devices. */
export interface MacroLive {
  /** A field of the live object; null if its driver has not reported it; undefined if there is no such target. */
  read(target: MacroTarget, field: string): Json | undefined
  /** @returns ends the subscription */
  onChange(listener: () => void): () => void
}

/** Stores runs as rows of macro_run. */
export interface RunKeeper {
  /**
   * Writes a row without an end. @returns its id, once it is on disk: a run does nothing before. Rejects if writing
   * failed.
   */
  begin(run: { macro_id: number; user_id: number | null; seed: number; started_at: number }): Promise<number>
  /** Writes the end. Never rejects: the keeper reports failures itself. */
  end(id: number, end: RunEnd): Promise<void>
  /** Ids of rows without an end. */
  unended(): Promise<readonly number[]>
}

/** The columns that are set when a run is over. */
export interface RunEnd {
  ended_at: number
  result: RunState
  trace: Trace | null
}

/** Decides what is secret. */
export interface Secrets {
  /** By the words in the name of an arg, JSON key, attribute or field. */
  isSensitiveName(name: string): boolean
  /** The value with null under each sensitive key, at every depth. */
  withoutSecrets(value: Json): Json
  /** Whether a value contains a secret, under a sensitive key or in an address. */
  holdsSecret(value: Json): boolean
  /** By its name, or because an attribute of this name is flagged secure. */
  isSecretAttribute(name: string): boolean
}

/** What a macro tells people, without the secrets among its args. */
export interface Notice {
  text: string
  /** Names of users who are to get it by mail. */
  to: readonly string[]
  subject: string | null
  macroId: number
  runId: number
  /** Who called the macro; null for the building. */
  userId: number | null
}

export interface MacroPorts {
  clock: Clock
  /** 0 <= n < 1 */
  chance(): number
  /**
   * Why the caller may not command the target, with this verb if one is given, by the same checks as in
   * /api/control/command; undefined if the caller may.
   * @param session null for the building, where it runs a macro without elevation: only what is elevated is refused
   */
  refusal(session: Session | null, target: MacroTarget, verb?: string): AuditReason | undefined
  /**
   * The caller's current session: a run may outlive a role or an account. Null if the account may no longer do
   * anything.
   */
  sessionNow(session: Session): Session | null
  /** @throws Fault with a code: from a driver, or for a target that does not exist */
  dispatch(order: MacroOrder): Promise<Ack>
  attributes: MacroAttributes
  live: MacroLive
  /** @throws Fault with a code */
  notify(notice: Notice): Promise<void>
  keeper: RunKeeper
  secrets: Secrets
}

// A run, as its starter sees it.

/** What a run is started with. */
export interface RunCall {
  readonly plan: MacroPlan
  readonly args: MacroArgs
  /** The session that asked for it; null if the building did: then only elevation is checked, for supplied targets. */
  readonly caller: Session | null
  /** How many runs led to this one, each by a trigger that the one before set off; 0 if absent. */
  readonly chain?: number
}

/** What an answer reports of a called run. */
export type CalledRun = Pick<LiveRun, 'entries' | 'called'>

/** A run from its start to its end, as its starter sees it. */
export interface LiveRun {
  readonly call: RunCall
  /** 1 for the requested run, 2 for one that it called. */
  readonly depth: number
  /** Null until its row is on the disk. */
  readonly id: number | null
  readonly state: RunState
  readonly end: TraceEnd | undefined
  readonly entries: readonly TraceEntry[]
  /** The runs it called, by the number of the calling entry. */
  readonly called: ReadonlyMap<number, CalledRun>
  trace(): Trace
  /** Does nothing if the run has ended. */
  cancel(sentence: string): void
  /** Called at once if the run has already ended. */
  onEnd(listener: () => void): void
}

// Calls of one macro by another: finds the macro, checks the limits, and turns the end of that run into an answer.

/** What a macro step asks for. */
export interface CallWish {
  readonly by: { id: number } | { name: string }
  /** Whether the macro's name came from the request. */
  readonly isSupplied: boolean
  readonly args: MacroArgs
}

/** The call chain of a step, and how much of the limits it has used. */
interface CallPlace {
  readonly depth: number
  /** Number of runs called by the root run, at all levels. */
  readonly calls: number
  /** Whether a macro is in the call chain. */
  isWithin(macroId: number): boolean
  /** Whether gates apply to the caller. */
  isGated: boolean
}

/** Finds macros. */
export interface CallBook {
  find(by: { id: unknown } | { name: unknown }): Row | undefined
  plan(row: Row): MacroPlan
}

/**
 * Finds the macro to call. A macro that calls itself, directly or through others, is refused: in mode single it would
 * wait for itself, and macros have no counters that could end a recursion.
 * @throws Fault `unknown_macro`, `not_authorized`, `macro_cycle`, `macro_too_deep`, `macro_too_many_calls`; and those
 * of readPlan
 */
export function calledPlan(
  wish: CallWish,
  place: CallPlace,
  book: CallBook,
  most: { depth: number; calls: number },
): MacroPlan {
  const row = book.find(wish.by)
  if (!row) throw new Fault('unknown_macro', 'no macro has this id or name, or it is disabled')
  // The building may call elevated macros; a caller who names one must be elevated. @source document 1, Elevated gates
  if (wish.isSupplied && place.isGated && row.elevated === true)
    throw new Fault('not_authorized', 'not authorized', { details: { reason: 'elevation_denied' } })
  if (place.isWithin(row.id)) throw new Fault('macro_cycle', `macro ${row.id} would call itself`)
  if (place.depth >= most.depth) throw new Fault('macro_too_deep', `macros call macros more than ${most.depth} deep`)
  if (place.calls >= most.calls) throw new Fault('macro_too_many_calls', `a run calls more than ${most.calls} runs`)
  return book.plan(row)
}

/** Turns the end of a called run into the answer of its step. */
export function answerOfCalled(run: Pick<LiveRun, 'id' | 'state' | 'end'>): Answer {
  if (run.state === 'done') return { state: 'done', answer: { run_id: run.id } }
  const code = run.end?.code ?? `macro_${run.state}`
  const sentence = code === 'not_authorized' ? 'not authorized' : `run ${run.id} ended as ${run.state}`
  return { state: 'failed', code, sentence, final: code === 'not_authorized' }
}

// How a run reaches the world, in the running controller or in a simulation. Answers may come at once or later.

export type Done = (answer: Answer) => void

/** The environment of one run and its caller. */
export interface Doer {
  clock: Pick<Clock, 'after'>
  /** Why the caller may not reach a target it supplied; undefined for elevated callers and macros of the building. */
  refusal(target: MacroTarget, verb?: string): AuditReason | undefined
  /** Whether any gates apply to the caller. */
  isGated(): boolean
  secrets: Pick<Secrets, 'isSensitiveName' | 'withoutSecrets' | 'holdsSecret'>
  send(
    order: { target: MacroTarget; isSupplied: boolean; verb: string; args: Readonly<Record<string, Json>> },
    done: Done,
  ): void
  readAttribute(ref: AttributeRef): AttributeReading | undefined
  setAttribute(ref: AttributeRef, value: Json, done: Done): void
  readLive(target: MacroTarget, field: string): Json | undefined
  /** Called whenever something readable has changed. @returns ends the subscription */
  onChange(listener: () => void): () => void
  notify(notice: Pick<Notice, 'text' | 'to' | 'subject'>, done: Done): void
  /** @returns ends the called run */
  call(wish: CallWish, done: Done): () => void
  /** What a simulation assumes for a wait that is not met at once; if absent, it really waits. */
  assumed?: 'met' | 'expired'
}
