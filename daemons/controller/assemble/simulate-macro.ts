/** One macro of a site simulated, and told in lines. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import { resolveTarget } from '../core/control/target.ts'
import { isObject } from '../core/json-kind.ts'
import { type MacroArgs, makeArgs } from '../core/macros/args.ts'
import { readAttribute, secretsOf } from '../core/macros/book-attributes.ts'
import type { MacroLimits } from '../core/macros/limits.ts'
import { createMacroBook, type MacroBook } from '../core/macros/macro-book.ts'
import { type Sent, type Simulation, simulate } from '../core/macros/simulate.ts'
import type { Book, Json, Row } from '../core/row.ts'

/** What is simulated. */
export interface SimulationWish {
  /** Its name, or its id in digits. */
  macro: string
  /** An object as JSON text. */
  args: string
  waits: 'met' | 'expired'
}

/**
 * @returns lines to print, and whether the run would end as done
 * @throws Fault `unknown_macro`, `macro_args`, and as `readPlan`
 */
export function simulateMacro(
  book: Book,
  { macro, args: text, waits }: SimulationWish,
  { limits, clock }: { limits: MacroLimits; clock: Clock },
): { text: string; isDone: boolean } {
  const macros = createMacroBook(book, limits)
  const plan = macros.plan(found(macros, macro))
  const simulation = simulate(plan, readArgs(text, limits), {
    book: macros,
    attributes: { read: (ref) => readAttribute(book, ref) },
    // Nothing is heard of devices here.
    live: { read: (target) => ('fault' in resolveTarget(book, target) ? undefined : null) },
    secrets: secretsOf(book),
    limits,
    seed: 1,
    startedAt: clock.epochMs(),
    waits,
  })
  return { text: linesOf(plan.name, simulation), isDone: simulation.state === 'done' }
}

function found(macros: MacroBook, said: string): Row {
  const row = macros.find({ name: said }) ?? (/^\d+$/.test(said) ? macros.find({ id: Number(said) }) : undefined)
  if (row === undefined) throw new Fault('unknown_macro', 'no macro has this name or id, or it is disabled')
  return row
}

function readArgs(text: string, { valueChars }: MacroLimits): MacroArgs {
  let args: Json
  try {
    args = JSON.parse(text) as Json
  } catch (cause) {
    throw new Fault('macro_args', '--args is no JSON, expected an object such as {"level": 40}', { cause })
  }
  if (!isObject(args)) throw new Fault('macro_args', '--args is no object, expected one such as {"level": 40}')
  return makeArgs(Object.entries(args), valueChars)
}

function linesOf(name: string, { sent, trace }: Simulation): string {
  const { state, at, code, sentence } = trace.end
  const why = code === undefined ? '' : `: ${code}${sentence === undefined ? '' : `, ${sentence}`}`
  const head = sent.length === 0 ? `${name} would send nothing.` : `${name} would send:`
  return `${[head, ...sent.map((one) => lineOf(one, name)), `It would end after ${seconds(at)} as ${state}${why}.`].join('\n')}\n`
}

function lineOf({ at, macro, step, type, what }: Sent, name: string): string {
  const place = macro === name ? `step ${step}` : `${macro}, step ${step}`
  return `  ${seconds(at).padStart(10)}  ${place}: ${type} ${JSON.stringify(what)}`
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3)} s`
}
