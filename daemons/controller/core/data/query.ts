/** What a query may ask, which columns its answer shows, and which of the matching rows it keeps. */
import { nearestName } from '#kit/pure/text.ts'
import { type Condition, type FieldAsk, named, type OrderBy, type Query, type Where } from '../../wire/query.ts'
import type { AuditReason, Outcome } from '../audit.ts'
import { type Cell, cellOf, compareCells, testOf } from './matching.ts'
import type { Steps } from './turns.ts'
import { isSecret, jsonOf, memberOf, type SchemaFace, type TableFace, type View } from './views.ts'

// Columns: whether those that a query names exist.

/** Characters of an alias. */
const LONGEST_ALIAS = 64

/**
 * What is wrong with the columns of a query, as a sentence; names are compared exactly.
 * @source document 1, GET /api/data/:entity, an unknown entity or bad column
 */
export function columnFault(query: Query, table: TableFace): string | undefined {
  const fields = query.fields
  const asked = [
    ...conditionsOf(query.where).map(({ column }) => column),
    ...placesOf(query),
    ...(fields?.columns.map(({ column }) => column) ?? []),
  ]
  const unknown = asked.find((name) => !table.columns.has(name))
  if (unknown !== undefined) return unknownColumn(unknown, table)
  return fields?.fault ?? aliasFault(query)
}

function unknownColumn(name: string, table: TableFace): string {
  const nearest = nearestName(name, [...table.columns.keys()])
  return `${table.name} has no column ${named(name)}${nearest === undefined ? '' : `, did you mean ${nearest}?`}`
}

/** Two columns under one name: one would be lost. */
function aliasFault({ fields }: Query): string | undefined {
  const columns = new Map<string, string>()
  for (const { column, alias } of fields?.columns ?? []) {
    const name = alias ?? column
    if (name === '' || name.length > LONGEST_ALIAS) return `an alias has 1 to ${LONGEST_ALIAS} characters`
    if ((columns.get(name) ?? column) !== column) return `_fields gives the same name to two columns`
    columns.set(name, column)
  }
  return undefined
}

// Guards: what a session without elevation may not ask. The syntax tree decides; no row is looked at.

/**
 * The refusal of a query that names what it may not: secret-bearing columns and an attribute's previous value in
 * conditions, orders and counts; pairs in `_fields`.
 * @source document 1, Guards 4, 6, 7
 */
export function refusalOf(query: Query, table: TableFace, schema: SchemaFace): Outcome | undefined {
  const names = [...conditionsOf(query.where).map(({ column }) => column), ...placesOf(query)]
  if (names.some((name) => isRefused(name, table, schema))) return invalid('redacted_filter')
  return query.fields?.isPlain === false ? invalid('invalid_projection') : undefined
}

/**
 * The empty list for who asks for secure attributes, or tries values of attributes without saying of which.
 * @source document 1, Guards 2, 4
 */
export function emptyAnswerOf(query: Query, table: TableFace, schema: SchemaFace): Outcome | undefined {
  if (table.name !== 'attribute') return undefined
  const isPinned = pinsName(query.where, schema)
  const asks =
    asksForSecure(query.where) ||
    triesValue(query.where, false, schema) ||
    (placesOf(query).includes('value') && !isPinned)
  return asks ? { status: 200, body: { text: '[]' }, reason: 'secure_filtered' } : undefined
}

/** Columns that decide about order or number. */
function placesOf({ order, count }: Query): string[] {
  return [...order.map(({ column }) => column), ...(typeof count === 'string' ? [count] : [])]
}

/** All conditions, at every depth. */
function conditionsOf({ conditions, either }: Where): Condition[] {
  return [...conditions, ...either.flat().flatMap(conditionsOf)]
}

function isRefused(name: string, table: TableFace, schema: SchemaFace): boolean {
  if (table.name === 'attribute' && name === 'previous_value') return true
  const column = table.columns.get(name)
  // A column of another table, or of none: what its name says is enough.
  return column === undefined ? schema.isSecretName(name) : isSecret(schema, column)
}

function invalid(reason: AuditReason): Outcome {
  return { status: 400, body: { json: { error: 'invalid query' } }, reason }
}

/** Whether no row could satisfy this but a secure one. */
function asksForSecure({ conditions, either }: Where): boolean {
  const isFor = (condition: Condition) => {
    if (condition.column !== 'secure') return false
    const test = testOf(condition, 'boolean')
    return test(true) && !test(false)
  }
  return conditions.some(isFor) || either.some((group) => group.every(asksForSecure))
}

/** Whether a value is tried anywhere without a name that is pinned beside it or around it. */
function triesValue(where: Where, isPinnedAround: boolean, schema: SchemaFace): boolean {
  const isPinned = isPinnedAround || pinsName(where, schema)
  const triesHere = where.conditions.some(({ column }) => column === 'value')
  if (triesHere && !isPinned) return true
  return where.either.some((group) => group.some((part) => triesValue(part, isPinned, schema)))
}

/**
 * Whether `name` must be one of names that are all given and all not sensitive. A pattern, a range, or a name in a part of
 * `_or` pins nothing outside of that part.
 */
function pinsName({ conditions }: Where, schema: SchemaFace): boolean {
  return conditions.some(({ column, operator, values }) => {
    if (column !== 'name' || operator !== 'in' || values.length === 0) return false
    return values.every((value) => {
      const name = typeof value === 'object' ? value?.text : String(value)
      return name !== undefined && !schema.isSensitiveName(name)
    })
  })
}

// Projection: which columns an answer shows, and under which names.

/** How views become JSON. */
export interface Projection {
  /** Names that stand in the answer. */
  readonly names: ReadonlySet<string>
  json(view: View): string
  /** The same without one column, which something else will stand for. */
  jsonWithout(view: View, column: string): string
}

/** @param fields columns of the table; undefined: all of them. A name that is asked for twice is shown once. */
export function projectionOf(table: TableFace, fields: readonly FieldAsk[] | undefined): Projection {
  const columns = new Map<string, string>()
  for (const { column, alias } of fields ?? [...table.columns.keys()].map((column) => ({ column, alias: undefined })))
    columns.set(alias ?? column, column)
  const pairs = [...columns]
  const write = (view: View, chosen: readonly (readonly [string, string])[]) =>
    `{${chosen.map(([name, column]) => memberOf(name, view.cells[column])).join(',')}}`
  return {
    names: new Set(columns.keys()),
    json: fields === undefined ? (view) => jsonOf(view, table) : (view) => write(view, pairs),
    jsonWithout: (view, column) =>
      write(
        view,
        pairs.filter(([name]) => name !== column),
      ),
  }
}

// A heap in an array: what compares last is on top, and each change takes a few comparisons.

/** Less than 0 where `one` comes first. */
type Compare<Item> = (one: Item, other: Item) => number

/** Adds one at the bottom of a heap and lets it rise to its place. */
function raise<Item>(heap: Item[], item: Item, compare: Compare<Item>): void {
  let at = heap.length
  heap.push(item)
  while (at > 0) {
    const above = (at - 1) >> 1
    const other = heap[above] as Item
    if (compare(item, other) <= 0) break
    heap[at] = other
    at = above
  }
  heap[at] = item
}

/** Puts one in place of the top of a heap and lets it sink to its place. */
function sink<Item>(heap: Item[], item: Item, compare: Compare<Item>): void {
  let at = 0
  for (;;) {
    const left = 2 * at + 1
    if (left >= heap.length) break
    const right = left + 1
    const below = right < heap.length && compare(heap[right] as Item, heap[left] as Item) > 0 ? right : left
    const other = heap[below] as Item
    if (compare(other, item) <= 0) break
    heap[at] = other
    at = below
  }
  heap[at] = item
}

// Collectors: of the matching rows they keep the number, a page, or the first in an order.

/** Rows that are taken out of an order before others may have their turn. */
const ROWS_A_STEP = 64

/** Takes matching rows, in the order in which they are found. */
export interface Collector {
  /** @returns whether a further row could change the answer */
  take(view: View): boolean
  count(): number
  /** Rows that it holds. */
  kept(): number
  /** In the order that was asked for; once. */
  views(): Steps<readonly View[]>
}

/** @param isInOrder rows are found in the order that was asked for */
export function createCollector(query: Query, isInOrder: boolean): Collector {
  if (query.count !== false) return createCounter(query.count)
  return isInOrder ? createPage(query) : createRanking(query)
}

/** @param what true: rows; a column: those that have a value there */
function createCounter(what: true | string): Collector {
  let count = 0
  const take = ({ cells }: View) => {
    if (what === true || cellOf(cells[what]) !== null) count++
    return true
  }
  return { take, count: () => count, kept: () => 0, views: () => only([]) }
}

function createPage({ limit, offset }: Query): Collector {
  const kept: View[] = []
  let skipped = 0
  function take(view: View): boolean {
    if (skipped < offset) skipped++
    else kept.push(view)
    return kept.length < limit
  }
  return { take, count: () => kept.length, kept: () => kept.length, views: () => only(kept) }
}

function* only(views: readonly View[]): Steps<readonly View[]> {
  yield
  return views
}

/** A row with the values that it is put in order by, made once: JSON would be written anew for each comparison. */
interface Ranked {
  readonly view: View
  readonly keys: readonly Cell[]
}

/**
 * The first rows of an order, in a heap with the last of them on top: each row that comes is a few comparisons, where
 * sorting fifty thousand at once would hold up everything else for as long.
 */
function createRanking({ order, limit, offset }: Query): Collector {
  const compare = comparisonOf(order)
  const most = offset + limit
  const heap: Ranked[] = []
  function take(view: View): boolean {
    const ranked = { view, keys: order.map(({ column }) => cellOf(view.cells[column])) }
    const last = heap[0]
    if (heap.length < most) raise(heap, ranked, compare)
    else if (last && compare(ranked, last) < 0) sink(heap, ranked, compare)
    return true
  }
  /** Takes the last one from the top again and again. */
  function* views(): Steps<readonly View[]> {
    const found: View[] = []
    while (heap.length > offset) {
      const [last] = heap
      const moved = heap.pop()
      if (last === undefined || moved === undefined) break
      if (heap.length > 0) sink(heap, moved, compare)
      found.push(last.view)
      if (found.length % ROWS_A_STEP === 0) yield
    }
    return found.reverse()
  }
  return { take, count: () => heap.length, kept: () => heap.length, views }
}

/** By each column in turn, and by id where all are equal. */
function comparisonOf(order: readonly OrderBy[]): Compare<Ranked> {
  return (one, other) => {
    for (const [at, { isDescending }] of order.entries()) {
      const found = compareCells(one.keys[at] ?? null, other.keys[at] ?? null)
      if (found !== 0) return isDescending ? -found : found
    }
    return one.view.row.id - other.view.row.id
  }
}
