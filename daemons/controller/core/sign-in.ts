/** Sign-in by name, password and code: what is judged, and in which order. */
import type { Contender, SignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import { type Accounts, foldUsername, isLive, LONGEST_NAME, mayCallFrom } from './accounts.ts'
import type { IsClosing } from './closing.ts'
import { isMailAddress } from './mail-address.ts'
import type { Outcome } from './outcome.ts'
import type { PasswordCheck, PeopleSettings } from './people-ports.ts'
import { isElevated } from './role-rules.ts'
import type { Row } from './row.ts'
import type { SecondFactor } from './second-factor.ts'
import type { Origin } from './session.ts'
import type { NewToken, Sessions } from './sessions.ts'
import { challenge, refusal, tokenAnswer, tooBusy } from './sign-in-answers.ts'
import { readForm, type SignInForm } from './sign-in-form.ts'

/** Who signs in where: `rest` gets a token and is always challenged, `page` a session of the page. */
export type SignInAt = 'rest' | 'page'

/** Somebody to whom a code could not be mailed, and where they signed in from. */
export interface Undelivered {
  userId: number
  username: string
  clientIp: string
}

/** Somebody's wish to sign in. */
export interface SignInAsk {
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

export interface SignIn {
  /**
   * Judges credentials in this order: present, password, account, sites, roles, remote access, second factor.
   * @source document 1, POST /api/token
   */
  signIn(ask: SignInAsk): Promise<SignInResult>
}

export interface SignInParts {
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
