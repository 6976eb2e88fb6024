/** Which rows of the table `command` speak of a verb on a target, and what they ask of its args. */
import { Fault } from '#kit/fault.ts'
import { derived } from '../derived.ts'
import { isObject } from '../json-kind.ts'
import { type ArgsSchema, argsFaults, readArgsSchema } from '../macros/args-schema.ts'
import type { Book, Json, Row } from '../row.ts'
import { nameOf, type Target, withoutTargets } from './target.ts'

/** Verbs whose value is that of the zone: `min` and `max` of a zone bound them. */
const BOUNDED_VERBS = new Set(['level', 'setpoint', 'position', 'value'])

/** What the table `command` says. A verb without a row is left to the driver. */
export interface Verbs {
  /** Whether any row for it, enabled or not, is elevated. Case and compatible letters do not count: devices forgive them. */
  isElevated(target: Target, verb: string): boolean
  /** @throws Fault `command_disabled`, `args_invalid` by the nearest row and by min and max of the zone */
  check(target: Target, verb: string, args: Readonly<Record<string, Json>>): void
}

/** @param zonesOf the zones of a device: one that is commanded as a whole is of each of their types */
export function createVerbs(book: Book, zonesOf: (deviceId: number) => readonly Row[]): Verbs {
  const byName = derived(book, ['command'], () => Map.groupBy(book.rows('command'), (row) => folded(String(row.name))))

  function speakingOf(target: Target, verb: string): readonly Row[] {
    const { zone, device } = target
    const zones = zone ? [zone] : device ? zonesOf(device.id) : []
    const subsystems = [...zones, ...(device ? [device] : [])].map((row) => row.subsystem_id)
    return (byName().get(folded(verb)) ?? []).filter(
      (row) =>
        (row.device_id == null || row.device_id === device?.id) &&
        (row.zone_type == null || zones.some(({ type }) => type === row.zone_type)) &&
        (row.subsystem_id == null || subsystems.includes(row.subsystem_id)),
    )
  }

  return {
    isElevated: (target, verb) => speakingOf(target, verb).some((row) => row.elevated === true),
    check(target, verb, args) {
      const speaking = speakingOf(target, verb)
      const exact = speaking.filter(({ name }) => name === verb)
      // In other letters it is the same command to many devices: it is held to the same rows.
      const nearest = (exact.length > 0 ? exact : speaking).reduce<Row | undefined>(
        (best, row) => (best && nearness(best) >= nearness(row) ? best : row),
        undefined,
      )
      if (nearest?.enabled === false)
        throw new Fault('command_disabled', `the command ${verb} of ${nameOf(target)} is disabled`)
      const own = withoutTargets(args)
      if (nearest) checkSchema(nearest, own)
      // A device as a whole is all of its zones.
      const zones = target.zone ? [target.zone] : target.device ? zonesOf(target.device.id) : []
      for (const zone of zones) checkBounds(zone, verb, own)
    },
  }
}

/** A row for one device is nearer than one for a type of zone, that nearer than one for a subsystem. */
function nearness(row: Row): number {
  return (row.device_id == null ? 0 : 4) + (row.zone_type == null ? 0 : 2) + (row.subsystem_id == null ? 0 : 1)
}

function folded(verb: string): string {
  return verb.normalize('NFKC').trim().toLowerCase()
}

/** Read once for each row, since a row is never changed. */
const readAlready = new WeakMap<Row, ArgsSchema | boolean>()

/**
 * The same part of JSON Schema as for macros: all of it would let a pattern of a site file, met by an arg of thirty
 * letters, hold up the controller for hours. Values are not quoted: args may hold a code for a door.
 */
function checkSchema(row: Row, args: Readonly<Record<string, Json>>): void {
  const schema = schemaOf(row)
  if (schema === true) return
  const [fault] = schema === false ? ['no args are taken'] : argsFaults(schema, new Map(Object.entries(args)))
  if (fault !== undefined) throw new Fault('args_invalid', `${fault}, by args_schema of command ${row.id}`)
}

/** @returns true where anything goes, false where nothing does */
function schemaOf(row: Row): ArgsSchema | boolean {
  const { args_schema: said = null } = row
  if (typeof said === 'boolean') return said
  if (!isObject(said)) return true
  const known = readAlready.get(row)
  if (known !== undefined) return known
  try {
    const schema = readArgsSchema(said)
    readAlready.set(row, schema)
    return schema
  } catch (cause) {
    const why = cause instanceof Fault ? cause.message : 'it is no schema'
    throw new Fault('args_invalid', `args_schema of command ${row.id} cannot be used: ${why}`, { cause })
  }
}

/** Refused, not clamped: a setpoint of 200 is a slip, and 30 is not what was meant. */
function checkBounds(zone: Row, verb: string, args: Readonly<Record<string, Json>>): void {
  const name = folded(verb)
  if (!BOUNDED_VERBS.has(name)) return
  const { min, max } = zone
  for (const [key, given] of Object.entries(args)) {
    const value = folded(key) === name ? numberOf(given) : undefined
    if (value === undefined) continue
    if (typeof min === 'number' && value < min)
      throw new Fault('args_invalid', `${name} ${value} is below ${min}, the least of zone ${zone.id}`)
    if (typeof max === 'number' && value > max)
      throw new Fault('args_invalid', `${name} ${value} is above ${max}, the most of zone ${zone.id}`)
  }
}

/** A number, and a text that a device would read as one; undefined for what is neither. */
function numberOf(value: Json): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'string' || value.trim() === '') return undefined
  const number = Number(value)
  return Number.isNaN(number) ? undefined : number
}
