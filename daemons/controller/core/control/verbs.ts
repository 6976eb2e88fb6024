/** Which rows of the table `command` speak of a verb on a target, and what they ask of its args. */
import { Fault } from '#kit/fault.ts'
import { derived } from '../derived.ts'
import { isObject } from '../json-kind.ts'
import { type ArgsSchema, argsFaults, readArgsSchema } from '../macros/args-schema.ts'
import type { Book, Json, Row } from '../row.ts'
import { type Args, boundedNumber, foldedName, isValueArg, readArgs, readVerb } from './reading.ts'
import { nameOf, type Target, withoutTargets } from './target.ts'

/** What the table `command` says. A verb without a row is left to the driver. */
export interface Verbs {
  /** Whether any row for it, enabled or not, is elevated. */
  isElevated(target: Target, verb: string): boolean
  /**
   * Verb and args as the driver gets them.
   * @param isOwn the verb stands in the building itself, in a macro or an override: it is spelled as its device wants it
   * @throws Fault `command_disabled`, `args_invalid` by the nearest rows, by min and max of the zone, by max_volume
   */
  read(target: Target, wish: { verb: string; args: Args; isOwn: boolean }): { verb: string; args: Args }
}

/** @param zonesOf the zones of a device: one that is commanded as a whole is of each of their types */
export function createVerbs(book: Book, zonesOf: (deviceId: number) => readonly Row[]): Verbs {
  const byName = derived(book, ['command'], () =>
    Map.groupBy(book.rows('command'), (row) => foldedName(String(row.name))),
  )
  const loudest = derived(book, ['av_zone'], () => loudestOf(book.rows('av_zone')))

  function speakingOf(target: Target, verb: string): readonly Row[] {
    const { zone, device } = target
    const zones = zone ? [zone] : device ? zonesOf(device.id) : []
    const subsystems = [...zones, ...(device ? [device] : [])].map((row) => row.subsystem_id)
    return (byName().get(foldedName(verb)) ?? []).filter(
      (row) =>
        (row.device_id == null || row.device_id === device?.id) &&
        (row.zone_type == null || zones.some(({ type }) => type === row.zone_type)) &&
        (row.subsystem_id == null || subsystems.includes(row.subsystem_id)),
    )
  }

  /** Refused, not clamped: a setpoint of 200 is a slip, and 30 is not what was meant. */
  function checkBounds(target: Target, verb: string, args: Args): void {
    const values = Object.entries(args).filter(([name]) => isValueArg(verb, name))
    if (values.length === 0) return
    for (const bound of boundsOf(target))
      for (const [name, value] of values) checkBound(bound, nameIn(verb, name), value)
  }

  /** A device as a whole is all of its zones. */
  function boundsOf({ zone, device }: Target): Bound[] {
    const { zones: most, devices } = loudest()
    const zones = zone ? [zone] : device ? zonesOf(device.id) : []
    const ofZones = zones.flatMap((each): Bound[] => [
      { of: `zone ${each.id}`, isVolume: false, least: each.min, most: each.max },
      { of: `zone ${each.id}`, isVolume: true, least: null, most: most.get(each.id) },
    ])
    const ofDevice = { of: `device ${device?.id}`, isVolume: true, least: null, most: devices.get(device?.id ?? 0) }
    return zone ? ofZones : [...ofZones, ofDevice]
  }

  return {
    isElevated: (target, verb) => speakingOf(target, verb).some((row) => row.elevated === true),
    read(target, { verb: wish, args: given, isOwn }) {
      const speaking = speakingOf(target, wish)
      const near = Math.max(...speaking.map(nearness))
      const nearest = speaking.filter((row) => nearness(row) === near)
      const names = nearest.map(({ name }) => String(name))
      const verb = readVerb(wish, isOwn ? [...names, wish] : names)
      if (nearest.some(({ enabled }) => enabled === false))
        throw new Fault('command_disabled', `the command ${verb} of ${nameOf(target)} is disabled`)
      const args = readArgs(verb, given, nearest.flatMap(schemaNames))
      const own = withoutTargets(args)
      // Rows that are alike in all but the letters of their name are one command: all of them hold.
      for (const row of nearest) checkSchema(row, own)
      checkBounds(target, verb, own)
      return { verb, args }
    },
  }
}

/** A row for one device is nearer than one for a type of zone, that nearer than one for a subsystem. */
function nearness(row: Row): number {
  return (row.device_id == null ? 0 : 4) + (row.zone_type == null ? 0 : 2) + (row.subsystem_id == null ? 0 : 1)
}

/** Read once for each row, since a row is never changed. */
const readAlready = new WeakMap<Row, ArgsSchema | boolean>()

/**
 * The same part of JSON Schema as for macros: all of it would let a pattern of a site file, met by an arg of thirty
 * letters, hold up the controller for hours. Values are not quoted: args may hold a code for a door.
 */
function checkSchema(row: Row, args: Args): void {
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

/** Names of args that a row knows; none where its schema cannot be used, which is told when it is checked. */
function schemaNames({ args_schema: said }: Row): string[] {
  return isObject(said) && isObject(said.properties) ? Object.keys(said.properties) : []
}

/** The most that av_zones say of each zone, and of each device that is commanded as a whole. */
function loudestOf(rows: readonly Row[]): { zones: ReadonlyMap<number, number>; devices: ReadonlyMap<number, number> } {
  const zones = new Map<number, number>()
  const devices = new Map<number, number>()
  for (const { zone_id: zone, device_id: device, max_volume: most } of rows) {
    if (typeof most !== 'number') continue
    if (typeof zone === 'number') zones.set(zone, Math.min(most, zones.get(zone) ?? most))
    if (typeof device === 'number') devices.set(device, Math.min(most, devices.get(device) ?? most))
  }
  return { zones, devices }
}

/** How much a value may be, of what: `volume` has the bounds of av_zones, every other value those of its zone. */
interface Bound {
  of: string
  isVolume: boolean
  least: Json | undefined
  most: Json | undefined
}

/** `value` is that of the verb beside it. */
function nameIn(verb: string, arg: string): string {
  const name = foldedName(arg)
  return name === 'value' ? foldedName(verb) : name
}

function checkBound({ of, isVolume, least, most }: Bound, name: string, given: Json): void {
  if ((name === 'volume') !== isVolume || (typeof least !== 'number' && typeof most !== 'number')) return
  const value = boundedNumber(name, given)
  if (value === undefined) return
  if (typeof least === 'number' && value < least)
    throw new Fault('args_invalid', `${name} ${value} is below ${least}, the least of ${of}`)
  if (typeof most === 'number' && value > most)
    throw new Fault('args_invalid', `${name} ${value} is above ${most}, the most of ${of}`)
}
