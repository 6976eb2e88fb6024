/** Runs of macros as an administrator sees them: which ran, what each of their steps did, and whether they would again. */
import type { Json } from '../json.ts'
import type { Book, Row } from '../site/book.ts'
import type { SiteRows } from '../site/changes.ts'
import { namesOf, type RowNames } from './editing.ts'
import type { LiveRun } from './ports.ts'
import { readTrace, replay } from './replay.ts'
import type { Trace, TraceEntry } from './run.ts'
import type { Simulation } from './simulate.ts'

/** Most steps, and most of what is sent, in one answer. */
const MOST_TOLD = 500

/** One run in a list. */
export interface RunLine {
  readonly id: number
  readonly macro_id: number
  readonly macro: string | null
  /** Who asked for it; null for the building itself. */
  readonly by: string | null
  /** Whether a step of another macro called it. */
  readonly called: boolean
  readonly started_at: number
  readonly ended_at: number | null
  /** As in `macro_run`; `running` while it goes on. */
  readonly result: string
  /** Why it did not end well, if that is known. */
  readonly why: string | null
}

/** One attempt at a step. */
export interface RunStep {
  readonly step: string
  readonly type: string
  /** Milliseconds since the run began. */
  readonly at: number
  readonly ended_at: number | null
  readonly state: string
  /** The step with its values filled in, without secrets. */
  readonly decided: Json
  readonly answer: Json
  readonly error: string | null
  readonly message: string | null
  /** A secret took part in it, and is not shown. */
  readonly withheld: boolean
}

/** One run, step by step. */
export interface WholeRun extends RunLine {
  readonly args: Json
  /** Null where no trace is kept: it was cut off, or goes on and cannot be looked into. */
  readonly steps: readonly RunStep[] | null
  /** Steps that an answer has no room for. */
  readonly left: number
  readonly names: RowNames
}

/** @param ask `before`: only runs with a smaller id. @returns the newest first */
export function listRuns(book: Book, ask: { macro: number | undefined; before: number; limit: number }): RunLine[] {
  const lines: RunLine[] = []
  for (const row of book.rows('macro_run').toReversed()) {
    if (lines.length >= ask.limit) break
    if (row.id < ask.before && (ask.macro === undefined || row.macro_id === ask.macro)) lines.push(lineOf(book, row))
  }
  return lines
}

function lineOf(book: Book, row: Row): RunLine {
  const trace = traceOf(row)
  const user = typeof row.user_id === 'number' ? book.row('auth_user', row.user_id) : undefined
  const isOver = typeof row.ended_at === 'number'
  return {
    ...{ id: row.id, macro_id: Number(row.macro_id), macro: textOf(book.row('macro', Number(row.macro_id))?.name) },
    ...{ by: textOf(user?.username), called: (trace?.depth ?? 1) > 1 },
    ...{ started_at: Number(row.started_at), ended_at: isOver ? Number(row.ended_at) : null },
    result: isOver ? String(row.result) : 'running',
    why: trace?.end.sentence ?? failureIn(trace) ?? trace?.end.code ?? null,
  }
}

function failureIn(trace: Trace | undefined): string | undefined {
  if (trace === undefined || trace.end.state === 'done') return undefined
  const failed = trace.entries.findLast(({ result }) => result?.state === 'failed')
  return failed?.result?.state === 'failed' ? failed.result.sentence : undefined
}

/** A trace of another version, or of a run that was cut off, is none. */
function traceOf(row: Row): Trace | undefined {
  try {
    return readTrace(row.trace)
  } catch {
    return undefined
  }
}

/** @param living runs that go on: their traces are in no row yet. @returns undefined if none is kept under this id */
export function openRun(book: Book, site: SiteRows, id: number, living: readonly LiveRun[]): WholeRun | undefined {
  const row = book.row('macro_run', id)
  if (row === undefined) return undefined
  const trace = traceOf(row) ?? living.find((run) => run.id === id)?.trace()
  const steps = trace?.entries.map(stepOf) ?? null
  const told = steps?.slice(0, MOST_TOLD) ?? null
  return {
    ...lineOf(book, row),
    ...{ args: trace?.args ?? null, steps: told, left: (steps?.length ?? 0) - (told?.length ?? 0) },
    names: namesOf(site, told),
  }
}

function stepOf({ step, type, at, ended_at, decided, result, withheld }: TraceEntry): RunStep {
  const failed = result?.state === 'failed' ? result : null
  return {
    ...{ step, type, at, ended_at, decided, state: result?.state ?? 'running', withheld: withheld === true },
    answer: result?.state === 'done' ? (result.answer ?? null) : null,
    ...{ error: failed?.code ?? null, message: failed?.sentence ?? null },
  }
}

/** What a run would do that was only tried. */
export interface Trial {
  readonly state: string
  /** Milliseconds after its start. */
  readonly ended_at: number
  readonly why: string | null
  readonly sent: readonly { at: number; macro: string; step: string; type: string; what: Json }[]
  readonly steps: readonly RunStep[]
  readonly left: number
  readonly names: RowNames
}

export function trialOf({ state, sent, trace }: Simulation, site: SiteRows): Trial {
  const told = sent.slice(0, MOST_TOLD)
  const steps = trace.entries.slice(0, MOST_TOLD).map(stepOf)
  return {
    ...{ state, ended_at: trace.end.at, why: trace.end.sentence ?? failureIn(trace) ?? trace.end.code ?? null },
    ...{ sent: told, steps, left: sent.length - told.length + trace.entries.length - steps.length },
    names: namesOf(site, [told, steps]),
  }
}

/** Whether this version decides every step of a kept run as it was decided then. */
export interface Replay {
  readonly same: boolean
  /** The first step that differs; null if only the end does, or nothing. */
  readonly step: string | null
}

/** @throws Fault `macro_trace`, and those of `replay` */
export function replayRun(row: Row | undefined, secrets: Parameters<typeof replay>[1]): Replay {
  const trace = readTrace(row?.trace)
  const { trace: again, deviatesAt } = replay(trace, secrets)
  if (deviatesAt === null) return { same: true, step: null }
  return { same: false, step: trace.entries[deviatesAt]?.step ?? again.entries[deviatesAt]?.step ?? null }
}

function textOf(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null
}
