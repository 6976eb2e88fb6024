/** What a body of a command says, before anything is looked up: its verb, its args, the shorthand for both. */
import { Fault } from '#kit/fault.ts'
import { isObject, putKey } from '../json-kind.ts'
import type { Json } from '../row.ts'
import { foldedName } from './reading.ts'
import { isTargetKey, kindOf, states } from './target.ts'

/** A body is an object of JSON; its keys are the caller's. */
export type CommandBody = Readonly<Record<string, Json>>

/** Longest verb. */
const LONGEST_VERB = 128

/** Keys of a body that are no verb. */
const OWN_KEYS = new Set(['command', 'args', 'macro_id'])

/** What is to be done, by name and by values. */
export interface Wanted {
  verb: string
  args: Readonly<Record<string, Json>>
}

/** @throws Fault `command_body` where it is no object */
export function bodyOf(body: unknown): CommandBody {
  if (!isObject(body)) throw new Fault('command_body', `the body is ${kindOf(body)}, expected an object`)
  return body
}

/**
 * Reads verb and args. With `command` every other key that is no target is left alone, as in calls of older clients.
 * Without it a zone and exactly one further key are shorthand: that key is the verb, and its value `args.<verb>`.
 * @throws Fault `command_required` without a verb, or with two; `args_invalid` where args is no object, or holds a number
 * that is too large to be one
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
  if (states(body, 'command')) return { verb: verbOf(body.command), args }
  const verbs = Object.keys(body).filter((key) => !isTargetKey(key) && !OWN_KEYS.has(key))
  const hasZone = states(body, 'zone_id') || states(body, 'zone')
  const [verb] = verbs
  const stray = verbs.find((key) => isTargetKey(foldedName(key)) || OWN_KEYS.has(foldedName(key)))
  if (stray !== undefined)
    throw new Fault(
      'command_required',
      `${JSON.stringify(foldedName(stray))} is no verb, and has to be in small letters`,
    )
  if (!hasZone || verb === undefined || verbs.length > 1)
    throw new Fault('command_required', `no command; a zone and one key for a verb would do, seen are ${verbs.length}`)
  return { verb: verbOf(verb), args: withValue(args, verb, body[verb] as Json) }
}

/** @throws Fault `command_required` */
export function verbOf(value: unknown): string {
  if (typeof value !== 'string') throw new Fault('command_required', `command is ${kindOf(value)}, expected a verb`)
  if (value === '' || value.length > LONGEST_VERB || !value.isWellFormed() || /\p{Cc}/u.test(value))
    throw new Fault('command_required', `command has to be 1 to ${LONGEST_VERB} characters, none of them a control`)
  return value
}

/** Whether a body of a command is a call of a macro. @source document 1, Command payload, macro_id */
export function isMacroCall(body: unknown): body is CommandBody {
  return isObject(body) && states(body, 'macro_id')
}

/** `1e999` is read as Infinity, and would be written as null: something else than was asked. */
function isWritable(value: Json): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  return typeof value !== 'object' || value === null || Object.values(value).every(isWritable)
}

/** Args with one value set. The result has no prototype, so that `__proto__` is a key like any other. */
function withValue(args: Readonly<Record<string, Json>>, key: string, value: Json): Record<string, Json> {
  const all: Record<string, Json> = Object.create(null)
  for (const [name, each] of Object.entries(args)) putKey(all, name, each)
  putKey(all, key, value)
  return all
}
