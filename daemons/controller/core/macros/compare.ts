/** How two values are compared where attributes are texts, live values are JSON, and both mean the same. */
import type { Json } from '../row.ts'

/** The comparisons a condition may ask for. */
export type Op = 'eq' | 'ne' | 'lt' | 'lte' | 'gt' | 'gte' | 'in' | 'contains'

/** How each may be written. */
const SPELLINGS: ReadonlyMap<string, Op> = new Map([
  ['eq', 'eq'],
  ['=', 'eq'],
  ['==', 'eq'],
  ['ne', 'ne'],
  ['!=', 'ne'],
  ['notequal', 'ne'],
  ['lt', 'lt'],
  ['<', 'lt'],
  ['lte', 'lte'],
  ['<=', 'lte'],
  ['gt', 'gt'],
  ['>', 'gt'],
  ['gte', 'gte'],
  ['>=', 'gte'],
  ['in', 'in'],
  ['contains', 'contains'],
])

/** The comparison that is meant; undefined for what is none. */
export function opOf(text: Json): Op | undefined {
  return typeof text === 'string' ? SPELLINGS.get(text) : undefined
}

/**
 * Whether `left op right` holds.
 * - Two numbers, or texts that are numbers in decimal form, compare as numbers; else as texts, by code units.
 * - `true` and the text `true` are the same. Null is the same as null alone, and neither less nor greater than anything.
 * - `in`: right is a list that has left. `contains`: left is a list that has right, or a text that right is part of.
 */
export function holds(left: Json, op: Op, right: Json): boolean {
  switch (op) {
    case 'eq':
      return isSame(left, right)
    case 'ne':
      return !isSame(left, right)
    case 'in':
      return Array.isArray(right) && right.some((entry) => isSame(left, entry))
    case 'contains':
      if (Array.isArray(left)) return left.some((entry) => isSame(entry, right))
      return left !== null && right !== null && textOf(left).includes(textOf(right))
    default:
      return isInOrder(left, op, right)
  }
}

function isSame(left: Json, right: Json): boolean {
  if (left === null || right === null) return left === right
  const numbers = [numberOf(left), numberOf(right)]
  if (numbers[0] !== undefined && numbers[1] !== undefined) return numbers[0] === numbers[1]
  return textOf(left) === textOf(right)
}

function isInOrder(left: Json, op: 'lt' | 'lte' | 'gt' | 'gte', right: Json): boolean {
  if (left === null || right === null) return false
  const numbers = [numberOf(left), numberOf(right)]
  const areNumbers = numbers[0] !== undefined && numbers[1] !== undefined
  const one = areNumbers ? (numbers[0] as number) : textOf(left)
  const other = areNumbers ? (numbers[1] as number) : textOf(right)
  if (op === 'lt') return one < other
  if (op === 'lte') return one <= other
  return op === 'gt' ? one > other : one >= other
}

/** As a number where it is one, or is written as one: no hex, no blanks, no empty text. */
function numberOf(value: Json): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'string' || value.length > 32 || !/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(value))
    return undefined
  return Number(value)
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
