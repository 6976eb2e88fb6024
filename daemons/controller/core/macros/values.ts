/** Values in macros: their limits, the args of a run, comparison, and substitution into steps. */
import { Fault } from '#kit/pure/fault.ts'
import { isObject, type Json, Plain, putKey, SHAPE_CHARS, VALUE_CHARS } from '../json.ts'

// Limits.

/** Settings of the same names in the daemon's configuration. All are positive integers. */
export interface MacroLimits {
  /** Most live runs in the daemon, including queued and called ones. */
  runs: number
  /** For a macro without its own max_runs: most live runs, including queued ones. */
  runsPerMacro: number
  /** Most steps of a macro, and most steps of a run, including retries and their pauses. */
  steps: number
  /** Most characters of JSON of all steps of a macro together. */
  planChars: number
  /** Most runs that one run may call, at all levels. */
  calls: number
  /** Greatest depth of macro calls; the requested macro is at 1. */
  depth: number
  /** Most branches of one parallel step. */
  branches: number
  /** Most characters of JSON of the args of a run, or of the values of one step. */
  valueChars: number
  /** Most characters of decisions and answers in a trace; beyond that only states and times are kept. */
  traceChars: number
  /** Timeout in ms of a run whose macro has no timeout_ms. */
  timeoutMs: number
  /** The longest timeout_ms, delay and wait, in milliseconds. */
  longestMs: number
  /** How long a run of a queued macro waits for its turn, in ms. */
  queueMs: number
  /** The most retries of a step. */
  retries: number
  /** Pause before the first retry, in ms; it doubles each time. */
  retryFirstMs: number
  /** The longest pause before a retry, in milliseconds. */
  retryMaxMs: number
  /** After this time in ms a call is answered while its run goes on. */
  answerMs: number
}

/** Default limits. @source document 1 leaves macros open; 10 s is this controller's own choice */
export const MACRO_LIMITS: MacroLimits = {
  runs: 64,
  runsPerMacro: 10,
  steps: 500,
  planChars: 262_144,
  calls: 64,
  depth: 8,
  branches: 16,
  valueChars: 32_768,
  traceChars: 131_072,
  timeoutMs: 600_000,
  longestMs: 86_400_000,
  queueMs: 60_000,
  retries: 10,
  retryFirstMs: 500,
  retryMaxMs: 30_000,
  answerMs: 10_000,
}

// Size and depth of a JSON value, computed without recursion and no further than the limits.

/** Greatest depth of a value in a macro; a list in a list is 2. */
const DEEPEST_VALUE = 16

/**
 * The number of characters of a value's JSON text, without escapes. Lists and objects count by their memory: 16 more,
 * and 32 more for an object with keys.
 * @param value anything: a value that is not JSON is refused
 * @throws Fault `macro_value_size` beyond `mostChars` or DEEPEST_VALUE; `macro_value` for a value that JSON cannot
 * express
 */
export function jsonChars(value: unknown, mostChars: number): number {
  const open: [unknown, number][] = [[value, 0]]
  let chars = 0
  for (let next = open.pop(); next; next = open.pop()) {
    const [item, depth] = next
    if (depth > DEEPEST_VALUE) throw new Fault('macro_value_size', `a value is more than ${DEEPEST_VALUE} levels deep`)
    chars += ownChars(item)
    if (Array.isArray(item)) for (const entry of item) open.push([entry, depth + 1])
    else if (isObject(item)) {
      const keys = Object.keys(item)
      if (keys.length > 0) chars += SHAPE_CHARS
      for (const key of keys) {
        chars += key.length + 3
        open.push([item[key], depth + 1])
      }
    }
    if (chars + open.length > mostChars)
      throw new Fault('macro_value_size', `a value has more than ${mostChars} characters`)
  }
  return chars
}

/** The characters of a scalar; for a list or object, its brackets and V8's overhead. */
function ownChars(item: unknown): number {
  if (typeof item === 'string') return item.length + 3
  if (item === null || typeof item === 'boolean') return 6
  if (typeof item === 'number' && Number.isFinite(item)) return String(item).length + 1
  if (typeof item === 'object') return VALUE_CHARS + 3
  throw new Fault('macro_value', `a value is ${typeof item}, which cannot be written as JSON`)
}

// Args of a run: values by name, the size of each, and which of them the caller supplied.

/** Kept in maps, so a name like `__proto__` is a name like any other. */
export interface MacroArgs {
  readonly values: ReadonlyMap<string, Json>
  /** Characters of JSON per value. */
  readonly chars: ReadonlyMap<string, number>
  /** Names of values that came with the request, in whole or in part; the others are the macro's own. */
  readonly supplied: ReadonlySet<string>
  /** Names of values that are secret, in whole or in part, whatever they are called. */
  readonly secret: ReadonlySet<string>
}

/** Properties of some of the values, by name. */
interface ArgMarks {
  /** Values that came with the request; all if absent. */
  supplied?: Iterable<string>
  /** Secret values; none if absent. */
  secret?: Iterable<string>
}

/**
 * @param values own properties only, nothing inherited
 * @throws Fault `macro_value_size`, `macro_value`
 */
export function makeArgs(values: Iterable<[string, Json]>, mostChars: number, marks: ArgMarks = {}): MacroArgs {
  const map = new Map(values)
  const chars = new Map<string, number>()
  let left = mostChars
  for (const [name, value] of map) {
    const size = jsonChars(value, mostChars) + name.length + 3
    chars.set(name, size)
    left -= size
    if (left < 0) throw new Fault('macro_value_size', `the args come to more than ${mostChars} characters`)
  }
  return { values: map, chars, supplied: new Set(marks.supplied ?? map.keys()), secret: new Set(marks.secret) }
}

// Comparison: attributes are texts, live values are JSON, and both mean the same.

/** The comparison operators of a condition. */
export type Op = 'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte' | 'in' | 'contains'

/** The spellings of each operator. */
const SPELLINGS: ReadonlyMap<string, Op> = new Map([
  ['eq', 'eq'],
  ['=', 'eq'],
  ['==', 'eq'],
  ['ne', 'ne'],
  ['!=', 'ne'],
  ['notequal', 'ne'],
  ['lt', 'lt'],
  ['<', 'lt'],
  ['lte', 'lte'],
  ['<=', 'lte'],
  ['gt', 'gt'],
  ['>', 'gt'],
  ['gte', 'gte'],
  ['>=', 'gte'],
  ['in', 'in'],
  ['contains', 'contains'],
])

/** The operator for a spelling; undefined if it is unknown. */
export function opOf(text: Json): Op | undefined {
  return typeof text === 'string' ? SPELLINGS.get(text) : undefined
}

/**
 * Whether `left op right` is true.
 * - Two numbers, or texts that are decimal numbers, compare as numbers; else as texts, by code units.
 * - `true` equals the text `true`. Null equals only null, and is neither less nor greater than anything.
 * - `in`: the list on the right contains left. `contains`: the list on the left contains right, or the text on the left
 *   contains the text on the right.
 */
export function holds(left: Json, op: Op, right: Json): boolean {
  switch (op) {
    case 'eq':
      return isSame(left, right)
    case 'ne':
      return !isSame(left, right)
    case 'in':
      return Array.isArray(right) && right.some((entry) => isSame(left, entry))
    case 'contains':
      if (Array.isArray(left)) return left.some((entry) => isSame(entry, right))
      return left !== null && right !== null && textOf(left).includes(textOf(right))
    default:
      return isInOrder(left, op, right)
  }
}

function isSame(left: Json, right: Json): boolean {
  if (left === null || right === null) return left === right
  const [one, other] = comparable(left, right)
  // Not `===`: a bigint and a number that mean the same are of two types.
  return !(one < other) && !(one > other)
}

function isInOrder(left: Json, op: 'lt' | 'lte' | 'gt' | 'gte', right: Json): boolean {
  if (left === null || right === null) return false
  const [one, other] = comparable(left, right)
  if (op === 'lt') return one < other
  if (op === 'lte') return one <= other
  return op === 'gt' ? one > other : one >= other
}

/** Both as numbers, else both as texts. */
function comparable(left: Json, right: Json): [Comparable, Comparable] {
  const [one, other] = [numberOf(left), numberOf(right)]
  return one === undefined || other === undefined ? [textOf(left), textOf(right)] : [one, other]
}

type Comparable = number | bigint | string

/**
 * The value as a number, if it is one or is written as one: no hex, no blanks, no empty text. A whole number is a
 * bigint where a double does not hold all its digits, such as that of a card.
 */
export function numberOf(value: Json): number | bigint | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'string' || value.length > 32 || !/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(value))
    return undefined
  return /^[+-]?\d{16,}$/.test(value) ? BigInt(value) : Number(value)
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

// Substitution: args are put into the values of a step, never into its structure and never twice; nothing is evaluated.

/** A value whose texts may contain references, as in macro_step.args. */
export type Template = Json

/** `${args.NAME}`; a name is 1 to 64 letters, digits, `_` and `-`. Bounded, so that no text makes matching slow. */
const REFERENCE = /\$\{args\.([\p{L}\p{N}_-]{1,64})\}/gu
const WHOLE = /^\$\{args\.([\p{L}\p{N}_-]{1,64})\}$/u

/**
 * The names that the texts of a template refer to. Keys are not searched: they stay as they are.
 * @throws Fault `macro_reference` if `${args.` begins something that is not a reference
 */
export function referencesOf(template: Template): Set<string> {
  const names = new Set<string>()
  const open: Template[] = [template]
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    if (typeof item === 'string') for (const name of namesIn(item)) names.add(name)
    else if (Array.isArray(item)) for (const entry of item) open.push(entry)
    else if (isObject(item)) for (const entry of Object.values(item)) open.push(entry)
  }
  return names
}

function namesIn(text: string): string[] {
  if (text.replace(REFERENCE, ' ').includes('${args.'))
    throw new Fault(
      'macro_reference',
      'a text holds "$" and "{args." without a name of letters, digits, _ and -, and "}" behind it',
    )
  return [...text.matchAll(REFERENCE)].map((match) => match[1] as string)
}

/** Whether any part of the template came with the request. */
export function isSupplied(template: Template, args: MacroArgs): boolean {
  return refersTo(template, args.supplied)
}

/** Whether a template refers to one of these names. */
export function refersTo(template: Template, names: ReadonlySet<string>): boolean {
  for (const name of referencesOf(template)) if (names.has(name)) return true
  return false
}

/**
 * A template with its references replaced. A text that is exactly one reference becomes the JSON value; inside a longer
 * text it becomes the value's text, or JSON for lists and objects. Inserted text is not searched again.
 * @param mostChars limit on the characters of JSON of the result; counted before anything is built
 * @returns objects that inherit nothing
 * @throws Fault `macro_arg_missing` for an arg the run was not called with; `macro_value_size`
 */
export function substitute(template: Template, args: MacroArgs, mostChars: number): Json {
  return fill(template, { args, mostChars, left: mostChars })
}

interface Filling {
  args: MacroArgs
  mostChars: number
  left: number
}

/** Templates are at most DEEPEST_VALUE deep: they were measured when their macro was read. */
function fill(template: Template, filling: Filling): Json {
  if (typeof template === 'string') return fillText(template, filling)
  spend(filling, typeof template === 'object' && template !== null ? 6 + VALUE_CHARS : 6)
  if (Array.isArray(template)) return template.map((entry) => fill(entry, filling))
  if (!isObject(template)) return template
  const filled: Record<string, Json> = new Plain()
  const keys = Object.keys(template)
  if (keys.length > 0) spend(filling, SHAPE_CHARS)
  for (const key of keys) {
    spend(filling, key.length)
    putKey(filled, key, fill(template[key] as Template, filling))
  }
  return filled
}

function fillText(text: string, filling: Filling): Json {
  const whole = WHOLE.exec(text)
  if (whole) return argOf(whole[1] as string, filling)
  spend(filling, text.length)
  return text.replace(REFERENCE, (_, name: string) => {
    const value = argOf(name, filling)
    return typeof value === 'string' ? value : JSON.stringify(value)
  })
}

function argOf(name: string, filling: Filling): Json {
  const value = filling.args.values.get(name)
  if (value === undefined) throw new Fault('macro_arg_missing', `the run was not called with args.${name}`)
  spend(filling, filling.args.chars.get(name) ?? 0)
  return value
}

function spend(filling: Filling, chars: number): void {
  filling.left -= chars
  if (filling.left < 0)
    throw new Fault('macro_value_size', `the values of a step come to more than ${filling.mostChars} characters`)
}
