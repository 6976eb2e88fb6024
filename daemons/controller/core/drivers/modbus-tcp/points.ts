/** The address of a zone as coils and registers, and how neighbours are read together. */
import { Fault } from '#kit/pure/fault.ts'
import {
  MOST_BITS,
  MOST_WORDS,
  numberOfWords,
  type Table,
  WORD_ORDERS,
  WORD_TYPES,
  type WordFormat,
  wordCount,
} from '../../../wire/modbus-tcp.ts'
import type { Json } from '../../json.ts'
import type { Row } from '../../site/book.ts'
import { addressOf } from '../row-config.ts'

/** One value of a zone in a unit. */
export interface Point {
  zoneId: number
  /** The value of the zone that it is: `on`, `level`. */
  field: string
  unit: number
  table: Table
  address: number
  /** Bits or registers. */
  count: number
  /** Undefined for a bit. */
  format: WordFormat | undefined
  scale: number
  isWritable: boolean
  /** @returns undefined for what is no number */
  read(words: readonly number[]): Json | undefined
}

const FORM = 'UNIT/TABLE/ADDRESS/TYPE/ORDER*SCALE'
const TABLES: readonly Table[] = ['coil', 'discrete', 'input', 'holding']

/** Most values of one zone. */
const MOST_POINTS = 16

/** What a register is where the address names no field, by type of the zone. */
const FIELD_OF_TYPE: ReadonlyMap<string, string> = new Map([
  ...['dimmer', 'light'].map((type) => [type, 'level'] as const),
  ...['thermostat', 'climate', 'hvac'].map((type) => [type, 'setpoint'] as const),
  ...['shade', 'blind'].map((type) => [type, 'position'] as const),
])

/**
 * `3/holding/100/int16*0.1`, or several with their fields: `on=3/coil/7 temperature=3/input/4/int16*0.1`. Without a type a
 * register is uint16.
 * @throws Fault `driver_config`
 */
export function pointsOf(zone: Row): Point[] {
  const words = addressOf(zone)
    .split(/\s+/)
    .filter((word) => word !== '')
  if (words.length === 0) throw refused(zone, `is empty, expected ${FORM}`)
  if (words.length > MOST_POINTS) throw refused(zone, `has ${words.length} values, at most ${MOST_POINTS} are read`)
  const points = words.map((word) => pointOf(word, zone))
  if (new Set(points.map(({ field }) => field)).size < points.length)
    throw refused(zone, 'has two values for one field: name them, as in on=3/coil/7 level=3/holding/8')
  return points
}

const NUMBER = /^-?\d{1,9}(?:\.\d{1,9})?$/

function pointOf(word: string, zone: Row): Point {
  const [, name, path = '', factor] = /^(?:([a-z_][a-z0-9_]{0,63})=)?([^*=]+)(?:\*(.+))?$/.exec(word) ?? []
  const [unit = '', table = '', address = '', type, order, ...more] = path.split('/')
  const found = TABLES.find((one) => one === table)
  const isBit = found === 'coil' || found === 'discrete'
  const whole = (text: string, most: number) => (/^\d{1,5}$/.test(text) && Number(text) <= most ? Number(text) : -1)
  const [unitId, first] = [whole(unit, 255), whole(address, 65_535)]
  if (!found || unitId < 0 || first < 0 || more.length > 0 || (isBit && (type ?? factor) !== undefined))
    throw refused(zone, `has ${JSON.stringify(word.slice(0, 64))}, expected ${FORM}; a coil or discrete has no type`)
  const format = isBit ? undefined : formatOf(type, order, zone)
  const scale = factor === undefined ? 1 : NUMBER.test(factor) ? Number(factor) : 0
  if (scale === 0) throw refused(zone, 'has a scale that is no number, or 0')
  const count = format ? wordCount(format) : 1
  if (first + count > 65_536) throw refused(zone, 'goes beyond address 65535')
  return {
    ...{ zoneId: zone.id, unit: unitId, table: found, address: first, count, format, scale },
    field: name ?? fieldOf(found, zone),
    isWritable: found === 'coil' || found === 'holding',
    read: (words) => (format ? scaled(numberOfWords(words, format), scale) : words[0] === 1),
  }
}

function fieldOf(table: Table, zone: Row): string {
  if (table === 'coil' || table === 'discrete') return 'on'
  const field = FIELD_OF_TYPE.get(String(zone.type))
  return field === 'setpoint' && table === 'input' ? 'temperature' : (field ?? 'value')
}

function formatOf(type = 'uint16', order = 'abcd', zone: Row): WordFormat {
  const format = { type: WORD_TYPES.find((one) => one === type), order: WORD_ORDERS.find((one) => one === order) }
  if (!format.type) throw refused(zone, `has a type that is none of ${WORD_TYPES.join(', ')}`)
  if (!format.order) throw refused(zone, `has an order that is none of ${WORD_ORDERS.join(', ')}`)
  return { type: format.type, order: format.order }
}

/** Without the noise of binary fractions: 215 times 0.1 is 21.5. */
function scaled(raw: number, scale: number): number | undefined {
  const value = Number((raw * scale).toPrecision(12))
  return Number.isFinite(value) ? value : undefined
}

function refused(zone: Row, what: string): Fault {
  return new Fault('driver_config', `the address of zone ${zone.id} ${what}`)
}

/** Points that one read gives. */
export interface ReadGroup extends Pick<Point, 'unit' | 'table' | 'address' | 'count'> {
  points: readonly Point[]
}

/** Neighbours of one unit and table are one read, with at most `gap` others between them. */
export function groupsOf(points: readonly Point[], gap: number): ReadGroup[] {
  const groups: ReadGroup[] = []
  const inOrder = points.toSorted(
    (one, other) =>
      one.unit - other.unit || TABLES.indexOf(one.table) - TABLES.indexOf(other.table) || one.address - other.address,
  )
  for (const point of inOrder) {
    const last = groups.at(-1)
    const most = point.format ? MOST_WORDS : MOST_BITS
    const end = point.address + point.count
    const isNear =
      last?.unit === point.unit && last.table === point.table && point.address - last.address - last.count <= gap
    if (last && isNear && end - last.address <= most) {
      const count = Math.max(last.count, end - last.address)
      groups[groups.length - 1] = { ...last, count, points: [...last.points, point] }
    } else groups.push({ ...point, points: [point] })
  }
  return groups
}
