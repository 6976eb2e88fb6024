/** Sign-in by name, password and code: the form, the order of the checks, and the answers. */
import type { Contender, SignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { AuditReason, Outcome } from '../audit.ts'
import type { Row } from '../site/book.ts'
import {
  type Accounts,
  foldUsername,
  type IsClosing,
  isElevated,
  isLive,
  LONGEST_NAME,
  mayCallFrom,
  type Origin,
  type PasswordCheck,
  type PeopleSettings,
} from './accounts.ts'
import type { SecondFactor } from './second-factor.ts'
import type { NewToken, Sessions } from './sessions.ts'

// Mail addresses that a code may be sent to.

/** Exactly one address: no list, name, comment or quotes, and no characters that are special in SMTP or a header. */
const ADDRESS = /^[^\s@<>()[\]\\,;:"\p{C}]{1,64}@[^\s@<>()[\]\\,;:"\p{C}]{1,253}$/u

/** @param value a column `email`, or typed input @source RFC 5321, 4.5.3.1 for the lengths */
export function isMailAddress(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 254 && value.isWellFormed() && ADDRESS.test(value)
}

// The sign-in form.

interface SignInForm {
  username: string
  password: string
  /** Undefined if none was submitted. */
  code: string | undefined
  /** The password is longer than any stored one can be, so it cannot be right. */
  isTooLong: boolean
}

/**
 * Longest password in UTF-16 units. Unicode composition takes time that grows with the square of the number of accents
 * in a row: 12 s for 128 KiB of them, 0.3 ms for this many (measured).
 */
export const LONGEST_PASSWORD = 1024

/** Stands for a submitted code that is not a text: it never matches. */
const NO_CODE = '?'

/**
 * Parses the body of a sign-in. Other fields are ignored.
 * @returns undefined if the name or the password is missing, empty, or not a text
 * @source document 1, POST /api/token
 */
function readForm(body: unknown): SignInForm | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const field = (name: string): unknown =>
    Object.hasOwn(body, name) ? (body as Record<string, unknown>)[name] : undefined
  const username = field('username')
  const password = field('password')
  if (typeof username !== 'string' || typeof password !== 'string' || username === '' || password === '')
    return undefined
  const isTooLong = password.length > LONGEST_PASSWORD
  return { username, password: isTooLong ? '' : password, code: codeOf(field('two_factor_token')), isTooLong }
}

/** Trims the blanks that come along when a code is copied from a mail. An empty field counts as no code. */
function codeOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'string') return NO_CODE
  const code = value.trim()
  return code === '' ? undefined : code
}

// The answers: status 200 and an envelope, which older clients rely on.

/** Reasons for which a sign-in is refused. */
type SignInRefusal =
  | 'missing_credential'
  | 'invalid_credential'
  | 'no_sites'
  | 'no_roles'
  | 'remote_denied'
  | '2fa_no_email'
  | '2fa_mismatch'

/** @source document 1, POST /api/token, Envelope `message` values */
const MESSAGES: Readonly<Record<SignInRefusal, string>> = {
  missing_credential: 'missing credential',
  invalid_credential: 'invalid credential',
  no_sites: 'no sites found',
  no_roles: 'invalid roles',
  remote_denied: 'remote access not permitted',
  '2fa_no_email': '2FA is enabled but user has no email address',
  '2fa_mismatch': 'two factor fail',
}

/** @param user the account that the name matched, for the audit; undefined if none: what was typed is not recorded */
function refusal(reason: SignInRefusal, user?: Row): Outcome {
  return envelope(reason, { error: reason, message: MESSAGES[reason] }, user)
}

/**
 * @param isMailed false if the last code is void and it is too early to mail another
 * @source document 1, Two-factor challenge
 */
function challenge(ttlSeconds: number, user: Row, isMailed: boolean): Outcome {
  const message = isMailed
    ? 'A code was mailed to you. Sign in again with it as two_factor_token.'
    : 'Too many wrong codes: the one that was mailed is void. Sign in again without a code a little later, and another is mailed.'
  return envelope('2fa_required', { error: 'two_factor_auth', message, ttl_seconds: ttlSeconds }, user)
}

/** Too many sign-ins at once: no credential was judged, so this is not a refusal and has its own status. */
function tooBusy(): Outcome {
  const message = 'too many sign-ins are waiting: try again in a few seconds'
  return { ...envelope('busy', { error: 'busy', message }), status: 503 }
}

/** @source document 1, Token response */
function tokenAnswer(issued: { token: string; lifeMs: number }, sites: readonly Row[], user: Row): Outcome {
  const json = { token: issued.token, expires: issued.lifeMs, sites: sites.map(({ id, name }) => ({ id, name })) }
  return { status: 200, body: { json }, reason: null, user: userOf(user) }
}

function userOf(user: Row): { id: number; username: string } {
  return { id: user.id, username: String(user.username) }
}

function envelope(
  reason: AuditReason,
  json: { error: string; message: string; ttl_seconds?: number },
  user?: Row,
): Outcome {
  return { status: 200, body: { json }, reason, ...(user && { user: userOf(user) }) }
}

// The checks, in order.

/** `rest` issues a token and always challenges; `page` starts a session of the page. */
type SignInAt = 'rest' | 'page'

/** A user to whom a code could not be mailed, and the address of the sign-in. */
export interface Undelivered {
  userId: number
  username: string
  clientIp: string
}

/** One request to sign in. */
interface SignInAsk {
  /** The body as parsed, of any shape. */
  form: unknown
  origin: Origin
  at: SignInAt
  /** Aborted when the client hangs up. */
  signal?: AbortSignal | undefined
}

/** The result of a sign-in; `issued` is set only if it was granted. */
export interface SignInResult {
  outcome: Outcome
  issued?: NewToken
}

interface SignIn {
  /**
   * Checks in this order: fields present, password, account, sites, roles, remote access, second factor.
   * @source document 1, POST /api/token
   */
  signIn(ask: SignInAsk): Promise<SignInResult>
}

interface SignInParts {
  accounts: Accounts
  isClosing: IsClosing
  clock: Clock
  passwords: PasswordCheck
  limiter: SignInLimiter
  secondFactor: SecondFactor
  sessions: Pick<Sessions, 'begin' | 'beginUi'>
  settings(): PeopleSettings
  /** Called when a code could not be mailed. By then the call has been answered and recorded. */
  undelivered(to: Undelivered, error: unknown): void
}

/** A sign-in in progress. */
interface Attempt extends SignInAsk {
  form: SignInForm
  /** The account and address, as the rate limiter counts them. */
  who: Contender
}

export function createUserSignIn(parts: SignInParts): SignIn {
  const { accounts, clock, limiter, passwords, secondFactor, sessions } = parts

  /** The account, if its password is right. An unknown or disabled account takes as long as a wrong password. */
  async function proven({ form, at }: Attempt): Promise<Row | undefined> {
    const meant = accounts.named(form.username)
    const stored = typeof meant?.hash === 'string' && meant.hash !== '' ? meant.hash : undefined
    const isRight = await passwords.verify(form.password, form.isTooLong ? undefined : stored)
    // The account may have been changed or closed during the password check.
    const user = meant && accounts.withId(meant.id)
    const stands = isRight && user !== undefined && user.hash === stored && isLive(user, clock.epochMs())
    // The page lets in elevated users, who may apply or discard the change that closes their account.
    const isHeld = (one: Row) => at === 'rest' || !isElevated(accounts.rolesOf(one.id))
    const isClosed = user !== undefined && isHeld(user) && parts.isClosing(user.id)
    return stands && !isClosed ? user : undefined
  }

  async function judge(attempt: Attempt): Promise<SignInResult> {
    const { form, origin, at, who, signal } = attempt
    const meant = accounts.named(form.username)
    let user: Row | undefined
    const verify = async () => {
      user = await proven(attempt)
      return user !== undefined
    }
    await limiter.judge({ ...who, signal, verify })
    if (user === undefined) return { outcome: refusal('invalid_credential', meant) }
    const sites = accounts.sitesOf(user.id)
    const roles = accounts.rolesOf(user.id)
    if (sites.length === 0) return { outcome: refusal('no_sites', user) }
    if (roles.length === 0) return { outcome: refusal('no_roles', user) }
    // Before the second factor, so that a denied sign-in does not use up a code.
    if (!mayCallFrom(roles, origin)) return { outcome: refusal('remote_denied', user) }
    if (needsCode(user, roles, attempt)) {
      const refused = await secondLeg(user, attempt)
      if (refused?.reason === '2fa_mismatch') await limiter.failed(who)
      if (refused !== undefined) return { outcome: refused }
    }
    limiter.succeeded(who)
    const issued = at === 'rest' ? sessions.begin(user) : sessions.beginUi(user)
    return { outcome: tokenAnswer(issued, sites, user), issued }
  }

  /** @returns undefined if the second factor is satisfied */
  async function secondLeg(user: Row, attempt: Attempt): Promise<Outcome | undefined> {
    const { email } = user
    if (!isMailAddress(email)) return refusal('2fa_no_email', user)
    const to = { userId: user.id, username: String(user.username), clientIp: attempt.origin.clientIp }
    const undelivered = (error: unknown) => parts.undelivered(to, error)
    const verdict = await secondFactor.judge({ id: user.id, email }, attempt.form.code, undelivered)
    if (verdict === 'failed') return refusal('2fa_mismatch', user)
    if (verdict === 'passed') return undefined
    return challenge(parts.settings().api_2fa_ttl_seconds, user, verdict === 'challenged')
  }

  return {
    async signIn(ask) {
      const form = readForm(ask.form)
      if (form === undefined) return { outcome: refusal('missing_credential') }
      const account = foldUsername(form.username.slice(0, LONGEST_NAME))
      try {
        return await judge({ ...ask, form, who: { address: ask.origin.clientIp, account } })
      } catch (error) {
        if (error instanceof Fault && NOT_JUDGED.has(error.code)) return { outcome: tooBusy() }
        throw error
      }
    },
  }
}

/** Errors the rate limiter throws instead of a verdict. */
const NOT_JUDGED: ReadonlySet<string> = new Set(['slow_down', 'busy', 'client_gone'])

/**
 * Always on the REST surface. Skip 2FA on Local Network applies only to the page, and only to provably local callers.
 * @source document 1, POST /api/token
 */
function needsCode(user: Row, roles: readonly Row[], { at, origin }: Attempt): boolean {
  if (user.two_factor_auth !== true) return false
  const isSkipped = at === 'page' && origin.isLocal && roles.every((role) => role.skip_2fa_local === true)
  return !isSkipped
}
