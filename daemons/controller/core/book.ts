/** The configuration of a building in memory: rows by table, found by id and by name. */
import type { Book, Json, Row } from './row.ts'

const NONE: readonly Row[] = Object.freeze([])

/** A book that its store writes to. Who asks for a table's rows keeps what he got: it is never changed under him. */
export interface WritableBook extends Book {
  /** Puts a row in the place of the one with its id, or adds it. */
  put(table: string, row: Row): void
  remove(table: string, id: number): void
  /** How many rows a table has, without asking for them. */
  count(table: string): number
  /** Replaces a whole table. @param rows in any order, ids differ */
  replace(table: string, rows: readonly Row[]): void
}

export function createBook(): WritableBook {
  const shelves = new Map<string, Shelf>()

  function shelf(table: string): Shelf {
    let found = shelves.get(table)
    if (found === undefined) {
      found = createShelf()
      shelves.set(table, found)
    }
    return found
  }

  return {
    rows: (table) => shelves.get(table)?.rows() ?? NONE,
    row: (table, id) => shelves.get(table)?.row(id),
    named: (table, name) => shelves.get(table)?.named(name) ?? NONE,
    revision: (table) => shelves.get(table)?.revision() ?? 0,
    put: (table, row) => shelf(table).put(row),
    count: (table) => shelves.get(table)?.count() ?? 0,
    remove: (table, id) => shelves.get(table)?.remove(id),
    replace: (table, rows) => shelf(table).replace(rows),
  }
}

interface Shelf {
  rows(): readonly Row[]
  count(): number
  row(id: number): Row | undefined
  named(name: string): readonly Row[]
  revision(): number
  put(row: Row): void
  remove(id: number): void
  replace(rows: readonly Row[]): void
}

/**
 * One table. The list of its rows is copied when it changes after somebody asked for it, so thousands of changes
 * between two looks cost one copy; places and names are found anew when they are asked for after they changed.
 */
function createShelf(): Shelf {
  let list: Row[] = []
  let isGivenAway = false
  let revision = 0
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
    put,
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
