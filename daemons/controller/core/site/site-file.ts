/** The site file: checks a whole document before anything is written, and exports a site as one. */
import { withArticle } from '#kit/pure/text.ts'
import { parseRoleRules, uiNames } from '../access/accounts.ts'
import { charsOf, type Json } from '../json.ts'
import { withoutSecrets } from '../secrets.ts'
import type { Book, Row } from './book.ts'
import { type Change, changesBetween, type SiteRows } from './changes.ts'
import type { Column, Table } from './column.ts'
import { type Draft, overrideTargets, readDrafts, userLists } from './drafts.ts'
import { isSecretColumn, readSettingValue, siteSettings, siteTables, tableOf } from './registry.ts'
import {
  folded,
  isAttributeValue,
  isSecretAttribute,
  type NextSite,
  resolveRows,
  type SiteBase,
  targetTable,
  withoutNested,
} from './rows.ts'
import { createFaultList, type FaultList, quoted, type SiteLimits } from './site-text.ts'

// The whole site: every reference has its row, unique values occur once, no circle of parents.

/** Where a row comes from: `zone[3]` of a file, or `zone 12`. */
type PathOf = (table: string, id: number) => string

/** Most rows of a circle that a fault names. */
const MOST_SHOWN = 8

/** What the checks use. */
interface Whole {
  site: SiteRows
  pathOf: PathOf
  faults: FaultList
}

/** Checks all rows, including those that did not change: what they refer to may be gone. */
export function checkWhole(site: SiteRows, pathOf: PathOf, faults: FaultList): void {
  const whole: Whole = { site, pathOf, faults }
  for (const table of siteTables()) {
    const rows = [...(site.get(table.name)?.values() ?? [])]
    const references = table.columns.filter((column) => column.reference ?? column.referenceBy)
    for (const row of rows) for (const column of references) checkReference(whole, table, column, row)
    for (const column of table.columns) {
      if (column.isUnique) checkUnique(whole, table, rows, [column])
      if (column.reference === table.name) checkCircles(whole, table, column.name)
    }
    const together = table.uniqueTogether.flatMap((name) => table.column(name) ?? [])
    if (together.length > 0) checkUnique(whole, table, rows, together)
  }
  for (const row of site.get('zone')?.values() ?? []) checkOverrides(whole, row)
  for (const row of site.get('setting')?.values() ?? []) checkSetting(whole, row)
  checkHooks(whole)
}

/** A webhook is called by its name or its id, so a call has to name one alone. */
function checkHooks({ site, pathOf, faults }: Whole): void {
  const hooks = [...(site.get('trigger')?.values() ?? [])].filter(({ kind }) => kind === 'webhook')
  const named = new Map<string, number>()
  for (const { id, name } of hooks) {
    if (typeof name !== 'string' || name === '') continue
    const path = `${pathOf('trigger', id)}.name`
    const first = named.get(name)
    if (/^\d+$/.test(name) && name !== String(id))
      faults.add(path, `a webhook is called by name or id, and ${quoted(name)} is read as an id: it needs another name`)
    else if (first !== undefined)
      faults.add(
        path,
        `the webhook ${pathOf('trigger', first)} has this name already: nobody could call this one by it`,
      )
    named.set(name, first ?? id)
  }
}

function checkReference({ site, pathOf, faults }: Whole, table: Table, column: Column, row: Row): void {
  const id = row[column.name] ?? null
  const target = targetTable(column, (name) => row[name])
  if (id === null) {
    // An attribute of a table's row needs that row; one of the controller has none.
    if (column.referenceBy !== undefined && target !== undefined)
      faults.add(
        `${pathOf(table.name, row.id)}.${column.name}`,
        `is missing: it belongs to ${withArticle(target.name)}`,
      )
    return
  }
  if (target === undefined || (typeof id === 'number' && site.get(target.name)?.has(id))) return
  faults.add(`${pathOf(table.name, row.id)}.${column.name}`, `there is no ${target.name} ${id}`)
}

function checkUnique({ pathOf, faults }: Whole, table: Table, rows: readonly Row[], columns: readonly Column[]): void {
  const seen = new Map<string, number>()
  for (const row of rows) {
    const values = columns.map((column) => folded(column, row[column.name] ?? null))
    if (values.includes(null)) continue
    const key = JSON.stringify(values)
    const first = seen.get(key)
    if (first === undefined) seen.set(key, row.id)
    else {
      const [only, ...others] = columns
      const place = others.length === 0 ? `.${only?.name}` : ''
      faults.add(`${pathOf(table.name, row.id)}${place}`, twice(columns, row, pathOf(table.name, first)))
    }
  }
}

function twice(columns: readonly Column[], row: Row, first: string): string {
  const said = columns.map(({ name }) => `${name} ${sayable(row[name] ?? null)}`).join(' and ')
  return `${said} stands in ${first} already`
}

function sayable(value: Json): string {
  return typeof value === 'string' ? quoted(value) : String(value)
}

/** Follows the parents of each row once: rows already found good are not followed again. */
function checkCircles({ site, pathOf, faults }: Whole, table: Table, column: string): void {
  const rows = site.get(table.name) ?? new Map<number, Row>()
  const good = new Set<number>()
  for (const start of rows.keys()) {
    const walked = new Set<number>()
    let id: Json | undefined = start
    while (typeof id === 'number' && !good.has(id) && !walked.has(id)) {
      walked.add(id)
      id = rows.get(id)?.[column]
    }
    if (typeof id === 'number' && walked.has(id)) {
      const around = [...walked].slice([...walked].indexOf(id))
      faults.add(
        `${pathOf(table.name, id)}.${column}`,
        `goes round in a circle: ${[...around.slice(0, MOST_SHOWN), id].join(' -> ')}`,
      )
    }
    for (const one of walked) good.add(one)
  }
}

function checkOverrides({ site, pathOf, faults }: Whole, row: Row): void {
  for (const { path, table, said } of overrideTargets(row.overrides ?? null))
    if (typeof said === 'number' && !site.get(table.name)?.has(said))
      faults.add(`${pathOf('zone', row.id)}${path}`, `there is no ${table.name} ${said}`)
}

function checkSetting({ pathOf, faults }: Whole, row: Row): void {
  const key = String(row.key)
  const facts = siteSettings.find((one) => one.key === key)
  if (facts === undefined) {
    const known = siteSettings.map((one) => one.key)
    faults.add(`${pathOf('setting', row.id)}.key`, `there is no setting ${quoted(key)}${faults.nearest(key, known)}`)
    return
  }
  if (readSettingValue(facts, row.value ?? null) !== undefined) return
  const range = facts.type === 'boolean' ? 'true or false' : `a whole number of ${facts.minimum} to ${facts.maximum}`
  faults.add(`${pathOf('setting', row.id)}.value`, `must be ${range}`)
}

// Checking a file.
/**
 * Hashes a plain-text password.
 * @param known hashes of the same account: if one matches the password it is kept, so that importing again changes
 * nothing
 */
export type HashPassword = (text: string, known: readonly string[]) => Promise<{ hash: string; salt: string }>

/** What a site file is checked against. */
export interface SiteWorld extends SiteBase {
  limits: SiteLimits
  /** Called for one user after another. */
  hashPassword: HashPassword
  /** What is wrong with one line of role rules; if absent, lines are not checked. */
  ruleFault?(line: string): string | undefined
  /** The hash that a pending change would give to a user. */
  waitingHash?(id: number): string | undefined
}

/**
 * Checks a document and returns what it would change. No password stays in clear text.
 * @param document as parsed from JSON
 * @returns all rows as additions if the book is empty
 * @throws Fault `site_faults`: details.faults are all faults, with their paths
 */
export async function checkSite(document: unknown, world: SiteWorld): Promise<Change[]> {
  const faults = createFaultList(world.limits.faults)
  const draft = readDrafts(document, world.limits, faults)
  const next = resolveRows(draft, world, faults)
  const users = draft.tables.get('auth_user') ?? []
  checkPasswords(users, faults)
  checkPins(users, faults)
  checkRules(next, world, faults)
  checkWhole(next.rows, next.pathOf, faults)
  checkSize(next, world.limits, faults)
  faults.refuse()
  for (const user of users) await hash(next, user, world)
  for (const user of users) await hashPins(next, user, world, faults)
  faults.refuse()
  return changesBetween(world.book, next.rows, world.nowMs)
}

function checkPasswords(users: readonly Draft[], faults: FaultList): void {
  for (const { path, password, values } of users)
    if (password !== undefined && (values.has('hash') || values.has('salt')))
      faults.add(`${path}.password`, 'stands beside hash or salt: either is enough')
}

const PINS = ['pin', 'duress_pin'] as const

/** A keypad has digits. Hashes come from an export with secrets. */
function checkPins(users: readonly Draft[], faults: FaultList): void {
  for (const { path, values } of users)
    for (const name of PINS) {
      const said = values.get(name)
      if (typeof said === 'string' && said !== '' && !isHash(said) && !/^\d{4,12}$/.test(said))
        faults.add(`${path}.${name}`, 'must be 4 to 12 digits')
    }
}

function isHash(text: string): boolean {
  return text.startsWith('$argon2id$')
}

/** A PIN is kept as a hash, like a password. The two of an account differ: else nobody would ever be alarmed. */
async function hashPins(next: NextSite, draft: Draft, world: SiteWorld, faults: FaultList): Promise<void> {
  const users = next.rows.get('auth_user')
  for (const name of PINS) {
    const row = draft.id === undefined ? undefined : users?.get(draft.id)
    const said = draft.values.get(name)
    if (row === undefined || typeof said !== 'string' || said === '' || isHash(said)) continue
    const before = world.book.row('auth_user', row.id)
    const other = row[name === 'pin' ? 'duress_pin' : 'pin']
    const known = [before?.[name], other].filter((one) => typeof one === 'string' && isHash(one)) as string[]
    const { hash } = await world.hashPassword(said, known)
    if (hash === other) faults.add(`${draft.path}.${name}`, 'is the other PIN of this account as well')
    users?.set(row.id, { ...row, [name]: hash } as Row)
  }
}

function checkRules(next: NextSite, { ruleFault }: SiteWorld, faults: FaultList): void {
  const uis = [...(next.rows.get('ui')?.values() ?? [])]
  const known = new Set(uis.flatMap(uiNames))
  for (const { id, rules } of next.rows.get('auth_role')?.values() ?? [])
    for (const [index, line] of String(rules).split('\n').entries()) {
      if (line.trim() === '') continue
      const sentence = ruleFault?.(line) ?? uiFault(line, known, uis, faults)
      if (sentence !== undefined) faults.add(`${next.pathOf('auth_role', id)}.rules`, `line ${index + 1}: ${sentence}`)
    }
}

/** Checks the size of the resulting site: several files within their limits may together be too much. */
function checkSize({ rows }: NextSite, limits: SiteLimits, faults: FaultList): void {
  let [count, chars] = [0, 0]
  for (const { name, columns } of siteTables()) {
    const all = rows.get(name)
    const json = columns.filter(({ type }) => type === 'json')
    count += all?.size ?? 0
    if (json.length > 0)
      for (const row of all?.values() ?? [])
        for (const column of json) if (row[column.name] !== null) chars += charsOf(row[column.name] ?? null)
  }
  const devices = rows.get('device')?.size ?? 0
  if (count > limits.rows) faults.add('', `the site would have ${count} rows, at most ${limits.rows} are taken`)
  else if (devices > limits.devices)
    faults.add('', `the site would have ${devices} devices, at most ${limits.devices} are taken`)
  else if (chars > limits.jsonChars)
    faults.add('', `the site would have ${chars} characters in JSON columns, at most ${limits.jsonChars} are taken`)
}

/** Most UIs that a fault lists. */
const MOST_UIS = 12

/** Reports unknown UIs: otherwise a misspelt deny would silently have no effect. */
function uiFault(line: string, known: ReadonlySet<string>, uis: readonly Row[], faults: FaultList): string | undefined {
  const { allow, deny } = parseRoleRules(line).lists.ui
  const wrong = [...allow, ...deny].find((name) => name !== '*' && !known.has(name))
  if (wrong === undefined) return undefined
  const said = `there is no UI ${quoted(wrong)}`
  if (uis.length === 0) return `${said}: the site has none`
  const near = faults.nearest(
    wrong,
    uis.map(({ name }) => String(name)),
  )
  const listed = uis.slice(0, MOST_UIS).map((ui) => `${ui.id} ${quoted(String(ui.name))}`)
  const more = uis.length > MOST_UIS ? ` and ${uis.length - MOST_UIS} more` : ''
  return `${said}${near}; there are ${listed.join(', ')}${more}`
}

async function hash(next: NextSite, { id, password }: Draft, world: SiteWorld): Promise<void> {
  const users = next.rows.get('auth_user')
  const row = id === undefined ? undefined : users?.get(id)
  if (password === undefined || row === undefined) return
  const known = [row.hash, world.waitingHash?.(row.id)].filter((one) => typeof one === 'string')
  const columns: Record<string, Json> = { ...(await world.hashPassword(password, known)) }
  users?.set(row.id, { ...row, ...columns } as Row)
}

// Exporting: a document from which an import makes the same site.

/**
 * `people`: the only secrets from columns and attributes are hash and salt of users, which are not passwords; imported
 * into the controller it came from, such a document does not erase the others. `all`: everything that a new machine
 * needs; keep such a document like a key.
 */
type ExportedSecrets = 'people' | 'all'

/** Secrets in every export: without them nobody could sign in after an import. */
const ALWAYS: ReadonlySet<string> = new Set(['hash', 'salt'])

/** Columns that the next import sets itself. */
const NEVER: ReadonlySet<string> = new Set(['created_at', 'updated_at'])

/**
 * The document: tables ordered by their references, rows with their ids, without null and default values. References
 * are ids; roles and sites of users are lists of names, or of ids where a name is ambiguous.
 */
export function exportSite(book: Book, secrets: ExportedSecrets = 'people'): Record<string, Json> {
  const document: Record<string, Json> = {}
  for (const table of siteTables()) {
    if (userLists.some(({ links }) => links === table.name)) continue
    const rows = book.rows(table.name).map((row) => exportRow(book, table, row, secrets))
    if (rows.length > 0) document[table.name] = rows
  }
  return document
}

function exportRow(book: Book, table: Table, row: Row, secrets: ExportedSecrets): Json {
  const said: Record<string, Json> = {}
  for (const column of table.columns) {
    if (NEVER.has(column.name) || column.isInner) continue
    if (secrets === 'people' && isLeftOut(table, column, row)) continue
    const value = row[column.name] ?? null
    if (value === column.default && !(column.isRequired && column.default === null)) continue
    said[column.name] = secrets === 'people' ? withoutInner(table, column, value) : value
  }
  if (table.name === 'auth_user')
    for (const list of userLists) said[list.key] = linkedTo(book, row.id, list.links, list.column)
  return said
}

function isLeftOut(table: Table, column: Column, row: Row): boolean {
  if (isAttributeValue(table, column)) return isSecretAttribute(row)
  return isSecretColumn(table.name, column.name) && !isUsersHash(table, column)
}

function withoutInner(table: Table, column: Column, value: Json): Json {
  if (isAttributeValue(table, column)) return withoutNested(value)
  return column.isJsonSecret ? withoutSecrets(value) : value
}

function isUsersHash(table: Table, column: Column): boolean {
  return table.name === 'auth_user' && ALWAYS.has(column.name)
}

function linkedTo(book: Book, userId: number, links: string, column: string): Json {
  const target = tableOf(links)?.column(column)?.reference ?? ''
  return book
    .rows(links)
    .filter((link) => link.user_id === userId)
    .flatMap((link) => {
      const id = link[column]
      const name = typeof id === 'number' ? book.row(target, id)?.name : undefined
      if (typeof id !== 'number' || typeof name !== 'string') return []
      return [book.named(target, name).length === 1 ? name : id]
    })
}
