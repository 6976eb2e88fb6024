/** Combines everything about callers: the first account, sign-in, sessions, identity and handoff. */
import type { Contender, SignInLimiter } from '#kit/auth/sign-in-limiter.ts'
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
import { createPasswordChange, type PasswordChange } from './password-change.ts'
import { createPinTries, type PinLimits } from './pin-tries.ts'
import { createSecondFactor, type SecondFactorLimits } from './second-factor.ts'
import { createHandoff, createUserSessions, type NewToken, NONCE_SECONDS, type SessionLimits } from './sessions.ts'
import { createUserSignIn, type PinEvent, type SignInResult, type Undelivered } from './sign-in.ts'

// The first account of a controller that nobody could sign in to, as rows of its site.

/** The person who will look after the building; the password is already hashed. */
export interface FirstAccount {
  username: string
  hash: string
  salt: string
  /** The name of the building, used if no site names it yet. */
  siteName: string
  /** IANA name of its time zone, if known. */
  timeZone: string | null
}

/** What the rows are built from. */
interface FirstAccountWorld {
  book: Book
  nowMs: number
  /** An id above every id that the table ever had. */
  nextId(table: string): number
}

/** The name of a building that nobody has named yet. */
export const UNNAMED_SITE = 'Building'

const ROLE = 'Administrator'
const RULES = 'allow api *\nallow ui *\nallow socket *'

/** Whether there is no account at all. Accounts that may not sign in count: somebody decided that. */
export function isWithoutAccounts(book: Book): boolean {
  return book.rows('auth_user').length === 0
}

/** Creates the account with an elevated role and all existing sites; if there is none, the first site as well. */
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

/** The plain name may already be taken by a role that means something else. */
function freeName(book: Book): string {
  let name = ROLE
  for (let n = 2; book.named('auth_role', name).length > 0; n++) name = `${ROLE} ${n}`
  return name
}

// Everything about callers, put together.

/** What the surfaces ask about people. A token is only ever told to the client it is issued to. */
export interface People {
  /**
   * POST /api/token.
   * @param form the parsed JSON body; invalid JSON is refused before this
   * @param signal aborted when the client hangs up
   */
  signIn(form: unknown, origin: Origin, signal?: AbortSignal): Promise<Outcome>
  /** Sign-in on the page: the same checks, and a session for its cookie. */
  signInUi(form: unknown, origin: Origin, signal?: AbortSignal): Promise<SignInResult>
  /** The current session of a REST token; undefined means `invalid_session`. */
  resolve(token: string | undefined, origin: Origin): Session | undefined
  /** @param isUse false for long-lived connections such as a socket: they do not keep the session alive */
  resolveUi(token: string | undefined, origin: Origin, isUse?: boolean): Session | undefined
  /** The session of a token of either kind, by the rules for the socket. */
  resolveSocket(token: string, origin: Origin, isUse: boolean): Session | undefined
  /** POST /api/logout: works whether or not the token was valid. */
  logout(token: string | undefined): void
  logoutUi(token: string | undefined): void
  /** Ends the sessions of accounts that may no longer sign in. */
  endOver(): void
  /** GET /api/me: the identity, as JSON. @param session must have been resolved here */
  me(session: Session): unknown
  /** POST /api/session_handoff. @param session must have been resolved here */
  handoff(session: Session): Outcome
  /** Somebody changes the own password; what the old one began is over then, and a new session of the page begins. */
  changePassword: PasswordChange
  /** The page redeems the nonce in its cookie. The nonce is used up whatever the result. */
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
  /** The network, if an account has signed in from there before. */
  homeOf(who: Contender): string | undefined
  pinEvent(event: PinEvent, who: { username: string; clientIp: string }): void
  hashPassword(password: string): Promise<{ hash: string; salt: string }>
  limits: PeopleLimits
}

export interface PeopleLimits extends SessionLimits, SecondFactorLimits, PinLimits {
  /** Most handoff nonces at once. */
  nonces: number
}

/** @source document 1, POST /api/session_handoff: also for an account that has been removed */
const NOBODY: Outcome = {
  status: 401,
  body: { json: { error: 'unauthorized', message: 'The account is not there any more, or the nonce is not good.' } },
  reason: 'unauthorized',
}

export function createPeople(parts: PeopleParts): People {
  const { book, clock, limits, secrets } = parts
  const accounts = createAccounts(book)
  const isClosing = createClosing(book, clock, parts.waitingOf)
  const sessions = createUserSessions({ accounts, isClosing, clock, secrets, settings: parts.settings, limits })
  const nonces = createHandoff({ accounts, isClosing, clock, secrets, most: limits.nonces })
  const secondFactor = createSecondFactor(parts)
  const pinTries = createPinTries({ clock, limits, homeOf: parts.homeOf })
  const { signIn } = createUserSignIn({ ...parts, accounts, isClosing, secondFactor, sessions, pinTries })

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

  /** Signs in the holder of a nonce; undefined if the holder may not call from this origin. */
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
    resolveSocket: sessions.resolveSocket,
    logout: (token = '') => sessions.end(token),
    logoutUi: (token = '') => sessions.endUi(token),
    endOver: sessions.endOver,
    me,
    changePassword: createPasswordChange({ ...parts, accounts, sessions }),
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
