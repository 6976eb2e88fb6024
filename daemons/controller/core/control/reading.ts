/**
 * How names and numbers of callers are read, in one place: what gates, overrides, bounds, queues and drivers are given is
 * what was read here, so that no spelling is judged as one thing and carried out as another.
 */
import { Fault } from '#kit/fault.ts'
import { putKey } from '../json-kind.ts'
import type { Json } from '../row.ts'
import { isSameJson } from '../same-json.ts'
import { isTargetKey, kindOf } from './target.ts'

/** Args by name. */
export type Args = Readonly<Record<string, Json>>

/** Verbs that set the value of a zone, and args that do so under any verb. `value` is the value of the verb beside it. */
const VALUE_NAMES: ReadonlySet<string> = new Set(['level', 'setpoint', 'position', 'volume', 'value'])

/** Verbs that add to what is there, or carry something of their own: two of them are not the same as the last. */
export const ADDING_VERBS: ReadonlySet<string> = new Set(
  'toggle step step_up step_down up down increase decrease next previous press pulse trigger send write raw'.split(' '),
)

/** Verbs that everybody spells so. Others are spelled as the building has them, or go on as they came. */
const COMMON_VERBS: ReadonlySet<string> = new Set([
  ...VALUE_NAMES,
  ...ADDING_VERBS,
  ...'on off open close stop lock unlock mute unmute source input mode scene play pause power'.split(' '),
])

/** What is not seen, and the dot that small letters of a capital İ keep. */
const UNSEEN = /\p{Default_Ignorable_Code_Point}|\u0307/gu

/** A name as it is compared: other widths, case, spaces around it and signs that nobody sees do not count. */
export function foldedName(name: string): string {
  return name.normalize('NFKC').toLowerCase().replace(UNSEEN, '').trim()
}

/** Whether a verb is one that everybody knows. */
export function isCommonVerb(verb: string): boolean {
  return COMMON_VERBS.has(foldedName(verb))
}

/**
 * A verb as drivers get it.
 * @param own spellings of the building, the nearest first: the one that was asked for where it is one of them, else the first
 */
export function readVerb(verb: string, own: readonly string[]): string {
  const folded = foldedName(verb)
  const same = own.filter((name) => foldedName(name) === folded)
  if (same.length > 0) return same.find((name) => name === verb) ?? (same[0] as string)
  return COMMON_VERBS.has(folded) ? folded : verb
}

/**
 * Args as drivers get them: names of targets, of the verb and of values in their own spelling, numbers as numbers, and the
 * value of the verb under one name, whether it came as `value` or under the verb's.
 * @param own names that `args_schema` of the verb has
 * @returns an object without a prototype: its keys are the caller's
 * @throws Fault `args_invalid` where two of them are the same and differ
 */
export function readArgs(verb: string, args: Args, own: readonly string[] = []): Record<string, Json> {
  const spelled = new Map(own.map((name) => [foldedName(name), name]))
  const read: Record<string, Json> = Object.create(null)
  for (const [key, given] of Object.entries(args)) {
    const name = argName(verb, key, spelled)
    const value = isValueArg(verb, name) ? (readNumber(given) ?? given) : given
    if (name in read && !isSameJson(read[name], value))
      throw new Fault('args_invalid', `args say ${JSON.stringify(name)} twice, and differently`)
    putKey(read, name, value)
  }
  return read
}

/** Whether an arg sets the value of the zone: under any verb by such a name, as `value` where the verb sets it. */
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
  // The site may call it `value`; without a word of it, it has the name of the verb.
  if (VALUE_NAMES.has(verbName)) return spelled.get(verbName) ?? spelled.get('value') ?? verbName
  return spelled.get(verbName) ?? verb
}

/** Digits, a point, an exponent; hex, thousands, commas and units are read by each device in its own way. */
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/
const LONGEST_NUMBER = 64

/** A number, or a text that is a decimal one; undefined for anything else. */
export function readNumber(given: Json): number | undefined {
  if (typeof given === 'number') return Number.isFinite(given) ? given : undefined
  if (typeof given !== 'string' || given.length > LONGEST_NUMBER) return undefined
  const text = foldedName(given)
  const number = DECIMAL.test(text) ? Number(text) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}

/** Letters alone say no number: `up`, `auto`. */
const WORD = /^\p{Script=Latin}[\p{Script=Latin} _-]*$/u
const NUMBER_WORDS: ReadonlySet<string> = new Set(['nan', 'inf', 'infinity'])

/**
 * The number of a value that has bounds; undefined for a word, which says none.
 * @throws Fault `args_invalid` for what a device may read as some number and is not read here
 */
export function boundedNumber(name: string, given: Json): number | undefined {
  const number = readNumber(given)
  if (number !== undefined) return number
  const isWord =
    typeof given === 'string' && WORD.test(given) && !/\p{N}/u.test(given) && !NUMBER_WORDS.has(foldedName(given))
  if (isWord) return undefined
  const seen = typeof given === 'string' ? 'a text that is no decimal number' : kindOf(given)
  throw new Fault('args_invalid', `${name} has to be a number such as 21.5, and is ${seen}`)
}
