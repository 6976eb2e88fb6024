/** What a caller sees of a row: made once, kept until the row is replaced. Nothing of a raw row passes by here. */
import type { Json, Row } from '../row.ts'
import { isSameJson } from '../same-json.ts'
import { seenText, seenValue } from './attribute-value.ts'
import type { Cells } from './matching.ts'
import type { Ready } from './ready.ts'
import type { ColumnFace, SchemaFace, TableFace } from './schema-face.ts'

/** A row as one kind of caller sees it. */
export interface View {
  readonly row: Row
  /** All that conditions, orders and projections may look at. Columns that the table does not have stand for nothing. */
  readonly cells: Cells
  /** Not listed for this caller: shown only where it hangs on another row, its values null. */
  readonly isHidden: boolean
  /** The row as JSON, once somebody asked for it, while it stands ready. */
  json: string | undefined
  /** Where its JSON is kept; undefined: it is not. */
  readonly ready: Ready | undefined
}

export interface Views {
  view(table: TableFace, row: Row, isElevated: boolean): View
  /** Of a row that comes from the disk, and is not asked for again. */
  passing(table: TableFace, row: Row, isElevated: boolean): View
  /**
   * Views of rows by their place, made as they are asked for.
   * @param rows as the book gave them: the same array until the table changes
   */
  byPlace(table: TableFace, rows: readonly Row[], isElevated: boolean): (at: number) => View
}

/** Of a character of JSON: two, where any of them is not Latin. */
const CHAR_BYTES = 2

/** Columns of an attribute that hold what may be secret. @source document 1, Guards 2 and 3 */
const VALUES: ReadonlySet<string> = new Set(['value', 'previous_value'])

export function createViews(schema: SchemaFace, ready: Ready): Views {
  const full = createKept((table, row) => fullView({ schema, table, row, ready }))
  const plain = createKept((table, row) => plainView(schema, table, full.view(table, row)))
  const keptFor = (isElevated: boolean) => (isElevated ? full : plain)

  return {
    view: (table, row, isElevated) => keptFor(isElevated).view(table, row),
    passing(table, row, isElevated) {
      const view = fullView({ schema, table, row, ready: undefined })
      return isElevated ? view : plainView(schema, table, view)
    },
    byPlace: (table, rows, isElevated) => keptFor(isElevated).byPlace(table, rows),
  }
}

/** Null for everyone. @source document 1, Secret-bearing columns */
export function isSecret(schema: SchemaFace, column: ColumnFace): boolean {
  return column.isSecret || (column.type === 'text' && schema.isSecretName(column.name))
}

/** The view as JSON. */
export function jsonOf(view: View, table: TableFace): string {
  if (view.json !== undefined) return view.json
  const json = `{${[...table.columns.keys()].map((name) => memberOf(name, view.cells[name])).join(',')}}`
  if (view.ready) {
    view.json = json
    view.ready.keep(view, json.length * CHAR_BYTES)
  }
  return json
}

/** `"name":value` */
export function memberOf(name: string, value: Json | undefined): string {
  return `${JSON.stringify(name)}:${JSON.stringify(value ?? null)}`
}

function createKept(make: (table: TableFace, row: Row) => View) {
  const byRow = new WeakMap<Row, View>()
  const byRows = new WeakMap<readonly Row[], View[]>()

  function view(table: TableFace, row: Row): View {
    let view = byRow.get(row)
    if (view === undefined) {
      view = make(table, row)
      byRow.set(row, view)
    }
    return view
  }

  function byPlace(table: TableFace, rows: readonly Row[]): (at: number) => View {
    let views = byRows.get(rows)
    if (views === undefined) {
      views = []
      byRows.set(rows, views)
    }
    const places = views
    return (at) => {
      const row = rows[at] as Row
      const kept = places[at]
      if (kept?.row === row) return kept
      const made = view(table, row)
      places[at] = made
      return made
    }
  }

  return { view, byPlace }
}

interface Seen {
  schema: SchemaFace
  table: TableFace
  row: Row
  ready: Ready | undefined
}

function fullView({ schema, table, row, ready }: Seen): View {
  const changed: [string, Json][] = []
  for (const column of table.columns.values()) {
    const value = row[column.name] ?? null
    if (value === null) continue
    if (isSecret(schema, column)) changed.push([column.name, null])
    else if (column.isJsonSecret) changed.push([column.name, schema.withoutSecrets(value)])
  }
  return { row, cells: withChanged(row, changed), isHidden: false, json: undefined, ready }
}

/** What is secret in a table is so for everyone; here is what is besides for who is not elevated. */
function plainView(schema: SchemaFace, table: TableFace, full: View): View {
  const view = table.name === 'attribute' ? attributeView(schema, full) : full
  const changed: [string, Json][] = []
  for (const { name, type } of table.columns.values()) {
    const before = view.cells[name] ?? null
    const isValue = type === 'json' || (table.name === 'attribute' && VALUES.has(name))
    // Beyond values, a text that only begins like JSON is a name that somebody gave: `[Pin] room`.
    const seen = isValue ? seenValue(schema, before) : typeof before === 'string' ? seenText(schema, before) : before
    if (!isSameJson(seen, before)) changed.push([name, seen])
  }
  // Most rows hold nothing of the kind: one view is for both kinds of caller then.
  return changed.length === 0 ? view : otherThan(view, changed)
}

/** Of an attribute that is secure, or does not say that it is not, only that it is there. @source document 1, Guards 2, 3 */
function attributeView(schema: SchemaFace, { row, cells, ready }: View): View {
  const isHidden = cells.secure !== false
  const isMasked = isHidden || typeof cells.name !== 'string' || schema.isSensitiveName(cells.name)
  const changed = [...VALUES].flatMap((column): [string, Json][] =>
    isMasked && (cells[column] ?? null) !== null ? [[column, null]] : [],
  )
  return { row, cells: withChanged(cells, changed), isHidden, json: undefined, ready }
}

/** Nothing of the other view but its row: the JSON that it may hold by now was written for who sees more. */
function otherThan({ row, cells, isHidden, ready }: View, changed: readonly [string, Json][]): View {
  return { row, cells: withChanged(cells, changed), isHidden, json: undefined, ready }
}

function withChanged(cells: Cells, changed: readonly [string, Json][]): Cells {
  return changed.length === 0 ? cells : { ...cells, ...Object.fromEntries(changed) }
}
