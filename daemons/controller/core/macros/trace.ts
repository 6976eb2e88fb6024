/** What is kept of a run: enough to see why each step did what it did, and to run it again exactly. Never a secret. */
import type { AuditReason } from '../audit.ts'
import type { Json } from '../row.ts'
import { jsonChars } from './json-size.ts'
import type { MacroLimits } from './limits.ts'
import type { RunState } from './run-state-table.ts'
import type { StepType } from './step.ts'

/** What came of one try of a step. */
export type Answer =
  | {
      readonly state: 'done'
      /** What was seen or answered, where something was. */
      readonly answer?: Json
      /** Of a condition that does not hold. */
      readonly skip?: number
      /** Of a stop step, and of a condition that does not hold: the run ends, as this. */
      readonly stop?: 'done' | 'failed'
      /** What was seen is secret: it is not in `answer`. */
      readonly withheld?: true
    }
  | {
      readonly state: 'failed'
      readonly code: string
      readonly sentence: string
      /** Another try cannot help. */
      readonly final: boolean
      /** Of a step that is not authorized: which gate says so. */
      readonly reason?: AuditReason
    }

/** One try of a step, or the pause before a retry. Wire names, because this is what the column `trace` holds. */
export interface TraceEntry {
  /** The step's label. */
  step: string
  type: StepType | 'retry'
  /** Milliseconds since the run took its first step. */
  at: number
  /** Null while it goes on; a run that has ended has no such entry. */
  ended_at: number | null
  /** The turn in which the world answered; null where it did not, and for a parallel step, which its branches end. */
  turn: number | null
  /** The step with its values; null where they did not fit together. */
  decided: Json
  result: Answer | { state: 'cancelled' } | null
  /** Something that it was decided by is secret, and null here. */
  withheld?: true
}

/** How a run ended. */
export interface TraceEnd {
  state: RunState
  at: number
  /** The turn in which it was ended from outside; null where its steps ended it. */
  turn: number | null
  code?: string
  sentence?: string
}

/** The column `trace` of macro_run. */
export interface Trace {
  version: 1
  macro: { id: number; name: string }
  /** The steps as they were then, secrets null: so that a trace can be replayed when its macro is another. */
  plan: readonly Json[]
  /** What it was called with, secrets null. */
  args: { readonly [name: string]: Json }
  seed: number
  /** 1 for one that was asked for, 2 for one that it called. */
  depth: number
  /** Epoch ms. */
  started_at: number
  limits: MacroLimits
  entries: readonly TraceEntry[]
  end: TraceEnd
}

/** Stands for what there was no room for. */
const CUT: Json = { cut: true }
/** Characters that one value may take of a trace. */
const LONGEST_KEPT = 4096

/**
 * Keeps values while there is room. What was cut needs no room, so that keeping what was kept cuts the same.
 * @returns the value, or what stands for it
 */
export function createTraceRoom(mostChars: number): (value: Json) => Json {
  let left = mostChars
  return (value) => {
    try {
      left -= jsonChars(value, Math.min(left, LONGEST_KEPT))
      return value
    } catch {
      return CUT
    }
  }
}

/** Whether a value of a trace was cut. */
export function isCut(value: Json | undefined): boolean {
  return typeof value === 'object' && value !== null && 'cut' in value
}
