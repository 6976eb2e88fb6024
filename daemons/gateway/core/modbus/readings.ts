/** A test read: registers that are read once, and all that each of them may mean, as a point there would give it. */
import { faultOf } from '#kit/pure/fault.ts'
import {
  createPointReader,
  type Order,
  orders,
  type PointFormat,
  type PointType,
  type PointValue,
  plainFormat,
  pointLength,
  valueText,
} from '../../wire/point-value.ts'
import type { ReadValues } from './points.ts'

/** One meaning of a register and those behind it: the fields of a point that gives it, and its value. */
export interface Reading extends Pick<PointFormat, 'type' | 'wordOrder' | 'byteOrder' | 'bit' | 'length'> {
  /** Null where a point would have no value; `doubt` says why. */
  value: PointValue | null
  text: string | null
  /** Why it is hardly what the device means; null: nothing speaks against it. */
  doubt: string | null
}

/** One address of a test read. `value`: 0..65535, of a coil or discrete input 0 or 1. */
export interface TestedRegister {
  address: number
  value: number
  readings: Reading[]
}

const ONE_WORD: readonly PointType[] = ['u16', 's16']
const MORE_WORDS: readonly PointType[] = ['u32', 's32', 'f32', 'u64', 's64', 'f64']

/** A text of a point has no more registers. */
const MOST_TEXT = 125

/** Every reading of what was read. Those that need registers beyond the last one are left out. */
export function readingsOf({ fc, address, values }: Pick<ReadValues, 'fc' | 'address' | 'values'>): TestedRegister[] {
  return values.map((value, at) => ({
    address: address + at,
    value,
    readings: fc <= 2 ? [read([value], { type: 'bit' })] : readingsFrom(values.slice(at, at + MOST_TEXT)),
  }))
}

/** @param words the registers from one address on */
function readingsFrom(words: readonly number[]): Reading[] {
  return [
    ...ONE_WORD.flatMap((type) => orders.map((byteOrder) => read(words, { type, byteOrder }))),
    ...MORE_WORDS.filter((type) => pointLength({ type, length: null }) <= words.length).flatMap((type) =>
      orders.flatMap((byteOrder) => orders.map((wordOrder) => read(words, { type, wordOrder, byteOrder }))),
    ),
    ...orders.map((byteOrder) => read(words, { type: 'string', byteOrder, length: textLength(words, byteOrder) })),
    ...Array.from({ length: 16 }, (_, bit) => read(words, { type: 'bit', bit })),
  ]
}

/** As many registers as hold characters, with the one in which a zero byte ends the text; at least one. */
function textLength(words: readonly number[], byteOrder: Order): number {
  for (const [at, word] of words.entries()) {
    const [first, second] = byteOrder === 'big' ? [word >> 8, word & 0xff] : [word & 0xff, word >> 8]
    if (first === 0 || (second === 0 && isPrintable(first))) return at + 1
    if (!isPrintable(first) || !isPrintable(second)) return Math.max(1, at)
  }
  return words.length
}

function isPrintable(byte = 0): boolean {
  return byte >= 0x20 && byte <= 0x7e
}

function read(words: readonly number[], given: Partial<PointFormat> & Pick<PointFormat, 'type'>): Reading {
  const format: PointFormat = { ...plainFormat, ...given }
  const { bit, byteOrder, length, type, wordOrder } = format
  const place = { type, wordOrder, byteOrder, bit, length }
  try {
    const value = createPointReader(format)(words.slice(0, pointLength(format)))
    return { ...place, value, text: valueText(value, null), doubt: doubtOf(type, value) }
  } catch (error) {
    const { message } = faultOf(error, 'point_no_value', 'The device sent what is no value.')
    return { ...place, value: null, text: null, doubt: message }
  }
}

/** Measured values are rarely nearer to zero or further from it; singles whose halves are swapped mostly are. */
const LEAST_FLOAT = 1e-9
const MOST_FLOAT = 1e12

/** With all bits set, or all but the sign, many devices say that they have no value. */
const marks = new Set(
  [16n, 32n, 64n].flatMap((bits) =>
    [2n ** bits - 1n, 2n ** (bits - 1n) - 1n, -(2n ** (bits - 1n))].map(
      (mark, at) => `${at === 0 ? 'u' : 's'}${bits} ${mark}`,
    ),
  ),
)

function doubtOf(type: PointType, value: PointValue): string | null {
  if (type === 'bit') return null
  if (type === 'string') return value === '' ? 'It is an empty text.' : null
  if (type === 'f32' || type === 'f64') return doubtOfFloat(Number(value))
  if (marks.has(`${type} ${value}`)) return 'Many devices send this where they have no value.'
  return typeof value === 'string' ? 'It has more digits than a meter counts.' : null
}

function doubtOfFloat(value: number): string | null {
  const size = Math.abs(value)
  if (size === 0) return null
  if (size < LEAST_FLOAT) return 'It is too near to zero for a measured value.'
  return size > MOST_FLOAT ? 'It is too large for a measured value.' : null
}
