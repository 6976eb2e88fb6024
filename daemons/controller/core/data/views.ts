/** What a caller sees of tables and rows, cached until a row is replaced, and the same as JSON. */
import { isSensitiveName } from '#kit/pure/sensitive-name.ts'
import { isSameJson, type Json } from '../json.ts'
import { hasSecretPlace, seenText, seenValue, withoutSecrets } from '../secrets.ts'
import type { Row } from '../site/book.ts'
import type { ColumnType, Table } from '../site/column.ts'
import { isJsonSecret, isReadable, isSecretColumn, tables } from '../site/registry.ts'

// The registry of tables as queries see it.

/** The values of a row that a caller sees, by column. */
export type Cells = Readonly<Record<string, Json>>

export interface ColumnFace {
  readonly name: string
  readonly type: ColumnType
  /** Null in every answer, for everyone. */
  readonly isSecret: boolean
  /** JSON whose secrets are null in every answer, for everyone. */
  readonly isJsonSecret: boolean
}

export interface TableFace {
  readonly name: string
  /** In the order in which an answer shows them, including `id`. A Map, because names come from outside. */
  readonly columns: ReadonlyMap<string, ColumnFace>
  /** Whether sessions that are not elevated may read it. @source document 1, Guards 1 */
  readonly isReadable: boolean
  /** Not in memory: read through `DataWorld.history`, never through the book. */
  readonly isHistory: boolean
}

/** The parts of the registry that answers need. */
export interface SchemaFace {
  /** @param name comes from outside; must match the registered name exactly, else undefined is returned */
  table(name: string): TableFace | undefined
  /**
   * Whether document 1 lists this name as secret-bearing, directly or by its ending. @source document 1, Secret-bearing
   * columns
   */
  isSecretName(column: string): boolean
  /** Whether a name (of an attribute or a JSON key) suggests a secret. */
  isSensitiveName(name: string): boolean
  /** The same JSON with null for every key that has a sensitive name, at every depth. */
  withoutSecrets(json: Json): Json
}

/** The registry as queries see it. */
export function registryFace(): SchemaFace {
  const faces = new Map(tables().map((table) => [table.name, faceOf(table)]))
  return {
    table: (name) => faces.get(name),
    // A column that no table has is judged by its name alone.
    isSecretName: (column) => isSecretColumn('', column),
    isSensitiveName,
    withoutSecrets,
  }
}

function faceOf({ name, keeping, isOnDisk, columns }: Table): TableFace {
  const queried = columns.filter(({ isPrivate }) => isPrivate !== true)
  const faces = queried.map((column) => ({
    name: column.name,
    type: column.type,
    isSecret: isSecretColumn(name, column.name),
    isJsonSecret: isJsonSecret(name, column.name),
  }))
  return {
    name,
    columns: new Map(faces.map((face) => [face.name, face])),
    isReadable: isReadable(name),
    isHistory: keeping === 'audit' || keeping === 'inner' || isOnDisk,
  }
}

// A cache of rows as JSON.

/** A cache entry: it can be dropped and is written again on demand. */
interface Writable {
  json: unknown
}

interface Ready {
  /** @param item its `json` has just been written */
  keep(item: Writable, bytes: number): void
}

/**
 * Overhead of an entry besides its JSON: its place here, and the ends of its texts. @source measured: 60 to 100 bytes
 */
const ITEM_BYTES = 128

/**
 * When the limit is exceeded, the whole cache is dropped: this needs no bookkeeping about what to evict first, and a
 * building that fits never gets there.
 * @param mostBytes of all items together
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

// Views: what a caller sees of a row, cached until the row is replaced. No raw row value gets past them.

/** A row as one kind of caller sees it. */
export interface View {
  readonly row: Row
  /**
   * All values that conditions, orders and projections may use. Ignore properties that are not columns of the table.
   */
  readonly cells: Cells
  /** Not listed for this caller: shown only where it is attached to another row, with its values null. */
  readonly isHidden: boolean
  /** The row as JSON, while it is cached. */
  json: string | undefined
  /** The cache for its JSON; undefined if it is not cached. */
  readonly ready: Ready | undefined
}

export interface Views {
  view(table: TableFace, row: Row, isElevated: boolean): View
  /** The view of a row from disk, which is not cached. */
  passing(table: TableFace, row: Row, isElevated: boolean): View
  /**
   * Views of rows by index, created on demand.
   * @param rows as the book returned them: the same array until the table changes
   */
  byPlace(table: TableFace, rows: readonly Row[], isElevated: boolean): (at: number) => View
}

/** Bytes per character of JSON: two if any of them is not Latin. */
const CHAR_BYTES = 2

/** Columns of an attribute that may hold a secret. @source document 1, Guards 2 and 3 */
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

/** Whether the column is null for everyone. @source document 1, Secret-bearing columns */
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

/** Secret columns are already null for everyone; this also hides what only elevated callers may see. */
function plainView(schema: SchemaFace, table: TableFace, full: View): View {
  const view = table.name === 'attribute' ? attributeView(schema, full) : full
  const changed: [string, Json][] = []
  for (const { name, type } of table.columns.values()) {
    const before = view.cells[name] ?? null
    const isValue = type === 'json' || (table.name === 'attribute' && VALUES.has(name))
    // Outside value columns, a text that merely looks like JSON is a name that somebody gave: `[Pin] room`.
    const seen = isValue ? seenValue(schema, before) : typeof before === 'string' ? seenText(schema, before) : before
    if (!isSameJson(seen, before)) changed.push([name, seen])
  }
  const isTimed = table.name === 'attribute' && (view.cells.changed_at ?? null) !== null
  if (isTimed && tellsOfSecret(schema, changed, view.cells)) changed.push(['changed_at', null])
  // Most rows hide nothing more: both kinds of caller then share one view.
  return changed.length === 0 ? view : otherThan(view, changed)
}

/**
 * Whether a value is hidden, or has a place where a secret may be: when that changed would tell who may set the value
 * whether his guess was right.
 */
function tellsOfSecret(schema: SchemaFace, changed: readonly [string, Json][], cells: Cells): boolean {
  const seen = { ...cells, ...Object.fromEntries(changed) }
  return (seen.value ?? null) === null || hasSecretPlace(schema, String(seen.value))
}

/**
 * A secure attribute, or one that does not say it is not secure, shows only its existence. @source document 1, Guards
 * 2, 3
 */
function attributeView(schema: SchemaFace, { row, cells, ready }: View): View {
  const isHidden = cells.secure !== false
  const isMasked = isHidden || typeof cells.name !== 'string' || schema.isSensitiveName(cells.name)
  const changed = [...VALUES].flatMap((column): [string, Json][] =>
    isMasked && (cells[column] ?? null) !== null ? [[column, null]] : [],
  )
  return { row, cells: withChanged(cells, changed), isHidden, json: undefined, ready }
}

/** Copies only the row from the other view: its cached JSON was written for callers who see more. */
function otherThan({ row, cells, isHidden, ready }: View, changed: readonly [string, Json][]): View {
  return { row, cells: withChanged(cells, changed), isHidden, json: undefined, ready }
}

function withChanged(cells: Cells, changed: readonly [string, Json][]): Cells {
  return changed.length === 0 ? cells : { ...cells, ...Object.fromEntries(changed) }
}

// Blocks: consecutive rows as encoded JSON, so that a page of a table is assembled from a few cached pieces.

/** Rows per block: a changed row costs its block, and a page costs one piece per block. */
export const BLOCK_ROWS = 128

/** Consecutive rows as one kind of caller sees them. */
interface Block {
  /** How many of them are shown. */
  readonly shown: number
  /**
   * @param from index among the shown rows, as is `to`; `to` is greater and exclusive
   * @returns their JSON as UTF-8, with a comma before each; cached and immutable
   */
  bytes(from: number, to: number): Uint8Array
}

/** The blocks of one table for one kind of caller. @param at a multiple of BLOCK_ROWS */
type BlockAt = (at: number) => Block

/** Blocks of all tables, each cached while its rows are the same objects. */
export interface Blocks {
  /** @param viewAt the views of these rows for this kind of caller */
  byPlace(table: TableFace, rows: readonly Row[], isElevated: boolean, viewAt: (at: number) => View): BlockAt
}

const encoder = new TextEncoder()

/** There is one list of blocks per table and kind of caller: at most twice the number of tables. */
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
    // Written only on demand: a request for the last page skips over all other blocks.
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

/** Memory of one entry in `ends`. */
const END_BYTES = 8

interface Written {
  bytes: Uint8Array
  /** The end offset of each text. */
  ends: readonly number[]
}

function write(texts: readonly string[]): Written {
  let end = 0
  const ends = texts.map((text) => (end += text.length))
  const bytes = encoder.encode(texts.join(''))
  if (bytes.length === end) return { bytes, ends }
  // Not pure ASCII: the texts are longer in bytes.
  end = 0
  return { bytes, ends: texts.map((text) => (end += encoder.encode(text).length)) }
}
