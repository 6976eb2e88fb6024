/** What a non-elevated session may not ask, as a question to the syntax tree of its query: no row is looked at here. */
import type { Condition, Query, Where } from '../../wire/query/query.ts'
import type { AuditReason } from '../audit.ts'
import type { Outcome } from '../outcome.ts'
import { testOf } from './compare.ts'
import type { SchemaFace, TableFace } from './schema-face.ts'
import { isSecret } from './views.ts'

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
export function placesOf({ order, count }: Query): string[] {
  return [...order.map(({ column }) => column), ...(typeof count === 'string' ? [count] : [])]
}

/** All conditions, at every depth. */
export function conditionsOf({ conditions, either }: Where): Condition[] {
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
