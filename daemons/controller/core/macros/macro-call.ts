/** A call of /api/control/macro, or of /api/control/command with a macro_id: its gates, its run, its answer. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import type { AuditReason } from '../audit.ts'
import { isObject } from '../json-kind.ts'
import type { Outcome } from '../outcome.ts'
import type { Json, Row } from '../row.ts'
import type { Session } from '../session.ts'
import { makeArgs } from './args.ts'
import type { MacroEngine } from './engine.ts'
import type { MacroLimits } from './limits.ts'
import type { LiveRun } from './live-run.ts'
import type { MacroBook } from './macro-book.ts'
import { factsOf, viewOf } from './run-view.ts'

export interface MacroCallParts {
  book: MacroBook
  engine: Pick<MacroEngine, 'start'>
  clock: Clock
  limits: Pick<MacroLimits, 'answerMs' | 'valueChars'>
}

/**
 * @param body JSON as it was sent; keys beside `macro_id`, `macro` and `args` mean nothing here
 * @returns answers when the run has ended, or after `answerMs` while it goes on
 */
export type RunMacro = (session: Session, body: unknown) => Promise<Outcome>

/** Faults of a call rather than of its macro. */
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
    const args = body.args ?? {}
    if (!isObject(args)) return invalidArgs(asked, 'args is no object')
    const started = startedRun(parts, session, { row, args, asked })
    if ('refused' in started) return started.refused
    const { run } = started
    await endedOrDue(run, parts)
    const outcome = { body: { json: viewOf(run, session.isElevated) }, ...factsOf(run, asked.action) }
    return { status: 200, target: asked.target, ...outcome, ...(run.id === null ? {} : { runId: run.id }) }
  }
}

/** The macro that a body names; by both keys where it has both. Null stands for a key that is left out. */
function askedFor(body: { readonly [key: string]: Json }, book: MacroBook): { row: Row; refused?: never } | Refused {
  const id = ownOf(body, 'macro_id')
  const name = ownOf(body, 'macro')
  if (id === null && name === null) return { refused: refusal(400, 'macro required', 'bad_target') }
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

/** Resolves when the run has ended, or when it is time to answer all the same. */
function endedOrDue(run: LiveRun, { clock, limits }: MacroCallParts): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.after(limits.answerMs, resolve)
    run.onEnd(() => {
      timer.cancel()
      resolve()
    })
  })
}

/** What was asked for, for the audit. */
interface Asked {
  target: string
  action: string
}

function actionOf({ id, name }: Row): string {
  return typeof name === 'string' ? `macro ${JSON.stringify(name)}` : `macro ${id}`
}

function refusal(status: number, error: string, reason: AuditReason, action = 'macro'): Outcome {
  return { status, body: { json: { error } }, reason, facts: { action, outcome: 'refused', detail: null } }
}

function invalidArgs({ target, action }: Asked, message: string): Outcome {
  const facts = { action, outcome: 'refused', detail: message } as const
  return { status: 400, body: { json: { error: 'invalid args', message } }, reason: 'bad_args', target, facts }
}

function ownOf(body: { readonly [key: string]: Json }, key: string): Json {
  return Object.hasOwn(body, key) ? (body[key] ?? null) : null
}
