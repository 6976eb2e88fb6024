/** Reads the steps of a macro: what is structure is settled here, before anything that came with a request is near. */
import { Fault } from '#kit/fault.ts'
import { nearestName } from '#kit/nearest.ts'
import { TARGET_KEYS, withoutTargets } from '../control/target.ts'
import { isObject } from '../json-kind.ts'
import type { Json } from '../row.ts'
import type { MacroLimits } from './limits.ts'
import { readTest, targetIn } from './read-test.ts'
import type { DoingStep, OnError, ParallelStep, Step, TargetTemplate } from './step.ts'

type Fields = { readonly [key: string]: Json }

/** Of limits what reading needs. */
export type ReadLimits = Pick<MacroLimits, 'branches' | 'retries' | 'depth'>

interface Reading {
  limits: ReadLimits
  raw: Fields
  label: string
  depth: number
  args: Fields
  common: { label: string; onError: OnError; retries: number; raw: Fields }
}

/**
 * Reads one step.
 * @param raw columns of macro_step, or the same keys in a branch of a parallel step
 * @param label where it stands, for sentences and traces
 * @throws Fault `macro_invalid` with the label and what is wrong
 */
export function readStep(raw: Json, label: string, limits: ReadLimits): Step {
  return readAt(raw, label, limits, 1)
}

function readAt(raw: Json, label: string, limits: ReadLimits, depth: number): Step {
  if (!isObject(raw)) throw invalid(label, 'is no object')
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
  // The word would be read as structure; a count of steps it is not.
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
  onlyKeys(reading, ['text'])
  return { ...reading.common, type: 'notify', text: required(reading, 'text') }
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
    // A branch that ends where it begins would end within the turn that began it.
    if (entry.length === 0) throw invalid(place, 'is a branch without steps')
    return entry.map((step: Json, at) => readAt(step, `${place}.${at + 1}`, limits, depth + 1))
  })
  return { ...reading.common, type: 'parallel', branches }
}

function required({ args, label }: Reading, key: string): Json {
  const value = args[key] ?? null
  if (value === null || !Object.hasOwn(args, key)) throw invalid(label, `has no ${key} in its args`)
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

function invalid(label: string, what: string): Fault {
  return new Fault('macro_invalid', `step ${label} ${what}`)
}
