/** Reads `transport` and `config` of a device's row, with sentences that name the place of a fault and never a value. */
import { Fault } from '#kit/pure/fault.ts'
import { nearestName } from '#kit/pure/text.ts'
import { isList, isObject, type Json, kindOf } from '../json.ts'
import type { Row } from '../site/book.ts'

/** A value of a row with the place where it stands, such as `config.commands.level`. */
export interface Placed {
  readonly value: Json | undefined
  readonly place: string
}

export type Fields = { readonly [key: string]: Json }

/** Most entries of a list or an object of a row that drivers prepare ahead. */
const MOST_ENTRIES = 512

/** @throws Fault `driver_config` */
export function refuse({ place }: Pick<Placed, 'place'>, what: string): never {
  throw new Fault('driver_config', `${place} ${what}`)
}

/** A column of a row, `{}` if it is empty. */
export function columnOf(row: Row, column: 'transport' | 'config'): Placed {
  return { value: row[column] ?? {}, place: column }
}

export function inside({ value, place }: Placed, key: string): Placed {
  const own = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return { value: own ?? undefined, place: `${place}.${key}` }
}

/** @param known the keys that it may have; any if omitted */
export function fieldsOf(placed: Placed, known?: readonly string[]): Fields {
  const { value, place } = placed
  if (!isObject(value)) refuse(placed, `is ${kindOf(value)}, expected an object`)
  const keys = Object.keys(value)
  if (keys.length > MOST_ENTRIES) refuse(placed, `has ${keys.length} entries, at most ${MOST_ENTRIES} are read`)
  const strange = known && keys.find((key) => !known.includes(key))
  if (strange === undefined) return value
  const near = nearestName(strange, known ?? [])
  throw new Fault(
    'driver_config',
    `${place} has the key ${JSON.stringify(strange.slice(0, 64))}, ${near ? `the nearest known one is ${near}` : `known are ${known?.join(', ')}`}`,
  )
}

/** The entries of an object, each with its place; none if it is not given. */
export function entriesOf(placed: Placed): [key: string, entry: Placed][] {
  if (placed.value === undefined) return []
  return Object.entries(fieldsOf(placed)).map(([key, value]) => [key, { value, place: `${placed.place}.${key}` }])
}

/** The items of a list, each with its place; none if it is not given. */
export function itemsOf(placed: Placed): Placed[] {
  const { value, place } = placed
  if (value === undefined) return []
  if (!isList(value)) refuse(placed, `is ${kindOf(value)}, expected a list`)
  if (value.length > MOST_ENTRIES) refuse(placed, `has ${value.length} entries, at most ${MOST_ENTRIES} are read`)
  return value.map((item, at) => ({ value: item, place: `${place}[${at}]` }))
}

export function textIn(placed: Placed): string {
  const { value } = placed
  if (typeof value !== 'string' || value === '') refuse(placed, `is ${kindOf(value)}, expected text`)
  return value
}

/** @param byDefault its value if it is not given */
export function choiceIn<Choice extends string>(placed: Placed, among: readonly Choice[], byDefault: Choice): Choice {
  const { value = byDefault } = placed
  const chosen = among.find((one) => one === value)
  return chosen ?? refuse(placed, `has to be one of ${among.join(', ')}`)
}

export function integerIn(placed: Placed, [least, most]: readonly [number, number], byDefault?: number): number {
  const { value = byDefault } = placed
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most)
    refuse(placed, `is ${kindOf(value)}, expected a whole number from ${least} to ${most}`)
  return value
}

/** The sentence of the fault that reading the row throws, if any. */
export function flawIn(read: () => unknown): string | undefined {
  try {
    read()
    return undefined
  } catch (fault) {
    if (fault instanceof Fault) return fault.message
    throw fault
  }
}

/** Whether a device has anything to ask at a poll. */
export function hasPolls(device: Row): boolean {
  const { value } = inside(columnOf(device, 'config'), 'polls')
  return isList(value) && value.length > 0
}

/** The address of a zone or device as text; empty if it has none. */
export function addressOf({ address }: Row): string {
  return typeof address === 'string' || typeof address === 'number' ? String(address) : ''
}
