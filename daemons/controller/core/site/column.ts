/** What the registry says of a column and of a table, and how both are written down. */
import type { Json } from '../json.ts'

/** `json` is read and written as JSON text and held as its value. */
export type ColumnType = 'integer' | 'real' | 'text' | 'boolean' | 'json'

/** What a column may say beside its name and type. */
interface ColumnFacts {
  /** Null is refused; without a default a row must state it. */
  isRequired?: boolean
  /** What a row gets that does not name the column. */
  default?: Json
  /** Null in every row that leaves the controller. */
  isSecret?: boolean
  /** JSON in which values under sensitive keys are secret. */
  isJsonSecret?: boolean
  /** The table whose `id` this is. */
  reference?: string
  /** The column that names the table whose `id` this is. */
  referenceBy?: string
  /** No two rows have the same; with `isNoCase` none that differ by case alone. Null may repeat. */
  isUnique?: boolean
  isNoCase?: boolean
  /** Epoch ms; a site file may write it as an ISO 8601 text. */
  isTime?: boolean
  /** Text in which a site file may write any JSON, which is kept as JSON text. */
  isAnyJson?: boolean
  /** What the daemon keeps for itself in a row of the site: stays where a file does not state it, and is in no export. */
  isInner?: boolean
  choices?: readonly string[]
  minimum?: number
  maximum?: number
}

/** One column of a table. */
export interface Column extends Readonly<ColumnFacts> {
  readonly name: string
  readonly type: ColumnType
  readonly default: Json
}

/**
 * Where rows of a table are kept: `site` in memory and in the site file; `record` grows, so that the newest are in
 * memory and those that have not ended, a bounded number on the disk, and none in an export; `audit` in a file of its own; `inner` for the store itself.
 */
type Keeping = 'site' | 'record' | 'audit' | 'inner'

/** What a table may say beside its columns. */
interface TableFacts {
  keeping?: Keeping
  /** Columns by which a row of a file without an id is found again. Default: the label. */
  key?: readonly string[]
  /** Of records that come to an end: null in this column until they do. Such a row stays in memory, however old it is. */
  endColumn?: string
  /** Columns of which no two rows have the same together. */
  uniqueTogether?: readonly string[]
  /** The column by which people and site files name a row. Default: `name`, where there is one. */
  label?: string
}

/** One table: `columns` begin with id, created_at and updated_at. */
export interface Table {
  readonly name: string
  readonly keeping: Keeping
  readonly columns: readonly Column[]
  readonly key: readonly string[]
  readonly endColumn: string | undefined
  readonly uniqueTogether: readonly string[]
  readonly label: string | undefined
  /** A row with every column, at its default: what rows are made from, so that all have one shape. */
  readonly empty: Readonly<Record<string, Json>>
  /** A column by its exact name; safe for names from outside. */
  column(name: string): Column | undefined
}

/** Every table has these. */
const COMMON: readonly Column[] = [
  integer('id', { isRequired: true, minimum: 1 }),
  integer('created_at', { isRequired: true, isTime: true }),
  integer('updated_at', { isRequired: true, isTime: true }),
]

/** A table with the columns that every table has before its own. */
export function table(name: string, own: readonly Column[], facts: TableFacts = {}): Table {
  const columns = [...COMMON, ...own]
  const byName = new Map(columns.map((column) => [column.name, column]))
  const label = facts.label ?? (byName.has('name') ? 'name' : undefined)
  return {
    name,
    keeping: facts.keeping ?? 'site',
    columns,
    key: facts.key ?? (label === undefined ? [] : [label]),
    endColumn: facts.endColumn,
    uniqueTogether: facts.uniqueTogether ?? [],
    label,
    empty: Object.fromEntries(columns.map((column) => [column.name, column.default])),
    column: (wanted) => byName.get(wanted),
  }
}

/** A whole number, within what JavaScript counts exactly. */
export function integer(name: string, facts: ColumnFacts = {}): Column {
  return { default: null, ...facts, name, type: 'integer' }
}

/** An epoch in ms. */
export function time(name: string, facts: ColumnFacts = {}): Column {
  return integer(name, { isTime: true, ...facts })
}

export function real(name: string, facts: ColumnFacts = {}): Column {
  return { default: null, ...facts, name, type: 'real' }
}

export function text(name: string, facts: ColumnFacts = {}): Column {
  return { default: null, ...facts, name, type: 'text' }
}

/** Text that no row leaves the controller with. */
export function secret(name: string): Column {
  return text(name, { isSecret: true })
}

/** What a row is called: stated by every row. */
export function label(name = 'name', facts: ColumnFacts = {}): Column {
  return text(name, { isRequired: true, ...facts })
}

/** Never null. */
export function flag(name: string, initial: boolean): Column {
  return { name, type: 'boolean', isRequired: true, default: initial }
}

export function json(name: string, facts: ColumnFacts = {}): Column {
  return { default: null, ...facts, name, type: 'json' }
}

/** JSON with secrets somewhere inside. */
export function jsonWithSecrets(name: string): Column {
  return json(name, { isJsonSecret: true })
}

/** The id of a row of another table, or of this one. */
export function reference(name: string, to: string, facts: ColumnFacts = {}): Column {
  return integer(name, { reference: to, ...facts })
}

/** A reference that a row must have. */
export function owner(name: string, to: string): Column {
  return reference(name, to, { isRequired: true })
}
