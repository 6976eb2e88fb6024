/** What a caller is told of a run: everything where they are elevated, else which steps there were and how they ended. */
import type { Json } from '../row.ts'
import type { LiveRun } from './live-run.ts'
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

function stepsOf(run: LiveRun, isElevated: boolean, count: { left: number }): Json[] {
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
