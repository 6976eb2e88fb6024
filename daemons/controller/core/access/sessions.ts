/** Sessions and handoff nonces: random texts that stand for a user for a limited time, checked on every request. */
import type { Clock } from '#kit/clock.ts'
import { dropGreediest } from '#kit/pure/pace.ts'
import type { Row } from '../site/book.ts'
import {
  type Accounts,
  type CallSurface,
  type IsClosing,
  mayCallFrom,
  type Origin,
  type PeopleSettings,
  type Secrets,
  type Session,
  type SignedIn,
  type SignedInBy,
  signedIn,
} from './accounts.ts'

// Random texts: tokens, nonces, and codes that people type.

/** Letters and digits: 32 of them carry 190 bits, and need no escaping in headers, cookies and shells. */
export const PLAIN_LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Without 0, O, 1, I and L, which people confuse. @source document 1, Authentication 6 */
export const CODE_LETTERS = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'

/**
 * Every letter is equally likely: bytes beyond the last whole multiple of the alphabet are thrown away.
 * @param alphabet 2..256 letters
 * @param randomBytes returns as many bytes as it is asked for
 */
export function randomText(alphabet: string, length: number, randomBytes: (count: number) => Uint8Array): string {
  const fair = 256 - (256 % alphabet.length)
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(2 * (length - text.length))) {
      if (byte < fair && text.length < length) text += alphabet[byte % alphabet.length]
    }
  }
  return text
}

/** Compares in constant time, so that timing does not reveal where two texts differ; only their lengths leak. */
export function isSameText(one: string, other: string): boolean {
  if (one.length !== other.length) return false
  let difference = 0
  for (let i = 0; i < one.length; i++) difference |= one.charCodeAt(i) ^ other.charCodeAt(i)
  return difference === 0
}

// Tokens and nonces: random texts that stand for a user for a while. Kept only in memory and only as digests.

/** Holds secrets of one kind. */
interface TokenStore<Holder extends { userId: number }> {
  /**
   * Issues a new secret. If there are too many, the oldest one of the user who holds most is evicted: a program that
   * signs in forever signs out only itself.
   * @param lifeMs counts from now, independent of the wall clock
   */
  issue(holder: Holder, lifeMs: number): string
  /** The holder of a live secret: the same object that was passed to `issue`. */
  find(secret: string): Holder | undefined
  /** Like `find`, and uses the secret up. */
  take(secret: string): Holder | undefined
  drop(secret: string): void
  /** Drops every secret whose holder matches. */
  dropWhere(isOver: (holder: Holder) => boolean): void
  /** How many secrets are held, including expired ones that nobody has asked for since. */
  count(): number
}

interface TokenStoreParts {
  clock: Clock
  secrets: Secrets
  /** Length of a secret, in letters. */
  length: number
  /** Most secrets held at once. */
  most: number
}

interface Entry<Holder> {
  holder: Holder
  endsMs: number
}

/** Creates an empty shelf; a restart forgets everything. */
export function createTokenStore<Holder extends { userId: number }>(parts: TokenStoreParts): TokenStore<Holder> {
  const { clock, secrets, length, most } = parts
  // By digest, oldest first. The timing of a map lookup by digest reveals nothing about the secret.
  const entries = new Map<string, Entry<Holder>>()

  function makeRoom(): void {
    if (entries.size < most) return
    for (const [digest, { endsMs }] of entries) if (clock.monotonicMs() >= endsMs) entries.delete(digest)
    dropGreediest(entries, most, ({ holder }) => holder.userId)
  }

  function find(secret: string): Holder | undefined {
    if (secret.length !== length) return undefined
    const digest = secrets.digest(secret)
    const entry = entries.get(digest)
    if (entry === undefined || clock.monotonicMs() < entry.endsMs) return entry?.holder
    entries.delete(digest)
    return undefined
  }

  function drop(secret: string): void {
    if (secret.length === length) entries.delete(secrets.digest(secret))
  }

  return {
    issue(holder, lifeMs) {
      makeRoom()
      const secret = randomText(PLAIN_LETTERS, length, secrets.randomBytes)
      entries.set(secrets.digest(secret), { holder, endsMs: clock.monotonicMs() + lifeMs })
      return secret
    },
    find,
    take(secret) {
      const holder = find(secret)
      drop(secret)
      return holder
    },
    drop,
    dropWhere(isOver) {
      for (const [digest, { holder }] of entries) if (isOver(holder)) entries.delete(digest)
    },
    count: () => entries.size,
  }
}

// Sessions: what a token stands for, checked on every request.

/** A newly issued token. */
export interface NewToken {
  token: string
  lifeMs: number
}

export interface Sessions {
  /**
   * Issues a token for the REST surface. It lives for `api_token_life` from its issue.
   * @param user the row that was verified: if its password has changed since, the token is worthless
   */
  begin(user: Row): NewToken
  /**
   * Starts a session of the page. It ends at its longest life, or after the shortest `session_timeout_min` without use.
   */
  beginUi(user: Row, by?: SignedInBy): NewToken
  /**
   * The session of a REST token; undefined means `invalid_session`. If the holder may no longer call, the token is
   * dropped for good.
   * @source document 1, States, Session token; Authentication 3 to 5
   */
  resolve(token: string | undefined, origin: Origin): Session | undefined
  /** @param isUse false for long-lived connections such as a socket: they do not keep the session alive */
  resolveUi(token: string | undefined, origin: Origin, isUse?: boolean): Session | undefined
  /** The session of a token of either kind, by the rules for the socket. A REST token has no use that could idle. */
  resolveSocket(token: string, origin: Origin, isUse: boolean): Session | undefined
  /** When the token behind this session object was issued, in epoch ms; undefined for an object from elsewhere. */
  issuedAt(session: Session): number | undefined
  /** @returns a function that tells later whether the REST token behind this session object has been revoked */
  revocationOf(session: Session): () => boolean
  /**
   * Ends the sessions of accounts that may no longer sign in, whether they are used or not: if an account is enabled
   * again later, its old tokens must not be alive.
   */
  endOver(): void
  end(token: string): void
  endUi(token: string): void
}

/** @source document 1, Session token */
const TOKEN_LETTERS = 32

interface SessionsParts {
  accounts: Accounts
  isClosing: IsClosing
  clock: Clock
  secrets: Secrets
  settings(): PeopleSettings
  limits: SessionLimits
}

export interface SessionLimits {
  /** Most REST tokens, and most sessions of the page. */
  sessions: number
  /** The longest life of a session of the page, in ms. */
  uiSessionMs: number
}

interface Holder extends SignedIn {
  issuedAt: number
  usedMs: number
}

export function createUserSessions(parts: SessionsParts): Sessions {
  const { accounts, clock, secrets, limits } = parts
  const shelf = { clock, secrets, length: TOKEN_LETTERS, most: limits.sessions }
  const api = createTokenStore<Holder>(shelf)
  const ui = createTokenStore<Holder>(shelf)
  const holderOf = new WeakMap<Session, Holder>()
  const revoked = new WeakSet<Holder>()

  function begin(on: TokenStore<Holder>, user: SignedIn, lifeMs: number): NewToken {
    const holder = { ...user, issuedAt: clock.epochMs(), usedMs: clock.monotonicMs() }
    return { token: on.issue(holder, lifeMs), lifeMs }
  }

  const userOf = (holder: Holder) => accounts.standing(holder, clock.epochMs())

  function sessionOf(holder: Holder, origin: Origin, surface: CallSurface): Session | undefined {
    const user = userOf(holder)
    if (user === undefined) return undefined
    const session = accounts.sessionOf(user, surface)
    if (holder.as.by !== 'password') session.byPin = holder.as.by
    if (!mayCallFrom(session.roles, origin)) return undefined
    holderOf.set(session, holder)
    return session
  }

  function isIdle(holder: Holder, roles: readonly Row[]): boolean {
    const timeoutMs = Math.min(...roles.map(timeoutMsOf))
    return clock.monotonicMs() - holder.usedMs >= timeoutMs
  }

  /** Elevated users could press Apply All, so the applied state counts for them: nobody can lock himself out of it. */
  const isClosed = ({ userId, isElevated }: Session) => !isElevated && parts.isClosing(userId)

  const ofApi = (holder: Holder, origin: Origin, surface: CallSurface) =>
    parts.isClosing(holder.userId) ? undefined : sessionOf(holder, origin, surface)

  function ofUi(holder: Holder, origin: Origin, isUse: boolean): Session | undefined {
    const session = sessionOf(holder, origin, 'socket')
    if (session === undefined || isIdle(holder, session.roles) || isClosed(session)) return undefined
    if (isUse) holder.usedMs = clock.monotonicMs()
    return session
  }

  const findApi = (token: string, origin: Origin, surface: CallSurface) =>
    foundIn(api, token, (holder) => ofApi(holder, origin, surface))
  const findUi = (token: string, origin: Origin, isUse: boolean) =>
    foundIn(ui, token, (holder) => ofUi(holder, origin, isUse))

  return {
    begin: (user) => begin(api, signedIn(user), parts.settings().api_token_life),
    beginUi: (user, by) => begin(ui, signedIn(user, by), limits.uiSessionMs),
    resolve: (token = '', origin) => findApi(token, origin, 'api'),
    resolveUi: (token = '', origin, isUse = true) => findUi(token, origin, isUse),
    resolveSocket: (token, origin, isUse) => findUi(token, origin, isUse) ?? findApi(token, origin, 'socket'),
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

/** The session of a token; if its holder may no longer call, the token is dropped for good. */
function foundIn(
  shelf: TokenStore<Holder>,
  token: string,
  sessionOf: (holder: Holder) => Session | undefined,
): Session | undefined {
  const holder = shelf.find(token)
  const session = holder && sessionOf(holder)
  if (holder !== undefined && session === undefined) shelf.drop(token)
  return session
}

/** A role without a timeout does not shorten a session. */
function timeoutMsOf(role: Row): number {
  const { session_timeout_min: minutes } = role
  return typeof minutes === 'number' && minutes > 0 ? minutes * 60_000 : Number.POSITIVE_INFINITY
}

// Handoff nonces: another system signs somebody in to the page, once, without a password.

interface Handoff {
  /**
   * @param user the user whose session asks
   * @param isRevoked whether that session has been logged out since: its nonces end with it
   */
  issue(user: Row, isRevoked: () => boolean): string
  /**
   * Uses the nonce up, whatever the result.
   * @returns the row of the user it signs in; undefined if it is refused
   * @source document 1, States, Handoff nonce
   */
  redeem(nonce: string): Row | undefined
}

/** @source document 1, Handoff nonce */
const NONCE_LETTERS = 48
export const NONCE_SECONDS = 60

interface HandoffParts {
  accounts: Accounts
  isClosing: IsClosing
  clock: Clock
  secrets: Secrets
  /** Most nonces at once. */
  most: number
}

export function createHandoff(parts: HandoffParts): Handoff {
  const { accounts, clock, secrets, most } = parts
  const nonces = createTokenStore<SignedIn & { isRevoked: () => boolean }>({
    clock,
    secrets,
    length: NONCE_LETTERS,
    most,
  })

  return {
    issue: (user, isRevoked) => nonces.issue({ ...signedIn(user), isRevoked }, NONCE_SECONDS * 1000),
    redeem(nonce) {
      const holder = nonces.take(nonce)
      if (holder === undefined || parts.isClosing(holder.userId) || holder.isRevoked()) return undefined
      const user = accounts.standing(holder, clock.epochMs())
      if (user === undefined) return undefined
      // Independent of where it is redeemed: a user with a role that is kept inside the building must use a password.
      const isKeptIn = accounts.rolesOf(user.id).some((role) => role.allow_remote !== true)
      return isKeptIn ? undefined : user
    },
  }
}
