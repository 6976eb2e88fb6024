/** The description of columns and tables in the registry, and the functions that define them. */
import type { Json } from '../json.ts'

/** `json` is read and written as JSON text, and held as its value. */
export type ColumnType = 'integer' | 'real' | 'text' | 'boolean' | 'json'

/** Optional properties of a column. */
interface ColumnFacts {
  /** Null is refused; without a default, a row must give a value. */
  isRequired?: boolean
  /** The value in a row that does not give one. */
  default?: Json
  /** Null in every row that leaves the controller. */
  isSecret?: boolean
  /** JSON in which values under sensitive keys are secret. */
  isJsonSecret?: boolean
  /** The table that this id refers to. */
  reference?: string
  /** The column that names the table this id refers to. */
  referenceBy?: string
  /** No two rows have the same value; with `isNoCase`, none that differ only by case. Null may repeat. */
  isUnique?: boolean
  isNoCase?: boolean
  /** Epoch ms; a site file may also write an ISO 8601 text. */
  isTime?: boolean
  /** Text in which a site file may write any JSON, which is stored as JSON text. */
  isAnyJson?: boolean
  /** The daemon's own data in a row of the site: kept if a file does not give it, and never exported. */
  isInner?: boolean
  /** Between a person and the page: no query over REST or the socket has it. */
  isPrivate?: boolean
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
 * Where the rows of a table are stored. `site`: in memory and in the site file. `record`: a growing table, with the
 * newest rows and those that have not ended in memory, a bounded number on disk, and none in an export. `audit`: in a
 * file of its own. `inner`: for the store itself.
 */
type Keeping = 'site' | 'record' | 'audit' | 'inner'

/** Optional properties of a table. */
interface TableFacts {
  keeping?: Keeping
  /** Columns that identify an existing row for a row of a file without an id. Default: the label. */
  key?: readonly string[]
  /** For records that end: this column is null until they do. Such a row stays in memory, however old it is. */
  endColumn?: string
  /** Records that are read from the disk when somebody asks, and of which none is in memory after a start. */
  isOnDisk?: boolean
  /** Columns whose combined values are unique. */
  uniqueTogether?: readonly string[]
  /** The column by which people and site files name a row. Default: `name`, if there is one. */
  label?: string
}

/** One table: `columns` begin with id, created_at and updated_at. */
export interface Table {
  readonly name: string
  readonly keeping: Keeping
  readonly columns: readonly Column[]
  readonly key: readonly string[]
  readonly endColumn: string | undefined
  readonly isOnDisk: boolean
  readonly uniqueTogether: readonly string[]
  readonly label: string | undefined
  /** A row with every column at its default: all rows are made from it, so that they have the same shape. */
  readonly empty: Readonly<Record<string, Json>>
  /** A column by its exact name; safe for names from outside. */
  column(name: string): Column | undefined
}

const COMMON: readonly Column[] = [
  integer('id', { isRequired: true, minimum: 1 }),
  integer('created_at', { isRequired: true, isTime: true }),
  integer('updated_at', { isRequired: true, isTime: true }),
]

/** Defines a table: the common columns, then its own. */
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
    isOnDisk: facts.isOnDisk ?? false,
    uniqueTogether: facts.uniqueTogether ?? [],
    label,
    empty: Object.fromEntries(columns.map((column) => [column.name, column.default])),
    column: (wanted) => byName.get(wanted),
  }
}

/** An integer that JavaScript represents exactly. */
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

/** Text that never leaves the controller. */
export function secret(name: string): Column {
  return text(name, { isSecret: true })
}

/** The name of a row: required in every row. */
export function label(name = 'name', facts: ColumnFacts = {}): Column {
  return text(name, { isRequired: true, ...facts })
}

export function flag(name: string, initial: boolean): Column {
  return { name, type: 'boolean', isRequired: true, default: initial }
}

export function json(name: string, facts: ColumnFacts = {}): Column {
  return { default: null, ...facts, name, type: 'json' }
}

/** JSON that may contain secrets. */
export function jsonWithSecrets(name: string): Column {
  return json(name, { isJsonSecret: true })
}

/** The id of a row of another table, or of the same one. */
export function reference(name: string, to: string, facts: ColumnFacts = {}): Column {
  return integer(name, { reference: to, ...facts })
}

/** A reference that must not be null. */
export function owner(name: string, to: string): Column {
  return reference(name, to, { isRequired: true })
}
