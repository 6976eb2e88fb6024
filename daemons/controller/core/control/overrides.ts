/** Where a zone sends a verb elsewhere: one step of it. */
import { Fault } from '#kit/fault.ts'
import { isObject } from '../json-kind.ts'
import type { Book, Json } from '../row.ts'
import { nameOf, resolveTarget, type Target } from './target.ts'

/** A command on its way: what is done to what. */
export interface Order {
  readonly target: Target
  readonly verb: string
  readonly args: Readonly<Record<string, Json>>
}

/**
 * The order that a zone's column `overrides` puts in place of this one: another zone or device, or the same one with
 * another verb. Its args lie over those of the order, so that a level goes along and a fixed one replaces it.
 * @returns undefined where the zone has none for the verb
 * @throws Fault `override_broken` where what it names is not there
 */
export function overridden(book: Book, { target, verb, args }: Order): Order | undefined {
  const overrides = target.zone?.overrides
  if (!isObject(overrides) || !Object.hasOwn(overrides, verb)) return undefined
  const override = overrides[verb]
  if (override === null) return undefined
  const broken = (what: string) =>
    new Fault('override_broken', `the override of ${nameOf(target)} for ${verb} is broken: ${what}`)
  if (!isObject(override)) throw broken('it is no object')
  const command = Object.hasOwn(override, 'command') ? override.command : verb
  if (typeof command !== 'string' || command === '') throw broken('its command is no verb')
  const own = Object.hasOwn(override, 'args') ? (override.args ?? {}) : {}
  if (!isObject(own)) throw broken('its args are no object')
  const resolved = resolveTarget(book, override)
  if ('fault' in resolved && resolved.fault !== 'none') throw broken(resolved.sentence)
  const next = 'target' in resolved ? resolved.target : target
  return { target: next, verb: command, args: over(args, own) }
}

/** Whether two orders are for the same thing and verb. */
export function isSame(one: Order, other: Order): boolean {
  return one.verb === other.verb && nameOf(one.target) === nameOf(other.target)
}

function over(args: Readonly<Record<string, Json>>, own: Readonly<Record<string, Json>>): Record<string, Json> {
  const all: Record<string, Json> = Object.create(null)
  for (const [key, value] of Object.entries(args)) all[key] = value
  for (const [key, value] of Object.entries(own)) all[key] = value
  return all
}
