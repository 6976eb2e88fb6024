/** Routes for the tables of the site, for elevated sessions only: their forms, their rows, and changes for Apply All. */
import { Type } from 'typebox'
import { createReader, fieldsFault } from '#kit/http/check.ts'
import { count, object, orNull, type Route, text, yesNo } from '#kit/http/route.ts'
import { nearestName } from '#kit/pure/text.ts'
import type { Outcome } from '../core/audit.ts'
import { isList, isObject, type Json } from '../core/json.ts'
import { overtaken, type Revision } from '../core/site/browse.ts'
import type { UiTables } from '../core/surfaces.ts'
import { stagedAnswer } from './answers.ts'
import { granted, type UiGate } from './ui-gate.ts'

/** Most rows of one answer. */
const MOST_ROWS = 200

const tableName = () => Type.String({ minLength: 1, maxLength: 64 })
const rowId = () => Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

const rowsQuery = Type.Object(
  {
    table: tableName(),
    id: Type.Optional(rowId()),
    find: Type.Optional(Type.String({ maxLength: 200, description: 'part of any of a row’s texts, or its id' })),
    after: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
    limit: Type.Integer({ minimum: 1, maximum: MOST_ROWS, default: 100 }),
  },
  { additionalProperties: false },
)

const readRows = createReader(rowsQuery, '?', 'text')
const readChange = createReader(
  Type.Object(
    {
      table: tableName(),
      id: Type.Optional(Type.Integer({ minimum: 1, description: 'absent: a new row' })),
      values: Type.Record(Type.String(), Type.Unknown(), {
        description: 'as in a site file: references by id or name, columns that are absent stay as they are',
      }),
      seen: Type.Record(Type.String(), Type.Unknown(), {
        default: {},
        description: 'values as `GET /ui/rows` had them: a column of `values` that is another by now is refused',
      }),
    },
    { additionalProperties: false },
  ),
)
const readRemoval = createReader(Type.Object({ table: tableName(), id: rowId() }, { additionalProperties: false }))

const field = object({
  name: text,
  kind: Type.Enum(['text', 'integer', 'real', 'boolean', 'json', 'time', 'row', 'rows', 'secret', 'password']),
  isRequired: yesNo,
  default: Type.Unknown(),
  choices: orNull(Type.Array(text)),
  minimum: orNull(Type.Number()),
  maximum: orNull(Type.Number()),
  tables: Type.Array(text, { description: 'those that a reference may point into' }),
  by: orNull(Type.String({ description: 'the column that names which of `tables`' })),
})

const tablesAnswer = object({
  tables: Type.Array(object({ name: text, label: orNull(text), count, fields: Type.Array(field) })),
})

const rowsAnswer = object({
  rows: Type.Array(
    object({
      id: Type.Integer(),
      name: orNull(text),
      pending: orNull(Type.Enum(['add', 'change', 'remove'])),
      values: Type.Record(Type.String(), Type.Unknown()),
      secrets: Type.Array(text, { description: 'the secret columns that have a value' }),
      names: Type.Record(Type.String(), Type.String(), { description: 'by column, of the row it refers to' }),
    }),
  ),
  next: orNull(Type.Integer({ description: 'more rows follow: ask for those after this id' })),
})

/** Each answers 403 `not_elevated` to other sessions. */
export function uiTableRoutes(gate: UiGate, { tables }: { tables: UiTables }): Route[] {
  return [
    gate.elevated({
      method: 'GET',
      path: '/ui/tables',
      reply: tablesAnswer,
      summary: 'The tables of the site, with the fields of their forms',
      handle: () => granted({ tables: tables.tables() }),
    }),
    gate.elevated({
      method: 'GET',
      path: '/ui/rows',
      query: readRows,
      reply: rowsAnswer,
      summary: 'Rows of one table as they will be after Apply All, without secrets',
      handle({ query }) {
        const ask = readRows({ ...(query as object) })
        return granted(tables.rows(ask) ?? unknownTable(tables, ask.table))
      },
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/rows',
      body: readChange,
      reply: stagedAnswer,
      isRecordedFirst: true,
      summary: 'Adds or changes one row, for Apply All',
      async handle({ body, session }) {
        const { table, id, values, seen } = readChange(body)
        if (!tables.tables().some(({ name }) => name === table)) unknownTable(tables, table)
        if (id !== undefined) refuseOvertaken(tables, { table, id, values, seen } as Revision)
        // A row without an id would be taken for the one of that name.
        const row = { ...(values as Record<string, Json>), id: id ?? tables.freeId(table) }
        const outcome = await tables.write(session, { rows: { [table]: [row] }, remove: {} })
        return { outcome: atFields(outcome, table) }
      },
    }),
    gate.elevated({
      method: 'POST',
      path: '/ui/rows/remove',
      body: readRemoval,
      reply: stagedAnswer,
      isRecordedFirst: true,
      summary: 'Removes one row, for Apply All',
      async handle({ body, session }) {
        const { table, id } = readRemoval(body)
        return { outcome: await tables.write(session, { rows: {}, remove: { [table]: [id] } }) }
      },
    }),
  ]
}

/** @throws Fault `bad_fields` */
function unknownTable(tables: UiTables, name: string): never {
  const near = nearestName(
    name,
    tables.tables().map((table) => table.name),
  )
  const hint = near === undefined ? '' : ` The nearest is ${near}.`
  throw fieldsFault([{ field: 'table', message: `There is no table of this name that can be changed here.${hint}` }])
}

/** @throws Fault `bad_fields` */
function refuseOvertaken(tables: UiTables, revision: Revision): void {
  const { table, id } = revision
  const faults = overtaken(tables.rows({ table, id, limit: 1 })?.rows[0], revision)
  if (faults.length > 0) throw fieldsFault(faults)
}

/** Renames the fields of faults: the table says `zone[0].min`, the form of one row `min`. */
function atFields(outcome: Outcome, table: string): Outcome {
  const { json } = outcome.body as { json?: Json }
  if (json === undefined || !isObject(json) || !isList(json.fields ?? null)) return outcome
  const prefix = `${table}[0].`
  const fields = (json.fields as readonly { field: string; message: string }[]).map(({ field: path, message }) => ({
    field: path.startsWith(prefix) ? path.slice(prefix.length) : path,
    message,
  }))
  return { ...outcome, body: { json: { ...json, fields } } }
}
