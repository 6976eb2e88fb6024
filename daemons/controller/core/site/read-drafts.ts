/** A site document read table by table and column by column, without asking what its names mean. */
import { counted } from '#kit/bytes/words.ts'
import { isObject } from '../json-kind.ts'
import type { Column, Table } from '../schema/column.ts'
import { bookTables, tableOf } from '../schema/registry.ts'
import { LONGEST_PASSWORD } from '../sign-in-form.ts'
import { type Draft, emptyDraft, isReference, refuse, type SiteDraft, userLists, type Wish, wish } from './draft.ts'
import { type FaultList, quoted, type SiteLimits } from './site-faults.ts'
import { kindOf, type ReadValue, readValue } from './site-value.ts'

/** What the reading needs and fills. */
interface Reading {
  limits: SiteLimits
  faults: FaultList
  /** By table. */
  links: Map<string, Draft[]>
}

/** @param faults gets everything that is wrong with the document's form */
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

/** Whatever is kept is looked through by queries, and told in answers, as a whole. */
function withinChars(read: ReadValue, most: number): ReadValue {
  const { value } = read
  if (value === undefined || (typeof value !== 'string' && (typeof value !== 'object' || value === null))) return read
  const chars = typeof value === 'string' ? value.length : JSON.stringify(value).length
  return chars > most ? { fault: `has ${chars} characters, at most ${most} are taken` } : read
}

/** A list in which something is no text is handed on as it is, so that the fault says so. */
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

/** @returns whether the key is one that users alone have */
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
