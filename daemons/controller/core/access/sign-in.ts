/** Sign-in by name, password and code: the form, the order of the checks, and the answers. */
import type { Contender, SignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
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
  type SignedInBy,
} from './accounts.ts'
import type { PinTries } from './pin-tries.ts'
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
  /** Undefined for a sign-in by PIN. */
  password: string | undefined
  /** Of a wall panel; looked at on the page and the socket alone. */
  pin: string | undefined
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
function readForm(body: unknown, at: SignInAt): SignInForm | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const field = (name: string): unknown =>
    Object.hasOwn(body, name) ? (body as Record<string, unknown>)[name] : undefined
  const username = field('username')
  const password = field('password')
  const pin = at === 'page' ? codeOf(field('pin')) : undefined
  if (typeof username !== 'string' || username === '') return undefined
  const code = codeOf(field('two_factor_token'))
  const hasPassword = typeof password === 'string' && password !== ''
  if (pin !== undefined && !hasPassword) return { username, password: undefined, pin, code, isTooLong: false }
  if (!hasPassword) return undefined
  const isTooLong = password.length > LONGEST_PASSWORD
  return { username, password: isTooLong ? '' : password, pin: undefined, code, isTooLong }
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

/** Says nothing of the PIN, nor whether there is such an account. */
function pinRests(leftMs: number, user: Row | undefined): Outcome {
  const message = `Too many wrong PINs. Sign in with the password, or try the PIN again in ${durationText(leftMs)}.`
  return { ...envelope('pin_rests', { error: 'pin_rests', message }, user), status: 429 }
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

/** What is noted beside the audit: a duress PIN that was used, or an account whose PIN rests after wrong ones. */
export type PinEvent = 'duress' | 'rests'

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
  pinTries: PinTries
  /** Called once for each; must not throw. */
  pinEvent(event: PinEvent, who: { username: string; clientIp: string }): void
}

/** A sign-in in progress. */
interface Attempt extends SignInAsk {
  form: SignInForm
  /** The account and address, as the rate limiter counts them. */
  who: Contender
}

// The secret: a password, or the PIN of a wall panel.

interface Proof {
  /** Why a sign-in is refused before its secret is looked at. */
  refusedUnseen(attempt: Attempt, meant: Row | undefined): Outcome | undefined
  /** The account, if its secret is right. An unknown or disabled account takes as long as a wrong password. */
  proven(attempt: Attempt): Promise<Proven | undefined>
}

function createProof(parts: SignInParts): Proof {
  const { accounts, clock, passwords, pinTries } = parts

  /** Each secret takes as long as any other, whether the account has it, or exists. */
  async function matching({ form }: Attempt, meant: Row | undefined): Promise<SignedInBy | undefined> {
    const { password, pin = '' } = form
    const isOf = (text: string, by: keyof Row) => {
      const stored = meant?.[by]
      return passwords.verify(text, typeof stored === 'string' && stored !== '' ? stored : undefined)
    }
    if (password !== undefined)
      return (await passwords.verify(password, form.isTooLong ? undefined : hashOf(meant))) ? 'password' : undefined
    const [isPin, isDuress] = [await isOf(pin, 'pin'), await isOf(pin, 'duress_pin')]
    if (isPin) return 'pin'
    return isDuress ? 'duress_pin' : undefined
  }

  async function judged(attempt: Attempt, meant: Row | undefined): Promise<Proven | undefined> {
    const { at } = attempt
    const by = await matching(attempt, meant)
    // The account may have been changed or closed during the password check.
    const user = meant && accounts.withId(meant.id)
    const isSame = user !== undefined && by !== undefined && user[secretOf(by)] === meant?.[secretOf(by)]
    const stands = isSame && isLive(user, clock.epochMs())
    // The page lets in elevated users, who may apply or discard the change that closes their account.
    const isHeld = (one: Row) => at === 'rest' || !isElevated(accounts.rolesOf(one.id))
    const isClosed = user !== undefined && isHeld(user) && parts.isClosing(user.id)
    return stands && !isClosed ? { user, by } : undefined
  }

  function pinMissed({ origin, who }: Attempt, meant: Row | undefined): void {
    if (pinTries.missed(who) && meant !== undefined)
      parts.pinEvent('rests', { username: String(meant.username), clientIp: origin.clientIp })
  }

  return {
    // A PIN is short: it is taken in the building alone, and seldom. Told before it is looked at, so nothing is told of it.
    refusedUnseen({ form, origin, who }, meant) {
      if (form.pin === undefined) return undefined
      if (!origin.isLocal) return refusal('remote_denied', meant)
      const leftMs = pinTries.restMs(who)
      return leftMs > 0 ? pinRests(leftMs, meant) : undefined
    },
    async proven(attempt) {
      const { form, who } = attempt
      const meant = accounts.named(form.username)
      // Others may have tried while this one waited for its turn.
      if (form.pin !== undefined && pinTries.restMs(who) > 0) return undefined
      const found = await judged(attempt, meant)
      if (found === undefined && form.pin !== undefined) pinMissed(attempt, meant)
      return found
    },
  }
}

export function createUserSignIn(parts: SignInParts): SignIn {
  const { accounts, limiter, secondFactor, sessions } = parts
  const proof = createProof(parts)

  async function judge(attempt: Attempt): Promise<SignInResult> {
    const { form, origin, at, who, signal } = attempt
    const meant = accounts.named(form.username)
    const refused = proof.refusedUnseen(attempt, meant)
    if (refused !== undefined) return { outcome: refused }
    let found: Proven | undefined
    const verify = async () => {
      found = await proof.proven(attempt)
      return found !== undefined
    }
    await limiter.judge({ ...who, signal, verify })
    if (found === undefined) return { outcome: refusal('invalid_credential', meant) }
    const { user, by } = found
    const sites = accounts.sitesOf(user.id)
    const roles = accounts.rolesOf(user.id)
    if (sites.length === 0) return { outcome: refusal('no_sites', user) }
    if (roles.length === 0) return { outcome: refusal('no_roles', user) }
    // Before the second factor, so that a denied sign-in does not use up a code.
    if (!mayCallFrom(roles, origin)) return { outcome: refusal('remote_denied', user) }
    if (by === 'password' && needsCode(user, roles, attempt)) {
      const refused = await secondLeg(user, attempt)
      if (refused?.reason === '2fa_mismatch') await limiter.failed(who)
      if (refused !== undefined) return { outcome: refused }
    }
    limiter.succeeded(who)
    parts.pinTries.forget(who)
    const issued = at === 'rest' ? sessions.begin(user) : sessions.beginUi(user, by)
    const outcome = tokenAnswer(issued, sites, user)
    if (by !== 'duress_pin') return { outcome, issued }
    parts.pinEvent('duress', { username: String(user.username), clientIp: origin.clientIp })
    return { outcome: { ...outcome, alarm: 'duress' }, issued }
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
      const form = readForm(ask.form, ask.at)
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

/** An account whose secret was right, and which one it was. */
interface Proven {
  user: Row
  by: SignedInBy
}

function hashOf(user: Row | undefined): string | undefined {
  return typeof user?.hash === 'string' && user.hash !== '' ? user.hash : undefined
}

function secretOf(by: SignedInBy): 'hash' | 'pin' | 'duress_pin' {
  return by === 'password' ? 'hash' : by
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
