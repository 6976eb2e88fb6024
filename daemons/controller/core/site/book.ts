/** The configuration of a building in memory: rows by table, looked up by id and name, and values derived from them. */
import type { Json } from '../json.ts'

// Rows and tables, as everything behind the store sees them.

/**
 * One row. Every table has `id`, `created_at` and `updated_at` (epoch ms). Rows are immutable; a change replaces the
 * row.
 */
export interface Row {
  readonly id: number
  readonly [column: string]: Json
}

/** The applied configuration of a building, in memory: pending changes are not part of it. */
export interface Book {
  /** All rows of a table, by id ascending; the same array until the table changes. Empty for a table without rows. */
  rows(table: string): readonly Row[]
  row(table: string, id: number): Row | undefined
  /** Rows whose column `name` is exactly this, by id. */
  named(table: string, name: string): readonly Row[]
  /** Grows with every change of a table: if it differs, values derived from the table are stale. */
  revision(table: string): number
}

/** A book whose attributes change their values thousands of times a second. */
export interface LivelyBook extends Book {
  /** Like `revision`, but stays when only live values of rows changed. */
  shape(table: string): number
}

/** Writes by the daemon itself, besides imports and Apply All: durable when the promise resolves. */
export interface Keeper {
  /** Changes columns of one row; columns that are not named stay. @throws Fault `row_gone` */
  change(table: string, id: number, columns: Readonly<Record<string, Json>>): Promise<void>
}

// Derived values: computed from rows, and cached until one of their tables changes.

/**
 * Caches the result of `build` until one of the tables changes: control asks for scopes 500 times a second, while
 * tables change a few times a day.
 * @returns a function that returns the value, rebuilt if one of its tables has changed
 */
export function derived<Value>(book: Book, tables: readonly string[], build: () => Value): () => Value {
  let kept: { value: Value; revisions: readonly number[] } | undefined
  return () => {
    const revisions = tables.map((table) => book.revision(table))
    if (!kept || revisions.some((revision, i) => revision !== kept?.revisions[i])) kept = { value: build(), revisions }
    return kept.value
  }
}

/** The zones of each device, by id ascending. @returns an empty list for a device without zones */
export function zonesByDevice(book: Book): (deviceId: number) => readonly Row[] {
  const index = derived(book, ['zone'], () => groupedBy(book.rows('zone'), 'device_id'))
  return (deviceId) => index().get(deviceId) ?? []
}

/** Groups rows by the id in a reference column; rows without an id are left out. */
export function groupedBy(rows: readonly Row[], column: string): Map<number, Row[]> {
  const groups = new Map<number, Row[]>()
  for (const row of rows) {
    const id = row[column]
    if (typeof id !== 'number') continue
    const group = groups.get(id)
    if (group) group.push(row)
    else groups.set(id, [row])
  }
  return groups
}

// The book in memory.

const NONE: readonly Row[] = Object.freeze([])

/** A book that its store can write to. An array from `rows` never changes after it was returned. */
export interface WritableBook extends LivelyBook {
  /** Replaces the row with the same id, or adds it. */
  put(table: string, row: Row): void
  /** Replaces a row by one that differs only in live values: the shape of the table stays. */
  touch(table: string, row: Row): void
  remove(table: string, id: number): void
  /** How many rows a table has; does not count as reading them. */
  count(table: string): number
  /** Replaces a whole table. @param rows in any order, ids differ */
  replace(table: string, rows: readonly Row[]): void
}

export function createBook(): WritableBook {
  const shelves = new Map<string, RowTable>()

  function shelf(table: string): RowTable {
    let found = shelves.get(table)
    if (found === undefined) {
      found = createRowTable()
      shelves.set(table, found)
    }
    return found
  }

  return {
    rows: (table) => shelves.get(table)?.rows() ?? NONE,
    row: (table, id) => shelves.get(table)?.row(id),
    named: (table, name) => shelves.get(table)?.named(name) ?? NONE,
    revision: (table) => shelves.get(table)?.revision() ?? 0,
    shape: (table) => shelves.get(table)?.shape() ?? 0,
    put: (table, row) => shelf(table).put(row),
    touch: (table, row) => shelf(table).touch(row),
    count: (table) => shelves.get(table)?.count() ?? 0,
    remove: (table, id) => shelves.get(table)?.remove(id),
    replace: (table, rows) => shelf(table).replace(rows),
  }
}

interface RowTable {
  rows(): readonly Row[]
  count(): number
  row(id: number): Row | undefined
  named(name: string): readonly Row[]
  revision(): number
  shape(): number
  put(row: Row): void
  touch(row: Row): void
  remove(id: number): void
  replace(rows: readonly Row[]): void
}

/**
 * One table. The list of rows is copied only on a change after it was read, so thousands of changes between two reads
 * cost one copy. The indexes of ids and names are rebuilt on demand.
 */
function createRowTable(): RowTable {
  let list: Row[] = []
  let isGivenAway = false
  let revision = 0
  let touched = 0
  let places = new Map<number, number>()
  let names: Map<Json | undefined, number[]> | undefined

  function own(): Row[] {
    if (isGivenAway) list = list.slice()
    isGivenAway = false
    return list
  }

  function take(rows: readonly Row[]): void {
    list = rows.toSorted((a, b) => a.id - b.id)
    isGivenAway = false
    places = new Map(list.map((row, place) => [row.id, place]))
    names = undefined
  }

  function put(row: Row): void {
    revision++
    const place = places.get(row.id)
    if (place === undefined) {
      const last = list.at(-1)
      if (last !== undefined && last.id > row.id) {
        take([...list, row])
        return
      }
      places.set(row.id, own().push(row) - 1)
      names = undefined
      return
    }
    if (list[place]?.name !== row.name) names = undefined
    own()[place] = row
  }

  function row(id: number): Row | undefined {
    const place = places.get(id)
    return place === undefined ? undefined : list[place]
  }

  return {
    rows() {
      isGivenAway = true
      return list
    },
    count: () => list.length,
    row,
    named(name) {
      names ??= namesOf(list)
      return names.get(name)?.flatMap((id) => row(id) ?? []) ?? NONE
    },
    revision: () => revision,
    shape: () => revision - touched,
    put,
    touch(row) {
      touched++
      put(row)
    },
    remove(id) {
      if (!places.has(id)) return
      revision++
      take(list.filter((row) => row.id !== id))
    },
    replace(rows) {
      revision++
      take(rows)
    },
  }
}

function namesOf(list: readonly Row[]): Map<Json | undefined, number[]> {
  const names = new Map<Json | undefined, number[]>()
  for (const row of list) {
    const same = names.get(row.name)
    if (same === undefined) names.set(row.name, [row.id])
    else same.push(row.id)
  }
  return names
}
