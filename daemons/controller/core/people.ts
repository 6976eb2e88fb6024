/** Everything about who calls, put together: sign-in, sessions, identity, handoff. */
import type { SignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import type { Clock } from '#kit/clock.ts'
import { createAccounts } from './accounts.ts'
import { createClosing } from './closing.ts'
import { createHandoff, NONCE_SECONDS } from './handoff.ts'
import type { Outcome } from './outcome.ts'
import type { PasswordCheck, PeopleSettings, Postman, Secrets, WaitingOf } from './people-ports.ts'
import type { Book, Keeper, Row } from './row.ts'
import { createSecondFactor, type SecondFactorLimits } from './second-factor.ts'
import type { Origin, Session } from './session.ts'
import { createSessions, type NewToken, type SessionLimits } from './sessions.ts'
import { createSignIn, type SignInResult, type Undelivered } from './sign-in.ts'

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
  /** Who calls with a token of the REST surface, at this moment. */
  resolve(token: string | undefined, origin: Origin): Session | 'invalid_session'
  /** @param isUse false for what is open for long, such as a socket: it does not keep the session alive */
  resolveUi(token: string | undefined, origin: Origin, isUse?: boolean): Session | 'invalid_session'
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
    resolve: (token, origin) => sessions.resolve(token, origin) ?? 'invalid_session',
    resolveUi: (token, origin, isUse) => sessions.resolveUi(token, origin, isUse) ?? 'invalid_session',
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
