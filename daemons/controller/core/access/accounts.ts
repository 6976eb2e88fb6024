/** User accounts: what their roles allow, whether they may sign in, and the session object a caller gets. */
import type { Clock } from '#kit/clock.ts'
import { nearestName } from '#kit/pure/text.ts'
import type { Json } from '../json.ts'
import { type Book, derived, type Row } from '../site/book.ts'

// What the rules about people need from the outside world; io/ implements it.

/** Unpredictable random bytes, and a one-way digest. */
export interface Secrets {
  /** @param count 1..65536 */
  randomBytes(count: number): Uint8Array
  /** The digest to store in place of a token or nonce. The secret must have at least 128 bits. */
  digest(secret: string): string
}

/** The sign-in settings of the building, at their current values. @source document 1, Configuration keys */
export interface PeopleSettings {
  /** How long a session token lives, in ms. */
  api_token_life: number
  /** How long a mailed code is accepted, in seconds. */
  api_2fa_ttl_seconds: number
}

/** The pending change of one account: the columns it would change, or its removal. Asked on every request. */
export type WaitingOf = (userId: number) => Readonly<Record<string, Json>> | 'removed' | undefined

/** Compares passwords off the main thread. */
export interface PasswordCheck {
  /**
   * @param stored the account's hash; undefined for an unknown account: takes as long as any other, and never matches
   */
  verify(password: string, stored: string | undefined): Promise<boolean>
}

/** A message to one person. */
export interface Letter {
  /** An address that `isMailAddress` takes. */
  to: string
  subject: string
  /** Lines end in \n. */
  text: string
  /** After this time the letter is useless and is not retried. */
  lifeMs: number
}

/** Sends letters through a mail server. */
export interface Postman {
  /**
   * @returns resolves once the server has accepted the letter
   * @throws Fault `mail_not_set_up`, `mail_queue_full`, `mail_refused`, `mail_failed`
   */
  send(letter: Letter): Promise<void>
}

// The caller, as every gate sees it: worked out anew for each request and never stored.

/** Functions that role rules of the list `api` allow and deny. `raw`: commands to the bus behind a gateway. */
export type ApiFunction = 'command' | 'macro' | 'query' | 'raw'

/** Functions of the socket, which role rules of the list `socket` allow and deny. */
export type SocketFunction = ApiFunction | 'subscribe' | 'set_attribute' | 'write'

/** The surface that a session calls on: REST, or the page and its socket. Each has rules of its own. */
export type CallSurface = 'api' | 'socket'

/** A signed-in caller. An elevated session only has to pass `may`; no other gate restricts it. */
export interface Session {
  userId: number
  username: string
  /** The rows of auth_role, as currently applied. */
  roles: readonly Row[]
  isElevated: boolean
  surface: CallSurface
  /** On the page and the socket: this person may do nothing but change the password. */
  mustChangePassword: boolean
  /** Started with a PIN, so on a wall panel: nobody there may see a duress alarm. */
  byPin?: PinKind
  /** Combines the rules of all roles for this surface: a `deny` in one wins over an `allow` in another. */
  may(what: SocketFunction): boolean
  /** The UIs that the rules of the list `ui` allow, as rows of `ui`; `allow ui *` allows every UI. */
  uis: readonly Row[]
}

/** Where a request comes from, as the server judges it. */
export interface Origin {
  /** The client's address: the peer's own, or the originating one in the chain behind a trusted proxy. */
  clientIp: string
  /** Provably from outside: a public address outside local_networks, or the tunnel's marker. Unknown is not remote. */
  isRemote: boolean
  /**
   * Provably from inside: only these callers get the relaxations meant for calls from the building. Some calls are
   * neither remote nor local because it cannot be told, such as those from a carrier's NAT or through a proxy that does
   * not name its client.
   */
  isLocal: boolean
}

// Roles: what the lines of `auth_role.rules` allow.

/** The list a rule line refers to. */
type RuleList = 'api' | 'ui' | 'socket'

/** The names one role has in one list. `*` matches every name. */
interface NamesOfList {
  allow: ReadonlySet<string>
  deny: ReadonlySet<string>
}

/** The parsed rules of one role. */
interface RoleRules {
  lists: Readonly<Record<RuleList, NamesOfList>>
  /** One sentence per invalid line, for the person who wrote it. An invalid line neither allows nor denies. */
  faults: readonly string[]
}

const LISTS: readonly RuleList[] = ['api', 'ui', 'socket']

/** Known functions. Rules may also name functions that do not exist yet, as document 1 does with `delete_macro`. */
const FUNCTIONS: Readonly<Record<'api' | 'socket', readonly string[]>> = {
  api: ['command', 'macro', 'query', 'raw', 'delete_macro'],
  socket: ['command', 'macro', 'query', 'raw', 'subscribe', 'set_attribute', 'write'] satisfies SocketFunction[],
}

/** Functions of the socket that rules for `api` stand for in a role without a line `allow socket`. */
const ON_BOTH: ReadonlySet<string> = new Set(['command', 'macro', 'query', 'raw'] satisfies ApiFunction[])

/** Faults reported per role. */
const MOST_FAULTS = 20

/** Longest excerpt of a word that a fault quotes, in characters. */
const LONGEST_QUOTED = 60

/**
 * Parses the rules of a role: `allow api command, macro, query`, `deny api delete_macro`, `allow ui 1, Ground floor`,
 * `allow socket *`, one per line. Empty lines and lines that begin with `#` are ignored. Names are split only at commas
 * and may contain blanks. Keywords and function names ignore case; UI names do not.
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

/** The rules of a row of auth_role; parsed once per row, since rows are immutable. */
export function rulesOf(role: Row): RoleRules {
  const known = readAlready.get(role)
  if (known !== undefined) return known
  const rules = parseRoleRules(typeof role.rules === 'string' ? role.rules : '')
  readAlready.set(role, rules)
  return rules
}

/**
 * Whether the roles together allow a function: at least one allows it, by name or `*`, and none denies it.
 * @param what in lower case
 * @source document 1, Authentication 7
 */
export function mayDo(roles: readonly Row[], surface: CallSurface, what: string): boolean {
  const names = roles.map((role) => namesFor(rulesOf(role).lists, surface, what))
  return !names.some(({ deny }) => holds(deny, what)) && names.some(({ allow }) => holds(allow, what))
}

/**
 * A role without a line `allow socket` does there what it may do over REST, and hears what its zones do, as every page
 * shows it. Writing always has to be allowed by name: REST has no such function that could stand for it.
 */
function namesFor({ api, socket }: RoleRules['lists'], surface: CallSurface, what: string): NamesOfList {
  if (surface === 'api') return api
  if (socket.allow.size > 0) return socket
  if (what === 'subscribe') return { allow: new Set([what]), deny: socket.deny }
  return ON_BOTH.has(what) ? { allow: api.allow, deny: new Set([...api.deny, ...socket.deny]) } : socket
}

/**
 * The UIs that the roles together allow, without disabled ones. A name that consists of digits is taken as an id.
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

/** The names a rule line may use for a UI: its id, and its name unless that consists of digits. */
export function uiNames({ id, name }: Row): string[] {
  return typeof name === 'string' && !isDigits(name) ? [String(id), name] : [String(id)]
}

/**
 * Whether a session with these roles is elevated: at least one role has Elevated on. @source document 1, POST
 * /api/control
 */
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

/**
 * Describes what is wrong with a line. Called only when the sentence will be read: a text may consist of nothing but
 * bad lines.
 */
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
  return listKey === 'ui' ? undefined : () => misspelt(names, FUNCTIONS[listKey])
}

function unknown(seen: string, expected: string, known: readonly string[]): string {
  const near = nearestName(seen, known)
  const hint = near === undefined ? '' : `; did you mean ${near}?`
  return `has ${JSON.stringify(seen.slice(0, LONGEST_QUOTED))}, expected ${expected}${hint}`
}

function misspelt(names: readonly string[], known: readonly string[]): string | undefined {
  for (const name of names) {
    const near = nearestName(name, known)
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

/** Turns `007` into the id `7`. */
function plainId(name: string): string {
  return isDigits(name) ? name.replace(/^0+(?=\d)/, '') : name
}

// Accounts: their names, roles and sites, and whether they may sign in now.

/** Accounts with their roles and sites, as currently applied. */
export interface Accounts {
  /** Finds the account for a typed name: an exact match first, else the only account that differs just in case. */
  named(username: string): Row | undefined
  withId(id: number): Row | undefined
  /** Rows of auth_role, in the order they were given. */
  rolesOf(userId: number): readonly Row[]
  /** Rows of `site`, by id. */
  sitesOf(userId: number): readonly Row[]
  sessionOf(user: Row, surface: CallSurface): Session
  /**
   * The signed-in account in its current state. Undefined if it was removed, its id now belongs to somebody else, its
   * password changed, or it may not sign in.
   */
  standing(signedIn: SignedIn, nowMs: number): Row | undefined
}

/** No account has a longer name. */
export const LONGEST_NAME = 256

/** The form in which names are compared: `Ada` and `ada` are the same. */
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
    sessionOf(user, surface) {
      const roles = rolesOf(user.id)
      return {
        userId: user.id,
        username: String(user.username),
        roles,
        isElevated: isElevated(roles),
        surface,
        mustChangePassword: surface === 'socket' && user.must_change_password === true,
        may: (what) => mayDo(roles, surface, what),
        uis: uisOf(roles, book.rows('ui')),
      }
    },
  }
}

/**
 * Whether an account may sign in now: enabled, not revoked, inside its validity window. If a boundary is neither null
 * nor a number of epoch ms, it cannot be checked, so the account counts as closed.
 * @source document 1, Authentication 4
 */
export function isLive(user: Row, nowMs: number): boolean {
  const { enabled, revoked_at: revokedAt = null, valid_from: from = null, valid_until: until = null } = user
  if (enabled !== true || revokedAt !== null) return false
  const hasBegun = from === null || (typeof from === 'number' && nowMs >= from)
  const hasEnded = until !== null && !(typeof until === 'number' && nowMs < until)
  return hasBegun && !hasEnded
}

/** How somebody signed in: by the password, by the PIN of a wall panel, or by the one that means duress. */
export type SignedInBy = 'password' | PinKind

type PinKind = 'pin' | 'duress_pin'

/** An account at the time somebody signed in to it. */
interface SignedInAs {
  /** As `foldUsername` returns it. */
  readonly username: string
  /** The hash of the password at that time; null if there was none. */
  readonly hash: Json
  readonly by: SignedInBy
  /** The hash of the PIN that was used, if one was. */
  readonly pin: Json
}

/** A signed-in user, as sessions and nonces store it. */
export interface SignedIn {
  readonly userId: number
  readonly as: SignedInAs
}

/** @param user a row of auth_user */
export function signedIn(user: Row, by: SignedInBy = 'password'): SignedIn {
  return { userId: user.id, as: signedInAs(user, by) }
}

function signedInAs(user: Row, by: SignedInBy): SignedInAs {
  const pin = by === 'password' ? null : (user[by] ?? null)
  return { username: foldUsername(String(user.username)), hash: user.hash ?? null, by, pin }
}

/**
 * Whether the account is still the one that somebody signed in to. An import may give its id to somebody else. Setting
 * a new password or PIN must end the sessions opened with the old one. Setting the same password again counts as new, because
 * the hash gets another salt.
 */
function isStill(user: Row, as: SignedInAs): boolean {
  const { username, hash, pin } = signedInAs(user, as.by)
  return username === as.username && hash === as.hash && pin === as.pin
}

/**
 * Whether a user with these roles may call from this origin. The user is kept inside the building if all roles have
 * Allow Remote off. An origin that cannot be told is not denied.
 * @source document 1, Authentication 5
 */
export function mayCallFrom(roles: readonly Row[], origin: Origin): boolean {
  return !origin.isRemote || roles.length === 0 || roles.some((role) => role.allow_remote === true)
}

function usersByFold(rows: readonly Row[]): ReadonlyMap<string, readonly Row[]> {
  return Map.groupBy(rows, (user) => foldUsername(String(user.username)))
}

/** Maps each user id to the ids it is linked to. */
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

/** Whether a pending change closes the account. */
export type IsClosing = (userId: number) => boolean

/**
 * A change closes an account that it disables, revokes, removes, or puts outside its validity window. Changes that
 * would open an account wait for Apply All; this is only asked about accounts that are open now. On the page, elevated
 * sessions follow the applied state, since that is where they apply or discard changes.
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
  /** Nothing else is answered until it is changed. */
  must_change_password: boolean
  site: SiteView
}

/** The content of the name plate; shown before anybody has signed in. */
export interface SiteView {
  name: string | null
  /** IANA name; null if the site has none. */
  time_zone: string | null
}

/** The signed-in person. The name is all that goes out of the account row. */
export function personView(book: Book, session: Session): PersonView {
  return {
    username: session.username,
    full_name: text(book.row('auth_user', session.userId)?.full_name),
    roles: session.roles.map(({ name, id }) => text(name) ?? `Role ${id}`),
    elevated: session.isElevated,
    must_change_password: session.mustChangePassword,
    site: siteView(book),
  }
}

/** The first site: a controller serves one place, however many sites an account is linked to. */
export function siteView(book: Book): SiteView {
  const [site] = book.rows('site')
  return { name: text(site?.name), time_zone: text(site?.timezone) }
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
