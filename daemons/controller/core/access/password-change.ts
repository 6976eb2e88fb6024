/** Changing the own password: the present one is compared like a sign-in, and what it began ends. */
import type { SignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Outcome } from '../audit.ts'
import type { Keeper } from '../site/book.ts'
import { type Accounts, foldUsername, type Origin, type PasswordCheck, type Session } from './accounts.ts'
import type { Sessions } from './sessions.ts'
import { LONGEST_PASSWORD, type SignInResult } from './sign-in.ts'

/** The form as sent; the new password has passed its rules. */
export interface PasswordForm {
  current: string
  password: string
}

/** @returns `issued` is the session that takes the place of the present one */
export type PasswordChange = (
  session: Session,
  form: PasswordForm,
  ask: { origin: Origin; signal?: AbortSignal },
) => Promise<SignInResult>

interface PasswordChangeParts {
  accounts: Pick<Accounts, 'withId'>
  keeper: Keeper
  limiter: SignInLimiter
  passwords: PasswordCheck
  hashPassword(password: string): Promise<{ hash: string; salt: string }>
  sessions: Pick<Sessions, 'beginUi'>
}

export function createPasswordChange(parts: PasswordChangeParts): PasswordChange {
  const { accounts, keeper, limiter, passwords, sessions } = parts

  return async ({ userId, username, byPin }, { current, password }, { origin, signal }) => {
    const before = accounts.withId(userId)
    const stored = typeof before?.hash === 'string' ? before.hash : undefined
    const who = { address: origin.clientIp, account: foldUsername(username) }
    const isLong = current.length > LONGEST_PASSWORD
    const verify = () => passwords.verify(isLong ? '' : current, isLong ? undefined : stored)
    try {
      if (!(await limiter.judge({ ...who, signal, verify }))) return { outcome: WRONG }
    } catch (error) {
      if (error instanceof Fault && error.code === 'client_gone') return { outcome: WRONG }
      throw error
    }
    limiter.succeeded(who)
    if (current === password) return { outcome: SAME }
    const kept = await limiter.within(() => parts.hashPassword(password))
    // Somebody else may have changed the account meanwhile, by Apply All.
    if (accounts.withId(userId)?.hash !== stored) return { outcome: WRONG }
    await keeper.change('auth_user', userId, { ...kept, must_change_password: false })
    const after = accounts.withId(userId)
    if (after === undefined) return { outcome: WRONG }
    // Still the session of a wall panel: a person under threat can be made to change the password, too.
    const issued = sessions.beginUi(after, byPin)
    const body = { json: { success: true } }
    return { outcome: { status: 200, body, reason: null, target: `user ${userId}` }, issued }
  }
}

const WRONG: Outcome = refused('current', 'This is not the present password.')
const SAME: Outcome = refused('password', 'This is the present password. Choose another.')

function refused(field: string, message: string): Outcome {
  const reason = field === 'current' ? 'invalid_credential' : 'bad_fields'
  const error = field === 'current' ? 'invalid_credential' : 'bad_fields'
  const json = { error, message, fields: [{ field, message }] }
  return { status: field === 'current' ? 403 : 400, body: { json }, reason }
}
