/** Driver for the KNX bus behind a KNXnet/IP interface: zones are group addresses. */
import { wait } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  groupTelegram,
  groupText,
  isKnxType,
  KNX_TYPES,
  knxValue,
  readGroup,
  readKnxValue,
  type Telegram,
} from '../../../wire/knx.ts'
import type { Json } from '../../json.ts'
import type { Row } from '../../site/book.ts'
import { type Driver, type DriverCommand, type DriverContext, type Place, tcpPlaceOf } from '../driver.ts'
import { addressOf, columnOf, entriesOf, flawIn, inside, refuse, textIn } from '../row-config.ts'
import { fullLevel, numberIn, refuseBeyond, type Setting, settingOf, switchIn, zonePatch } from '../zone-values.ts'
import { openTunnel, type Tunnel } from './tunnel.ts'

const PORT = 3671

/** Time between two questions: the bus carries some fifty telegrams a second, for everybody. */
const READ_GAP_MS = 50

/** One value of a zone. */
interface Point {
  zone: Row
  field: string
  type: string
  /** What a command is written to. */
  group: number
  /** Where its state is heard. */
  status: number
}

export function createKnxDriver(): Driver {
  return {
    name: 'knx',
    reads: () => ({ transport: ['host', 'port'], config: ['dpt'], polls: true }),
    flaw: (device) => flawIn(() => [placeOf(device), typesOf(device)]),
    zoneFlaw: (zone, device) => flawIn(() => pointsOf(zone, typesOf(device))),
    async open(device, zones, context) {
      const types = typesOf(device)
      const points = zones.flatMap((zone) => readablePoints(zone, types, context))
      const last = new Map<Point, Json>()
      const byStatus = Map.groupBy(points, ({ status }) => status)
      const hasState = new Set(points.filter(({ field }) => field === 'on').map(({ zone }) => zone))
      const tunnel = await openTunnel(placeOf(device), context, (telegram) => {
        for (const point of byStatus.get(telegram.group) ?? []) {
          const value = valueIn(point, telegram)
          if (value === undefined) continue
          last.set(point, value)
          const patch = zonePatch([[point.field, value]], { hasState: hasState.has(point.zone) })
          context.report({ zoneId: point.zone.id }, patch)
        }
      })
      const stopper = new AbortController()
      const readAll = (signal: AbortSignal) => askAll(tunnel, [...byStatus.keys()], context, signal)
      // Once, so that the building is known; who polls asks again and again.
      void readAll(stopper.signal).catch(() => {})
      return {
        async execute(command, signal) {
          const { point, value } = written(command, points, last)
          const { data, isShort } = knxValue(point.type, value)
          await tunnel.send(groupTelegram('write', point.group, data, isShort), signal)
          return {}
        },
        poll: readAll,
        async close() {
          stopper.abort()
          await tunnel.close()
        },
      }
    },
  }
}

function placeOf(device: Row): Place {
  return tcpPlaceOf(device, PORT)
}

/** What answers comes as any telegram; who may not be read stays silent. */
async function askAll(
  tunnel: Tunnel,
  groups: readonly number[],
  { clock }: DriverContext,
  signal: AbortSignal,
): Promise<void> {
  for (const group of groups) {
    if (signal.aborted) return
    await tunnel.send(groupTelegram('read', group), signal)
    await wait(clock, READ_GAP_MS)
  }
}

// Values.

/** KNX counts the way down: 0 is open and 100 closed. @source KNX Standard 3/7/2, DPT_Scaling; 1.008: 0 up, 1 down */
function turned(point: Point, value: number | boolean): number | boolean {
  return point.field === 'position' && typeof value === 'number' ? 100 - value : value
}

function valueIn(point: Point, { service, data }: Telegram): Json | undefined {
  const value = service === 'read' ? undefined : readKnxValue(point.type, data)
  if (value === undefined) return undefined
  return turned(point, typeof value === 'number' ? Math.round(value * 100) / 100 : value)
}

/** @throws Fault `driver_value` */
function written(
  command: DriverCommand,
  points: readonly Point[],
  last: ReadonlyMap<Point, Json>,
): { point: Point; value: number | boolean } {
  const { zone } = command
  const own = points.filter((point) => point.zone.id === zone?.id)
  const wanted = settingOf(command)
  refuseBeyond(command, wanted, own.length)
  const { point, setting } = pointFor(wanted, own, { last, full: fullLevel(command) })
  if (point.type.split('.')[0] === '1') return { point, value: switchIn(setting) }
  const number = typeof setting.value === 'boolean' ? Number(setting.value) : numberIn(setting, ANY)
  return { point, value: turned(point, number) }
}

const ANY = [-Number.MAX_VALUE, Number.MAX_VALUE] as const

function pointFor(
  { field, value }: Setting,
  own: readonly Point[],
  { last, full }: { last: ReadonlyMap<Point, Json>; full: number },
): { point: Point; setting: Setting } {
  const named = (name: string) => own.find((point) => point.field === name)
  const found = (point: Point, value: Json) => ({ point, setting: { field: point.field, value } })
  const on = named('on')
  if (field === 'toggle' && on) {
    const now = last.get(on)
    if (typeof now !== 'boolean') throw new Fault('driver_value', 'toggle: the bus has not said whether it is on')
    return found(on, !now)
  }
  const point = named(field)
  // A verb such as stop has no value: its telegram is the one.
  if (point) return found(point, value ?? true)
  const [level, move, only] = [named('level'), named('move'), own.length === 1 ? own[0] : undefined]
  if (field === 'on' && level) return found(level, value === true ? full : 0)
  if (field === 'position' && move && (value === 0 || value === 100)) return found(move, value === 0)
  if (field === 'value' && only) return found(only, value)
  const fields = own.map((one) => one.field).join(', ')
  throw new Fault('driver_value', `there is no ${field} in the address of the zone, it has ${fields || 'nothing'}`)
}

// Rows.

const FORM = 'FIELD=1/2/3<1/2/4:DPT'

/** The type of a value that names none. */
const TYPE_OF_FIELD: ReadonlyMap<string, string> = new Map([
  ...['on', 'locked', 'mute', 'move', 'stop'].map((field) => [field, '1.001'] as const),
  ...['level', 'position', 'volume'].map((field) => [field, '5.001'] as const),
  ...['setpoint', 'temperature'].map((field) => [field, '9.001'] as const),
])

/** Types of group addresses, from `config.dpt`. @throws Fault `driver_config` */
function typesOf(device: Row): Map<number, string> {
  return new Map(
    entriesOf(inside(columnOf(device, 'config'), 'dpt')).map(([address, placed]) => {
      const group = readGroup(address)
      const type = textIn(placed)
      if (group === undefined) refuse(placed, 'is not for a group address such as 1/2/3')
      if (!isKnxType(type)) refuse(placed, `is not a datapoint type that is known: ${KNX_TYPES}`)
      return [group, type]
    }),
  )
}

function readablePoints(zone: Row, types: ReadonlyMap<number, string>, context: DriverContext): Point[] {
  try {
    return pointsOf(zone, types)
  } catch (fault) {
    context.log((fault as Error).message)
    return []
  }
}

/** Most values of one zone. */
const MOST_POINTS = 16

/**
 * `1/2/3`, or several with their fields: `on=1/1/1<1/4/1 level=1/1/2<1/4/2:5.001`. Behind `<` stands where the state is heard.
 * @throws Fault `driver_config`
 */
function pointsOf(zone: Row, types: ReadonlyMap<number, string>): Point[] {
  const words = addressOf(zone)
    .split(/\s+/)
    .slice(0, MOST_POINTS + 1)
  if (words.length > MOST_POINTS) throw refused(zone, `has over ${MOST_POINTS} values`)
  const points = words.map((word) => pointOf(word, zone, types))
  if (new Set(points.map(({ field }) => field)).size < points.length)
    throw refused(zone, 'has two values for one field: name them, as in on=1/1/1 level=1/1/2')
  return points
}

function pointOf(word: string, zone: Row, types: ReadonlyMap<number, string>): Point {
  const [, name, write = '', heard = write, said] =
    /^(?:([a-z_][a-z0-9_]{0,63})=)?([\d/]+)(?:<([\d/]+))?(?::([\d.]+))?$/.exec(word) ?? []
  const [group, status] = [readGroup(write), readGroup(heard)]
  if (group === undefined || status === undefined)
    throw refused(zone, `has ${JSON.stringify(word.slice(0, 64))}, expected ${FORM}`)
  const named = said ?? types.get(group) ?? types.get(status)
  const field = name ?? fieldOf(named, zone)
  const type = named ?? TYPE_OF_FIELD.get(field)
  if (type === undefined)
    throw refused(zone, `has no datapoint type for ${field}: write ${groupText(group)}:9.001, or name it in config.dpt`)
  if (!isKnxType(type)) throw refused(zone, `has the datapoint type ${type}, known are ${KNX_TYPES}`)
  return { zone, field, type, group, status }
}

/** What a single address is, by its type and that of the zone. */
function fieldOf(type: string | undefined, zone: Row): string {
  const isBlind = zone.type === 'shade' || zone.type === 'blind'
  const isDimmer = zone.type === 'dimmer'
  const isHeat = ['thermostat', 'climate', 'hvac'].includes(String(zone.type))
  const main = type?.split('.')[0]
  if (main === '5' || (main === undefined && (isBlind || isDimmer))) return isBlind ? 'position' : 'level'
  if (main === '9' || (main === undefined && isHeat)) return isHeat ? 'setpoint' : 'temperature'
  return main === undefined || main === '1' ? 'on' : 'value'
}

function refused(zone: Row, what: string): Fault {
  return new Fault('driver_config', `the address of zone ${zone.id} ${what}`)
}
