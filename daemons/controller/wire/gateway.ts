/**
 * What a gateway says of its points, where a zone finds its own, and the Modbus requests that write them.
 * @source interface document 2, part A; docs/gateway.md, Points and The live feed
 */
import { Fault } from '#kit/pure/fault.ts'
import { plainText } from '#kit/pure/text.ts'
import { isObject, parsed } from './said.ts'

// The address of a zone: which points of which port it is.

/** One point of a zone. */
export interface PointLink {
  /** What the point is for the zone, such as `setpoint`; null: its type of zone decides. */
  field: string | null
  point: string
}

const FIELD = /^([a-z][a-z0-9_]{0,31})=(.*)$/s
const MOST_LINKS = 16

/**
 * Reads `/dev/ttyUSB0#relay 1` or `/dev/ttyUSB0#on=fan;level=fan speed`, with or without the port and its `#`. In names of points, `;` and `%` are written
 * %3B and %25, and so is a `=` behind what could be a field.
 * @param port of the gateway, where the address names none
 * @throws Fault `point_address`
 * @source docs/controller.md, Drivers
 */
export function readPointAddress(address: string, port: string): { port: string; links: readonly PointLink[] } {
  const at = address.indexOf('#')
  const named = address.slice(0, Math.max(0, at)).trim() || port
  if (named === '')
    throw new Fault('point_address', 'its address names no port and point, such as "/dev/ttyUSB0#relay 1"')
  const parts = address.slice(at + 1).split(';')
  if (parts.length > MOST_LINKS) throw new Fault('point_address', `its address names over ${MOST_LINKS} points`)
  return { port: named, links: parts.map(linkOf) }
}

function linkOf(part: string): PointLink {
  const [, field = null, named = part] = FIELD.exec(part.trim()) ?? []
  const point = decoded(named).trim()
  if (point === '') throw new Fault('point_address', 'its address names a point without a name')
  return { field, point }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw new Fault('point_address', 'its address has a % that is none of a code such as %3B', { cause })
  }
}

// What a gateway says.

/** The value of a point. */
export interface PointReading {
  name: string
  /** Null if there is none. Texts hold no control characters. */
  value: number | string | boolean | null
  /** Unit of measure. */
  unit: string | null
  /** `good`: it is that of now. */
  quality: 'unknown' | 'good' | 'stale' | 'bad'
  /** Why it is not read as it should be. */
  fault: string | null
}

const TYPES = ['bit', 'u16', 's16', 'u32', 's32', 'u64', 'f32', 'f64', 'string'] as const

/** Where a point stands in its unit, and how. */
export interface PointPlace {
  name: string
  unitId: number
  fc: number
  address: number
  type: (typeof TYPES)[number]
  isLittleWords: boolean
  isLittleBytes: boolean
  bit: number | null
  length: number
  scale: number
  offset: number
}

/** A message of the live feed, or the body of a webhook. */
export type GatewayMessage =
  /** `isFirst`: the gateway has told no value of this point before. */
  | { kind: 'value'; port: string; reading: PointReading; timestamp: number; isFirst: boolean }
  /** Messages were left out: what they said has to be asked for. */
  | { kind: 'missed' }
  | { kind: 'refused'; sentence: string }
  /** An event of another name. */
  | { kind: 'other' }

const LONGEST_TEXT = 256
const LONGEST_UNIT = 16
const LONGEST_SENTENCE = 300
const QUALITIES = ['unknown', 'good', 'stale', 'bad'] as const
/** A port of the gateway has no more. */
const MOST_POINTS = 5000

/** @returns undefined if it is none @source docs/gateway.md, The live feed; interface 2, part A, delivery body */
export function readGatewayMessage(bytes: Uint8Array): GatewayMessage | undefined {
  const said = parsed(bytes)
  if (!isObject(said)) return undefined
  if (said.type === 'summary') return { kind: 'missed' }
  if (said.type === 'error') return { kind: 'refused', sentence: textOr(said.message, LONGEST_SENTENCE) ?? '' }
  const { port, event, timestamp, payload } = said
  if (typeof port !== 'string' || typeof event !== 'string') return undefined
  if (event !== 'value') return { kind: 'other' }
  const reading = readingOf(payload)
  if (reading === undefined || typeof timestamp !== 'number') return undefined
  const isFirst = isObject(payload) && payload.previous === null
  return { kind: 'value', port, reading, timestamp, isFirst }
}

/** The points of a port, in the order of its table. Others than points are left out. */
interface PortPoints {
  readings: readonly PointReading[]
  places: readonly PointPlace[]
  /** Time of the answer by the gateway's clock, in epoch ms; null while it has read none of its points. */
  saidAt: number | null
}

/** @returns undefined if it is no such answer @source docs/gateway.md, GET /api/ports/:path/points */
export function readPortPoints(bytes: Uint8Array): PortPoints | undefined {
  const said = parsed(bytes)
  if (!isObject(said) || !Array.isArray(said.points)) return undefined
  const points: unknown[] = said.points.slice(0, MOST_POINTS)
  return {
    readings: points.flatMap((point) => readingOf(point) ?? []),
    places: points.flatMap((point) => placeOf(point) ?? []),
    saidAt: saidAtOf(points),
  }
}

/**
 * By the point that was read last: if the gateway's clock was set since an older reading, only the newest tells its
 * time. Ages are rounded, so a millisecond is taken off: what is sent after the answer is never older than it.
 */
function saidAtOf(points: readonly unknown[]): number | null {
  let newest: { ageMs: number; readAt: number } | undefined
  for (const point of points) {
    if (!isObject(point) || !Number.isFinite(point.ageMs) || !Number.isFinite(point.readAt)) continue
    const { ageMs, readAt } = point as { ageMs: number; readAt: number }
    if (newest === undefined || ageMs < newest.ageMs) newest = { ageMs, readAt }
  }
  return newest === undefined ? null : newest.readAt + newest.ageMs - 1
}

/** @returns why the gateway did not do it, in its own words @source docs/ERRORS.md, the shape of an error */
export function readGatewayRefusal(bytes: Uint8Array): string | undefined {
  const said = parsed(bytes)
  return isObject(said) ? textOr(said.message, LONGEST_SENTENCE) : undefined
}

function textOr(value: unknown, most: number): string | undefined {
  return typeof value === 'string' ? plainText(value, most) : undefined
}

function readingOf(said: unknown): PointReading | undefined {
  if (!isObject(said) || typeof said.name !== 'string' || said.name.length > LONGEST_TEXT) return undefined
  const quality = QUALITIES.find((known) => known === said.quality)
  if (quality === undefined) return undefined
  return {
    name: said.name,
    value: pointValueOf(said.value),
    unit: textOr(said.unit, LONGEST_UNIT) ?? null,
    quality,
    fault: isObject(said.fault) ? (textOr(said.fault.message, LONGEST_SENTENCE) ?? null) : null,
  }
}

function pointValueOf(said: unknown): PointReading['value'] {
  if (typeof said === 'number') return Number.isFinite(said) ? said : null
  return typeof said === 'boolean' ? said : (textOr(said, LONGEST_TEXT) ?? null)
}

function placeOf(said: unknown): PointPlace | undefined {
  if (!isObject(said) || typeof said.name !== 'string') return undefined
  const type = TYPES.find((known) => known === said.type)
  const { name, unitId, fc, address, wordOrder, byteOrder, bit, length, scale, offset } = said
  if (type === undefined || !isWhole(unitId, 247) || !isWhole(fc, 4) || !isWhole(address, 65_535)) return undefined
  return {
    ...{ name, unitId, fc, address, type },
    isLittleWords: wordOrder === 'little',
    isLittleBytes: byteOrder === 'little',
    bit: isWhole(bit, 15) ? bit : null,
    length: isWhole(length, 125) ? length : 1,
    scale: typeof scale === 'number' && scale !== 0 ? scale : 1,
    offset: typeof offset === 'number' ? offset : 0,
  }
}

function isWhole(value: unknown, most: number): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= most
}

// Writing a point.

/** Body of `rest/request`. */
export interface ModbusWrite {
  unitId: number
  fc: number
  address: number
  quantity?: number
  values?: readonly number[]
  and_mask?: number
  or_mask?: number
}

/**
 * The request that sets a point to a value, as its scale has it.
 * @throws Fault `point_unwritable` if its unit only reads it, or it cannot have this value
 * @source docs/gateway.md, Points; Modbus Application Protocol V1.1b3, 6.5, 6.6, 6.12, 6.16
 */
export function pointWrite(place: PointPlace, value: number | string | boolean): ModbusWrite {
  const { name, unitId, fc, address, type } = place
  if (fc === 2 || fc === 4) throw unwritable(name, 'is an input: it can only be read')
  if (fc === 1) return { unitId, fc: 5, address, values: [isOn(name, value) ? 1 : 0] }
  if (type === 'bit') return bitWrite(place, isOn(name, value))
  const words = wordsOf(place, value)
  const [only = 0] = words
  if (words.length === 1) return { unitId, fc: 6, address, values: [only] }
  return { unitId, fc: 16, address, quantity: words.length, values: words }
}

/** Function 22 leaves the other bits of the register alone. */
function bitWrite({ unitId, address, bit, isLittleBytes }: PointPlace, isSet: boolean): ModbusWrite {
  const own = 1 << ((bit ?? 0) ^ (isLittleBytes ? 8 : 0))
  return { unitId, fc: 22, address, and_mask: 0xffff & ~own, or_mask: isSet ? own : 0 }
}

function isOn(name: string, value: number | string | boolean): boolean {
  if (typeof value === 'boolean') return value
  if (typeof value === 'number') return value > 0
  throw unwritable(name, 'is on or off, and takes no text')
}

const INTEGERS: ReadonlyMap<string, readonly [bits: number, isSigned: boolean]> = new Map([
  ['u16', [16, false]],
  ['s16', [16, true]],
  ['u32', [32, false]],
  ['s32', [32, true]],
  ['u64', [64, false]],
] as const)

function wordsOf(place: PointPlace, value: number | string | boolean): number[] {
  const { name, type, scale, offset } = place
  if (type === 'string') return inOrder(textBytes(place, value), { ...place, isLittleWords: false })
  if (typeof value === 'string') throw unwritable(name, 'is a number, and takes no text')
  const raw = Number(((Number(value) - offset) / scale).toPrecision(15))
  if (!Number.isFinite(type === 'f32' ? Math.fround(raw) : raw)) throw unwritable(name, 'cannot hold that number')
  const integer = INTEGERS.get(type)
  const bytes = new Uint8Array(type === 'f32' ? 4 : type === 'f64' ? 8 : (integer?.[0] ?? 16) / 8)
  const view = new DataView(bytes.buffer)
  if (type === 'f32') view.setFloat32(0, raw)
  else if (type === 'f64') view.setFloat64(0, raw)
  else putInteger(place, { view, raw, of: integer ?? [16, false] })
  return inOrder(bytes, place)
}

interface RawInteger {
  view: DataView
  raw: number
  of: readonly [bits: number, isSigned: boolean]
}

function putInteger({ name, scale, offset }: PointPlace, { view, raw, of: [bits, isSigned] }: RawInteger): void {
  const whole = Math.round(raw)
  const least = isSigned ? -(2 ** (bits - 1)) : 0
  // Beyond 2^53 a number is not exact: no such one is written.
  const most = Math.min(isSigned ? 2 ** (bits - 1) - 1 : 2 ** bits - 1, Number.MAX_SAFE_INTEGER)
  if (!(whole >= least && whole <= most)) {
    const ends = [least, most].map((end) => Number((end * scale + offset).toPrecision(15)))
    throw unwritable(name, `takes ${Math.min(...ends)} to ${Math.max(...ends)}`)
  }
  const plain = BigInt.asUintN(bits, BigInt(whole))
  for (let at = 0; at < bits / 8; at++) view.setUint8(at, Number((plain >> BigInt(bits - 8 * (at + 1))) & 0xffn))
}

function textBytes({ name, length }: PointPlace, value: number | string | boolean): Uint8Array {
  const text = String(value)
  if (!/^[\x20-\x7e]*$/.test(text) || text.length > 2 * length)
    throw unwritable(name, `takes up to ${2 * length} characters of ASCII`)
  const bytes = new Uint8Array(2 * length)
  bytes.set(new TextEncoder().encode(text))
  return bytes
}

/** @param bytes the most significant first */
function inOrder(
  bytes: Uint8Array,
  { isLittleWords, isLittleBytes }: Pick<PointPlace, 'isLittleWords' | 'isLittleBytes'>,
): number[] {
  const words: number[] = []
  for (let at = 0; at < bytes.length; at += 2) {
    const [high, low] = [bytes[at] ?? 0, bytes[at + 1] ?? 0]
    words.push(isLittleBytes ? (low << 8) | high : (high << 8) | low)
  }
  return isLittleWords ? words.toReversed() : words
}

function unwritable(name: string, why: string): Fault {
  return new Fault('point_unwritable', `the point ${JSON.stringify(plainText(name, 64))} ${why}`)
}
