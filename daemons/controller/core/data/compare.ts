/** How values of columns compare with each other and with what a query asks: the semantics of all conditions and orders. */
import type { Condition } from '../../wire/query/query.ts'
import { type QueryValue, readNumber } from '../../wire/query/query-value.ts'
import type { Json } from '../row.ts'
import type { ColumnType } from '../schema/column.ts'
import { containsTest, likeTest } from './like.ts'

/** What is compared: booleans are 0 and 1, JSON is its text. Null comes before numbers, numbers before texts, as in SQLite. */
export type Cell = null | number | string

/** A value of a row as it is compared; a column that a row lacks is null. */
export function cellOf(value: Json | undefined): Cell {
  if (value === undefined || value === null) return null
  if (typeof value === 'string' || typeof value === 'number') return value
  return typeof value === 'boolean' ? Number(value) : JSON.stringify(value)
}

/** Less than 0, 0, or more: null, then numbers, then texts by code points, as SQLite's BINARY has it. */
export function compareCells(one: Cell, other: Cell): number {
  if (one === null || other === null) return Number(one !== null) - Number(other !== null)
  if (typeof one === 'number') return typeof other === 'number' ? one - other : -1
  return typeof other === 'number' ? 1 : compareTexts(one, other)
}

/**
 * Whether a value of this column satisfies the condition. Comparisons with null are false, but `_notequal` and `_notin`
 * take null as different, and a null of JSON is equal to null.
 */
export function testOf(condition: Condition, type: ColumnType): (value: Json | undefined) => boolean {
  const { operator, values } = condition
  switch (operator) {
    case 'null': {
      const isNull = values[0] === true
      return (value) => (cellOf(value) === null) === isNull
    }
    case 'in':
    case 'notin':
    case 'notequal': {
      const wanted = new Set(values.map((value) => operandCell(value, type)))
      const isWanted = operator === 'in'
      return (value) => wanted.has(cellOf(value)) === isWanted
    }
    case 'like':
    case 'contains': {
      const tests = values.map((pattern) => (operator === 'like' ? likeTest : containsTest)(String(pattern)))
      return (value) => {
        const text = shownText(value)
        return text !== null && tests.some((test) => test(text))
      }
    }
    case 'between': {
      const [least, most] = values.map((value) => orderTest(value, type))
      return (value) => (least?.(value) ?? -1) >= 0 && (most?.(value) ?? 1) <= 0
    }
    default: {
      const order = orderTest(values[0], type)
      const holds = ORDERED[operator]
      return (value) => {
        const result = order(value)
        return result !== undefined && holds(result)
      }
    }
  }
}

const ORDERED = {
  gt: (order: number) => order > 0,
  gte: (order: number) => order >= 0,
  lt: (order: number) => order < 0,
  lte: (order: number) => order <= 0,
}

/**
 * Where a value stands to an operand; undefined where nothing can be said. A number against a column of texts is
 * compared with those texts that read as numbers: `_gt[value]=20` finds `100`, and not `off`.
 */
function orderTest(operand: QueryValue | undefined, type: ColumnType): (value: Json | undefined) => number | undefined {
  if (isNumber(operand) && type === 'text') {
    const { number } = operand
    return (value) => {
      const cell = cellOf(value)
      const found = typeof cell === 'string' ? readNumber(cell) : undefined
      return found && found.number - number
    }
  }
  const bound = operandCell(operand ?? null, type)
  return (value) => {
    const cell = cellOf(value)
    return cell === null || bound === null ? undefined : compareCells(cell, bound)
  }
}

/** An operand as this column would hold it: JSON holds what it is given. */
function operandCell(value: QueryValue, type: ColumnType): Cell {
  if (value === null) return null
  if (type === 'text') return isNumber(value) ? value.text : String(value)
  if (isNumber(value)) return value.number
  if (typeof value === 'boolean') return Number(value)
  if (type === 'json') return value
  if (type === 'boolean' && (value === 'true' || value === 'false')) return Number(value === 'true')
  return readNumber(value)?.number ?? value
}

/** What a pattern is tried on: the text as the answer shows it. */
function shownText(value: Json | undefined): string | null {
  if (value === undefined || value === null) return null
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function isNumber(value: QueryValue | undefined): value is Exclude<QueryValue, null | boolean | string> {
  return typeof value === 'object' && value !== null
}

/** By code points: UTF-16 puts the units of pairs (D800..DFFF) before E000..FFFF, UTF-8 behind. */
function compareTexts(one: string, other: string): number {
  const length = Math.min(one.length, other.length)
  for (let at = 0; at < length; at++) {
    const a = one.charCodeAt(at)
    const b = other.charCodeAt(at)
    if (a === b) continue
    return a >= 0xd800 && b >= 0xd800 ? rankOf(a) - rankOf(b) : a - b
  }
  return one.length - other.length
}

function rankOf(unit: number): number {
  return unit < 0xe000 ? unit + 0x2800 : unit
}
