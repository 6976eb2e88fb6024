/** A macro as it is run: its row and its steps, read and checked whole before anything is done. */
import { Fault } from '#kit/fault.ts'
import type { Json, Row } from '../row.ts'
import { type ArgsSchema, readArgsSchema } from './args-schema.ts'
import { jsonChars } from './json-size.ts'
import type { MacroLimits } from './limits.ts'
import { readStep } from './read-step.ts'
import type { Step } from './step.ts'
import { referencesOf } from './substitute.ts'

/** What happens to a run when others of its macro live: refused, takes their place, waits, runs beside them. */
export type MacroMode = 'single' | 'restart' | 'queued' | 'parallel'

export interface MacroPlan {
  readonly id: number
  readonly name: string
  readonly isElevated: boolean
  readonly mode: MacroMode
  /** Of modes queued and parallel: runs that live at once, waiting ones among them. */
  readonly maxRuns: number
  readonly timeoutMs: number
  readonly schema: ArgsSchema | undefined
  readonly steps: readonly Step[]
}

/**
 * @param row of `macro`
 * @param stepRows its rows of `macro_step`, in any order; those at one position stand by id
 * @throws Fault `macro_invalid`, `macro_schema`, `macro_reference`, `macro_value_size`
 */
export function readPlan(row: Row, stepRows: readonly Row[], limits: MacroLimits): MacroPlan {
  const inOrder = stepRows.toSorted((one, other) => positionOf(one) - positionOf(other) || one.id - other.id)
  return {
    id: row.id,
    name: String(row.name),
    isElevated: row.elevated === true,
    mode: modeOf(row),
    maxRuns: Math.min(countOf(row, 'max_runs') ?? limits.runsPerMacro, limits.runs),
    timeoutMs: Math.min(countOf(row, 'timeout_ms') ?? limits.timeoutMs, limits.longestMs),
    schema: (row.args_schema ?? null) === null ? undefined : readArgsSchema(row.args_schema as Json),
    steps: readSteps(inOrder.map(contentOf), limits),
  }
}

/**
 * @param raws steps in order, with `position`
 * @throws as readPlan
 */
export function readSteps(raws: readonly Json[], limits: MacroLimits): Step[] {
  let left = limits.planChars
  // Measured first: whatever looks at a step may then walk it without looking out for its depth.
  for (const raw of raws) left -= jsonChars(raw, left)
  const steps = raws.map((raw, index) => {
    referencesOf(raw)
    return readStep(raw, labelOf(raw, index), limits)
  })
  const count = countSteps(steps)
  if (count > limits.steps) throw new Fault('macro_invalid', `a macro has ${count} steps, more than ${limits.steps}`)
  return steps
}

/** What of a row of macro_step makes the step. */
function contentOf(row: Row): Json {
  const { position = null, type = null, zone_id = null, device_id = null } = row
  const { command = null, args = null, on_error = null, retries = null } = row
  return { position, type, zone_id, device_id, command, args, on_error, retries }
}

function countSteps(steps: readonly Step[]): number {
  let count = 0
  for (const step of steps)
    count += step.type === 'parallel' ? 1 + step.branches.reduce((sum, branch) => sum + countSteps(branch), 0) : 1
  return count
}

function labelOf(raw: Json, index: number): string {
  const position = (raw as { position?: Json }).position
  return typeof position === 'number' ? String(position) : String(index + 1)
}

function positionOf(row: Row): number {
  return typeof row.position === 'number' ? row.position : 0
}

function modeOf(row: Row): MacroMode {
  const mode = row.mode ?? 'single'
  if (mode === 'single' || mode === 'restart' || mode === 'queued' || mode === 'parallel') return mode
  throw new Fault('macro_invalid', 'the mode is none of single, restart, queued, parallel')
}

function countOf(row: Row, column: 'max_runs' | 'timeout_ms'): number | undefined {
  const count = row[column] ?? null
  if (count === null) return undefined
  if (typeof count === 'number' && Number.isSafeInteger(count) && count > 0) return count
  throw new Fault('macro_invalid', `${column} is no count above 0`)
}
