/** The people of a building as its tables tell them: who is called what, and with which roles and sites. */
import { derived } from './derived.ts'
import { isElevated, mayDo, uisOf } from './role-rules.ts'
import type { Book, Json, Row } from './row.ts'
import type { Origin, Session } from './session.ts'

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
export interface SignedInAs {
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
