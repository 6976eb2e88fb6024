/** A run in the running controller: its number, its caller, its place among others, and the runs it called. */
import type { Session } from '../session.ts'
import type { MacroArgs } from './args.ts'
import type { MacroPlan } from './plan.ts'
import type { RunState } from './run-state-table.ts'
import type { Trace, TraceEnd, TraceEntry } from './trace.ts'

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
