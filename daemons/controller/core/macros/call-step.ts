/** A macro step: finds the macro it names, holds it to the bounds of calls, and makes the end of that run its answer. */
import { Fault } from '#kit/fault.ts'
import type { Row } from '../row.ts'
import type { MacroArgs } from './args.ts'
import type { LiveRun } from './live-run.ts'
import type { MacroPlan } from './plan.ts'
import type { Answer } from './trace.ts'

/** What a macro step asks for. */
export interface CallWish {
  readonly by: { id: number } | { name: string }
  /** The request named the macro. */
  readonly isSupplied: boolean
  readonly args: MacroArgs
}

/** Macros that lead to a step, and how much of the bounds they have used. */
export interface CallPlace {
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
