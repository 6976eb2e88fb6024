/** Checks what a query may ask, selects the columns of its answer, and collects the matching rows. */
import { nearestName } from '#kit/pure/text.ts'
import { type Condition, type FieldAsk, named, type OrderBy, type Query, type Where } from '../../wire/query.ts'
import type { AuditReason, Outcome } from '../audit.ts'
import { type Cell, cellOf, compareCells, testOf } from './matching.ts'
import type { Steps } from './turns.ts'
import { isSecret, jsonOf, memberOf, type SchemaFace, type TableFace, type View } from './views.ts'

// Columns: whether those that a query names exist.

const LONGEST_ALIAS = 64

/**
 * Says in a sentence what is wrong with the columns of a query; names are compared exactly.
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

/** Two columns under one name: one of them would be lost. */
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

// Guards: what a session without elevation may not ask. Decided by the syntax tree alone, without reading any row.

/**
 * Refuses a query that uses forbidden names: secret-bearing columns, or an attribute's previous value, in conditions,
 * orders and counts; pairs in `_fields`.
 * @source document 1, Guards 4, 6, 7
 */
export function guardRefusal(query: Query, table: TableFace, schema: SchemaFace): Outcome | undefined {
  const names = [...conditionsOf(query.where).map(({ column }) => column), ...placesOf(query)]
  if (names.some((name) => isRefused(name, table, schema))) return invalid('redacted_filter')
  return query.fields?.isPlain === false ? invalid('invalid_projection') : undefined
}

/**
 * Returns the empty list if the query asks for secure attributes, or tests values of attributes without naming them.
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

/** Columns that decide the order or the count. */
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
  // A column of another table, or of none: its name alone decides.
  return column === undefined ? schema.isSecretName(name) : isSecret(schema, column)
}

const MESSAGES: Readonly<Partial<Record<AuditReason, string>>> = {
  redacted_filter: 'The query names a column that is null for everybody, or previous_value; leave it out.',
  invalid_projection: '_fields takes names of columns, and no pairs.',
}

function invalid(reason: AuditReason): Outcome {
  return { status: 400, body: { json: { error: 'invalid query', message: MESSAGES[reason] } }, reason }
}

/** Whether only secure rows could satisfy this. */
function asksForSecure({ conditions, either }: Where): boolean {
  const isFor = (condition: Condition) => {
    if (condition.column !== 'secure') return false
    const test = testOf(condition, 'boolean')
    return test(true) && !test(false)
  }
  return conditions.some(isFor) || either.some((group) => group.every(asksForSecure))
}

/** Whether a condition tests `value` without a pinned name beside it or around it. */
function triesValue(where: Where, isPinnedAround: boolean, schema: SchemaFace): boolean {
  const isPinned = isPinnedAround || pinsName(where, schema)
  const triesHere = where.conditions.some(({ column }) => column === 'value')
  if (triesHere && !isPinned) return true
  return where.either.some((group) => group.some((part) => triesValue(part, isPinned, schema)))
}

/**
 * Whether the conditions restrict `name` to a given list in which no name is sensitive. Patterns and ranges do not pin
 * a name, and a name in one part of `_or` pins nothing outside that part.
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

/** Writes views as JSON. */
export interface Projection {
  /** The names in the answer. */
  readonly names: ReadonlySet<string>
  json(view: View): string
  /** The same without one column, which the caller replaces. */
  jsonWithout(view: View, column: string): string
}

/** @param fields columns of the table; undefined means all of them. A name that is asked for twice is shown once. */
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

// A binary heap in an array: the item that compares last is on top, and each change takes a few comparisons.

/** Less than 0 if `one` comes first. */
type Compare<Item> = (one: Item, other: Item) => number

/** Adds an item at the bottom of the heap and sifts it up. */
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

/** Replaces the top of the heap and sifts the new item down. */
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

// Collectors keep, of the matching rows, the count, a page, or the first ones in an order.

/** Rows popped from the heap before the next yield. */
const ROWS_A_STEP = 64

/** Receives matching rows in the order in which they are found. */
export interface Collector {
  /** @returns whether another row could change the answer */
  take(view: View): boolean
  count(): number
  /** How many rows it holds. */
  kept(): number
  /** The result in the requested order; call it only once. */
  views(): Steps<readonly View[]>
}

/** @param isInOrder whether rows are found in the requested order */
export function createCollector(query: Query, isInOrder: boolean): Collector {
  if (query.count !== false) return createCounter(query.count)
  return isInOrder ? createPage(query) : createRanking(query)
}

/** @param what true counts rows; a column counts the rows that have a value there */
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

/** A row with its sort keys, computed once: otherwise JSON would be written again for each comparison. */
interface Ranked {
  readonly view: View
  readonly keys: readonly Cell[]
}

/**
 * Keeps the first rows of an order in a heap with the last of them on top. Each new row costs a few comparisons,
 * whereas sorting fifty thousand at once would block everything else for that long.
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
  /** Pops the last row from the top until only the offset is left. */
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

/** Compares by each column in turn, then by id. */
function comparisonOf(order: readonly OrderBy[]): Compare<Ranked> {
  return (one, other) => {
    for (const [at, { isDescending }] of order.entries()) {
      const found = compareCells(one.keys[at] ?? null, other.keys[at] ?? null)
      if (found !== 0) return isDescending ? -found : found
    }
    return one.view.row.id - other.view.row.id
  }
}
