/** The site file: a whole document is checked before anything is written, and a site is written down as one. */
import { charsOf } from '../bounded-value.ts'
import { type Change, changesBetween } from '../change.ts'
import { parseRoleRules, uiNames } from '../role-rules.ts'
import type { Json, Row } from '../row.ts'
import { siteTables } from '../schema/registry.ts'
import type { Draft } from './draft.ts'
import type { NextSite } from './next-site.ts'
import { readDrafts } from './read-drafts.ts'
import { resolveRows, type SiteBase } from './resolve-rows.ts'
import { createFaultList, type FaultList, quoted, type SiteLimits } from './site-faults.ts'
import { checkWhole } from './whole-check.ts'

/**
 * How a password in clear is kept.
 * @param known hashes of the same account: one that is of this password is kept, so that an import again changes nothing
 */
export type HashPassword = (text: string, known: readonly string[]) => Promise<{ hash: string; salt: string }>

/** What a site file is checked with. */
export interface SiteWorld extends SiteBase {
  limits: SiteLimits
  /** Called for one user after another. */
  hashPassword: HashPassword
  /** What is wrong with one line of role rules; none is looked at where this is left out. */
  ruleFault?(line: string): string | undefined
  /** The hash that waits for Apply All to be that of a user. */
  waitingHash?(id: number): string | undefined
}

/**
 * Checks a document and says what it would change. No password of it is left in clear.
 * @param document as read from JSON
 * @returns all rows as additions where the book is empty
 * @throws Fault `site_faults`: details.faults are all of them with their paths
 */
export async function checkSite(document: unknown, world: SiteWorld): Promise<Change[]> {
  const faults = createFaultList(world.limits.faults)
  const draft = readDrafts(document, world.limits, faults)
  const next = resolveRows(draft, world, faults)
  const users = draft.tables.get('auth_user') ?? []
  checkPasswords(users, faults)
  checkRules(next, world, faults)
  checkWhole(next.rows, next.pathOf, faults)
  checkSize(next, world.limits, faults)
  faults.refuse()
  for (const user of users) await hash(next, user, world)
  return changesBetween(world.book, next.rows, world.nowMs)
}

function checkPasswords(users: readonly Draft[], faults: FaultList): void {
  for (const { path, password, values } of users)
    if (password !== undefined && (values.has('hash') || values.has('salt')))
      faults.add(`${path}.password`, 'stands beside hash or salt: either is enough')
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

/** Of the site as it would be: files that are within their bounds may together be too much. */
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

/** UIs that a sentence lists. */
const MOST_UIS = 12

/** A misspelt UI would be denied to nobody, without a word. */
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
