/** The plan of a macro: its row and steps, parsed and checked before anything is done, cached until the rows change. */
import { Fault } from '#kit/pure/fault.ts'
import { nearestName } from '#kit/pure/text.ts'
import { TARGET_KEYS, type TargetKey, withoutTargets } from '../control/reading.ts'
import { type ArgsSchema, isObject, type Json, readArgsSchema } from '../json.ts'
import type { Book, Row } from '../site/book.ts'
import { jsonChars, type MacroLimits, type Op, opOf, referencesOf, type Template } from './values.ts'

// A parsed step of a macro, and what its args contain, by type. `*` marks values in which `${args.NAME}` is substituted;
// everything else is structure, which comes only from the macro itself:
//
// - `command` every key except the four of a target is an argument of the verb*; the verb is the column `command`. The
//   target is either in the columns zone_id, device_id, or in args as zone_id*, zone*, device_id*, device*, not in both.
// - `delay` {ms*, spread_ms*}: waits ms, plus a random part of spread_ms taken from the run's seed.
// - `condition` {left, op, right, else}: goes on if the test is met. If not, `else` decides: `"stop"` (the default) ends the
//   run as done, and {"skip": n*} skips the next n steps.
// - `wait` {left, op, right, timeout_ms*}: goes on as soon as the test is met; fails if that takes too long.
//   A side is a value*, {"attribute": name*} (the controller's own; with one of the four keys of a target, that zone's or
//   device's), or {"field": name*} with a target: the current state of a zone or device, as its driver reported it.
//   Instead of `left` and `right`, the keys of a reading and `value`* may be used with `op`; `op` defaults to `eq`.
// - `set` {attribute*, value*} and, unless the attribute is the controller's own, a target.
// - `macro` {macro_id* or macro*, args: {name: value*}}: runs it and waits for its end; fails if it fails.
// - `notify` {text*, to*, subject*}: into the journal; with `to`, the name of a user or a list of names, by mail too
// - `parallel` {steps: [...]} or {macros: [...]}: each entry is a branch. In `steps` it is a step or a list of steps; in
//   `macros` it is the args of a macro step. Goes on when all have ended; fails if one failed.
// - `stop` {reason*, failed}: ends the run as done, or as failed if `failed` is true.

export type StepType = Step['type']

/** What to do when a step fails: end the run, go on, or retry and end the run if that does not help. */
type OnError = 'stop' | 'continue' | 'retry'

/** The keys of a target, with templates; values from columns are numbers. */
export type TargetTemplate = Readonly<Partial<Record<TargetKey, Template>>>

/** One side of a condition: a value, or something that is looked up when it is needed. */
export type SideTemplate =
  | { readonly kind: 'value'; readonly value: Template }
  | { readonly kind: 'attribute'; readonly name: Template; readonly target: TargetTemplate }
  | { readonly kind: 'field'; readonly name: Template; readonly target: TargetTemplate }

export interface TestTemplate {
  readonly left: SideTemplate
  readonly op: Op
  readonly right: SideTemplate
}

interface CommonOfSteps {
  /** Where the step stands: its position; in a branch `3.1`, in a branch of several steps `3.1.2`. */
  readonly label: string
  readonly onError: OnError
  readonly retries: number
  /** The step as it is in the table, or in the enclosing step. */
  readonly raw: { readonly [key: string]: Json }
}

/** A step with an effect or a query. */
export type DoingStep = CommonOfSteps &
  (
    | { readonly type: 'command'; readonly target: TargetTemplate; readonly verb: string; readonly args: Template }
    | { readonly type: 'delay'; readonly ms: Template; readonly spreadMs: Template }
    | { readonly type: 'wait'; readonly test: TestTemplate; readonly timeoutMs: Template }
    | { readonly type: 'condition'; readonly test: TestTemplate; readonly skip: Template | 'stop' }
    | { readonly type: 'set'; readonly name: Template; readonly target: TargetTemplate; readonly value: Template }
    | { readonly type: 'macro'; readonly id: Template; readonly name: Template; readonly args: Template }
    | { readonly type: 'notify'; readonly text: Template; readonly to: Template; readonly subject: Template }
    | { readonly type: 'stop'; readonly reason: Template; readonly isFailure: boolean }
  )

/** Several lists of steps that run at once. */
export type ParallelStep = CommonOfSteps & {
  readonly type: 'parallel'
  readonly branches: readonly (readonly Step[])[]
}

export type Step = DoingStep | ParallelStep

type Fields = { readonly [key: string]: Json }

// Parses the test of a condition or a wait: only the macro determines which side is a value and which a reading.

/**
 * @param args of the step: `left`, `op`, `right`, or the keys of a reading, `op` and `value`
 * @throws Fault `macro_invalid` with the step's label
 */
function readTest(args: Fields, label: string): TestTemplate {
  const op = opOf(args.op ?? 'eq')
  if (!op) throw invalid(label, 'has an op that is none of eq, ne, lt, lte, gt, gte, in, contains')
  const isShort = args.attribute !== undefined || args.field !== undefined
  if (isShort && (args.left !== undefined || args.right !== undefined))
    throw invalid(label, 'has left or right, and a reading beside them')
  if (!isShort && (args.value !== undefined || TARGET_KEYS.some((key) => args[key] !== undefined)))
    throw invalid(label, 'has a value or a target beside left and right')
  const left = isShort ? readingOf(args) : args.left
  const right = isShort ? args.value : args.right
  if (left === undefined || right === undefined) throw invalid(label, `has nothing to compare`)
  return { left: readSide(left, label), op, right: readSide(right, label) }
}

/** The target among the keys of an object; keys with null count as absent. */
function targetIn(fields: Fields): TargetTemplate {
  const target: Partial<Record<TargetKey, Json>> = {}
  for (const key of TARGET_KEYS) {
    const value = Object.hasOwn(fields, key) ? (fields[key] as Json) : null
    if (value !== null) target[key] = value
  }
  return target
}

function readingOf(args: Fields): Json {
  const keys = ['attribute', 'field', ...TARGET_KEYS].filter((key) => Object.hasOwn(args, key))
  return Object.fromEntries(keys.map((key) => [key, args[key] as Json]))
}

function readSide(side: Json, label: string): SideTemplate {
  if (!isObject(side)) return { kind: 'value', value: side }
  const target = targetIn(side)
  const known = ['attribute', 'field', ...TARGET_KEYS]
  const strange = Object.keys(side).find((key) => !known.includes(key))
  if (strange !== undefined) throw invalid(label, `compares with an object that has ${JSON.stringify(strange)}`)
  const { attribute, field } = side
  if (typeof attribute === 'string' && field === undefined) return { kind: 'attribute', name: attribute, target }
  if (typeof field !== 'string' || attribute !== undefined)
    throw invalid(label, 'compares with an object that has neither attribute nor field')
  if (Object.keys(target).length === 0) throw invalid(label, 'reads a field of no zone and no device')
  return { kind: 'field', name: field, target }
}

// Parses steps: their structure is fixed here, before any value from a request is seen.

/** The limits that parsing needs. */
type ReadLimits = Pick<MacroLimits, 'branches' | 'retries' | 'depth'>

interface Reading {
  limits: ReadLimits
  raw: Fields
  label: string
  depth: number
  args: Fields
  common: { label: string; onError: OnError; retries: number; raw: Fields }
}

/**
 * Parses one step.
 * @param raw columns of macro_step, or the same keys in a branch of a parallel step
 * @param label its place, for messages and traces
 * @throws Fault `macro_invalid` with the label and what is wrong
 */
function readStep(raw: Json, label: string, limits: ReadLimits): Step {
  return readAt(raw, label, limits, 1)
}

function readAt(raw: Json, label: string, limits: ReadLimits, depth: number): Step {
  if (!isObject(raw)) throw invalid(label, 'is not an object')
  const args = raw.args ?? {}
  if (!isObject(args)) throw invalid(label, 'has args that are no object')
  const onError = raw.on_error ?? 'stop'
  if (onError !== 'stop' && onError !== 'continue' && onError !== 'retry')
    throw invalid(label, 'has an on_error that is none of stop, continue, retry')
  const retries = raw.retries ?? 1
  if (typeof retries !== 'number' || !Number.isInteger(retries) || retries < 0)
    throw invalid(label, 'has retries that are no count')
  const common = { label, onError, retries: Math.min(retries, limits.retries), raw } as const
  const read = typeof raw.type === 'string' ? READERS.get(raw.type) : undefined
  if (!read) throw invalid(label, `has a type that is none of ${[...READERS.keys()].join(', ')}`)
  return read({ limits, raw, label, depth, args, common })
}

const READERS: ReadonlyMap<string, (reading: Reading) => Step> = new Map<string, (reading: Reading) => Step>([
  ['command', readCommand],
  ['delay', readDelay],
  ['wait', readWait],
  ['condition', readCondition],
  ['set', readSet],
  ['macro', readMacro],
  ['notify', readNotify],
  ['parallel', readParallel],
  ['stop', readStop],
])

function readCommand({ raw, args, label, common }: Reading): DoingStep {
  const columns = columnsOf(raw, label)
  const named = targetIn(args)
  const inColumns = Object.keys(columns).length > 0
  if (inColumns && Object.keys(named).length > 0)
    throw invalid(label, 'has a target in its columns and one in its args')
  if (!inColumns && Object.keys(named).length === 0) throw invalid(label, 'has no target')
  if (typeof raw.command !== 'string' || raw.command === '') throw invalid(label, 'has no command')
  const target = inColumns ? columns : named
  return { ...common, type: 'command', target, verb: raw.command, args: withoutTargets(args) }
}

function columnsOf(raw: Fields, label: string): TargetTemplate {
  const columns: Partial<Record<'zone_id' | 'device_id', number>> = {}
  for (const key of ['zone_id', 'device_id'] as const) {
    const id = raw[key] ?? null
    if (id === null) continue
    if (typeof id !== 'number' || !Number.isSafeInteger(id)) throw invalid(label, `has a ${key} that is no id`)
    columns[key] = id
  }
  return columns
}

function readDelay(reading: Reading): DoingStep {
  onlyKeys(reading, ['ms', 'spread_ms'])
  const ms = required(reading, 'ms')
  return { ...reading.common, type: 'delay', ms, spreadMs: reading.args.spread_ms ?? 0 }
}

const TEST_KEYS = ['left', 'op', 'right', 'attribute', 'field', 'value', ...TARGET_KEYS]

function readWait(reading: Reading): DoingStep {
  onlyKeys(reading, [...TEST_KEYS, 'timeout_ms'])
  const test = readTest(reading.args, reading.label)
  return { ...reading.common, type: 'wait', test, timeoutMs: required(reading, 'timeout_ms') }
}

function readCondition(reading: Reading): DoingStep {
  onlyKeys(reading, [...TEST_KEYS, 'else'])
  const otherwise = reading.args.else ?? 'stop'
  const test = readTest(reading.args, reading.label)
  if (otherwise === 'stop') return { ...reading.common, type: 'condition', test, skip: 'stop' }
  if (!isObject(otherwise) || Object.keys(otherwise).join() !== 'skip')
    throw invalid(reading.label, 'has an else that is neither "stop" nor {"skip": n}')
  // The word `stop` would be read as structure; it is not a number of steps.
  if (otherwise.skip === 'stop') throw invalid(reading.label, 'has a skip that is no count')
  return { ...reading.common, type: 'condition', test, skip: otherwise.skip as Json }
}

function readSet(reading: Reading): DoingStep {
  onlyKeys(reading, ['attribute', 'value', ...TARGET_KEYS])
  const name = required(reading, 'attribute')
  if (reading.args.value === undefined) throw invalid(reading.label, 'has no value')
  return { ...reading.common, type: 'set', name, target: targetIn(reading.args), value: reading.args.value }
}

function readMacro(reading: Reading): DoingStep {
  onlyKeys(reading, ['macro', 'macro_id', 'args'])
  const { macro: name = null, macro_id: id = null, args = {} } = reading.args
  if ((name === null) === (id === null)) throw invalid(reading.label, 'needs one of macro and macro_id')
  if (!isObject(args)) throw invalid(reading.label, 'has args for its macro that are no object')
  return { ...reading.common, type: 'macro', id, name, args }
}

function readNotify(reading: Reading): DoingStep {
  onlyKeys(reading, ['text', 'to', 'subject'])
  const { to = null, subject = null } = reading.args
  return { ...reading.common, type: 'notify', text: required(reading, 'text'), to, subject }
}

function readStop(reading: Reading): DoingStep {
  onlyKeys(reading, ['reason', 'failed'])
  const { reason = '', failed = false } = reading.args
  if (typeof failed !== 'boolean') throw invalid(reading.label, 'has a failed that is neither true nor false')
  return { ...reading.common, type: 'stop', reason, isFailure: failed }
}

function readParallel(reading: Reading): ParallelStep {
  const { args, label, limits, depth } = reading
  onlyKeys(reading, ['steps', 'macros'])
  if (depth >= limits.depth) throw invalid(label, `is more than ${limits.depth} parallel steps deep`)
  const entries = args.steps ?? args.macros
  if (!Array.isArray(entries) || (args.steps !== undefined && args.macros !== undefined))
    throw invalid(label, 'needs a list, steps or macros')
  if (entries.length === 0 || entries.length > limits.branches)
    throw invalid(label, `has ${entries.length} branches, not 1 to ${limits.branches}`)
  const branches = entries.map((entry: Json, index) => {
    const place = `${label}.${index + 1}`
    if (args.macros !== undefined) return [readAt({ type: 'macro', args: entry }, place, limits, depth + 1)]
    if (!Array.isArray(entry)) return [readAt(entry, place, limits, depth + 1)]
    // An empty branch would end within the turn that started it.
    if (entry.length === 0) throw invalid(place, 'is a branch without steps')
    return entry.map((step: Json, at) => readAt(step, `${place}.${at + 1}`, limits, depth + 1))
  })
  return { ...reading.common, type: 'parallel', branches }
}

function required({ args, label }: Reading, key: string): Json {
  const value = args[key] ?? null
  if (value === null || !Object.hasOwn(args, key)) throw invalid(label, `has no ${key} in its args`, key)
  return value
}

function onlyKeys({ args, label }: Reading, known: readonly string[]): void {
  for (const key of Object.keys(args)) {
    if (known.includes(key)) continue
    const nearest = nearestName(key, known)
    throw invalid(
      label,
      `has ${JSON.stringify(key)} in its args${nearest ? `: is ${nearest} meant?` : ', which it does not know'}`,
    )
  }
}

/** @param key of the args, where one is to blame; only for a step that stands in the table itself */
function invalid(label: string, what: string, key?: string): Fault {
  const details = key === undefined || label.includes('.') ? {} : { details: { key } }
  return new Fault('macro_invalid', `step ${label} ${what}`, details)
}

// The plan: row and steps, fully parsed and checked before anything is done.

/** What a new run does if others of its macro are live: it is refused, replaces them, waits, or runs beside them. */
type MacroMode = 'single' | 'restart' | 'queued' | 'parallel'

export interface MacroPlan {
  readonly id: number
  readonly name: string
  readonly isElevated: boolean
  readonly mode: MacroMode
  /** For the modes queued and parallel: most live runs, including queued ones. */
  readonly maxRuns: number
  readonly timeoutMs: number
  readonly schema: ArgsSchema | undefined
  readonly steps: readonly Step[]
}

/**
 * @param row of `macro`
 * @param stepRows its rows of `macro_step`, in any order; rows with the same position are ordered by id
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
 * @throws the same as readPlan
 */
export function readSteps(raws: readonly Json[], limits: MacroLimits): Step[] {
  let left = limits.planChars
  // Measured first: later code can then walk a step without checking its depth.
  for (const raw of raws) left -= jsonChars(raw, left)
  const steps = raws.map((raw, index) => {
    referencesOf(raw)
    return readStep(raw, labelOf(raw, index), limits)
  })
  const count = countSteps(steps)
  if (count > limits.steps) throw new Fault('macro_invalid', `a macro has ${count} steps, more than ${limits.steps}`)
  return steps
}

/** The columns of macro_step that define the step. */
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

// The book of macros: finds them by id and name, and caches recent plans until their rows change.

/** Cached plans; parsing one takes less than a millisecond. */
export const KEPT_PLANS = 16

export interface MacroBook {
  /** The row with this id or name; undefined if there is no such macro or it is disabled. */
  find(by: { id: unknown } | { name: unknown }): Row | undefined
  /** @throws the same as readPlan */
  plan(row: Row): MacroPlan
}

export function createMacroBook(book: Book, limits: MacroLimits): MacroBook {
  let seen = ''
  let stepsOf = new Map<unknown, Row[]>()
  const plans = new Map<number, MacroPlan>()

  function refresh(): void {
    const now = `${book.revision('macro')} ${book.revision('macro_step')}`
    if (now === seen) return
    seen = now
    plans.clear()
    stepsOf = Map.groupBy(book.rows('macro_step'), (step) => step.macro_id)
  }

  function find(by: { id: unknown } | { name: unknown }): Row | undefined {
    const row = 'id' in by ? rowOfId(by.id) : rowOfName(by.name)
    return row === undefined || row.enabled === false ? undefined : row
  }

  function rowOfId(id: unknown): Row | undefined {
    return typeof id === 'number' && Number.isSafeInteger(id) ? book.row('macro', id) : undefined
  }

  function rowOfName(name: unknown): Row | undefined {
    return typeof name === 'string' ? book.named('macro', name)[0] : undefined
  }

  return {
    find,
    plan(row) {
      refresh()
      const plan = plans.get(row.id) ?? readPlan(row, stepsOf.get(row.id) ?? [], limits)
      plans.delete(row.id)
      plans.set(row.id, plan)
      const [oldest] = plans.keys()
      if (plans.size > KEPT_PLANS && oldest !== undefined) plans.delete(oldest)
      return plan
    },
  }
}
