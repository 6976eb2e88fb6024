/** Decides which rows match a query: patterns, comparisons, conditions, and the choice of candidate rows. */
import { type Condition, type Operator, type QueryValue, queryNumber, type Where } from '../../wire/query.ts'
import type { Json } from '../json.ts'
import type { Book, Row } from '../site/book.ts'
import type { ColumnType } from '../site/column.ts'
import type { Steps } from './turns.ts'
import type { Cells, TableFace } from './views.ts'

// Patterns of `_like` and `_contains`: matching takes time proportional to the text, whatever the pattern.

/** Matches any one character. */
const ANY = -1
const BITS = 32

/**
 * LIKE as in SQLite: `%` matches any characters, `_` any one, letters A to Z ignore case, others match exactly; there
 * is no escape character. A character is a code point.
 * @source sqlite.org, lang_expr.html, LIKE
 */
export function likeTest(pattern: string): (text: string) => boolean {
  const items: number[] = []
  const loops = new Set<number>()
  for (const character of pattern) {
    if (character === '%') loops.add(items.length)
    else items.push(character === '_' ? ANY : (character.codePointAt(0) ?? 0))
  }
  return machine(items, loops)
}

/** `_like` with `%` at both ends; `%` and `_` in between are literal. */
export function containsTest(literal: string): (text: string) => boolean {
  const items = Array.from(literal, (character) => character.codePointAt(0) ?? 0)
  return machine(items, new Set([0, items.length]))
}

/**
 * Tracks all states of the pattern at once, one bit each: bit n is set while the first n items match what has been
 * read. A state in `loops` accepts any character and stays.
 * @source Baeza-Yates and Gonnet, A New Approach to Text Searching, 1992 (shift-and)
 */
function machine(items: readonly number[], loops: ReadonlySet<number>): (text: string) => boolean {
  const words = Math.floor(items.length / BITS) + 1
  const stays = new Int32Array(words)
  for (const state of loops) setBit(stays, state)
  const any = new Int32Array(words)
  for (const [at, item] of items.entries()) if (item === ANY) setBit(any, at)
  const masks = new Map<number, Int32Array>()
  for (const [at, item] of items.entries()) if (item !== ANY) for (const form of casesOf(item)) setBit(maskOf(form), at)

  function maskOf(character: number): Int32Array {
    let mask = masks.get(character)
    if (mask === undefined) {
      mask = any.slice()
      masks.set(character, mask)
    }
    return mask
  }

  const isOpenEnded = loops.has(items.length)
  return (text) => {
    const states = new Int32Array(words)
    states[0] = 1
    for (let at = 0; at < text.length; at++) {
      const character = text.codePointAt(at) ?? 0
      if (character > 0xffff) at++
      if (isOpenEnded && hasBit(states, items.length)) return true
      if (!step(states, masks.get(character) ?? any, stays)) return false
    }
    return hasBit(states, items.length)
  }
}

/** @returns whether any state is left */
function step(states: Int32Array, mask: Int32Array, stays: Int32Array): boolean {
  let carry = 0
  let left = 0
  for (let word = 0; word < states.length; word++) {
    const state = states[word] ?? 0
    const passed = state & (mask[word] ?? 0)
    const next = (passed << 1) | carry | (state & (stays[word] ?? 0))
    carry = passed >>> (BITS - 1)
    states[word] = next
    left |= next
  }
  return left !== 0
}

function setBit(bits: Int32Array, at: number): void {
  const word = Math.floor(at / BITS)
  bits[word] = (bits[word] ?? 0) | (1 << (at % BITS))
}

function hasBit(bits: Int32Array, at: number): boolean {
  return (((bits[Math.floor(at / BITS)] ?? 0) >>> (at % BITS)) & 1) === 1
}

function casesOf(character: number): number[] {
  const isUpper = character >= 0x41 && character <= 0x5a
  const isLower = character >= 0x61 && character <= 0x7a
  return isUpper || isLower ? [character, character ^ 0x20] : [character]
}

// Comparison of values with each other and with a query: the semantics of all conditions and orders.

/**
 * The form in which values are compared: booleans as 0 and 1, JSON as its text. Null sorts before numbers, numbers
 * before texts, as in SQLite.
 */
export type Cell = null | number | string

/** A value of a row in comparable form; a missing column is null. */
export function cellOf(value: Json | undefined): Cell {
  if (value === undefined || value === null) return null
  if (typeof value === 'string' || typeof value === 'number') return value
  return typeof value === 'boolean' ? Number(value) : JSON.stringify(value)
}

/** Returns less than 0, 0, or more: null, then numbers, then texts by code points, as SQLite's BINARY orders them. */
export function compareCells(one: Cell, other: Cell): number {
  if (one === null || other === null) return Number(one !== null) - Number(other !== null)
  if (typeof one === 'number') return typeof other === 'number' ? one - other : -1
  return typeof other === 'number' ? 1 : compareTexts(one, other)
}

/**
 * Returns a test for whether a value of this column satisfies the condition. Comparisons with null are false, except
 * that `_notequal` and `_notin` treat null as different, and a JSON null equals null.
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
 * Returns how a value compares with the operand; undefined if they cannot be compared. A number is compared only with
 * those values of a text column that read as numbers: `_gt[value]=20` finds `100`, but not `off`.
 */
function orderTest(operand: QueryValue | undefined, type: ColumnType): (value: Json | undefined) => number | undefined {
  if (isNumber(operand) && type === 'text') {
    const { number } = operand
    return (value) => {
      const cell = cellOf(value)
      const found = typeof cell === 'string' ? queryNumber(cell) : undefined
      return found && found.number - number
    }
  }
  const bound = operandCell(operand ?? null, type)
  return (value) => {
    const cell = cellOf(value)
    return cell === null || bound === null ? undefined : compareCells(cell, bound)
  }
}

/** An operand as this column would store it: JSON stores what it is given. */
function operandCell(value: QueryValue, type: ColumnType): Cell {
  if (value === null) return null
  if (type === 'text') return isNumber(value) ? value.text : String(value)
  if (isNumber(value)) return value.number
  if (typeof value === 'boolean') return Number(value)
  if (type === 'json') return value
  if (type === 'boolean' && (value === 'true' || value === 'false')) return Number(value === 'true')
  return queryNumber(value)?.number ?? value
}

/** The text a pattern is matched against: as the answer shows it. */
function shownText(value: Json | undefined): string | null {
  if (value === undefined || value === null) return null
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function isNumber(value: QueryValue | undefined): value is Exclude<QueryValue, null | boolean | string> {
  return typeof value === 'object' && value !== null
}

/** Compares by code points: UTF-16 sorts surrogate units (D800..DFFF) before E000..FFFF, UTF-8 after. */
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

// Combines the conditions of a query into one test of what a caller sees of a row.

/** @param where names only columns of the table: guards and checks have passed */
export function matcherOf(where: Where, table: TableFace): (cells: Cells) => boolean {
  const tests = where.conditions.map((condition) => {
    const test = testOf(condition, table.columns.get(condition.column)?.type ?? 'text')
    return (cells: Cells) => test(cells[condition.column])
  })
  for (const group of where.either) {
    const parts = group.map((part) => matcherOf(part, table))
    tests.push((cells) => parts.some((part) => part(cells)))
  }
  return (cells) => {
    for (const test of tests) if (!test(cells)) return false
    return true
  }
}

/**
 * Like `matcherOf`, but yields before each pattern: one pattern on a long text takes milliseconds, and a query may have
 * a thousand of them.
 */
export function steppedMatcherOf(where: Where, table: TableFace): (cells: Cells) => Steps<boolean> {
  const isLong = ({ operator }: Condition) => PATTERNS.has(operator)
  const short = matcherOf({ conditions: where.conditions.filter((one) => !isLong(one)), either: [] }, table)
  const alone = (condition: Condition, value: QueryValue) =>
    matcherOf({ conditions: [{ ...condition, values: [value] }], either: [] }, table)
  const groups = [
    ...where.conditions.filter(isLong).map((one) =>
      one.values.map((value) => {
        const test = alone(one, value)
        return function* (cells: Cells): Steps<boolean> {
          yield
          return test(cells)
        }
      }),
    ),
    ...where.either.map((group) => group.map((part) => steppedMatcherOf(part, table))),
  ]
  return function* (cells) {
    if (!short(cells)) return false
    for (const group of groups) if (!(yield* anyOf(group, cells))) return false
    return true
  }
}

/** Operators with several values of which one has to match; so each value can be tested on its own. */
const PATTERNS: ReadonlySet<Operator> = new Set<Operator>(['like', 'contains'])

function* anyOf(tests: readonly ((cells: Cells) => Steps<boolean>)[], cells: Cells): Steps<boolean> {
  for (const test of tests) if (yield* test(cells)) return true
  return false
}

/** Whether the query contains a pattern anywhere. */
export function hasPattern(where: Where): boolean {
  return where.conditions.some(({ operator }) => PATTERNS.has(operator)) || where.either.flat().some(hasPattern)
}

/** The number of conditions tested on a row. */
export function conditionCount(where: Where): number {
  return where.either.flat().reduce((sum, part) => sum + conditionCount(part), where.conditions.length)
}

// Candidate rows: if a query gives ids or names, only those rows are looked at.

/** Columns that the book has an index for; neither is ever hidden from anyone who may read the table. */
const FOUND_BY = ['id', 'name'] as const

/**
 * Rows of a table, by id: all of them, or a subset that contains every row matching the conditions on `id` and `name`.
 * @param hasName whether the table has a text column `name`
 */
export function candidateRows(book: Book, table: string, where: Where, hasName: boolean): readonly Row[] {
  for (const column of FOUND_BY) {
    if (column === 'name' && !hasName) continue
    const condition = where.conditions.find((condition) => condition.column === column && condition.operator === 'in')
    const texts = condition && textsOf(condition.values)
    if (texts)
      return byId(
        column === 'name' ? [...texts].flatMap((name) => book.named(table, name)) : rowsOf(book, table, texts),
      )
  }
  return book.rows(table)
}

function rowsOf(book: Book, table: string, ids: ReadonlySet<string>): Row[] {
  return [...ids].flatMap((id) => book.row(table, Number(id)) ?? [])
}

function byId(rows: readonly Row[]): Row[] {
  return [...new Set(rows)].sort((one, other) => one.id - other.id)
}

/** The values as keys for the book's index; undefined if one of them cannot be looked up. */
function textsOf(values: readonly QueryValue[]): Set<string> | undefined {
  const texts = new Set<string>()
  for (const value of values) {
    if (value === null || typeof value === 'boolean') return undefined
    texts.add(typeof value === 'object' ? value.text : value)
  }
  return texts
}
