/** Reads a command: its target, its verb and its args. */
import { Fault } from '#kit/pure/fault.ts'
import { nearestName } from '#kit/pure/text.ts'
import { driverNameOf } from '../drivers/driver.ts'
import { isObject, isSameJson, type Json, kindOf, putKey } from '../json.ts'
import type { Book, Row } from '../site/book.ts'

// The target: a zone or a device, named in one of four forms, and how several forms are combined.

/** The target of a command. A zone comes with its device, if it has one; a device alone is commanded as a whole. */
export interface Target {
  readonly zone?: Row
  readonly device?: Row
}

/** The four forms of a target, in a body or in the args of a macro step. @source document 1, Command payload */
export const TARGET_KEYS = ['zone_id', 'zone', 'device_id', 'device'] as const
export type TargetKey = (typeof TARGET_KEYS)[number]

/**
 * - `none` no form was used
 * - `unknown` a form names nothing that exists, or has a wrong type
 * - `ambiguous` forms disagree, or several rows have the name
 */
type TargetFault = 'none' | 'unknown' | 'ambiguous'

/**
 * The resolved target, or why there is none: `sentence` says what was seen and what was expected, `named` lists each
 * zone and each device that any of the forms matches.
 */
export type Resolved = { target: Target } | { fault: TargetFault; sentence: string; named: readonly Target[] }

/**
 * Finds the named target. Each form must match something, all must agree, and exactly one row must remain: a name that
 * several zones share works if another form (`device`, `zone_id`) leaves only one of them. Names are matched exactly.
 * @param named an object with any of the four keys; other keys and inherited ones are ignored
 * @source document 1, Command payload
 */
export function resolveTarget(book: Book, named: Readonly<Record<string, unknown>>): Resolved {
  const found = new Map<TargetKey, readonly Row[]>()
  for (const key of TARGET_KEYS) {
    if (!states(named, key)) continue
    const rows = candidates(book, key, named[key])
    if (typeof rows === 'string') return { fault: 'unknown', sentence: rows, named: [] }
    found.set(key, rows)
  }
  if (found.size === 0)
    return { fault: 'none', sentence: `no target, expected one of ${TARGET_KEYS.join(', ')}`, named: [] }
  const devices = inBoth(found.get('device_id'), found.get('device'))
  const zones = inBoth(found.get('zone_id'), found.get('zone'))
  const commanded = zones && devices ? zones.filter((zone) => devices.some(({ id }) => id === zone.device_id)) : zones
  const left = commanded ?? devices ?? []
  const [one, other] = left
  if (!one || other) {
    const named = [...found].flatMap(([key, rows]) =>
      rows.map((row) => (key === 'zone' || key === 'zone_id' ? zoneTarget(book, row) : { device: row })),
    )
    const forms = [...found.keys()].join(' and ')
    return { fault: 'ambiguous', sentence: one ? `${forms} may be ${left.length} rows` : `${forms} disagree`, named }
  }
  return { target: commanded ? zoneTarget(book, one) : { device: one } }
}

/** A zone, with its device if it has one. */
function zoneTarget(book: Book, zone: Row): Target {
  const device = typeof zone.device_id === 'number' ? book.row('device', zone.device_id) : undefined
  return device ? { zone, device } : { zone }
}

/** The name used in the audit and in answers: `zone 12`, `device 3`. */
export function targetName({ zone, device }: Target): string {
  return zone ? `zone ${zone.id}` : `device ${device?.id}`
}

/**
 * Whether a field of a body is given. Null counts as absent: some clients write every field there is.
 * @source document 1, Command payload
 */
function states(body: Readonly<Record<string, unknown>>, key: string): boolean {
  return Object.hasOwn(body, key) && body[key] !== null
}

/** Names a target that was not found: by id only, since a name is free text from the caller. */
export function askedFor(named: Readonly<Record<string, unknown>>): string | undefined {
  for (const key of ['zone_id', 'device_id'] as const)
    if (Object.hasOwn(named, key) && Number.isSafeInteger(named[key])) return `${key.slice(0, -3)} ${named[key]}`
  return undefined
}

/** The same args without target keys. The result has no prototype: its keys come from the caller. */
export function withoutTargets(args: Readonly<Record<string, Json>>): Record<string, Json> {
  const clean: Record<string, Json> = Object.create(null)
  for (const [key, value] of Object.entries(args)) if (!isTargetKey(key)) putKey(clean, key, value)
  return clean
}

export function isTargetKey(key: string): key is TargetKey {
  return (TARGET_KEYS as readonly string[]).includes(key)
}

/** The rows that one form matches, or a sentence if it matches none. */
function candidates(book: Book, key: TargetKey, value: unknown): readonly Row[] | string {
  const table = key === 'zone' || key === 'zone_id' ? 'zone' : 'device'
  if (key === table) {
    if (typeof value !== 'string') return `${key} is ${kindOf(value)}, expected the name of a ${table}`
    const rows = book.named(table, value)
    return rows.length > 0 ? rows : `there is no ${table} by the name given`
  }
  if (typeof value !== 'number' || !Number.isSafeInteger(value))
    return `${key} is ${typeof value === 'number' ? 'no whole number' : kindOf(value)}, expected the id of a ${table}`
  const row = book.row(table, value)
  return row ? [row] : `there is no ${table} ${value}`
}

function inBoth(some: readonly Row[] | undefined, others: readonly Row[] | undefined): readonly Row[] | undefined {
  if (!some || !others) return some ?? others
  return some.filter((row) => others.includes(row))
}

// Names and numbers as callers write them. Gates, overrides, bounds, queues and drivers all use what is parsed here, so
// that a spelling is never checked as one thing and carried out as another.

/** Args by name. */
export type Args = Readonly<Record<string, Json>>

/**
 * Verbs that set the value of a zone, and args that set it under any verb. `value` stands for the verb it comes with.
 */
const VALUE_NAMES: ReadonlySet<string> = new Set(['level', 'setpoint', 'position', 'volume', 'value'])

/** Verbs that add to a state or carry data of their own: sending one twice is not the same as sending it once. */
export const ADDING_VERBS: ReadonlySet<string> = new Set(
  (
    'toggle step step_up step_down up down increase decrease next previous press pulse trigger send write raw ' +
    'volume_up volume_down request tx'
  ).split(' '),
)

/** Verbs of a gateway whose args say what they reach: any register of any unit, or whatever bytes do on a line. */
const RAW_VERBS: ReadonlySet<string> = new Set(['request', 'tx'])

/** Whether a command goes to the bus behind a device as it stands, whichever zone it is sent to. */
export function isRaw({ device }: Target, verb: string): boolean {
  return device !== undefined && RAW_VERBS.has(foldedName(verb)) && driverNameOf(device) === 'gateway'
}

/** Functions of Modbus that only read. @source Modbus Application Protocol V1.1b3, 6.1 to 6.4, 6.7, 6.17, 6.21 */
const READING_FUNCTIONS: ReadonlySet<Json | undefined> = new Set([1, 2, 3, 4, 7, 17, 43])

/** Whether a raw command may change something: what is not known to read does. */
export function mayWrite(verb: string, args: Args): boolean {
  return foldedName(verb) !== 'request' || !READING_FUNCTIONS.has(args.fc)
}

/** Verbs with a common spelling. Others get the building's spelling, or are passed on as they came. */
const COMMON_VERBS: ReadonlySet<string> = new Set([
  ...VALUE_NAMES,
  ...ADDING_VERBS,
  ...'on off open close stop lock unlock mute unmute source input mode scene play pause power'.split(' '),
  ...'select route ramp all_off volume_up volume_down volume_db detach request tx'.split(' '),
])

/** Invisible characters, and the dot that lower-casing leaves of a capital İ. */
const UNSEEN = /\p{Default_Ignorable_Code_Point}|\u0307/gu

/** Normalises a name for comparison: width, case, surrounding spaces and invisible characters do not count. */
export function foldedName(name: string): string {
  return name.normalize('NFKC').toLowerCase().replace(UNSEEN, '').trim()
}

/** Whether this is one of the common verbs. */
export function isCommonVerb(verb: string): boolean {
  return COMMON_VERBS.has(foldedName(verb))
}

/**
 * A verb as drivers get it.
 * @param own the building's spellings, nearest first: if the requested one is among them it is kept, else the first is
 * used
 */
export function readVerb(verb: string, own: readonly string[]): string {
  const folded = foldedName(verb)
  const same = own.filter((name) => foldedName(name) === folded)
  if (same.length > 0) return same.find((name) => name === verb) ?? (same[0] as string)
  return COMMON_VERBS.has(folded) ? folded : verb
}

/**
 * Args as drivers get them: the names of targets, the verb and values get their canonical spelling, numbers become
 * numbers, and the value of the verb gets one name, whether it came as `value` or under the verb's name.
 * @param own the names in the verb's `args_schema`
 * @returns an object without a prototype: its keys come from the caller
 * @throws Fault `args_invalid` if two args mean the same and differ
 */
export function readArgs(verb: string, args: Args, own: readonly string[] = []): Record<string, Json> {
  const spelled = new Map(own.map((name) => [foldedName(name), name]))
  const read: Record<string, Json> = Object.create(null)
  for (const [key, given] of Object.entries(args)) {
    const name = argName(verb, key, spelled)
    const value = isValueArg(verb, name) ? (decimalOf(given) ?? given) : given
    if (name in read && !isSameJson(read[name], value))
      throw new Fault('args_invalid', `args give ${JSON.stringify(name)} twice, with different values`)
    putKey(read, name, value)
  }
  return read
}

/** Whether an arg sets the value of the zone: a value name under any verb, or `value` under a verb that sets one. */
export function isValueArg(verb: string, arg: string): boolean {
  const name = foldedName(arg)
  return VALUE_NAMES.has(name) && (name !== 'value' || VALUE_NAMES.has(foldedName(verb)))
}

function argName(verb: string, key: string, spelled: ReadonlyMap<string, string>): string {
  const name = foldedName(key)
  if (isTargetKey(name)) return name
  const verbName = foldedName(verb)
  const isOfVerb = name === verbName || (name === 'value' && VALUE_NAMES.has(verbName))
  if (!isOfVerb) return spelled.get(name) ?? (VALUE_NAMES.has(name) ? name : key)
  // The site's schema may call it `value`; without a schema it gets the verb's name.
  if (VALUE_NAMES.has(verbName)) return spelled.get(verbName) ?? spelled.get('value') ?? verbName
  return spelled.get(verbName) ?? verb
}

/**
 * Digits, a point, an exponent. Hex, thousands separators, commas and units mean different things to different devices.
 */
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/
const LONGEST_NUMBER = 64

/** The value of a number or of a decimal text; undefined for anything else. */
export function decimalOf(given: Json): number | undefined {
  if (typeof given === 'number') return Number.isFinite(given) ? given : undefined
  if (typeof given !== 'string' || given.length > LONGEST_NUMBER) return undefined
  const text = foldedName(given)
  const number = DECIMAL.test(text) ? Number(text) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}

/** Letters alone are not a number: `up`, `auto`. */
const WORD = /^\p{Script=Latin}[\p{Script=Latin} _-]*$/u
const NUMBER_WORDS: ReadonlySet<string> = new Set(['nan', 'inf', 'infinity'])

/**
 * The number in a value that has bounds; undefined for a plain word.
 * @throws Fault `args_invalid` for a text that a device might read as a number but that is not parsed here
 */
export function boundedNumber(name: string, given: Json): number | undefined {
  const number = decimalOf(given)
  if (number !== undefined) return number
  const isWord =
    typeof given === 'string' && WORD.test(given) && !/\p{N}/u.test(given) && !NUMBER_WORDS.has(foldedName(given))
  if (isWord) return undefined
  const seen = typeof given === 'string' ? 'a text that is no decimal number' : kindOf(given)
  throw new Fault('args_invalid', `${name} has to be a number such as 21.5, and is ${seen}`)
}

// The body of a command before any look-up: its verb, its args, and the shorthand for both.

/** A body is a JSON object; its keys come from the caller. */
export type CommandBody = Readonly<Record<string, Json>>

const LONGEST_VERB = 128

/** Keys of a body that are not verbs. */
const OWN_KEYS = new Set(['command', 'args', 'macro_id'])

/** The requested verb and args. */
export interface Wanted {
  verb: string
  args: Readonly<Record<string, Json>>
}

/** @throws Fault `command_body` if it is not an object */
export function readCommandBody(body: unknown): CommandBody {
  if (!isObject(body)) throw new Fault('command_body', `the body is ${kindOf(body)}, expected an object`)
  return body
}

/**
 * Reads verb and args. If `command` is given, nothing else may stand beside it but a target and args: a value there
 * would be lost in silence. Without it, a zone and exactly one other key are shorthand: that key is the verb, and its value is `args.<verb>`.
 * @throws Fault `command_required` without a verb, or with two; `command_fields`; `args_invalid` if args is not an object or contains a
 * number that is too large
 * @source document 1, Command payload
 */
export function wantedOf(body: CommandBody): Wanted {
  const wanted = saidOf(body)
  if (!Object.values(wanted.args).every(isWritable))
    throw new Fault('args_invalid', 'args hold a number that is too large')
  return wanted
}

function saidOf(body: CommandBody): Wanted {
  const args = states(body, 'args') ? body.args : {}
  if (!isObject(args)) throw new Fault('args_invalid', `args is ${kindOf(args)}, expected an object`)
  if (states(body, 'command')) {
    checkBeside(body)
    return { verb: verbOf(body.command), args }
  }
  const verbs = Object.keys(body).filter((key) => !isTargetKey(key) && !OWN_KEYS.has(key))
  const hasZone = states(body, 'zone_id') || states(body, 'zone')
  const [verb] = verbs
  const stray = verbs.find((key) => isTargetKey(foldedName(key)) || OWN_KEYS.has(foldedName(key)))
  if (stray !== undefined)
    throw new Fault(
      'command_required',
      `${JSON.stringify(foldedName(stray))} is not a verb, and has to be in small letters`,
    )
  if (!hasZone || verb === undefined || verbs.length > 1)
    throw new Fault(
      'command_required',
      `there is no command: send one, or a zone and exactly one key that names a verb (this body has ${verbs.length})`,
    )
  return { verb: verbOf(verb), args: withValue(args, verb, body[verb] as Json) }
}

/** @throws Fault `command_fields` */
function checkBeside(body: CommandBody): void {
  const known = [...TARGET_KEYS, ...OWN_KEYS]
  const fields = Object.keys(body).filter((key) => states(body, key) && !known.includes(key))
  const [first] = fields
  if (first === undefined) return
  const near = nearestName(first, known)
  const what = near === undefined ? 'what the command needs stands in args' : `the nearest field is ${near}`
  throw new Fault(
    'command_fields',
    `nobody reads ${fields.map((key) => shownKey(key)).join(', ')} beside command; ${what}`,
    {
      details: { fields },
    },
  )
}

function shownKey(key: string): string {
  return JSON.stringify(key.slice(0, LONGEST_VERB).toWellFormed())
}

/** @throws Fault `command_required` */
function verbOf(value: unknown): string {
  if (typeof value !== 'string') throw new Fault('command_required', `command is ${kindOf(value)}, expected a verb`)
  if (value === '' || value.length > LONGEST_VERB || !value.isWellFormed() || /\p{Cc}/u.test(value))
    throw new Fault('command_required', `command has to be 1 to ${LONGEST_VERB} characters, none of them a control`)
  return value
}

/** Whether the body of a command calls a macro. @source document 1, Command payload, macro_id */
export function isMacroCall(body: unknown): body is CommandBody {
  return isObject(body) && states(body, 'macro_id')
}

/** `1e999` is parsed as Infinity and would be written as null: not what was asked. */
function isWritable(value: Json): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  return typeof value !== 'object' || value === null || Object.values(value).every(isWritable)
}

/** Args with one value set. The result has no prototype, so `__proto__` is a key like any other. */
function withValue(args: Readonly<Record<string, Json>>, key: string, value: Json): Record<string, Json> {
  const all: Record<string, Json> = Object.create(null)
  for (const [name, each] of Object.entries(args)) putKey(all, name, each)
  putKey(all, key, value)
  return all
}
