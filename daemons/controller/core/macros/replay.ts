/** Replays a run from its trace: the same steps get the recorded answers at the same instants. */
import { Fault } from '#kit/pure/fault.ts'
import { isObject, type Json } from '../json.ts'
import { decide, type Side } from './decide.ts'
import { type DoingStep, readSteps } from './plan.ts'
import type { Secrets } from './ports.ts'
import { type Answer, chanceOf, isCut, MacroRun, type Trace, type TraceEntry } from './run.ts'
import { decidedAs } from './showing.ts'
import { holds, MACRO_LIMITS, makeArgs } from './values.ts'

interface Replayed {
  trace: Trace
  /**
   * The first entry that came out differently; the number of entries if only the end did; null if everything matched.
   */
  deviatesAt: number | null
}

/**
 * Parses a trace from a file or a row.
 * @throws Fault `macro_trace` if it was not written by this version
 */
export function readTrace(json: unknown): Trace {
  if (!isObject(json) || json.version !== 1) throw new Fault('macro_trace', 'is not a trace of a run of version 1')
  const { limits, entries, plan, args, end } = json
  const isWhole = isObject(limits) && isObject(args) && isObject(end) && Array.isArray(entries) && Array.isArray(plan)
  const hasLimits = isWhole && Object.keys(MACRO_LIMITS).every((name) => typeof limits[name] === 'number')
  if (!hasLimits || !entries.every(isObject)) throw new Fault('macro_trace', 'a part of the trace is missing')
  return json as unknown as Trace
}

/**
 * Replays the run. Answers come from the trace; values and conditions are computed again, unless they depend on a
 * secret that is not in the trace.
 * @param secrets the same rules as in the run
 * @throws the same as readSteps
 */
export function replay(trace: Trace, secrets: Pick<Secrets, 'withoutSecrets'>): Replayed {
  const { limits, seed, entries, end } = trace
  const steps = readSteps(trace.plan, { ...limits, planChars: Number.MAX_SAFE_INTEGER })
  const args = makeArgs(Object.entries(trace.args), Number.MAX_SAFE_INTEGER)
  const open = new Map<number, { step: DoingStep | null; done(answer: Answer): void }>()
  let nowMs = 0
  const run = new MacroRun({
    steps,
    seed,
    limits,
    showing: {
      decided: (step, n) => decidedAs(step, { args, n, seed, limits, secrets }),
      isWithheld: (_, n) => entries[n]?.withheld === true,
    },
    nowMs: () => nowMs,
    soon: (run) => run(),
    ask(ask, done) {
      open.set(ask.n, { step: ask.kind === 'do' ? ask.step : null, done })
      return () => open.delete(ask.n)
    },
    onEnd: () => {},
  })
  if (end.state === 'timed_out') run.wait()
  if (end.turn !== 0) run.begin()
  for (const { n, entry } of inTurns(entries)) {
    const asked = open.get(n)
    nowMs = entry.ended_at as number
    const { result } = entry
    if (!asked || result === null || result.state === 'cancelled') continue
    const chance = () => chanceOf(seed, n)
    const decideAgain = () => decide(asked.step as DoingStep, { args, limits, chance })
    asked.done(asked.step?.type === 'condition' ? judgedAgain(entry, result, decideAgain) : result)
  }
  nowMs = end.at
  if (end.turn !== null && run.end === undefined) run.stop(eventOf(end.state), end.code ?? '', end.sentence ?? '')
  const again = { ...trace, entries: run.entries, end: run.end ?? { state: run.state, at: nowMs, turn: null } }
  return { trace: again, deviatesAt: deviationOf(trace, again) }
}

/** The recorded answers, in the order in which the run took them. */
function inTurns(entries: readonly TraceEntry[]): { n: number; entry: TraceEntry }[] {
  const answered = entries.map((entry, n) => ({ n, entry })).filter(({ entry }) => entry.turn !== null)
  return answered.sort((one, other) => (one.entry.turn as number) - (other.entry.turn as number))
}

/** Evaluates a condition again with the values it read then. */
function judgedAgain(entry: TraceEntry, result: Answer, decideAgain: () => ReturnType<typeof decide>): Answer {
  if (entry.withheld || result.state === 'failed' || isCut(result.answer) || !isObject(result.answer)) return result
  const decided = decideAgain()
  if (decided.type !== 'condition') return result
  const read = result.answer
  const { left, op, right } = decided.test
  const isMet = holds(valueOfSide(left, read.left), op, valueOfSide(right, read.right))
  const answer: Answer = { state: 'done', answer: { ...read, holds: isMet } }
  if (isMet) return answer
  return decided.skip === 'stop' ? { ...answer, stop: 'done' } : { ...answer, skip: decided.skip }
}

function valueOfSide(side: Side, read: Json | undefined): Json {
  return side.kind === 'value' ? side.value : (read ?? null)
}

function eventOf(state: Trace['end']['state']): 'cancel' | 'expired' | 'failure' {
  if (state === 'cancelled') return 'cancel'
  return state === 'timed_out' ? 'expired' : 'failure'
}

function deviationOf(trace: Trace, again: Trace): number | null {
  const { length } = trace.entries
  for (let n = 0; n < Math.max(length, again.entries.length); n++)
    if (!isSame(trace.entries[n], again.entries[n])) return n
  return isSame(trace.end, again.end) ? null : length
}

/** Compares as JSON, ignoring the order of keys. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one, inOrder) === JSON.stringify(other, inOrder)
}

function inOrder(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
}
