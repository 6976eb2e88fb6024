/** Sessions: what a token stands for, looked at anew with each request. */
import type { Clock } from '#kit/clock.ts'
import { type Accounts, mayCallFrom, type SignedIn, signedIn } from './accounts.ts'
import type { IsClosing } from './closing.ts'
import type { PeopleSettings, Secrets } from './people-ports.ts'
import type { Row } from './row.ts'
import { createSecretShelf, type SecretShelf } from './secret-shelf.ts'
import type { Origin, Session } from './session.ts'

/** A token that was just made. */
export interface NewToken {
  token: string
  lifeMs: number
}

export interface Sessions {
  /**
   * A token of the REST surface: lives as long as `api_token_life` says, from its issue.
   * @param user the row that was proven: where its password has changed since, the token is worth nothing
   */
  begin(user: Row): NewToken
  /** A session of the page: ends with its longest life, or after the shortest `session_timeout_min` without a use. */
  beginUi(user: Row): NewToken
  /**
   * Who calls with a token of the REST surface; undefined is `invalid_session`. A holder who may no longer call loses the
   * token for good.
   * @source document 1, States, Session token; Authentication 3 to 5
   */
  resolve(token: string | undefined, origin: Origin): Session | undefined
  /** @param isUse false for what is open for long, such as a socket: it does not keep the session alive */
  resolveUi(token: string | undefined, origin: Origin, isUse?: boolean): Session | undefined
  /** When the token was issued by which this very session was resolved, epoch ms; undefined for one from elsewhere. */
  issuedAt(session: Session): number | undefined
  /** Asked later: whether the token was revoked by which this very session of the REST surface was resolved. */
  revocationOf(session: Session): () => boolean
  /**
   * Ends what is held by accounts that may not sign in any more, asked or not: one that is enabled again later does not
   * find its old tokens alive.
   */
  endOver(): void
  end(token: string): void
  endUi(token: string): void
}

/** @source document 1, Session token */
const TOKEN_LETTERS = 32

export interface SessionsParts {
  accounts: Accounts
  isClosing: IsClosing
  clock: Clock
  secrets: Secrets
  settings(): PeopleSettings
  limits: SessionLimits
}

export interface SessionLimits {
  /** Tokens, and sessions of the page, at once. */
  sessions: number
  /** The longest life of a session of the page, in ms. */
  uiSessionMs: number
}

interface Holder extends SignedIn {
  issuedAt: number
  usedMs: number
}

export function createSessions(parts: SessionsParts): Sessions {
  const { accounts, clock, secrets, limits } = parts
  const shelf = { clock, secrets, length: TOKEN_LETTERS, most: limits.sessions }
  const api = createSecretShelf<Holder>(shelf)
  const ui = createSecretShelf<Holder>(shelf)
  const holderOf = new WeakMap<Session, Holder>()
  const revoked = new WeakSet<Holder>()

  function begin(on: SecretShelf<Holder>, user: Row, lifeMs: number): NewToken {
    const holder = { ...signedIn(user), issuedAt: clock.epochMs(), usedMs: clock.monotonicMs() }
    return { token: on.issue(holder, lifeMs), lifeMs }
  }

  const userOf = (holder: Holder) => accounts.standing(holder, clock.epochMs())

  function sessionOf(holder: Holder, origin: Origin): Session | undefined {
    const user = userOf(holder)
    if (user === undefined) return undefined
    const session = accounts.sessionOf(user)
    if (!mayCallFrom(session.roles, origin)) return undefined
    holderOf.set(session, holder)
    return session
  }

  function isIdle(holder: Holder, roles: readonly Row[]): boolean {
    const timeoutMs = Math.min(...roles.map(timeoutMsOf))
    return clock.monotonicMs() - holder.usedMs >= timeoutMs
  }

  /** Who could press Apply All goes by what is applied: nobody shuts himself out from it. */
  const isClosed = ({ userId, isElevated }: Session) => !isElevated && parts.isClosing(userId)

  return {
    begin: (user) => begin(api, user, parts.settings().api_token_life),
    beginUi: (user) => begin(ui, user, limits.uiSessionMs),
    resolve(token = '', origin) {
      const holder = api.find(token)
      const session = holder && !parts.isClosing(holder.userId) ? sessionOf(holder, origin) : undefined
      if (holder !== undefined && session === undefined) api.drop(token)
      return session
    },
    resolveUi(token = '', origin, isUse = true) {
      const holder = ui.find(token)
      if (holder === undefined) return undefined
      const session = sessionOf(holder, origin)
      if (session === undefined || isIdle(holder, session.roles) || isClosed(session)) {
        ui.drop(token)
        return undefined
      }
      if (isUse) holder.usedMs = clock.monotonicMs()
      return session
    },
    issuedAt: (session) => holderOf.get(session)?.issuedAt,
    revocationOf(session) {
      const holder = holderOf.get(session)
      return () => holder === undefined || revoked.has(holder)
    },
    endOver() {
      for (const each of [api, ui]) each.dropWhere((holder) => userOf(holder) === undefined)
    },
    end(token) {
      const holder = api.find(token)
      if (holder !== undefined) revoked.add(holder)
      api.drop(token)
    },
    endUi: (token) => ui.drop(token),
  }
}

/** A role without a time keeps nobody's session short. */
function timeoutMsOf(role: Row): number {
  const { session_timeout_min: minutes } = role
  return typeof minutes === 'number' && minutes > 0 ? minutes * 60_000 : Number.POSITIVE_INFINITY
}
