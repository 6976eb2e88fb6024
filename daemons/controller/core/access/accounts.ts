/** Accounts of a building: what their roles allow, whether they may sign in, and the session that callers get. */
import type { Clock } from '#kit/clock.ts'
import { nearestName } from '#kit/pure/text.ts'
import type { Json } from '../json.ts'
import { type Book, derived, type Row } from '../site/book.ts'

// What the rules about people need of the outside world; io/ implements it.

/** Randomness that nobody can foretell, and a digest that nobody can turn back. */
export interface Secrets {
  /** @param count 1..65536 */
  randomBytes(count: number): Uint8Array
  /** Of a token or nonce, at least 128 bits: what is kept in its place. */
  digest(secret: string): string
}

/** Settings of the building that govern sign-ins, as they are now. @source document 1, Configuration keys */
export interface PeopleSettings {
  /** How long a session token lives, in ms. */
  api_token_life: number
  /** How long a mailed code is accepted. */
  api_2fa_ttl_seconds: number
}

/** What waits for Apply All of one account: columns that become others, or its end. Asked with each request. */
export type WaitingOf = (userId: number) => Readonly<Record<string, Json>> | 'removed' | undefined

/** Compares passwords, off the main thread. */
export interface PasswordCheck {
  /** @param stored what the account holds; undefined for an account that is not there: takes as long, and is never right */
  verify(password: string, stored: string | undefined): Promise<boolean>
}

/** A message to one person. */
export interface Letter {
  /** An address that `isMailAddress` takes. */
  to: string
  subject: string
  /** Lines end in \n. */
  text: string
  /** After so long it is of no use and is not tried any more. */
  lifeMs: number
}

/** Takes letters to a mail server. */
export interface Postman {
  /**
   * @returns resolves once the server has taken it
   * @throws Fault `mail_not_set_up`, `mail_queue_full`, `mail_refused`, `mail_failed`
   */
  send(letter: Letter): Promise<void>
}

// The caller, as every gate sees them: worked out anew for each request, never kept.

/** Functions that role rules of the list `api` allow and deny. */
export type ApiFunction = 'command' | 'macro' | 'query'

/** A caller who is signed in. Elevated sessions are held by no gate beyond `may`. */
export interface Session {
  userId: number
  username: string
  /** The rows of auth_role, as applied at this moment. */
  roles: readonly Row[]
  isElevated: boolean
  /** By the rules of all roles: `deny` in one wins over `allow` in another. */
  may(what: ApiFunction): boolean
  /** The UIs that the rules of the list `ui` allow, rows of `ui`; `allow ui *` is every one. */
  uis: readonly Row[]
}

/** Where a request comes from, as the server judges it. */
export interface Origin {
  /** Of the client: the peer's own address, or the originating one of the chain behind a trusted proxy. */
  clientIp: string
  /** Provably from outside: a public address outside local_networks, or the tunnel's marker. Unknown is not remote. */
  isRemote: boolean
  /**
   * Provably from inside: what may be left out for calls of the building is left out for these alone. Between both lies
   * what cannot be told, such as a carrier's NAT, or a proxy that does not say whom it speaks for.
   */
  isLocal: boolean
}

// Roles: what the lines of `auth_role.rules` allow.

/** What a line may be about. */
type RuleList = 'api' | 'ui' | 'socket'

/** The names of one list, of one role. `*` stands for every one. */
interface NamesOfList {
  allow: ReadonlySet<string>
  deny: ReadonlySet<string>
}

/** The rules of one role, read. */
interface RoleRules {
  lists: Readonly<Record<RuleList, NamesOfList>>
  /** Sentences about lines that say nothing, for whoever wrote them. Such a line neither allows nor denies. */
  faults: readonly string[]
}

const LISTS: readonly RuleList[] = ['api', 'ui', 'socket']

/** Functions that there are; others may be named for what is to come, as document 1 does with `delete_macro`. */
const FUNCTIONS = ['command', 'macro', 'query', 'delete_macro']

/** Told of one role. */
const MOST_FAULTS = 20

/** Characters of a word that a sentence says again. */
const LONGEST_QUOTED = 60

/**
 * Reads the rules of a role: `allow api command, macro, query`, `deny api delete_macro`, `allow ui 1, Ground floor`,
 * `allow socket *`, one a line; empty lines and those that begin with `#` say nothing. Names are split at commas only
 * and may hold blanks. Words and functions are the same in capitals; names of UIs are not.
 * @source document 1, Authentication 7
 */
export function parseRoleRules(text: string): RoleRules {
  const lists = { api: emptyNames(), ui: emptyNames(), socket: emptyNames() }
  const faults: string[] = []
  for (const [index, line] of text.split(/\r\n|[\r\n]/).entries()) {
    const said = line.trim()
    if (said === '' || said.startsWith('#')) continue
    const fault = readLine(said, lists)
    const sentence = faults.length < MOST_FAULTS ? fault?.() : undefined
    if (sentence !== undefined) faults.push(`line ${index + 1}: ${sentence}`)
  }
  return { lists, faults }
}

const readAlready = new WeakMap<Row, RoleRules>()

/** The rules of a row of auth_role; read once for each row, since a row is never changed. */
export function rulesOf(role: Row): RoleRules {
  const known = readAlready.get(role)
  if (known !== undefined) return known
  const rules = parseRoleRules(typeof role.rules === 'string' ? role.rules : '')
  readAlready.set(role, rules)
  return rules
}

/**
 * Whether the roles together allow a function: one of them does, by name or `*`, and none denies it.
 * @param what in small letters
 * @source document 1, Authentication 7
 */
export function mayDo(roles: readonly Row[], list: 'api' | 'socket', what: string): boolean {
  const names = roles.map((role) => rulesOf(role).lists[list])
  return !names.some(({ deny }) => holds(deny, what)) && names.some(({ allow }) => holds(allow, what))
}

/**
 * The UIs that the roles together allow; those that are switched off are none. A name of digits is an id and no name.
 * @param uis rows of `ui`
 * @source document 1, POST /api/control, scope_denied
 */
export function uisOf(roles: readonly Row[], uis: readonly Row[]): readonly Row[] {
  const names = roles.map((role) => rulesOf(role).lists.ui)
  const isNamed = (set: ReadonlySet<string>, ui: Row) => set.has('*') || uiNames(ui).some((name) => set.has(name))
  return uis.filter(
    (ui) =>
      ui.enabled !== false &&
      !names.some(({ deny }) => isNamed(deny, ui)) &&
      names.some(({ allow }) => isNamed(allow, ui)),
  )
}

/** What a line may call a UI: its id, and its name unless that is of digits. */
export function uiNames({ id, name }: Row): string[] {
  return typeof name === 'string' && !isDigits(name) ? [String(id), name] : [String(id)]
}

/** Whether a session of these roles is elevated: one of them has Elevated on. @source document 1, POST /api/control */
export function isElevated(roles: readonly Row[]): boolean {
  return roles.some((role) => role.elevated === true)
}

interface NamesBeingRead {
  allow: Set<string>
  deny: Set<string>
}

function emptyNames(): NamesBeingRead {
  return { allow: new Set(), deny: new Set() }
}

/** Says what is wrong with a line: only where somebody will read it, since a text may be nothing but rubbish. */
type LineFault = () => string | undefined

function readLine(said: string, lists: Record<RuleList, NamesBeingRead>): LineFault | undefined {
  const [, verb = '', list = '', rest = ''] = /^(\S+)(?:\s+(\S+))?(?:\s+(.*))?$/s.exec(said) ?? []
  const verbKey = ['allow', 'deny'].find((one) => one === verb.toLowerCase()) as 'allow' | 'deny' | undefined
  if (verbKey === undefined) return () => unknown(verb, 'allow or deny', ['allow', 'deny'])
  const listKey = LISTS.find((one) => one === list.toLowerCase())
  if (listKey === undefined) return () => unknown(list, 'api, ui or socket', LISTS)
  const names = rest
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  if (names.length === 0) return () => `names nothing to ${verbKey}`
  for (const name of names) lists[listKey][verbKey].add(listKey === 'ui' ? plainId(name) : name.toLowerCase())
  return listKey === 'api' ? () => misspelt(names) : undefined
}

function unknown(seen: string, expected: string, known: readonly string[]): string {
  const near = nearestName(seen, known)
  const hint = near === undefined ? '' : `; did you mean ${near}?`
  return `has ${JSON.stringify(seen.slice(0, LONGEST_QUOTED))}, expected ${expected}${hint}`
}

function misspelt(names: readonly string[]): string | undefined {
  for (const name of names) {
    const near = nearestName(name, FUNCTIONS)
    if (near !== undefined && near !== name.toLowerCase())
      return `names ${JSON.stringify(name.slice(0, LONGEST_QUOTED))}; did you mean ${near}?`
  }
  return undefined
}

function holds(names: ReadonlySet<string>, what: string): boolean {
  return names.has('*') || names.has(what)
}

function isDigits(text: string): boolean {
  return /^\d+$/.test(text)
}

/** `007` is the id 7. */
function plainId(name: string): string {
  return isDigits(name) ? name.replace(/^0+(?=\d)/, '') : name
}

// Accounts: their names, roles and sites, and whether they may sign in now.

/** Accounts with their roles and sites, as applied at this moment. */
export interface Accounts {
  /** The account that is meant by a name as typed: the very name, else the only one that differs in capitals alone. */
  named(username: string): Row | undefined
  withId(id: number): Row | undefined
  /** Rows of auth_role, in the order they were given. */
  rolesOf(userId: number): readonly Row[]
  /** Rows of `site`, by id. */
  sitesOf(userId: number): readonly Row[]
  sessionOf(user: Row): Session
  /**
   * The account that somebody signed in to, as it is now; undefined where it is gone, is another by now, has another
   * password, or may not sign in.
   */
  standing(signedIn: SignedIn, nowMs: number): Row | undefined
}

/** Longer names than this are nobody's. */
export const LONGEST_NAME = 256

/** What names are compared by: `Ada` and `ada` are one. */
export function foldUsername(username: string): string {
  return username.normalize('NFC').toLowerCase()
}

export function createAccounts(book: Book): Accounts {
  const byName = derived(book, ['auth_user'], () => usersByFold(book.rows('auth_user')))
  const roleLinks = derived(book, ['auth_user_role'], () => linksOf(book.rows('auth_user_role'), 'role_id'))
  const siteLinks = derived(book, ['auth_user_site'], () => linksOf(book.rows('auth_user_site'), 'site_id'))

  function linked(table: string, ids: ReadonlySet<number> | undefined): readonly Row[] {
    return [...(ids ?? [])].map((id) => book.row(table, id)).filter((row) => row !== undefined)
  }
  const rolesOf = (userId: number) => linked('auth_role', roleLinks().get(userId))

  return {
    named(username) {
      if (username.length > LONGEST_NAME) return undefined
      const same = byName().get(foldUsername(username)) ?? []
      return same.find((user) => user.username === username) ?? (same.length === 1 ? same[0] : undefined)
    },
    withId: (id) => book.row('auth_user', id),
    rolesOf,
    sitesOf: (userId) => linked('site', siteLinks().get(userId)).toSorted((one, other) => one.id - other.id),
    standing({ userId, as }, nowMs) {
      const user = book.row('auth_user', userId)
      return user !== undefined && isStill(user, as) && isLive(user, nowMs) ? user : undefined
    },
    sessionOf(user) {
      const roles = rolesOf(user.id)
      return {
        userId: user.id,
        username: String(user.username),
        roles,
        isElevated: isElevated(roles),
        may: (what) => mayDo(roles, 'api', what),
        uis: uisOf(roles, book.rows('ui')),
      }
    },
  }
}

/**
 * Whether an account is one that may sign in now: enabled, not revoked, inside its validity window. A boundary that is
 * neither null nor a number of epoch ms cannot be kept, so it is closed.
 * @source document 1, Authentication 4
 */
export function isLive(user: Row, nowMs: number): boolean {
  const { enabled, revoked_at: revokedAt = null, valid_from: from = null, valid_until: until = null } = user
  if (enabled !== true || revokedAt !== null) return false
  const hasBegun = from === null || (typeof from === 'number' && nowMs >= from)
  const hasEnded = until !== null && !(typeof until === 'number' && nowMs < until)
  return hasBegun && !hasEnded
}

/** An account as it was when somebody signed in to it. */
interface SignedInAs {
  /** As `foldUsername` has it. */
  readonly username: string
  /** Of the password that was right then; null where there was none. */
  readonly hash: Json
}

/** Who signed in, as sessions and nonces keep it. */
export interface SignedIn {
  readonly userId: number
  readonly as: SignedInAs
}

/** @param user a row of auth_user */
export function signedIn(user: Row): SignedIn {
  return { userId: user.id, as: signedInAs(user) }
}

function signedInAs(user: Row): SignedInAs {
  return { username: foldUsername(String(user.username)), hash: user.hash ?? null }
}

/**
 * Whether an account is still what somebody signed in to. An import may give the id to somebody else, and who sets a new
 * password wants those out who knew the old one. The same password set again counts as new: its hash has another salt.
 */
function isStill(user: Row, as: SignedInAs): boolean {
  const { username, hash } = signedInAs(user)
  return username === as.username && hash === as.hash
}

/**
 * Whether somebody with these roles may call from there: all roles with Allow Remote off keep to the building. Where it
 * cannot be told, nothing is denied.
 * @source document 1, Authentication 5
 */
export function mayCallFrom(roles: readonly Row[], origin: Origin): boolean {
  return !origin.isRemote || roles.length === 0 || roles.some((role) => role.allow_remote === true)
}

function usersByFold(rows: readonly Row[]): ReadonlyMap<string, readonly Row[]> {
  return Map.groupBy(rows, (user) => foldUsername(String(user.username)))
}

/** The ids that each user is linked to. */
function linksOf(rows: readonly Row[], column: 'role_id' | 'site_id'): ReadonlyMap<number, ReadonlySet<number>> {
  const links = new Map<number, Set<number>>()
  for (const row of rows) {
    const { user_id: userId, [column]: id } = row
    if (typeof userId !== 'number' || typeof id !== 'number') continue
    const ids = links.get(userId)
    if (ids === undefined) links.set(userId, new Set([id]))
    else ids.add(id)
  }
  return links
}

// Accounts that a pending change closes: closing takes effect without waiting for Apply All.

/** Whether an account is closed by what waits. */
export type IsClosing = (userId: number) => boolean

/**
 * Disabled, revoked, removed, or put out of its time. What would open an account waits: it is asked of accounts that are
 * open as they are. On the page elevated sessions go by what is applied, as that is where they apply or discard changes.
 * @source document 1, Authentication 3 and 4
 */
export function createClosing(book: Book, clock: Clock, waitingOf: WaitingOf): IsClosing {
  return (userId) => {
    const waiting = waitingOf(userId)
    const user = waiting && book.row('auth_user', userId)
    if (waiting === undefined || user === undefined) return false
    return waiting === 'removed' || !isLive({ ...user, ...waiting }, clock.epochMs())
  }
}

// A signed-in person and the site, as pages show them.

/** Answer of GET /ui/me. */
export interface PersonView {
  username: string
  full_name: string | null
  roles: string[]
  elevated: boolean
  site: SiteView
}

/** What the name plate says; told before anybody has signed in. */
export interface SiteView {
  name: string | null
  /** IANA name; null where the site names none. */
  time_zone: string | null
}

/** Who this is. Nothing of the account but its name goes out. */
export function personView(book: Book, session: Session): PersonView {
  return {
    username: session.username,
    full_name: text(book.row('auth_user', session.userId)?.full_name),
    roles: session.roles.map(({ name, id }) => text(name) ?? `Role ${id}`),
    elevated: session.isElevated,
    site: siteView(book),
  }
}

/** The first site: a controller serves one place, however many accounts it lists for it. */
export function siteView(book: Book): SiteView {
  const [site] = book.rows('site')
  return { name: text(site?.name), time_zone: text(site?.timezone) }
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
