/** Driver for units of Modbus TCP: zones are coils and registers, by their addresses. */
import { Fault } from '#kit/pure/fault.ts'
import {
  isModbusReply,
  MODBUS_FRAMING,
  type ModbusQuestion,
  modbusFrame,
  openModbusReply,
  wordsOfNumber,
} from '../../../wire/modbus-tcp.ts'
import type { Json } from '../../json.ts'
import type { Row } from '../../site/book.ts'
import { type Connection, type Driver, type DriverCommand, type DriverContext, tcpPlaceOf } from '../driver.ts'
import { columnOf, flawIn, inside, integerIn, refuse } from '../row-config.ts'
import { fullLevel, numberIn, refuseBeyond, type Setting, settingOf, switchIn, zonePatch } from '../zone-values.ts'
import { groupsOf, type Point, pointsOf, type ReadGroup } from './points.ts'

const PORT = 502
const CONFIG_KEYS = ['gap', 'write_multiple']

/** Registers or bits between two points that are read along: a read costs more than they do. */
const GAP = 8

export function createModbusTcpDriver(): Driver {
  return {
    name: 'modbus-tcp',
    reads: () => ({ transport: ['host', 'port'], config: CONFIG_KEYS, polls: true }),
    flaw: (device) => flawIn(() => [tcpPlaceOf(device, PORT), settingsOf(device)]),
    zoneFlaw: (zone) => flawIn(() => pointsOf(zone)),
    async open(device, zones, context) {
      const settings = settingsOf(device)
      const place = { kind: 'tcp', ...tcpPlaceOf(device, PORT), framing: MODBUS_FRAMING } as const
      // What answers no question is an answer to one that was given up, or a lie.
      const ask = createAsk(await context.connect(place, () => false))
      context.online(true)
      const points = zones.flatMap((zone) => readablePoints(zone, context))
      const poll = createPoll({ ask, context, points, gap: settings.gap })
      return {
        async execute(command, signal) {
          const { point, values } = await written(command, points, (asked) => read(ask, asked, signal))
          const { isMultiple } = settings
          await ask({ ...point, count: 1, values, isMultiple }, signal)
          await poll.readBack(point, signal)
          return {}
        },
        poll: poll.all,
        async close() {},
      }
    },
  }
}

function settingsOf(device: Row): { gap: number; isMultiple: boolean } {
  const config = columnOf(device, 'config')
  const multiple = inside(config, 'write_multiple')
  const { value = false } = multiple
  if (typeof value !== 'boolean') refuse(multiple, 'has to be true or false')
  return { gap: integerIn(inside(config, 'gap'), [0, 100], GAP), isMultiple: value }
}

function readablePoints(zone: Row, context: DriverContext): Point[] {
  try {
    return pointsOf(zone)
  } catch (fault) {
    context.log((fault as Error).message)
    return []
  }
}

type Ask = (question: ModbusQuestion, signal: AbortSignal) => Promise<number[]>

/** One question at a time; each has a transaction id of its own, so that no late reply is taken for another's. */
function createAsk(connection: Connection): Ask {
  let last = 0
  return async (question, signal) => {
    last = (last + 1) & 0xffff
    const id = last
    const isReply = (frame: Uint8Array) => isModbusReply(question, id, frame)
    return openModbusReply(question, await connection.ask(modbusFrame(question, id), isReply, signal))
  }
}

async function read(ask: Ask, point: Point, signal: AbortSignal): Promise<Json | undefined> {
  return point.read(await ask(point, signal))
}

// Commands.

/** @throws Fault `driver_value` */
async function written(
  command: DriverCommand,
  points: readonly Point[],
  now: (point: Point) => Promise<Json | undefined>,
): Promise<{ point: Point; values: number[] }> {
  const { zone } = command
  if (!zone) throw new Fault('driver_value', 'a command is for a zone: a device has no registers of its own')
  const own = points.filter(({ zoneId }) => zoneId === zone.id)
  const setting = settingOf(command)
  const isToggle = setting.field === 'toggle'
  const wanted = isToggle ? { field: 'on', value: true } : setting
  refuseBeyond(command, setting, own.length)
  const { point, value } = pointFor(wanted, own, { zone, full: fullLevel(command) })
  if (!point.isWritable) throw new Fault('driver_value', `${point.field} of zone ${zone.id} can only be read`)
  if (isToggle) return { point, values: wordsFor(point, { field: point.field, value: (await now(point)) !== true }) }
  return { point, values: wordsFor(point, { field: point.field, value }) }
}

/** @param full what `on` is where there is only a level */
function pointFor(
  { field, value }: Setting,
  own: readonly Point[],
  { zone, full }: { zone: Row; full: number },
): { point: Point; value: Json } {
  const named = own.find((point) => point.field === field)
  if (named) return { point: named, value }
  // A zone that has a level and no switch is on at 100, or at its maximum if that is less, and off at 0; `value` is the
  // only value that there is.
  const level = own.find((point) => point.field === 'level')
  if (field === 'on' && level) return { point: level, value: value === true ? full : 0 }
  const [only, other] = own
  if (field === 'value' && only && !other) return { point: only, value }
  const fields = own.map((point) => point.field).join(', ')
  throw new Fault('driver_value', `zone ${zone.id} has no ${field} in its address, it has ${fields || 'nothing'}`)
}

/** @throws Fault `driver_value` */
function wordsFor(point: Point, setting: Setting): number[] {
  const { format, scale } = point
  if (format === undefined) return [switchIn(setting) ? 1 : 0]
  const number = typeof setting.value === 'boolean' ? Number(setting.value) : numberIn(setting, ANY)
  const words = wordsOfNumber(number / scale, format)
  if (words) return words
  throw new Fault('driver_value', `${number} is more than ${format.type} holds with the scale ${scale}`)
}

const ANY = [-Number.MAX_VALUE, Number.MAX_VALUE] as const

// Polls.

interface PollParts {
  ask: Ask
  context: DriverContext
  points: readonly Point[]
  gap: number
}

function createPoll({ ask, context, points, gap }: PollParts) {
  let groups = groupsOf(points, gap)
  const said = new Set<string>()
  /** Zones whose unit did not answer its gateway. */
  const zonesAway = new Set<number>()

  function report(values: ReadonlyMap<Point, Json>): void {
    const byZone = Map.groupBy(values, ([{ zoneId }]) => zoneId)
    for (const [zoneId, some] of byZone) {
      const hasState = points.some((point) => point.zoneId === zoneId && point.field === 'on')
      const patch = zonePatch(
        some.map(([{ field }, value]) => [field, value] as const),
        { hasState },
      )
      context.report({ zoneId }, zonesAway.delete(zoneId) ? { state: 'ok', ...patch } : patch)
    }
  }

  /** @returns what takes the place of the group from now on */
  async function readGroup(group: ReadGroup, values: Map<Point, Json>, signal: AbortSignal): Promise<ReadGroup[]> {
    try {
      const words = await ask(group, signal)
      for (const point of group.points) {
        const from = point.address - group.address
        const value = point.read(words.slice(from, from + point.count))
        if (value !== undefined) values.set(point, value)
      }
      return [group]
    } catch (error) {
      if (!(error instanceof Fault) || !error.code.startsWith('modbus_')) throw error
      return refused(group, error)
    }
  }

  function refused(group: ReadGroup, fault: Fault): ReadGroup[] {
    const isUnitAway = (fault.details as { isUnitAway?: boolean } | undefined)?.isUnitAway === true
    for (const { zoneId } of isUnitAway ? group.points : []) {
      zonesAway.add(zoneId)
      context.report({ zoneId }, { state: 'unknown' })
    }
    const sentence = `${group.table} ${group.address}: ${fault.message}`
    if (!said.has(sentence) && said.size < points.length) context.log(sentence)
    said.add(sentence)
    // One address that a unit lacks refuses the whole read: each is asked by itself from now on.
    if (isUnitAway || group.points.length === 1) return [group]
    return group.points.map((point) => ({ ...point, points: [point] }))
  }

  return {
    async all(signal: AbortSignal): Promise<void> {
      const values = new Map<Point, Json>()
      const next: ReadGroup[] = []
      for (const group of groups) next.push(...(await readGroup(group, values, signal)))
      groups = next
      report(values)
    },
    /** What a device made of a value is what counts. */
    async readBack(point: Point, signal: AbortSignal): Promise<void> {
      const values = new Map<Point, Json>()
      await readGroup({ ...point, points: [point] }, values, signal)
      report(values)
    },
  }
}
