/** The site as it would be: rows by table, with the place in the file that each came from, and found by name. */
import type { Json, Row } from '../row.ts'
import type { Column, Table } from '../schema/column.ts'
import { tableOf } from '../schema/registry.ts'
import type { Wish } from './draft.ts'
import { type FaultList, quoted } from './site-faults.ts'

/** Ids that a sentence lists of rows with the same name. */
const MOST_LISTED = 5

/** A site that is being made. */
export interface NextSite {
  readonly rows: Map<string, Map<number, Row>>
  /** Says where a row comes from, for a fault. */
  setPath(table: string, id: number, path: string): void
  /** `zone[3]`, or `zone 12` for a row that the file does not hold. */
  pathOf(table: string, id: number): string
  /** The id that a reference means; undefined where it means none, which is a fault at `path`. */
  find(table: Table, wish: Wish, path: string): number | undefined
}

export function createNextSite(faults: FaultList): NextSite {
  const rows = new Map<string, Map<number, Row>>()
  const paths = new Map<string, Map<number, string>>()
  const names = new Map<string, Map<string, number[]>>()

  function namesOf(table: Table): Map<string, number[]> {
    let known = names.get(table.name)
    if (known === undefined) {
      known = indexByLabel(table, rows.get(table.name) ?? new Map())
      names.set(table.name, known)
    }
    return known
  }

  return {
    rows,
    setPath(table, id, path) {
      const known = paths.get(table) ?? new Map<number, string>()
      paths.set(table, known.set(id, path))
    },
    pathOf: (table, id) => paths.get(table)?.get(id) ?? `${table} ${id}`,
    find(table, wish, path) {
      // Whether there is a row of this id is looked at when the site is whole.
      if ('id' in wish) return wish.id
      const known = namesOf(table)
      const ids = known.get(foldedLabel(table, wish.name)) ?? []
      if (ids.length === 1) return ids[0]
      faults.add(
        path,
        ids.length === 0 ? unknownName(table, wish.name) + nearest(wish.name) : ambiguous(table, wish.name, ids),
      )
      return undefined

      function nearest(name: string): string {
        return faults.nearest(name, [...known.keys()])
      }
    },
  }
}

/** A value as it counts where no two may be the same. */
export function folded(column: Column | undefined, value: Json): Json {
  return typeof value === 'string' && column?.isNoCase ? value.normalize('NFC').toLowerCase() : value
}

function foldedLabel(table: Table, name: string): string {
  return String(folded(table.column(table.label ?? ''), name))
}

function indexByLabel(table: Table, rows: ReadonlyMap<number, Row>): Map<string, number[]> {
  const index = new Map<string, number[]>()
  const { label } = table
  if (label === undefined) return index
  for (const [id, row] of rows) {
    const name = foldedLabel(table, String(row[label] ?? ''))
    const same = index.get(name)
    if (same === undefined) index.set(name, [id])
    else same.push(id)
  }
  return index
}

function unknownName(table: Table, name: string): string {
  return table.label === undefined
    ? `rows of ${table.name} have no name: refer by id`
    : `there is no ${table.name} ${quoted(name)}`
}

function ambiguous(table: Table, name: string, ids: readonly number[]): string {
  const listed = ids.slice(0, MOST_LISTED).join(', ')
  return `there are ${ids.length} rows of ${table.name} called ${quoted(name)} (ids ${listed}): refer by id`
}

/** The table that a row's reference column points into; undefined where it points nowhere. */
export function targetTable(column: Column, values: (column: string) => Json | undefined): Table | undefined {
  const name = column.reference ?? (column.referenceBy === undefined ? undefined : values(column.referenceBy))
  return typeof name === 'string' ? tableOf(name) : undefined
}
