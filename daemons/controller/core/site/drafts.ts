/** Rows as a site file gives them: parsed table by table and column by column, with references not yet resolved. */
import { counted, nearestName } from '#kit/pure/text.ts'
import { LONGEST_PASSWORD } from '../access/sign-in.ts'
import { foldedName, TARGET_KEYS } from '../control/reading.ts'
import { isObject, type Json, kindOf, objectOf } from '../json.ts'
import type { Column, Table } from './column.ts'
import { bookTables, tableOf } from './registry.ts'
import { type FaultList, quoted, type ReadValue, readValue, type SiteLimits } from './site-text.ts'

// Overrides of a zone: another target and command per verb, as one JSON value.

/** Keys of an override that refer to a row, and the table of that row. */
const TARGETS = new Map([
  ['zone_id', 'zone'],
  ['device_id', 'device'],
])

/** One reference inside the overrides of a zone. */
interface OverrideTarget {
  /** `.overrides.on.zone_id` */
  path: string
  table: Table
  said: Json
}

/** All references inside overrides; anything malformed is skipped. */
export function overrideTargets(overrides: Json): OverrideTarget[] {
  return entriesOf(overrides).flatMap(([verb, override]) =>
    entriesOf(override).flatMap(([key, said]) => {
      const table = tableOf(TARGETS.get(key) ?? '')
      return table === undefined || said === null ? [] : [{ path: `.overrides.${verb}.${key}`, table, said }]
    }),
  )
}

/** The same overrides with each reference replaced by the result of `resolve`, which is null for a wrong one. */
export function withTargets(overrides: Json, resolve: (target: OverrideTarget) => Json): Json {
  const targets = new Map(overrideTargets(overrides).map((target) => [target.path, target]))
  return objectOf(
    entriesOf(overrides).map(([verb, override]) => [
      verb,
      objectOf(
        entriesOf(override).map(([key, said]) => {
          const target = targets.get(`.overrides.${verb}.${key}`)
          return [key, target === undefined ? said : resolve(target)]
        }),
      ),
    ]),
  )
}

/**
 * Checks the form of overrides; faults by path. @source the tables: overrides json {verb: {zone_id?, device_id?,
 * command, args}}
 */
export function overrideFaults(overrides: Json): { path: string; sentence: string }[] {
  if (overrides === null) return []
  if (!isObject(overrides))
    return [{ path: '.overrides', sentence: `must be an object of verbs, is ${kindOf(overrides)}` }]
  const verbs = new Map<string, string>()
  return Object.entries(overrides).flatMap(([verb, override]) => {
    const path = `.overrides.${verb}`
    const name = foldedName(verb)
    const other = verbs.get(name)
    if (other !== undefined) return [{ path, sentence: `is the same verb as ${quoted(other)}` }]
    verbs.set(name, verb)
    if (!isObject(override)) return [{ path, sentence: `must be an object, is ${kindOf(override)}` }]
    return Object.entries(override).flatMap(([key, value]) => {
      const sentence = faultOfKey(key, value)
      return sentence === undefined ? [] : [{ path: `${path}.${key}`, sentence }]
    })
  })
}

const KEYS = [...TARGET_KEYS, 'command', 'args']

function faultOfKey(key: string, value: Json): string | undefined {
  if (!KEYS.includes(key)) {
    const near = nearestName(key, KEYS)
    return `an override has no such key${near === undefined ? '' : `; the nearest is ${quoted(near)}`}`
  }
  if (key === 'command' && typeof value !== 'string') return `must be text, is ${kindOf(value)}`
  if (key === 'args' && value !== null && !isObject(value)) return `must be an object, is ${kindOf(value)}`
  return undefined
}

function entriesOf(value: Json): [string, Json][] {
  return isObject(value) ? Object.entries(value) : []
}

// Drafts: values are parsed, references are still as written.

/** A reference as written: an id, or the name of a row. */
export type Wish = { id: number } | { name: string }

/** One row of a site file. */
export interface Draft {
  readonly table: Table
  /** `zone[3]` */
  readonly path: string
  /** The given id; later the assigned one. */
  id: number | undefined
  readonly values: Map<string, Json>
  wishes: Map<string, Wish> | undefined
  /** Set for a user whose password is in the file; hashed once everything else is valid. */
  password?: string
  /** Columns for which a fault has already been reported. */
  refused: Set<string> | undefined
  /** Which of `userLists` the file gives for a user. */
  lists: Set<string> | undefined
  /** The user whose list contains this link. */
  readonly user?: Draft
}

/** A document with a valid form, before names are resolved. */
export interface SiteDraft {
  /** By table, in the file's order; tables that the file does not name are absent. */
  readonly tables: ReadonlyMap<string, readonly Draft[]>
  /** Rows of auth_user_role and auth_user_site that come from lists of users. */
  readonly links: ReadonlyMap<string, readonly Draft[]>
}

/** Whether a column refers to a row rather than holding a value. */
export function isReference(column: Column): boolean {
  return column.reference !== undefined || column.referenceBy !== undefined
}

/** An empty draft. Rare fields are created on demand: there may be 200,000 drafts. */
function emptyDraft(table: Table, path: string, user?: Draft): Draft {
  const none = undefined
  return { table, path, id: none, values: new Map(), wishes: none, password: none, refused: none, lists: none, user }
}

/** Records that a fault has already been reported for a column. */
function refuse(draft: Draft, column: string): void {
  draft.refused ??= new Set()
  draft.refused.add(column)
}

function wish(draft: Draft, column: string, said: Wish): void {
  draft.wishes ??= new Map()
  draft.wishes.set(column, said)
}

/** The lists that a user may have, and the rows that they stand for. */
export const userLists = [
  { key: 'roles', links: 'auth_user_role', column: 'role_id' },
  { key: 'sites', links: 'auth_user_site', column: 'site_id' },
] as const

// Parses a document, table by table and column by column, without resolving names.

/** What parsing needs and fills. */
interface Reading {
  limits: SiteLimits
  faults: FaultList
  /** By table. */
  links: Map<string, Draft[]>
}

/** @param faults receives everything that is wrong with the document's form */
export function readDrafts(document: unknown, limits: SiteLimits, faults: FaultList): SiteDraft {
  const found = new Map<string, Draft[]>()
  const reading: Reading = { limits, faults, links: new Map() }
  if (!isObject(document)) {
    faults.add('', `must be an object of tables, is ${kindOf(document)}`)
    return { tables: found, links: reading.links }
  }
  let rows = 0
  for (const [name, list] of Object.entries(document)) {
    const table = tableOf(name)
    if (table === undefined || !bookTables().includes(table)) {
      faults.add(quotedPath(name), unknownTable(table, name, faults))
      continue
    }
    if (!Array.isArray(list)) {
      faults.add(name, `must be a list of rows, is ${kindOf(list)}`)
      continue
    }
    rows += list.length
    if (rows > limits.rows) {
      faults.add(name, `more than ${limits.rows} rows in all`)
      break
    }
    found.set(
      name,
      list.flatMap((row, index) => readRow(reading, table, `${name}[${index}]`, row) ?? []),
    )
  }
  return { tables: found, links: reading.links }
}

function unknownTable(table: Table | undefined, name: string, faults: FaultList): string {
  if (table !== undefined) return 'is kept by the controller itself and no part of a site file'
  const known = bookTables().map((other) => other.name)
  return `there is no such table${faults.nearest(name, known)}`
}

function readRow(reading: Reading, table: Table, path: string, said: unknown): Draft | undefined {
  if (!isObject(said)) {
    reading.faults.add(path, `must be an object, is ${kindOf(said)}`)
    return undefined
  }
  const draft = emptyDraft(table, path)
  for (const [key, value] of Object.entries(said)) readKey(reading, draft, key, value)
  return draft
}

function readKey(reading: Reading, draft: Draft, key: string, said: unknown): void {
  const { faults } = reading
  const path = `${draft.path}${keyPath(key)}`
  if (draft.table.name === 'auth_user' && readUserKey(reading, draft, key, said)) return
  const column = draft.table.column(key)
  if (column === undefined) {
    const known = draft.table.columns.map((other) => other.name)
    faults.add(path, `there is no such column${faults.nearest(key, known)}`)
    return
  }
  if (isReference(column)) {
    readWish(reading, draft, column, said)
    return
  }
  const isLines = draft.table.name === 'auth_role' && key === 'rules' && Array.isArray(said)
  const { depth, textChars } = reading.limits
  const read = withinChars(readValue(column, isLines ? linesOf(said) : said, depth), textChars)
  if (read.fault !== undefined) {
    refuse(draft, key)
    faults.add(path, read.fault)
  } else if (key === 'id') draft.id = read.value as number
  else draft.values.set(key, read.value)
}

/** Limits texts and JSON: whatever is stored is searched by queries and sent in answers as a whole. */
function withinChars(read: ReadValue, most: number): ReadValue {
  const { value } = read
  if (value === undefined || (typeof value !== 'string' && (typeof value !== 'object' || value === null))) return read
  const chars = typeof value === 'string' ? value.length : JSON.stringify(value).length
  return chars > most ? { fault: `has ${chars} characters, at most ${most} are taken` } : read
}

/** A list with something other than texts is returned unchanged, so that the fault reports it. */
function linesOf(said: readonly unknown[]): unknown {
  return said.every((line) => typeof line === 'string') ? said.join('\n') : said
}

function readWish(reading: Reading, draft: Draft, column: Column, said: unknown): void {
  const path = `${draft.path}.${column.name}`
  // An attribute of the controller itself belongs to no row.
  if (said === null || (said === 0 && column.referenceBy !== undefined)) {
    if (column.isRequired) {
      refuse(draft, column.name)
      reading.faults.add(path, 'must not be null')
    } else draft.values.set(column.name, null)
    return
  }
  const meant = wishOf(said)
  if (typeof meant === 'string') {
    refuse(draft, column.name)
    reading.faults.add(path, meant)
  } else wish(draft, column.name, meant)
}

/** @returns the reference, or what is wrong with it */
export function wishOf(said: unknown): Wish | string {
  if (typeof said === 'string') return { name: said }
  if (typeof said === 'number')
    return Number.isSafeInteger(said) && said > 0 ? { id: said } : 'must be an id of 1 or more'
  if (!isObject(said)) return `must be an id, a name or {"name": ...}, is ${kindOf(said)}`
  const [[key, value] = [], ...others] = Object.entries(said)
  if (others.length > 0) return 'must name a row by id or by name, with nothing beside'
  if (key === 'id' && typeof value === 'number') return wishOf(value)
  if ((key === 'name' || key === 'username') && typeof value === 'string') return { name: value }
  return 'must be {"id": number} or {"name": text}'
}

/** @returns whether the key is one that only users have */
function readUserKey(reading: Reading, draft: Draft, key: string, said: unknown): boolean {
  if (key === 'password') {
    const length = typeof said === 'string' ? said.length : 1
    if (length > LONGEST_PASSWORD)
      reading.faults.add(
        `${draft.path}.password`,
        `has ${counted(length, 'character')}, expected 1 to ${LONGEST_PASSWORD}`,
      )
    else if (typeof said === 'string' && said !== '') draft.password = said
    else if (typeof said === 'number') draft.password = String(said)
    else reading.faults.add(`${draft.path}.password`, `must be text of at least one character`)
    return true
  }
  const list = userLists.find((one) => one.key === key)
  if (list === undefined) return false
  if (Array.isArray(said)) readUserList(reading, draft, list, said)
  else reading.faults.add(`${draft.path}.${key}`, `must be a list, is ${kindOf(said)}`)
  return true
}

function readUserList(reading: Reading, user: Draft, list: (typeof userLists)[number], said: readonly unknown[]): void {
  const table = tableOf(list.links)
  if (table === undefined) return
  const drafts = reading.links.get(list.links) ?? []
  reading.links.set(list.links, drafts)
  user.lists ??= new Set()
  user.lists.add(list.key)
  for (const [index, item] of said.entries()) {
    const path = `${user.path}.${list.key}[${index}]`
    const meant = wishOf(item)
    if (typeof meant === 'string') reading.faults.add(path, meant)
    else {
      const draft = emptyDraft(table, path, user)
      wish(draft, list.column, meant)
      drafts.push(draft)
    }
  }
}

function keyPath(key: string): string {
  return /^\w{1,60}$/.test(key) ? `.${key}` : `[${quoted(key)}]`
}

function quotedPath(name: string): string {
  return /^\w{1,60}$/.test(name) ? name : `[${quoted(name)}]`
}
