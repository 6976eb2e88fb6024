/** Rows of a site that are stored but have no effect yet, with the reason: for the import, the log and the page. */
import { nearestName } from '#kit/pure/text.ts'
import { isElevated, mayDo, uisOf } from '../access/accounts.ts'
import { isCommonVerb } from '../control/reading.ts'
import { type Driver, driverNameOf } from '../drivers/driver.ts'
import { isObject, type Json, readArgsSchema } from '../json.ts'
import { readPlan } from '../macros/plan.ts'
import { MACRO_LIMITS } from '../macros/values.ts'
import { scheduleFlaw } from '../schedules/schedules.ts'
import { triggerFlaw } from '../triggers/triggers.ts'
import type { Row } from './book.ts'
import { tableOf } from './registry.ts'
import { quoted } from './site-text.ts'

/** One row, or part of it. `row` is `device 3 "Amp"`. Contains no secret. */
export interface NotDriven {
  row: string
  why: string
}

/** A site: returns the rows of a table. */
export type RowsOf = (table: string) => Iterable<Row>

/** Tables whose rows have no effect at all. */
const TABLES: Readonly<Record<string, string>> = {
  credential: 'nothing signs in with credentials yet',
  web_service: 'no web service is called yet',
  license: 'licences are not looked at yet',
}

/** Columns that have no effect if they are set. */
const COLUMNS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  auth_user: {
    rfid: 'nobody signs in by card yet',
    push_subscription: 'nothing is pushed yet',
  },
}

/** Everything in a site that has no effect, in the order of its tables. */
export function notDriven(rowsOf: RowsOf, drivers: readonly Driver[]): NotDriven[] {
  const byName = new Map(drivers.map((driver) => [driver.name, driver]))
  return [
    ...[...rowsOf('device')].flatMap((row) => ofDevice(row, byName)),
    ...ofZones(rowsOf, byName),
    ...[...rowsOf('command')].flatMap(ofCommand),
    ...ofMacros(rowsOf, verbsKnown(rowsOf, byName)),
    ...ofSchedules(rowsOf),
    ...[...rowsOf('trigger')].flatMap(ofTrigger),
    ...ofRoles(rowsOf),
    ...[...rowsOf('auth_user')].flatMap(ofPins),
    ...Object.entries(TABLES).flatMap(([table, why]) =>
      [...rowsOf(table)].flatMap((row) => (row.enabled === false ? [] : [told(table, row, why)])),
    ),
    ...Object.entries(COLUMNS).flatMap(([table, columns]) =>
      [...rowsOf(table)].flatMap((row) =>
        Object.entries(columns).flatMap(([column, why]) =>
          isSet(row[column]) ? [told(table, row, `${column}: ${why}`)] : [],
        ),
      ),
    ),
  ]
}

function isSet(value: Json | undefined): boolean {
  return value !== undefined && value !== null && value !== false && value !== ''
}

function told(table: string, row: Row, why: string): NotDriven {
  const label = row[tableOf(table)?.label ?? '']
  return { row: `${table} ${row.id}${typeof label === 'string' ? ` ${quoted(label)}` : ''}`, why }
}

function ofDevice(device: Row, drivers: ReadonlyMap<string, Driver>): NotDriven[] {
  if (device.enabled === false) return []
  const name = driverNameOf(device)
  const driver = drivers.get(name)
  const known = [...drivers.keys()].join(', ')
  if (driver === undefined) {
    const why = name === '' ? 'it names no driver' : `there is no driver ${quoted(name)} yet`
    return [told('device', device, `${why}, known are ${known}: its commands are refused`)]
  }
  const { transport = [], config = [], polls = true, isCommandSet = false } = driver.reads?.(device) ?? {}
  const flaw = driver.flaw?.(device)
  const keys = [
    ...strangeKeys('transport', device.transport, ['kind', ...transport], name),
    ...strangeKeys('config', device.config, config, name),
    ...(polls || typeof device.poll_ms !== 'number' || device.poll_ms === 0
      ? []
      : [`poll_ms: driver ${name} does not poll`]),
    ...(isCommandSet || !isSet(device.command_set)
      ? []
      : [`command_set: driver ${name} reads none; leave driver empty`]),
  ]
  return [...(flaw === undefined ? [] : [`${flaw}: its commands are refused`]), ...keys].map((why) =>
    told('device', device, why),
  )
}

/** Names keys but never values, which may be secret. */
function strangeKeys(column: string, value: Json | undefined, known: readonly string[], driver: string): string[] {
  if (!isObject(value)) return []
  return Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => {
      const near = nearestName(key, known)
      const hint = near === undefined ? '' : `; the nearest is ${quoted(near)}`
      return `${column}.${quoted(key)}: driver ${driver} does not know this key${hint}`
    })
}

function ofZones(rowsOf: RowsOf, drivers: ReadonlyMap<string, Driver>): NotDriven[] {
  const devices = new Map([...rowsOf('device')].map((device) => [device.id as Json, device]))
  return [...rowsOf('zone')].flatMap((zone) => ofZone(zone, devices.get(zone.device_id ?? null), drivers))
}

function ofZone(zone: Row, device: Row | undefined, drivers: ReadonlyMap<string, Driver>): NotDriven[] {
  const { overrides } = zone
  const hasOverrides = isObject(overrides) && Object.keys(overrides).length > 0
  const flaw =
    device && device.enabled !== false ? drivers.get(driverNameOf(device))?.zoneFlaw?.(zone, device) : undefined
  if (flaw !== undefined) return [told('zone', zone, `${flaw}: its commands are refused`)]
  if (zone.device_id !== null && zone.device_id !== undefined) return []
  return hasOverrides ? [] : [told('zone', zone, 'it has no device: its commands are refused')]
}

function ofCommand(command: Row): NotDriven[] {
  const { args_schema: schema } = command
  if (!isObject(schema)) return []
  try {
    readArgsSchema(schema)
    return []
  } catch (fault) {
    return [told('command', command, `${(fault as Error).message}: it is refused`)]
  }
}

/** Macros that cannot be parsed, and unknown commands, which are sent to the device as written. */
function ofMacros(rowsOf: RowsOf, verbs: ReadonlySet<string>): NotDriven[] {
  const steps = Map.groupBy(rowsOf('macro_step'), ({ macro_id }) => macro_id)
  const found: NotDriven[] = []
  for (const macro of rowsOf('macro')) {
    const own = steps.get(macro.id) ?? []
    try {
      readPlan(macro, own, MACRO_LIMITS)
    } catch (fault) {
      found.push(told('macro', macro, `${(fault as Error).message}: it is refused`))
    }
    for (const { command, type, position } of own)
      if (type === 'command' && typeof command === 'string' && !isCommonVerb(command) && !verbs.has(command))
        found.push(
          told('macro', macro, `step ${position}: no row of command knows ${quoted(command)}, it is sent as it stands`),
        )
  }
  return found
}

/** Verbs of rows of `command`, and of the definitions of devices. */
function verbsKnown(rowsOf: RowsOf, drivers: ReadonlyMap<string, Driver>): ReadonlySet<string> {
  const verbs = new Set([...rowsOf('command')].map(({ name }) => String(name)))
  for (const device of rowsOf('device'))
    for (const verb of drivers.get(driverNameOf(device))?.verbs?.(device)?.keys() ?? []) verbs.add(verb)
  return verbs
}

function ofSchedules(rowsOf: RowsOf): NotDriven[] {
  const [site] = rowsOf('site')
  return [...rowsOf('schedule')].flatMap((row) => {
    if (row.enabled === false) return []
    const flaw = scheduleFlaw(row, site)
    if (flaw !== undefined) return [told('schedule', row, `${flaw}: it does not run`)]
    const isByUtc = !isSet(row.timezone) && !isSet(site?.timezone)
    return isByUtc ? [told('schedule', row, 'the site has no timezone: it runs by UTC')] : []
  })
}

function ofTrigger(trigger: Row): NotDriven[] {
  if (trigger.enabled === false) return []
  const flaw = triggerFlaw(trigger, MACRO_LIMITS.longestMs)
  return flaw === undefined ? [] : [told('trigger', trigger, `${flaw}: it starts nothing`)]
}

/** Roles that cannot do what their rules seem to allow, alone or with the other roles of whoever has them. */
function ofRoles(rowsOf: RowsOf): NotDriven[] {
  const roles = new Map([...rowsOf('auth_role')].map((role) => [role.id, role]))
  const uis = [...rowsOf('ui')]
  const held = Map.groupBy(rowsOf('auth_user_role'), ({ user_id }) => user_id)
  const together = [...held.values()].map((links) => links.flatMap(({ role_id: id }) => roles.get(Number(id)) ?? []))
  return [...roles.values()].flatMap((role) => {
    const sets = together.filter((set) => set.includes(role))
    const isVain = (judge: (set: readonly Row[]) => boolean) =>
      sets.length === 0 ? judge([role]) : sets.some((set) => judge(set))
    const commands = mayDo([role], 'api', 'command') || mayDo([role], 'socket', 'command')
    const reachesNothing = (set: readonly Row[]) => !isElevated(set) && uisOf(set, uis).length === 0
    const writes = mayDo([role], 'socket', 'write')
    return [
      ...(commands && isVain(reachesNothing)
        ? [
            told(
              'auth_role',
              role,
              'it allows command and no UI that is enabled, so no zone is within reach: add allow ui',
            ),
          ]
        : []),
      ...(writes && isVain((set) => !isElevated(set))
        ? [
            told(
              'auth_role',
              role,
              'it allows write on the socket without Elevated: rows are written by elevated sessions alone',
            ),
          ]
        : []),
    ]
  })
}

/** Earlier versions kept PINs as they stood. */
function ofPins(user: Row): NotDriven[] {
  return ['pin', 'duress_pin'].flatMap((name) => {
    const kept = user[name]
    if (typeof kept !== 'string' || kept === '' || kept.startsWith('$argon2id$')) return []
    return [
      told('auth_user', user, `${name}: an earlier version kept it, and nobody signs in with it: import it again`),
    ]
  })
}
