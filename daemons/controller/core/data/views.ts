/** What a caller sees of tables and rows, made once and kept until a row is replaced, and the same as JSON. */
import { isSameJson, type Json } from '../json.ts'
import { isSensitiveName, seenText, seenValue, withoutSecrets } from '../secrets.ts'
import type { Row } from '../site/book.ts'
import type { ColumnType, Table } from '../site/column.ts'
import { isJsonSecret, isReadable, isSecretColumn, tables } from '../site/registry.ts'

// The registry of tables as queries see it.

/** What a caller sees of a row, by column. */
export type Cells = Readonly<Record<string, Json>>

export interface ColumnFace {
  readonly name: string
  readonly type: ColumnType
  /** Null in every answer, for everyone. */
  readonly isSecret: boolean
  /** JSON in which secrets are null in every answer, for everyone. */
  readonly isJsonSecret: boolean
}

export interface TableFace {
  readonly name: string
  /** In the order in which an answer shows them; `id` among them. A Map: names are asked for from outside. */
  readonly columns: ReadonlyMap<string, ColumnFace>
  /** On the list of what non-elevated sessions may read. @source document 1, Guards 1 */
  readonly isReadable: boolean
  /** Not in memory: read through `DataWorld.history`, never through the book. */
  readonly isHistory: boolean
}

/** The registry, as far as answers are concerned. */
export interface SchemaFace {
  /** @param name from outside; exactly as registered, else undefined */
  table(name: string): TableFace | undefined
  /** Whether document 1 lists this name as secret-bearing, or by its ending. @source document 1, Secret-bearing columns */
  isSecretName(column: string): boolean
  /** Whether a name (of an attribute, of a key in JSON) says that a secret stands there. */
  isSensitiveName(name: string): boolean
  /** The same JSON with null at every key with a sensitive name, at every depth. */
  withoutSecrets(json: Json): Json
}

/** The registry as queries see it. */
export function registryFace(): SchemaFace {
  const faces = new Map(tables().map((table) => [table.name, faceOf(table)]))
  return {
    table: (name) => faces.get(name),
    // A name that no table has is judged by itself.
    isSecretName: (column) => isSecretColumn('', column),
    isSensitiveName,
    withoutSecrets,
  }
}

function faceOf({ name, keeping, columns }: Table): TableFace {
  const faces = columns.map((column) => ({
    name: column.name,
    type: column.type,
    isSecret: isSecretColumn(name, column.name),
    isJsonSecret: isJsonSecret(name, column.name),
  }))
  return {
    name,
    columns: new Map(faces.map((face) => [face.name, face])),
    isReadable: isReadable(name),
    isHistory: keeping === 'audit' || keeping === 'inner',
  }
}

// JSON of rows, kept for whoever asks next.

/** What can be let go of: it is written again when somebody asks. */
interface Writable {
  json: unknown
}

interface Ready {
  /** @param item its `json` was just written */
  keep(item: Writable, bytes: number): void
}

/** Of an item beside its JSON: its place here, and where its texts end. @source measured: 60 to 100 bytes */
const ITEM_BYTES = 128

/**
 * Where more would be kept than may be, all that is kept is let go of: whose turn it is to go need not be known for each,
 * and a house that fits never comes to it.
 * @param mostBytes of all items
 */
export function createReady(mostBytes: number): Ready {
  const items = new Set<Writable>()
  let held = 0
  return {
    keep(item, bytes) {
      items.add(item)
      held += bytes + ITEM_BYTES
      if (held <= mostBytes) return
      for (const each of items) each.json = undefined
      items.clear()
      held = 0
    },
  }
}

// Views: what a caller sees of a row, made once and kept until the row is replaced. Nothing of a raw row gets past them.

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

// Blocks: consecutive rows as JSON in bytes, so that a page of a table is a handful of pieces that are ready.

/** Rows of a block: a row that changes costs its block, a page costs a piece for each block. */
export const BLOCK_ROWS = 128

/** Rows from one place on, as one kind of caller sees them. */
interface Block {
  /** How many of them are shown. */
  readonly shown: number
  /**
   * @param from counted among those that are shown, as is `to`, which is above it and is itself not among them
   * @returns their JSON as UTF-8, with a comma before each; kept, and never changed
   */
  bytes(from: number, to: number): Uint8Array
}

/** The blocks of one table for one kind of caller. @param at a multiple of BLOCK_ROWS */
type BlockAt = (at: number) => Block

/** Blocks of all tables, each kept while its rows are the very same. */
export interface Blocks {
  /** @param viewAt of these rows, for this kind of caller */
  byPlace(table: TableFace, rows: readonly Row[], isElevated: boolean, viewAt: (at: number) => View): BlockAt
}

const encoder = new TextEncoder()

/** There is one list of blocks for each table and kind of caller: no more than twice the tables. */
export function createBlocks(ready: Ready): Blocks {
  const byKind = new Map<string, Kept[]>()

  return {
    byPlace(table, rows, isElevated, viewAt) {
      const kind = `${table.name} ${isElevated}`
      const kept = byKind.get(kind) ?? []
      byKind.set(kind, kept)
      return (at) => {
        const place = at / BLOCK_ROWS
        const known = kept[place]
        if (known !== undefined && isStill(known.rows, rows, at)) return known
        const made = blockOf({
          rows: rows.slice(at, at + BLOCK_ROWS),
          viewAt: (index) => viewAt(at + index),
          table,
          ready,
        })
        kept[place] = made
        return made
      }
    },
  }
}

interface Kept extends Block {
  readonly rows: readonly Row[]
}

function isStill(kept: readonly Row[], rows: readonly Row[], at: number): boolean {
  if (Math.min(BLOCK_ROWS, rows.length - at) !== kept.length) return false
  for (let index = 0; index < kept.length; index++) if (kept[index] !== rows[at + index]) return false
  return true
}

interface BlockSource {
  rows: readonly Row[]
  viewAt: (index: number) => View
  table: TableFace
  ready: Ready
}

function blockOf({ rows, viewAt, table, ready }: BlockSource): Kept {
  const views = rows.map((_, index) => viewAt(index)).filter(({ isHidden }) => !isHidden)
  const kept: { json: Written | undefined } = { json: undefined }
  return {
    rows,
    shown: views.length,
    // Not before somebody asks: who looks for the last page goes by all others.
    bytes(from, to) {
      let written = kept.json
      if (written === undefined) {
        written = write(views.map((view) => `,${jsonOf(view, table)}`))
        kept.json = written
        ready.keep(kept, written.bytes.length + written.ends.length * END_BYTES)
      }
      return written.bytes.subarray(from === 0 ? 0 : written.ends[from - 1], written.ends[to - 1])
    },
  }
}

/** Of a place where a text ends. */
const END_BYTES = 8

interface Written {
  bytes: Uint8Array
  /** Where each text ends. */
  ends: readonly number[]
}

function write(texts: readonly string[]): Written {
  let end = 0
  const ends = texts.map((text) => (end += text.length))
  const bytes = encoder.encode(texts.join(''))
  if (bytes.length === end) return { bytes, ends }
  // Not all of it is ASCII: texts are longer as bytes.
  end = 0
  return { bytes, ends: texts.map((text) => (end += encoder.encode(text).length)) }
}
