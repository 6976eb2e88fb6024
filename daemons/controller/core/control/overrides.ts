/** Where a zone sends a verb elsewhere: one step of it. */
import { Fault } from '#kit/fault.ts'
import { isObject, putKey } from '../json-kind.ts'
import type { Book, Json } from '../row.ts'
import { type Args, foldedName, readArgs } from './reading.ts'
import { nameOf, resolveTarget, type Target } from './target.ts'

/** A command on its way: what is done to what. */
export interface Order {
  readonly target: Target
  readonly verb: string
  readonly args: Args
  /** The verb is spelled as the building has it: it stands in a macro, or in an override. */
  readonly isOwn: boolean
}

/**
 * The order that a zone's column `overrides` puts in place of this one: another zone or device, or the same one with
 * another verb. Its args lie over those of the order, so that a level goes along and a fixed one replaces it.
 * @returns undefined where the zone has none for the verb
 * @throws Fault `override_broken` where what it names is not there
 */
export function overridden(book: Book, { target, verb, args }: Order): Order | undefined {
  const overrides = target.zone?.overrides
  if (!isObject(overrides)) return undefined
  const name = foldedName(verb)
  const own = Object.keys(overrides).filter((key) => overrides[key] !== null && foldedName(key) === name)
  const [only] = own
  if (only === undefined) return undefined
  const broken = (what: string) =>
    new Fault('override_broken', `the override of ${nameOf(target)} for ${verb} is broken: ${what}`)
  if (own.length > 1) throw broken(`there are ${own.length} of them in other letters`)
  const override = overrides[only]
  if (!isObject(override)) throw broken('it is no object')
  const command = Object.hasOwn(override, 'command') ? override.command : only
  if (typeof command !== 'string' || command === '') throw broken('its command is no verb')
  const fixed = Object.hasOwn(override, 'args') ? (override.args ?? {}) : {}
  if (!isObject(fixed)) throw broken('its args are no object')
  const resolved = resolveTarget(book, override)
  if ('fault' in resolved && resolved.fault !== 'none') throw broken(resolved.sentence)
  const next = 'target' in resolved ? resolved.target : target
  // Read first, so that what is fixed lies over the caller's in whatever letters that came.
  const given = readArgs(command, readArgs(only, args))
  return { target: next, verb: command, args: over(given, readArgs(command, fixed)), isOwn: true }
}

/** Whether two orders are for the same thing and verb. */
export function isSame(one: Order, other: Order): boolean {
  return foldedName(one.verb) === foldedName(other.verb) && nameOf(one.target) === nameOf(other.target)
}

function over(args: Args, own: Args): Record<string, Json> {
  const all: Record<string, Json> = Object.create(null)
  for (const [key, value] of Object.entries(args)) putKey(all, key, value)
  for (const [key, value] of Object.entries(own)) putKey(all, key, value)
  return all
}
