/** What a sign-in is answered: status 200 and an envelope, which older clients rely on. */
import type { AuditReason } from './audit.ts'
import type { Outcome } from './outcome.ts'
import type { Row } from './row.ts'

/** Reasons for which a sign-in is refused. */
export type SignInRefusal =
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
export function refusal(reason: SignInRefusal, user?: Row): Outcome {
  return envelope(reason, { error: reason, message: MESSAGES[reason] }, user)
}

/**
 * @param isMailed false where the last code is void, and it is too early for another
 * @source document 1, Two-factor challenge
 */
export function challenge(ttlSeconds: number, user: Row, isMailed: boolean): Outcome {
  const message = isMailed
    ? 'A code was mailed to you. Sign in again with it as two_factor_token.'
    : 'Too many wrong codes: the one that was mailed is void. Sign in again without a code a little later, and another is mailed.'
  return envelope('2fa_required', { error: 'two_factor_auth', message, ttl_seconds: ttlSeconds }, user)
}

/** Too many at once: no credential was judged, so this is no refusal of one, and it has a status of its own. */
export function tooBusy(): Outcome {
  const message = 'too many sign-ins are waiting: try again in a few seconds'
  return { ...envelope('busy', { error: 'busy', message }), status: 503 }
}

/** @source document 1, Token response */
export function tokenAnswer(issued: { token: string; lifeMs: number }, sites: readonly Row[], user: Row): Outcome {
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
