/** What a caller is told of a run: everything where they are elevated, else which steps there were and how they ended. */
import type { AuditFacts, AuditReason } from '../audit.ts'
import { sayCommand } from '../control/say-command.ts'
import { isObject } from '../json-kind.ts'
import type { Json } from '../row.ts'
import type { CalledRun, LiveRun } from './live-run.ts'
import type { TraceEntry } from './trace.ts'

type Told = { [key: string]: Json }

/** Steps that one answer tells of, those of called runs among them. */
const MOST_TOLD = 500

/**
 * The body of an answer. A run that goes on is told without its steps.
 * @param isElevated whether the caller may read traces: what a step saw may be what they may not see
 */
export function viewOf(run: LiveRun, isElevated: boolean): Told {
  const { id, state, end } = run
  if (!end) return { success: true, run_id: id, state: state === 'queued' ? 'queued' : 'running' }
  const count = { left: MOST_TOLD }
  const told: Told = { success: state === 'done', run_id: id, state }
  if (state !== 'done') {
    told.error = errorOf(end.code ?? state)
    if (isElevated && end.sentence !== undefined) told.message = end.sentence
  }
  return { ...told, steps: stepsOf(run, isElevated, count) }
}

/** Steps of a run that the audit names; of more it has the number. */
const MOST_NAMED = 3

/** A step that failed for good, of the run or of one that it called: what a retry made good is none. */
interface FailedStep {
  said: string
  reason: AuditReason | undefined
}

/** What the audit says of a run, and the gate by which a step of it was refused. */
export function factsOf(run: LiveRun, action: string): { facts: AuditFacts; reason: AuditReason | null } {
  const { end } = run
  const failed = failedSteps(run)
  const reason = failed.find((step) => step.reason !== undefined)?.reason ?? null
  if (!end) return { facts: { action, outcome: 'running', detail: 'it went on when this was answered' }, reason }
  const named = failed.slice(0, MOST_NAMED).map(({ said }) => said)
  const more = failed.length > MOST_NAMED ? [`${failed.length - MOST_NAMED} more steps failed`] : []
  const why = failed.length === 0 && end.state !== 'done' ? [end.sentence ?? end.code ?? end.state] : []
  const detail = [...named, ...more, ...why].join('; ')
  const outcome = end.state !== 'done' ? 'failed' : failed.length > 0 ? 'partly' : 'done'
  return { facts: { action, outcome, detail: detail === '' ? null : detail }, reason }
}

function failedSteps(run: CalledRun): FailedStep[] {
  return failedEntries(run).flatMap(({ entry, place }) => {
    const { result } = entry
    if (result?.state !== 'failed') return []
    return [{ said: `step ${place}, ${saidOf(entry)}: ${result.sentence}`, reason: result.reason }]
  })
}

/** Each with its place: the steps that led to it, and its own. */
export function failedEntries(run: CalledRun, before = ''): { entry: TraceEntry; place: string }[] {
  const last = new Map(run.entries.map((entry, n) => [entry.step, n]))
  return run.entries.flatMap((entry, n) => {
    const { result, type, step } = entry
    const called = run.called.get(n)
    if (type === 'retry' || type === 'parallel' || last.get(step) !== n) return []
    const inner = called === undefined ? [] : failedEntries(called, `${before}${step} > `)
    // The step that called it failed by these.
    if (inner.length > 0 || result?.state !== 'failed') return inner
    return [{ entry, place: `${before}${step}` }]
  })
}

/** A step in words, of what its trace shows of it. */
function saidOf({ type, decided }: TraceEntry): string {
  if (type !== 'command' || !isObject(decided) || typeof decided.command !== 'string') return type
  const { zone_id, zone, device_id, device } = decided
  const place = zone ?? device
  const target = typeof place === 'string' ? JSON.stringify(place) : zone_id ? `zone ${zone_id}` : `device ${device_id}`
  return `${sayCommand(decided.command, isObject(decided.args) ? decided.args : {})} on ${target}`
}

function stepsOf(run: CalledRun, isElevated: boolean, count: { left: number }): Json[] {
  const steps: Json[] = []
  for (const [n, entry] of run.entries.entries()) {
    if (entry.type === 'retry') continue
    if (--count.left < 0) break
    const told = isElevated ? wholeOf(entry) : outlineOf(entry)
    const called = run.called.get(n)
    steps.push(called ? { ...told, steps: stepsOf(called, isElevated, count) } : told)
  }
  return steps
}

function outlineOf(entry: TraceEntry): Told {
  const told: Told = { step: entry.step, type: entry.type, state: entry.result?.state ?? 'running' }
  if (entry.result?.state === 'failed') told.error = errorOf(entry.result.code)
  return told
}

function wholeOf(entry: TraceEntry): Told {
  const told: Told = { ...outlineOf(entry), at: entry.at, ended_at: entry.ended_at, decided: entry.decided }
  if (entry.result?.state === 'failed') told.message = entry.result.sentence
  if (entry.result?.state === 'done' && entry.result.answer !== undefined) told.answer = entry.result.answer
  return told
}

/** @source document 1, POST /api/control/:action: "... is refused with `not authorized`" */
function errorOf(code: string): string {
  return code === 'not_authorized' ? 'not authorized' : code
}
