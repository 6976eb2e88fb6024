/** Turns drafts into rows: resolves names to ids, matches existing rows, and keeps secrets that a file leaves out. */
import { isSensitiveName } from '#kit/pure/sensitive-name.ts'
import { isList, isObject, isSameJson, type Json, objectOf } from '../json.ts'
import { bracketsOf, secretKeys, secretPairs, withoutSecrets } from '../secrets.ts'
import type { Book, Row } from './book.ts'
import { bookRows } from './changes.ts'
import type { Column, Table } from './column.ts'
import {
  type Draft,
  isReference,
  overrideFaults,
  overrideTargets,
  type SiteDraft,
  userLists,
  type Wish,
  wishOf,
  withTargets,
} from './drafts.ts'
import { bookTables, tableOf } from './registry.ts'
import { type FaultList, quoted } from './site-text.ts'

// The site after the import: rows by table and by name, and the place in the file that each came from.

/** Most ids that a fault lists for rows with the same name. */
const MOST_LISTED = 5

/** A site being built. */
export interface NextSite {
  readonly rows: Map<string, Map<number, Row>>
  /** Records where a row comes from, for faults. */
  setPath(table: string, id: number, path: string): void
  /** `zone[3]`, or `zone 12` for a row that is not in the file. */
  pathOf(table: string, id: number): string
  /** The id that a reference means; undefined if it cannot be resolved, which adds a fault at `path`. */
  find(table: Table, wish: Wish, path: string): number | undefined
}

function createNextSite(faults: FaultList): NextSite {
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
      // Whether a row with this id exists is checked when the site is complete.
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

/** A value as it is compared for uniqueness. */
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

/** The table that a row's reference points into; undefined if there is none. */
export function targetTable(column: Column, values: (column: string) => Json | undefined): Table | undefined {
  const name = column.reference ?? (column.referenceBy === undefined ? undefined : values(column.referenceBy))
  return typeof name === 'string' ? tableOf(name) : undefined
}

// Secrets that a file leaves out of a JSON column keep their old value.

/**
 * Restores a secret of `before` where `next` has null under the same sensitive key: an export contains no secrets of
 * other systems, and importing it again must not lose them. In a list, an item gets them back only from an item in the
 * same place that is otherwise equal.
 */
export function keepSecrets(next: Json, before: Json): Json {
  if (isList(next)) {
    if (!isList(before)) return next
    const isSecretPair = secretPairs(next)
    return next.map((item, index) => {
      const old = before[index] ?? null
      if (isList(item) && isSecretPair(item)) {
        const [name, value] = item
        const had = isList(old) && old.length === 2 && old[0] === name ? (old[1] ?? null) : null
        return [name ?? null, value ?? had]
      }
      return isSameJson(withoutSecrets(old), withoutSecrets(item)) ? keepSecrets(item, old) : item
    })
  }
  if (!isObject(next) || !isObject(before)) return next
  const old = new Map(Object.entries(before))
  const isSecretKey = secretKeys(next)
  return objectOf(
    Object.entries(next).map(([key, value]) => {
      const had = old.get(key) ?? null
      if (isSensitiveName(key)) return [key, value ?? had]
      if (!isSecretKey(key)) return [key, keepSecrets(value, had)]
      // A value given for another name is not the secret of this one.
      const isSameName = isSameJson(withoutSecrets(before), withoutSecrets(next))
      return [key, value ?? (isSameName ? had : null)]
    }),
  )
}

// Attributes: which of their values are secret, and secrets inside values that are JSON as text.

/** More deeply nested JSON is taken from the file as it is: nobody is shown what is below this level. */
const DEEPEST = 64

/** Whether a column holds the present or previous value of an attribute. */
export function isAttributeValue(table: Table, column: Column): boolean {
  return table.name === 'attribute' && column.isAnyJson === true
}

/** Whether the values of an attribute are secret as a whole. @source document 1, Guards 2 */
export function isSecretAttribute({ secure, name }: Readonly<Record<string, Json>>): boolean {
  return secure === true || isSensitiveName(String(name))
}

/** A value with null for nested secrets; unchanged if there are none. @source document 1, Guards 3 */
export function withoutNested(value: Json): Json {
  const json = jsonIn(value)
  const seen = withoutSecrets(json)
  return seen === json ? value : JSON.stringify(seen)
}

/** The value from the file, plus the secrets that it leaves out and that `before` has in the same place. */
function keepNested(next: Json, before: Json): Json {
  if (typeof next !== 'string' || next === before || bracketsOf(next) > DEEPEST) return next
  const had = jsonIn(before)
  const said = jsonIn(next)
  const kept = keepSecrets(said, had)
  if (isSameJson(kept, said)) return next
  return isSameJson(kept, had) ? before : JSON.stringify(kept)
}

/** The object or list of JSON in a text; null if there is none. */
function jsonIn(value: Json): Json {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return null
  try {
    return JSON.parse(value) as Json
  } catch {
    return null
  }
}

// Resolving: names become ids, rows without an id are matched to existing ones or get a new id, and defaults are filled
// in.

/**
 * `replace`: a table that the file names becomes what the file says, and its other rows are removed; tables that it
 * does not name stay. `merge`: nothing is removed, and columns that a row leaves out stay.
 */
export type ImportMode = 'replace' | 'merge'

/** The site that an import is applied to, and how. */
export interface SiteBase {
  book: Book
  mode: ImportMode
  nowMs: number
  /** An id above every id that the table ever had: the id of a removed row is never reused. */
  nextId(table: string): number
}

/** The data of one resolution. */
interface Resolving {
  base: SiteBase
  draft: SiteDraft
  faults: FaultList
  next: NextSite
}

/** @param faults receives unresolved references, duplicate ids and missing columns */
export function resolveRows(draft: SiteDraft, base: SiteBase, faults: FaultList): NextSite {
  const next = createNextSite(faults)
  for (const [name, rows] of bookRows(base.book)) next.rows.set(name, rows)
  const resolving: Resolving = { base, draft, faults, next }
  for (const table of bookTables()) {
    const drafts = [...(draft.tables.get(table.name) ?? []), ...(draft.links.get(table.name) ?? [])]
    // References to the table itself wait until its rows have ids.
    for (const one of drafts) resolveWishes(resolving, one, (target) => target !== table)
    giveIds(resolving, table, drafts)
    const rows = keptRows(resolving, table)
    for (const one of drafts) addRow(resolving, rows, one)
    next.rows.set(table.name, new Map([...rows].sort(([a], [b]) => a - b)))
    for (const one of drafts) resolveOwn(resolving, one)
  }
  return next
}

/** Turns the references of a draft into values, if `isTurn` accepts their table. */
function resolveWishes(resolving: Resolving, draft: Draft, isTurn: (target: Table) => boolean): void {
  if (draft.user?.id !== undefined) draft.values.set('user_id', draft.user.id)
  for (const [name, wish] of draft.wishes ?? []) {
    const column = draft.table.column(name)
    if (column === undefined || draft.values.has(name)) continue
    const target = targetTable(column, (other) => saidOf(resolving, draft, other))
    if (target !== undefined && !isTurn(target)) continue
    const path = `${draft.path}${draft.user === undefined ? `.${name}` : ''}`
    if (target !== undefined) draft.values.set(name, resolving.next.find(target, wish, path) ?? null)
    else {
      draft.values.set(name, null)
      if (!draft.refused?.has(column.referenceBy ?? ''))
        resolving.faults.add(path, `must be null: ${column.referenceBy} names no table`)
    }
  }
}

/** The value of a column in a draft, or in the row that it changes. */
function saidOf({ base }: Resolving, draft: Draft, column: string): Json | undefined {
  const said = draft.values.get(column)
  return said !== undefined || draft.id === undefined ? said : base.book.row(draft.table.name, draft.id)?.[column]
}

function giveIds({ base, faults }: Resolving, table: Table, drafts: readonly Draft[]): void {
  const taken = new Map<number, string>()
  let nextId = base.nextId(table.name)
  for (const { id, path } of drafts) {
    if (id === undefined) continue
    const other = taken.get(id)
    if (other !== undefined) faults.add(`${path}.id`, `id ${id} is that of ${other} already`)
    else taken.set(id, path)
    nextId = Math.max(nextId, id + 1)
  }
  const nameless = drafts.filter((draft) => draft.id === undefined)
  const known = nameless.length === 0 ? new Map<string, number[]>() : rowsByKey(base.book, table, taken)
  for (const draft of nameless) {
    draft.id = known.get(keyOf(table, (column) => draft.values.get(column)))?.shift() ?? nextId++
    if (!Number.isSafeInteger(draft.id)) faults.add(`${draft.path}.id`, 'there is no id left above the highest')
  }
}

/** Ids not claimed by any draft, lowest first, by the key of their rows. */
function rowsByKey(book: Book, table: Table, taken: ReadonlyMap<number, string>): Map<string, number[]> {
  const ids = new Map<string, number[]>()
  if (table.key.length === 0) return ids
  for (const row of book.rows(table.name)) {
    if (taken.has(row.id)) continue
    const key = keyOf(table, (column) => row[column])
    const same = ids.get(key)
    if (same === undefined) ids.set(key, [row.id])
    else same.push(row.id)
  }
  return ids
}

function keyOf(table: Table, value: (column: string) => Json | undefined): string {
  return JSON.stringify(
    table.key.map((name) => {
      const column = table.column(name)
      return folded(column, value(name) ?? column?.default ?? null)
    }),
  )
}

/** Existing rows that the file does not mention and that stay. */
function keptRows({ base, draft, next }: Resolving, table: Table): Map<number, Row> {
  const isWhole = base.mode === 'replace' && table.keeping === 'site' && draft.tables.has(table.name)
  const rows = next.rows.get(table.name) ?? new Map<number, Row>()
  const list = userLists.find(({ links }) => links === table.name)
  if (list === undefined) return isWhole ? new Map() : new Map(rows)
  // Links go with their user, and a list given for a user replaces all his links.
  const users = next.rows.get('auth_user')
  const listed = new Set(draft.tables.get('auth_user')?.flatMap(({ id, lists }) => (lists?.has(list.key) ? id : [])))
  const isKept = ({ user_id }: Row) =>
    typeof user_id === 'number' && users?.has(user_id) === true && !listed.has(user_id) && !isWhole
  return new Map([...rows].filter(([, row]) => isKept(row)))
}

function addRow({ base, faults, next }: Resolving, rows: Map<number, Row>, draft: Draft): void {
  const { table, id } = draft
  if (id === undefined) return
  const before = base.book.row(table.name, id)
  // A copy of a row with every column: all rows of a table share one shape.
  const row: Record<string, Json> & { id: number } = { ...table.empty, id }
  for (const column of table.columns) {
    if (column.name === 'id') continue
    const value = columnOf(base, draft, column, before)
    row[column.name] = value
    const isMissing =
      value === null && column.isRequired && !draft.wishes?.has(column.name) && !draft.refused?.has(column.name)
    if (isMissing) faults.add(`${draft.path}.${column.name}`, 'is missing')
  }
  rows.set(id, row)
  next.setPath(table.name, id, draft.path)
}

function columnOf(base: SiteBase, draft: Draft, column: Column, before: Row | undefined): Json {
  const said = draft.values.get(column.name)
  const had = before?.[column.name] ?? null
  if (column.name === 'created_at' || column.name === 'updated_at') return had ?? said ?? base.nowMs
  if (said === undefined) {
    if (before === undefined) return column.default
    const isSecret = column.isSecret || (isAttributeValue(draft.table, column) && isSecretAttribute(before))
    return isSecret || column.isInner || base.mode === 'merge' ? had : column.default
  }
  if (isAttributeValue(draft.table, column)) return keepNested(said, had)
  return column.isJsonSecret ? keepSecrets(said, had) : said
}

/** Resolves a row's references into its own table, and those inside the overrides of a zone. */
function resolveOwn(resolving: Resolving, draft: Draft): void {
  const { next, faults } = resolving
  const { table, id } = draft
  const row = id === undefined ? undefined : next.rows.get(table.name)?.get(id)
  if (id === undefined || row === undefined) return
  resolveWishes(resolving, draft, () => true)
  const own = table.columns.filter((column) => isReference(column) && draft.wishes?.has(column.name))
  const columns: Record<string, Json> = {}
  for (const { name } of own) columns[name] = draft.values.get(name) ?? null
  if (table.name === 'zone' && draft.values.has('overrides')) {
    const overrides = row.overrides ?? null
    const found = overrideFaults(overrides)
    for (const { path, sentence } of found) faults.add(`${draft.path}${path}`, sentence)
    if (found.length === 0 && overrideTargets(overrides).length > 0)
      columns.overrides = withTargets(overrides, ({ path, table: target, said }) => {
        const wish = wishOf(said)
        if (typeof wish !== 'string') return next.find(target, wish, `${draft.path}${path}`) ?? null
        faults.add(`${draft.path}${path}`, wish)
        return null
      })
  }
  if (Object.keys(columns).length > 0) next.rows.get(table.name)?.set(id, { ...row, ...columns })
}
