/** Everything about callers, put together: the first account, sign-in, sessions, identity, handoff. */
import type { SignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import type { Clock } from '#kit/clock.ts'
import type { Outcome } from '../audit.ts'
import type { Json } from '../json.ts'
import type { Book, Keeper, Row } from '../site/book.ts'
import type { Change } from '../site/changes.ts'
import { tableOf } from '../site/registry.ts'
import {
  createAccounts,
  createClosing,
  type Origin,
  type PasswordCheck,
  type PeopleSettings,
  type Postman,
  type Secrets,
  type Session,
  type WaitingOf,
} from './accounts.ts'
import { createSecondFactor, type SecondFactorLimits } from './second-factor.ts'
import { createHandoff, createSessions, type NewToken, NONCE_SECONDS, type SessionLimits } from './sessions.ts'
import { createSignIn, type SignInResult, type Undelivered } from './sign-in.ts'

// The first account of a controller that nobody could sign in to, as rows of its site.

/** Who is to look after the building; the password is hashed already. */
export interface FirstAccount {
  username: string
  hash: string
  salt: string
  /** What the building is called, where no site says so yet. */
  siteName: string
  /** IANA name of its time zone, where it is known. */
  timeZone: string | null
}

/** What the rows are made with. */
interface FirstAccountWorld {
  book: Book
  nowMs: number
  /** Above every id that a table ever had. */
  nextId(table: string): number
}

/** What a building is called that nobody has named yet. */
export const UNNAMED_SITE = 'Building'

/** The role of the first account. */
const ROLE = 'Administrator'
const RULES = 'allow api *\nallow ui *\nallow socket *'

/** Whether there is no account at all: accounts that may not sign in are somebody's decision, and count. */
export function isWithoutAccounts(book: Book): boolean {
  return book.rows('auth_user').length === 0
}

/** The account with an elevated role and all sites there are; where there is none, the first site as well. */
export function firstAccount(account: FirstAccount, world: FirstAccountWorld): Change[] {
  const { username, hash, salt, siteName: name, timeZone: timezone } = account
  const sites = world.book.rows('site').map(({ id }) => id)
  const changes: Change[] = []
  const add = (table: string, columns: Record<string, Json>, place = 0): number => {
    const id = world.nextId(table) + place
    const row = { ...tableOf(table)?.empty, ...columns, id, created_at: world.nowMs, updated_at: world.nowMs } as Row
    changes.push({ kind: 'add', table, id, row })
    return id
  }
  if (sites.length === 0) sites.push(add('site', { name, timezone }))
  const role_id = add('auth_role', { name: freeName(world.book), elevated: true, rules: RULES })
  const user_id = add('auth_user', { username, hash, salt })
  add('auth_user_role', { user_id, role_id })
  for (const [place, site_id] of sites.entries()) add('auth_user_site', { user_id, site_id }, place)
  return changes
}

/** A role of that name may be there, and mean something else. */
function freeName(book: Book): string {
  let name = ROLE
  for (let n = 2; book.named('auth_role', name).length > 0; n++) name = `${ROLE} ${n}`
  return name
}

// Everything about callers, put together.

/** What the surfaces ask about people. No token is ever told to anybody but the one who gets it. */
export interface People {
  /**
   * POST /api/token.
   * @param form the body as read from JSON; whether it is JSON at all is judged before
   * @param signal aborted when the client hangs up
   */
  signIn(form: unknown, origin: Origin, signal?: AbortSignal): Promise<Outcome>
  /** The page's sign-in: the same gate, and a session for its cookie. */
  signInUi(form: unknown, origin: Origin, signal?: AbortSignal): Promise<SignInResult>
  /** Who calls with a token of the REST surface, at this moment; undefined for `invalid_session`. */
  resolve(token: string | undefined, origin: Origin): Session | undefined
  /** @param isUse false for what is open for long, such as a socket: it does not keep the session alive */
  resolveUi(token: string | undefined, origin: Origin, isUse?: boolean): Session | undefined
  /** POST /api/logout: whether the token was one or not. */
  logout(token: string | undefined): void
  logoutUi(token: string | undefined): void
  /** Ends what is held by accounts that may not sign in any more. */
  endOver(): void
  /** GET /api/me: the identity, as JSON. @param session one that was resolved here */
  me(session: Session): unknown
  /** POST /api/session_handoff. @param session one that was resolved here */
  handoff(session: Session): Outcome
  /** The page redeems the nonce of its cookie, which is used up, whatever comes of it. */
  redeem(nonce: string | undefined, origin: Origin): SignInResult
}

export interface PeopleParts {
  book: Book
  keeper: Keeper
  clock: Clock
  secrets: Secrets
  passwords: PasswordCheck
  postman: Postman
  settings(): PeopleSettings
  undelivered(to: Undelivered, error: unknown): void
  waitingOf: WaitingOf
  limiter: SignInLimiter
  limits: PeopleLimits
}

export interface PeopleLimits extends SessionLimits, SecondFactorLimits {
  /** Handoff nonces at once. */
  nonces: number
}

/** @source document 1, POST /api/session_handoff: also for an account that has gone away */
const NOBODY: Outcome = { status: 401, body: { json: { error: 'unauthorized' } }, reason: 'unauthorized' }

export function createPeople(parts: PeopleParts): People {
  const { book, clock, limits, secrets } = parts
  const accounts = createAccounts(book)
  const isClosing = createClosing(book, clock, parts.waitingOf)
  const sessions = createSessions({ accounts, isClosing, clock, secrets, settings: parts.settings, limits })
  const nonces = createHandoff({ accounts, isClosing, clock, secrets, most: limits.nonces })
  const secondFactor = createSecondFactor(parts)
  const { signIn } = createSignIn({ ...parts, accounts, isClosing, secondFactor, sessions })

  /** @source document 1, Identity */
  function me(session: Session): unknown {
    return {
      id: session.userId,
      username: session.username,
      roles: session.roles.map(({ name }) => String(name)),
      sites: accounts.sitesOf(session.userId).map(({ id }) => ({ id })),
      two_factor_auth: accounts.withId(session.userId)?.two_factor_auth === true,
      issued: sessions.issuedAt(session) ?? null,
    }
  }

  /** What a nonce signs in; nothing where its holder may not call from there. */
  function enter(user: Row | undefined, origin: Origin): { issued: NewToken; session: Session } | undefined {
    if (user === undefined) return undefined
    const issued = sessions.beginUi(user)
    const session = sessions.resolveUi(issued.token, origin)
    return session && { issued, session }
  }

  return {
    signIn: async (form, origin, signal) => (await signIn({ form, origin, signal, at: 'rest' })).outcome,
    signInUi: (form, origin, signal) => signIn({ form, origin, signal, at: 'page' }),
    resolve: sessions.resolve,
    resolveUi: sessions.resolveUi,
    logout: (token = '') => sessions.end(token),
    logoutUi: (token = '') => sessions.endUi(token),
    endOver: sessions.endOver,
    me,
    handoff(session) {
      const user = accounts.withId(session.userId)
      if (user === undefined) return NOBODY
      const json = { nonce: nonces.issue(user, sessions.revocationOf(session)), expires_in: NONCE_SECONDS }
      return { status: 200, body: { json }, reason: null }
    },
    redeem(nonce = '', origin) {
      const entered = enter(nonces.redeem(nonce), origin)
      if (entered === undefined) return { outcome: NOBODY }
      const { issued, session } = entered
      const user = { id: session.userId, username: session.username }
      return { outcome: { status: 200, body: { json: me(session) }, reason: null, user }, issued }
    },
  }
}
