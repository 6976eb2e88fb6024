/** What macros need of the rest of the controller, and what a run is to whoever started it. */
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

/** One command of a step, to be sent as a call of /api/control/command is, gates apart. */
export interface MacroOrder {
  target: MacroTarget
  verb: string
  args: Readonly<Record<string, Json>>
  /**
   * Who supplied the target; where it is then re-targeted, it is checked against them again. Null where the target stands
   * in the macro, or the house runs it: nothing is checked.
   */
  caller: Session | null
}

/** An attribute by its name: the controller's own where the target has no key. */
export interface AttributeRef {
  name: string
  target: MacroTarget
}

export interface AttributeReading {
  value: Json
  isSecure: boolean
}

interface MacroAttributes {
  /** Undefined where no such attribute is. */
  read(ref: AttributeRef): AttributeReading | undefined
  /** Resolves when it has the value. @throws Fault with a code; there is none that macros count on */
  set(ref: AttributeRef, value: Json): Promise<void>
  /** @returns ends it */
  onChange(listener: () => void): () => void
}

/** What zones and devices do now. */
export interface MacroLive {
  /** A field of the live object; null where its driver has not reported it; undefined where no such target is. */
  read(target: MacroTarget, field: string): Json | undefined
  /** @returns ends it */
  onChange(listener: () => void): () => void
}

/** Where runs are kept: rows of macro_run. */
export interface RunKeeper {
  /** Writes a row without an end. @returns its id, once it is on the disk: nothing is done before. Rejects where it is not. */
  begin(run: { macro_id: number; user_id: number | null; seed: number; started_at: number }): Promise<number>
  /** Gives it its end. Never rejects: who keeps runs says itself when that fails. */
  end(id: number, end: RunEnd): Promise<void>
  /** Ids of rows without an end. */
  unended(): Promise<readonly number[]>
}

/** The columns that a run has when it is over. */
export interface RunEnd {
  ended_at: number
  result: RunState
  trace: Trace | null
}

/** What counts as secret. */
export interface Secrets {
  /** By the words of a name: args, JSON keys, attributes, fields. */
  isSensitiveName(name: string): boolean
  /** The value with null under each sensitive key, at every depth. */
  withoutSecrets(value: Json): Json
  /** Whether something inside a value is not for who is not elevated: under a sensitive key, or in an address. */
  holdsSecret(value: Json): boolean
  /** By its name, or because an attribute of this name is flagged secure. */
  isSecretAttribute(name: string): boolean
}

export interface MacroPorts {
  clock: Clock
  /** 0 <= n < 1 */
  chance(): number
  /**
   * Why the caller may not command the target, with this verb where there is one, by every check that
   * /api/control/command makes of it; undefined where they may.
   */
  refusal(session: Session, target: MacroTarget, verb?: string): AuditReason | undefined
  /** The caller as they are now: a run may outlive a role or an account. Null where the account may do nothing any more. */
  sessionNow(session: Session): Session | null
  /** @throws Fault with a code: of the drivers, or of a target that is not there */
  dispatch(order: MacroOrder): Promise<Ack>
  attributes: MacroAttributes
  live: MacroLive
  /** @param notice its text without the secrets among the args. @throws Fault with a code */
  notify(notice: { text: string; macroId: number; runId: number; userId: number | null }): Promise<void>
  keeper: RunKeeper
  secrets: Secrets
}

// A run, as those see it who started it.

/** What a run is started with. */
export interface RunCall {
  readonly plan: MacroPlan
  readonly args: MacroArgs
  /** Who asked for it; null where the house did: nothing is then checked against anybody. */
  readonly caller: Session | null
}

/** What an answer tells of a run that another one called. */
export type CalledRun = Pick<LiveRun, 'entries' | 'called'>

/** A run from its start to its end, as those see it who started it. */
export interface LiveRun {
  readonly call: RunCall
  /** 1 for one that was asked for, 2 for one that it called. */
  readonly depth: number
  /** Null until its row is on the disk. */
  readonly id: number | null
  readonly state: RunState
  readonly end: TraceEnd | undefined
  readonly entries: readonly TraceEntry[]
  /** Runs it called, by the number of the entry that did. */
  readonly called: ReadonlyMap<number, CalledRun>
  trace(): Trace
  /** Does nothing where it has ended. */
  cancel(sentence: string): void
  /** Told at once where it has ended. */
  onEnd(listener: () => void): void
}

// A call of one macro by another: finds the macro, checks the bounds of calls, and makes the end of that run an answer.

/** What a macro step asks for. */
export interface CallWish {
  readonly by: { id: number } | { name: string }
  /** The request named the macro. */
  readonly isSupplied: boolean
  readonly args: MacroArgs
}

/** Macros that lead to a step, and how much of the bounds they have used. */
interface CallPlace {
  readonly depth: number
  /** Runs called by the one that was asked for, over all depths. */
  readonly calls: number
  /** Whether a macro is among those that led here. */
  isWithin(macroId: number): boolean
  /** Whether the caller is held by gates. */
  isGated: boolean
}

/** Where macros are found. */
export interface CallBook {
  find(by: { id: unknown } | { name: unknown }): Row | undefined
  plan(row: Row): MacroPlan
}

/**
 * The macro that may be called. A macro that calls itself, over however many others, is refused: as single it would wait
 * for itself, and nothing in a macro counts down.
 * @throws Fault `unknown_macro`, `not_authorized`, `macro_cycle`, `macro_too_deep`, `macro_too_many_calls`; as readPlan
 */
export function calledPlan(
  wish: CallWish,
  place: CallPlace,
  book: CallBook,
  most: { depth: number; calls: number },
): MacroPlan {
  const row = book.find(wish.by)
  if (!row) throw new Fault('unknown_macro', 'no macro has this id or name, or it is disabled')
  // The house may call what is elevated; a caller who names it must be elevated. @source document 1, Elevated gates
  if (wish.isSupplied && place.isGated && row.elevated === true)
    throw new Fault('not_authorized', 'not authorized', { details: { reason: 'elevation_denied' } })
  if (place.isWithin(row.id)) throw new Fault('macro_cycle', `macro ${row.id} would call itself`)
  if (place.depth >= most.depth) throw new Fault('macro_too_deep', `macros call macros more than ${most.depth} deep`)
  if (place.calls >= most.calls) throw new Fault('macro_too_many_calls', `a run calls more than ${most.calls} runs`)
  return book.plan(row)
}

/** The end of a run that was called, as its step's answer. */
export function answerOfCalled(run: Pick<LiveRun, 'id' | 'state' | 'end'>): Answer {
  if (run.state === 'done') return { state: 'done', answer: { run_id: run.id } }
  const code = run.end?.code ?? `macro_${run.state}`
  const sentence = code === 'not_authorized' ? 'not authorized' : `run ${run.id} ended as ${run.state}`
  return { state: 'failed', code, sentence, final: code === 'not_authorized' }
}

// How a run reaches the world, in the running controller or in a simulation. Answers may come at once or later.

export type Done = (answer: Answer) => void

/** The world of one run and its caller. */
export interface Doer {
  clock: Pick<Clock, 'after'>
  /** Why the caller may not reach what they supplied; undefined for the house itself and for who is elevated. */
  refusal(target: MacroTarget, verb?: string): AuditReason | undefined
  /** Whether the caller is held by gates at all. */
  isGated(): boolean
  secrets: Pick<Secrets, 'isSensitiveName' | 'withoutSecrets' | 'holdsSecret'>
  send(
    order: { target: MacroTarget; isSupplied: boolean; verb: string; args: Readonly<Record<string, Json>> },
    done: Done,
  ): void
  readAttribute(ref: AttributeRef): AttributeReading | undefined
  setAttribute(ref: AttributeRef, value: Json, done: Done): void
  readLive(target: MacroTarget, field: string): Json | undefined
  /** Whenever something that can be read has changed. @returns ends it */
  onChange(listener: () => void): () => void
  notify(text: string, done: Done): void
  /** @returns ends the run that was called */
  call(wish: CallWish, done: Done): () => void
  /** What becomes of a wait that does not hold at once; left out: it waits. */
  assumed?: 'met' | 'expired'
}
