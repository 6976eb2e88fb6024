/** What common verbs set in a zone, and what its values mean for its state: the same with every driver. */
import { Fault } from '#kit/pure/fault.ts'
import { decimalOf, foldedName } from '../control/reading.ts'
import { type Json, objectOf } from '../json.ts'
import type { DriverCommand } from './driver.ts'

/** A value that a command sets: `on` true, `level` 40. */
export interface Setting {
  field: string
  /** Null for a verb without a value, which stands for itself: `stop`. */
  value: Json
}

const FIXED: ReadonlyMap<string, Setting> = new Map<string, Setting>([
  ['on', { field: 'on', value: true }],
  ['off', { field: 'on', value: false }],
  ['open', { field: 'position', value: 100 }],
  ['close', { field: 'position', value: 0 }],
  ['lock', { field: 'locked', value: true }],
  ['unlock', { field: 'locked', value: false }],
  ['mute', { field: 'mute', value: true }],
  ['unmute', { field: 'mute', value: false }],
])

/** The value that a command sets. Other verbs than the common ones are the names of their fields. */
export function settingOf({ verb, args }: DriverCommand): Setting {
  const name = foldedName(verb)
  const given = givenIn(name, args)
  const fixed = FIXED.get(name)
  if (!fixed) return { field: name, value: given ?? null }
  // What unlocks is never called lock: a role may be allowed one of the two alone.
  if (fixed.field === 'locked' && given === false)
    throw new Fault('driver_value', 'lock and unlock take no false: each is a verb of its own')
  // A value given with the verb decides: {"on": false} is off.
  if (fixed.value === true && given === false) return { ...fixed, value: false }
  return fixed
}

/** The value beside a verb: under its own name, or as `value`. @param name of the verb, folded */
export function givenIn(name: string, args: DriverCommand['args']): Json | undefined {
  const named = (wanted: string) => Object.entries(args).find(([key]) => foldedName(key) === wanted)?.[1]
  return named(name) ?? named('value')
}

/** Whether a command switches: to on, open or locked, or to what is not; undefined for other verbs. */
export function switchedBy(command: DriverCommand): boolean | undefined {
  const { field, value } = settingOf(command)
  return FIXED.has(foldedName(command.verb)) && field !== 'mute' ? value === true || value === 100 : undefined
}

/** The number that a command sets. @throws Fault `driver_value` */
export function numberIn({ field, value }: Setting, [least, most]: readonly [number, number]): number {
  const number = decimalOf(value)
  if (number === undefined || number < least || number > most)
    throw new Fault('driver_value', `${field} has to be a number from ${least} to ${most} here`)
  return number
}

/** What `on` is for a zone that has a level and no switch. */
export function fullLevel({ zone }: DriverCommand): number {
  return typeof zone?.max === 'number' ? Math.min(zone.max, 100) : 100
}

/**
 * Refuses a number beyond `min` and `max` of a zone that is one value, under whatever name its address has it. The gates
 * compare only the common names, and of a zone of several values the bounds are for these alone.
 * @throws Fault `driver_value`
 */
export function refuseBeyond({ zone, verb }: DriverCommand, { field, value }: Setting, ofZone: number): void {
  const number = ofZone === 1 && field === foldedName(verb) ? decimalOf(value) : undefined
  if (number === undefined || !zone) return
  if (typeof zone.min === 'number' && number < zone.min)
    throw new Fault('driver_value', `${field} ${number} is below ${zone.min}, the least of zone ${zone.id}`)
  if (typeof zone.max === 'number' && number > zone.max)
    throw new Fault('driver_value', `${field} ${number} is above ${zone.max}, the most of zone ${zone.id}`)
}

/** @throws Fault `driver_value` */
export function switchIn({ field, value }: Setting): boolean {
  if (typeof value === 'boolean') return value
  if (value === 1 || value === 0) return value === 1
  throw new Fault('driver_value', `${field} has to be true or false here`)
}

/**
 * Values as they are reported, with what follows from them for the state of the zone.
 * @param hasState the device says by itself whether the zone is on: a level says nothing about that then
 */
export function zonePatch(
  values: readonly (readonly [field: string, value: Json])[],
  { hasState }: { hasState: boolean },
): Record<string, Json> {
  const said = objectOf(values)
  const state = stateOf(said, hasState)
  return { ...state, ...said }
}

function stateOf({ on, level, position, locked }: { [key: string]: Json }, hasState: boolean): Record<string, Json> {
  if (typeof on === 'boolean') return { state: on ? 'on' : 'off' }
  if (typeof locked === 'boolean') return { state: locked ? 'locked' : 'unlocked' }
  if (typeof position === 'number') return { state: position > 0 ? 'open' : 'closed' }
  if (typeof level === 'number' && !hasState) return { state: level > 0 ? 'on' : 'off', on: level > 0 }
  return {}
}
