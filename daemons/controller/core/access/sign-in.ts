/** Sign-in by name, password and code: the form, what is checked in which order, and the answers. */
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

/** One address, no list, no name, no comment, no quotes; nothing that means something to SMTP or to a header. */
const ADDRESS = /^[^\s@<>()[\]\\,;:"\p{C}]{1,64}@[^\s@<>()[\]\\,;:"\p{C}]{1,253}$/u

/** @param value of a column `email`, or typed @source RFC 5321, 4.5.3.1 for the lengths */
export function isMailAddress(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 254 && value.isWellFormed() && ADDRESS.test(value)
}

// The form: what somebody typed.

interface SignInForm {
  username: string
  password: string
  /** Undefined where none was submitted. */
  code: string | undefined
  /** The password is longer than any that is kept: nobody has it. */
  isTooLong: boolean
}

/**
 * Longest password in UTF-16 units. To compose letters takes a time that grows with the square of how many accents
 * follow each other: 12 s for 128 KiB of them, 0.3 ms for these (measured).
 */
export const LONGEST_PASSWORD = 1024

/** Stands for a code that was submitted and is no text: none is like it. */
const NO_CODE = '?'

/**
 * Reads the body of a sign-in. Fields beyond those are left alone.
 * @returns undefined where the name or the password is missing, empty, or no text
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

/** Blanks around it come along when it is copied from a mail. A form with an empty field submits none. */
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

/** @param user whom the name meant, for the audit; undefined where nobody is called so: what was typed is not kept */
function refusal(reason: SignInRefusal, user?: Row): Outcome {
  return envelope(reason, { error: reason, message: MESSAGES[reason] }, user)
}

/**
 * @param isMailed false where the last code is void, and it is too early for another
 * @source document 1, Two-factor challenge
 */
function challenge(ttlSeconds: number, user: Row, isMailed: boolean): Outcome {
  const message = isMailed
    ? 'A code was mailed to you. Sign in again with it as two_factor_token.'
    : 'Too many wrong codes: the one that was mailed is void. Sign in again without a code a little later, and another is mailed.'
  return envelope('2fa_required', { error: 'two_factor_auth', message, ttl_seconds: ttlSeconds }, user)
}

/** Too many at once: no credential was judged, so this is no refusal of one, and it has a status of its own. */
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

// The judgement: what is checked, and in which order.

/** Who signs in where: `rest` gets a token and is always challenged, `page` a session of the page. */
type SignInAt = 'rest' | 'page'

/** Somebody to whom a code could not be mailed, and where they signed in from. */
export interface Undelivered {
  userId: number
  username: string
  clientIp: string
}

/** Somebody's wish to sign in. */
interface SignInAsk {
  /** The body as it was read, whatever it is. */
  form: unknown
  origin: Origin
  at: SignInAt
  /** Aborted when the client hangs up. */
  signal?: AbortSignal | undefined
}

/** What came of a sign-in; `issued` only where it was granted. */
export interface SignInResult {
  outcome: Outcome
  issued?: NewToken
}

interface SignIn {
  /**
   * Judges credentials in this order: present, password, account, sites, roles, remote access, second factor.
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
  /** Told where a code could not be mailed. The call has had its answer and its record by then. */
  undelivered(to: Undelivered, error: unknown): void
}

/** A sign-in under way. */
interface Attempt extends SignInAsk {
  form: SignInForm
  /** As the rate limiter counts it. */
  who: Contender
}

export function createSignIn(parts: SignInParts): SignIn {
  const { accounts, clock, limiter, passwords, secondFactor, sessions } = parts

  /** The account whose password it is. Whoever is not, disabled or unknown, takes as long as a wrong password. */
  async function proven({ form, at }: Attempt): Promise<Row | undefined> {
    const meant = accounts.named(form.username)
    const stored = typeof meant?.hash === 'string' && meant.hash !== '' ? meant.hash : undefined
    const isRight = await passwords.verify(form.password, form.isTooLong ? undefined : stored)
    // It may have been changed or closed while the password was looked at.
    const user = meant && accounts.withId(meant.id)
    const stands = isRight && user !== undefined && user.hash === stored && isLive(user, clock.epochMs())
    // On the page those are let in who may apply or discard what closes them.
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
    // Before the second factor: a sign-in that is denied does not use up a code.
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

  /** @returns undefined where the second factor is satisfied */
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

/** What the rate limiter throws in place of a verdict. */
const NOT_JUDGED: ReadonlySet<string> = new Set(['slow_down', 'busy', 'client_gone'])

/**
 * On the REST surface always; Skip 2FA on Local Network is for the page alone, and for who is provably there.
 * @source document 1, POST /api/token
 */
function needsCode(user: Row, roles: readonly Row[], { at, origin }: Attempt): boolean {
  if (user.two_factor_auth !== true) return false
  const isSkipped = at === 'page' && origin.isLocal && roles.every((role) => role.skip_2fa_local === true)
  return !isSkipped
}
