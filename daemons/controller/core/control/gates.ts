/** Who may command what: role, elevation, scope and verb, for the first target and those overrides lead to. */
import { Fault } from '#kit/pure/fault.ts'
import { nearestName } from '#kit/pure/text.ts'
import type { ApiFunction, Session } from '../access/accounts.ts'
import type { AuditReason } from '../audit.ts'
import { createVolumeLimits } from '../av/limits.ts'
import { type ArgsSchema, argsFaults, isObject, type Json, kindOf, readArgsSchema } from '../json.ts'
import { type Book, derived, groupedBy, type Row, zonesByDevice } from '../site/book.ts'
import { usualVerbs } from '../usual-verbs.ts'
import {
  type Args,
  boundedNumber,
  decimalOf,
  foldedName,
  isCommonVerb,
  isRaw,
  isValueArg,
  mayWrite,
  readArgs,
  readVerb,
  type Target,
  targetName,
  withoutTargets,
} from './reading.ts'

// Scope: which zones the UIs of a session reach. A session without elevation commands nothing beyond them.

/** The zones a session may command; `open` is all of them. */
type Scope = 'open' | { has(zoneId: number): boolean }

/**
 * The scope is the union of the scopes of all enabled UIs that the roles allow. A UI without a row in ui_zone or
 * ui_zone_group_ui has no scope and opens everything; a session without any UI reaches nothing. A row for a group also
 * covers the zones of its subgroups. A row that points to nothing still makes its UI a scoped one.
 * @source document 1, POST /api/control/:action, scope_denied
 */
export function createScopes(book: Book): (session: Session) => Scope {
  const zonesOfUi = derived(book, ['ui_zone', 'ui_zone_group_ui', 'zone_group', 'zone'], () => zonesByUi(book))
  return (session) => {
    if (session.isElevated) return 'open'
    const scopes = session.uis.filter((ui) => ui.enabled !== false).map((ui) => zonesOfUi().get(ui.id))
    if (scopes.some((scope) => !scope)) return 'open'
    return { has: (zoneId) => scopes.some((scope) => scope?.has(zoneId)) }
  }
}

function zonesByUi(book: Book): Map<number, Set<number>> {
  const zones = new Map<number, Set<number>>()
  for (const [uiId, rows] of groupedBy(book.rows('ui_zone'), 'ui_id'))
    zones.set(uiId, new Set(rows.map((row) => row.zone_id).filter((id) => typeof id === 'number')))
  const subgroups = groupedBy(book.rows('zone_group'), 'parent_id')
  const zonesOfGroup = groupedBy(book.rows('zone'), 'zone_group_id')
  for (const [uiId, rows] of groupedBy(book.rows('ui_zone_group_ui'), 'ui_id')) {
    const own = zones.get(uiId) ?? new Set()
    zones.set(uiId, own)
    for (const group of groupsBelow(rows, subgroups)) for (const zone of zonesOfGroup.get(group) ?? []) own.add(zone.id)
  }
  return zones
}

/** The given groups and all groups below them; each once, even if they form circles. */
function groupsBelow(rows: readonly Row[], subgroups: Map<number, Row[]>): Set<number> {
  const groups = new Set(rows.map((row) => row.zone_group_id).filter((id) => typeof id === 'number'))
  // Iterating over a set also visits what is added during the loop.
  for (const group of groups) for (const { id } of subgroups.get(group) ?? []) groups.add(id)
  return groups
}

// Verbs: which rows of the table `command` apply to a verb on a target, and what args they require.

/** A command as it was asked for. */
interface Wish {
  verb: string
  args: Args
  isOwn: boolean
}

/**
 * Verbs that may do the same, depending on the driver: of a lock on a gateway `off` unlocks, as `unlock` does. A verb
 * without a row of its own is elevated where one of these has a row that is.
 */
const ALIKE: ReadonlyMap<string, readonly string[]> = new Map([
  ...alike('on open lock'),
  ...alike('off close unlock'),
  ...alike('level setpoint position volume value'),
  ...alike('source select route'),
  ...alike('mute unmute'),
  ['toggle', 'on open lock off close unlock'.split(' ')],
  ...'up down step_up step_down increase decrease volume_up volume_down volume_db ramp'
    .split(' ')
    .map((verb) => [verb, ['volume']] as const),
])

function alike(verbs: string): [verb: string, others: readonly string[]][] {
  const all = verbs.split(' ')
  return all.map((verb) => [verb, all.filter((other) => other !== verb)])
}

/** Verbs with the names of their args. */
type KnownVerbs = ReadonlyMap<string, readonly string[]>

/** The rules of the table `command`. A verb without a row is left to the driver. */
interface Verbs {
  /** Whether any matching row is elevated, even a disabled one; without one, a row of a verb that may do the same. */
  isElevated(target: Target, verb: string): boolean
  /**
   * Verb and args as the driver gets them.
   * @param known the verbs of the device's driver with the names of their args, if it knows them
   * @param isOwn the verb comes from the building itself, a macro or an override: it is spelled as its device wants it
   * @throws Fault `command_disabled`; `args_invalid` by the nearest rows, by min and max of the zone, or by max_volume
   */
  read(target: Target, wish: Wish, known?: KnownVerbs): { verb: string; args: Args }
  /** The zone as its driver gets it: its `max` is no higher than its max_volume, as `on` may mean the most. */
  limited(zone: Row): Row
  /**
   * Why a verb is taken for a misspelt one: a driver that takes any verb would send it as it stands, and answer that it
   * was done. Known are those of the zone's type, of the table `command`, of its overrides, and the common ones.
   * @returns a sentence with the nearest verb; undefined for a verb that is known, or near to none
   */
  misspelt(target: Target, verb: string): string | undefined
  /**
   * The verbs that are known for a target, for whoever has to choose one; without `ofDriver` it may take others.
   * @param ofDriver the verbs of the device's driver, if it knows them: then the usual ones of a zone's type are not meant
   */
  known(target: Target, ofDriver?: KnownVerbs): KnownVerb[]
}

/** A verb that somebody may choose, and what it takes. */
export interface KnownVerb {
  readonly name: string
  readonly label: string | null
  /** As `args_schema` of its row; null if nothing is known of its args. */
  readonly schema: Json
}

/** @param zonesOf the zones of a device: a device commanded as a whole has the type of each of them */
function createVerbs(book: Book, zonesOf: (deviceId: number) => readonly Row[]): Verbs {
  const byName = derived(book, ['command'], () =>
    Map.groupBy(book.rows('command'), (row) => foldedName(String(row.name))),
  )
  const bounds = createBounds(book, zonesOf)

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

  return {
    misspelt(target, verb) {
      const { zone, device } = target
      const zones = zone ? [zone] : device ? zonesOf(device.id) : []
      const names = [...byName().values()].flatMap(([first]) => (first ? [String(first.name)] : []))
      const own = names.filter((name) => speakingOf(target, name).length > 0)
      return misspeltSentence(target, verb, [...zones.flatMap(verbsOfZone), ...own])
    },
    known(target, ofDriver) {
      const zones = target.zone ? [target.zone] : zonesOf(target.device?.id ?? 0)
      const rows = [...byName().keys()].flatMap((name) => speakingOf(target, name))
      return knownOf(zones, rows, ofDriver)
    },
    isElevated(target, verb) {
      const own = speakingOf(target, verb)
      const others = own.length > 0 ? [] : (ALIKE.get(foldedName(verb)) ?? [])
      return [...own, ...others.flatMap((other) => speakingOf(target, other))].some((row) => row.elevated === true)
    },
    limited: bounds.limited,
    read(target, { verb: wish, args: given, isOwn }, known = new Map()) {
      const speaking = speakingOf(target, wish)
      const near = Math.max(...speaking.map(nearness))
      const nearest = speaking.filter((row) => nearness(row) === near)
      const names = [...nearest.map(({ name }) => String(name)), ...known.keys()]
      const verb = readVerb(wish, isOwn ? [...names, wish] : names)
      if (nearest.some(({ enabled }) => enabled === false))
        throw new Fault('command_disabled', `the command ${verb} of ${targetName(target)} is disabled`)
      const args = readArgs(verb, given, [...nearest.flatMap(schemaNames), ...(known.get(verb) ?? [])])
      const own = withoutTargets(args)
      // Rows whose names differ only in case or width are one command: all of them apply.
      for (const row of nearest) checkSchema(row, own)
      if (!nearest.some(saysLevel)) checkLevel(verb, own)
      bounds.check(target, verb, own)
      return { verb, args }
    },
  }
}

function verbsOfZone({ type, overrides }: Row): readonly string[] {
  return [...usualVerbs(type), ...(isObject(overrides) ? Object.keys(overrides) : [])]
}

/** @param rows of `command` that speak of the target: what they say counts before what is usual */
function knownOf(zones: readonly Row[], rows: readonly Row[], ofDriver: KnownVerbs | undefined): KnownVerb[] {
  const usual = zones.flatMap((zone) => usualOf(zone, ofDriver !== undefined))
  const driven = [...(ofDriver ?? [])].map(([name, args]) => knownVerb(name, schemaOfNames(args)))
  const own = rows
    .filter(({ enabled }) => enabled !== false)
    .map(({ name, label, args_schema: schema = null }) => ({
      ...knownVerb(String(name), schema),
      label: typeof label === 'string' ? label : null,
    }))
  return [...new Map([...usual, ...driven, ...own].map((verb) => [foldedName(verb.name), verb])).values()]
}

function usualOf(zone: Row, isDriven: boolean): KnownVerb[] {
  const { min, max, overrides } = zone
  const bounds = { ...(typeof min === 'number' && { minimum: min }), ...(typeof max === 'number' && { maximum: max }) }
  const usual = isDriven ? [] : usualVerbs(zone.type)
  const own = isObject(overrides) ? Object.keys(overrides) : []
  return [
    ...usual.map((name) =>
      knownVerb(name, isValueArg(name, name) ? { properties: { [name]: { type: 'number', ...bounds } } } : null),
    ),
    ...own.map((name) => knownVerb(name, null)),
  ]
}

function knownVerb(name: string, schema: Json): KnownVerb {
  return { name, label: null, schema }
}

function schemaOfNames(names: readonly string[]): Json {
  return { properties: Object.fromEntries(names.map((name) => [name, {}])) }
}

function misspeltSentence(target: Target, verb: string, known: readonly string[]): string | undefined {
  const name = foldedName(verb)
  if (isCommonVerb(verb) || known.some((one) => foldedName(one) === name)) return undefined
  const near = nearestName(name, known)
  return near && `${targetName(target)} has no command ${JSON.stringify(verb)}; the nearest is ${JSON.stringify(near)}`
}

/** A row for a device is nearer than one for a zone type, and that is nearer than one for a subsystem. */
function nearness(row: Row): number {
  return (row.device_id == null ? 0 : 4) + (row.zone_type == null ? 0 : 2) + (row.subsystem_id == null ? 0 : 1)
}

/** Each row is parsed once, since rows are immutable. */
const readAlready = new WeakMap<Row, ArgsSchema | boolean>()

/**
 * Supports the same subset of JSON Schema as macros: with all of it, a pattern in a site file and an arg of thirty
 * letters could block the controller for hours. Values are not quoted: args may contain a door code.
 */
function checkSchema(row: Row, args: Args): void {
  const schema = schemaOf(row)
  if (schema === true) return
  const [fault] = schema === false ? ['no args are taken'] : argsFaults(schema, new Map(Object.entries(args)))
  if (fault !== undefined) throw new Fault('args_invalid', `${fault}, by args_schema of command ${row.id}`)
}

/** @returns true if anything is allowed, false if no args are */
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
    const why = cause instanceof Fault ? cause.message : 'it is not a schema'
    throw new Fault('args_invalid', `args_schema of command ${row.id} cannot be used: ${why}`, { cause })
  }
}

/** Whether a row decides itself what a level is. */
function saysLevel(row: Row): boolean {
  return schemaNames(row).some((name) => foldedName(name) === 'level')
}

/** A level is a number wherever no row of `command` says otherwise. @throws Fault `args_invalid` */
function checkLevel(verb: string, args: Args): void {
  for (const [name, value] of Object.entries(args)) {
    if (nameIn(verb, name) !== 'level' || !isValueArg(verb, name) || decimalOf(value) !== undefined) continue
    const seen = typeof value === 'string' ? 'a text that is no decimal number' : kindOf(value)
    throw new Fault('args_invalid', `level has to be a number such as 40, and is ${seen}`)
  }
}

/** The arg names in a row's schema; none if the schema is unusable, which is reported when it is checked. */
function schemaNames({ args_schema: said }: Row): string[] {
  return isObject(said) && isObject(said.properties) ? Object.keys(said.properties) : []
}

/** Compares values with `min`, `max` and `max_volume` of their zones. */
function createBounds(book: Book, zonesOf: (deviceId: number) => readonly Row[]) {
  const limits = createVolumeLimits(book)

  /** Out-of-range values are refused, not clamped: a setpoint of 200 is a typing error, and 30 was not meant either. */
  function checkBounds(target: Target, verb: string, args: Args): void {
    const values = Object.entries(args).filter(([name]) => isValueArg(verb, name))
    if (values.length === 0) return
    for (const bound of boundsOf(target))
      for (const [name, value] of values) checkBound(bound, nameIn(verb, name), value)
  }

  /**
   * What is written past the points is in numbers of the bus, which no limit can be compared with. Loudness may hurt,
   * so a device with a max_volume takes none of it, whoever asks.
   */
  function checkRaw(target: Target, verb: string, args: Args): void {
    const { device } = target
    if (!device || !isRaw(target, verb) || !mayWrite(verb, args)) return
    const limited = zonesOf(device.id).find((zone) => limits.ofZone(zone) !== undefined)
    if (limited === undefined && limits.ofDevice(device.id) === undefined) return
    const which = limited === undefined ? 'it' : `zone ${limited.id} of it`
    throw new Fault(
      'args_invalid',
      `${verb} may write to any part of device ${device.id}, and ${which} has a max_volume: command its zones instead`,
    )
  }

  /** A command to a whole device must keep the bounds of all its zones. */
  function boundsOf({ zone, device }: Target): Bound[] {
    const zones = zone ? [zone] : device ? zonesOf(device.id) : []
    const ofZones = zones.flatMap((each): Bound[] => [
      { of: `zone ${each.id}`, isVolume: false, least: each.min, most: each.max },
      { of: `zone ${each.id}`, isVolume: true, least: null, most: limits.ofZone(each) },
    ])
    const most = limits.ofDevice(device?.id ?? 0)
    return zone ? ofZones : [...ofZones, { of: `device ${device?.id}`, isVolume: true, least: null, most }]
  }

  return {
    check(target: Target, verb: string, args: Args): void {
      checkBounds(target, verb, args)
      checkRaw(target, verb, args)
    },
    limited(zone: Row): Row {
      const most = limits.ofZone(zone)
      if (most === undefined) return zone
      return { ...zone, max: typeof zone.max === 'number' ? Math.min(zone.max, most) : most }
    },
  }
}

/** The bounds of a value: `volume` has those of av_zone, every other value those of its zone beside. */
interface Bound {
  of: string
  isVolume: boolean
  least: Json | undefined
  most: Json | undefined
}

/** The name of a value: `value` stands for the verb it comes with. */
function nameIn(verb: string, arg: string): string {
  const name = foldedName(arg)
  return name === 'value' ? foldedName(verb) : name
}

function checkBound({ of, isVolume, least, most }: Bound, name: string, given: Json): void {
  if (typeof least !== 'number' && typeof most !== 'number') return
  // Where there is a max_volume, every value may be the volume: it depends on the driver which of them is.
  if (name === 'volume' && !isVolume) return
  const value = boundedNumber(name, given)
  if (value === undefined && isVolume && name !== 'volume')
    throw new Fault('args_invalid', `${name} has to be a number: ${of} has a max_volume`)
  if (value === undefined) return
  if (typeof least === 'number' && value < least)
    throw new Fault('args_invalid', `${name} ${value} is below ${least}, the least of ${of}`)
  if (typeof most === 'number' && value > most)
    throw new Fault('args_invalid', `${name} ${value} is above ${most}, the most of ${of}`)
}

// The gates: role, elevation and scope, in this order.

/** The session behind a command, and the API function that brought it: steps of a macro come by `macro`. */
export interface Caller {
  session: Session
  by: ApiFunction
}

/** Why a target is refused. */
export type Refusal = Extract<AuditReason, 'role_denied' | 'elevation_denied' | 'scope_denied'>

export interface Gates {
  verbs: Verbs
  /** @param verb if omitted, the table `command` is not consulted */
  refusal(caller: Caller, target: Target, verb?: string): Refusal | undefined
  /** Whether the target is for elevated sessions alone. @param verb if omitted, the table `command` is not consulted */
  isElevated(target: Target, verb?: string): boolean
  /** Whether some zones are out of reach for this session, so that it must not learn what exists. */
  isScoped(session: Session): boolean
  /** Whether the target is within the zones of the session. */
  isReached(target: Target, session: Session): boolean
}

/**
 * Elevation: a flag on the device, the zone or the command. A device commanded as a whole is elevated if one of its
 * zones is, since the command reaches that zone too; so does a raw verb, whichever zone it is sent to. Scope: a device
 * is reached through any of its zones, and by a raw verb through all of them.
 * @source document 1, POST /api/control/:action, elevated gates
 */
export function createGates(book: Book): Gates {
  const zonesOf = zonesByDevice(book)
  const scopeOf = createScopes(book)
  const verbs = createVerbs(book, zonesOf)

  function isElevated({ zone, device }: Target, verb?: string): boolean {
    if (device?.elevated === true) return true
    const isWhole = device !== undefined && (!zone || (verb !== undefined && isRaw({ device }, verb)))
    const zones = isWhole ? zonesOf(device.id) : zone ? [zone] : []
    if (zones.some(({ elevated }) => elevated === true)) return true
    return verb !== undefined && verbs.isElevated({ zone, device }, verb)
  }

  function isReached({ zone, device }: Target, session: Session): boolean {
    const scope = scopeOf(session)
    if (scope === 'open') return true
    if (zone) return scope.has(zone.id)
    return device !== undefined && zonesOf(device.id).some(({ id }) => scope.has(id))
  }

  /** A raw command reaches whatever the device has, so each of its zones has to be within reach. */
  function isReachedBy(target: Target, session: Session, verb: string | undefined): boolean {
    const { device } = target
    if (!isReached(target, session)) return false
    if (device === undefined || verb === undefined || !isRaw(target, verb)) return true
    return zonesOf(device.id).every((zone) => isReached({ zone, device }, session))
  }

  return {
    verbs,
    isElevated,
    refusal({ session, by }, target, verb) {
      if (!session.may(by)) return 'role_denied'
      if (verb !== undefined && isRaw(target, verb) && !session.may('raw')) return 'role_denied'
      if (session.isElevated) return undefined
      if (isElevated(target, verb)) return 'elevation_denied'
      return isReachedBy(target, session, verb) ? undefined : 'scope_denied'
    },
    isScoped: (session) => scopeOf(session) !== 'open',
    isReached,
  }
}
