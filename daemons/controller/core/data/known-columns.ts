/** Whether a query names columns that there are, before anything is done with them. */
import { nearestName } from '#kit/nearest.ts'
import { named } from '../../wire/query/branch.ts'
import type { Query } from '../../wire/query/query.ts'
import { conditionsOf, placesOf } from './guards.ts'
import type { TableFace } from './schema-face.ts'

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
