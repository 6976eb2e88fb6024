/** Answers of the REST surface that no rule gives: each with its status, its body and its reason in the audit. */
import type { AuditReason } from '../core/audit.ts'
import type { Outcome } from '../core/outcome.ts'

/** An outcome, and headers that go with it. */
export interface RestOutcome extends Outcome {
  headers?: Readonly<Record<string, string | string[]>>
}

/** @source document 1, What the service does */
export const restDisabled = refusal(401, 'rest api disabled', 'rest_disabled')

/** Nothing in the audit's list of reasons says so; the status does. */
export const notFound: RestOutcome = {
  status: 404,
  body: { text: JSON.stringify({ error: 'not found', message: 'nothing is served under this path' }) },
  reason: null,
}

/** @source document 1, What the service does: the channel between paired controllers */
export const syncNotBuilt: RestOutcome = {
  status: 501,
  body: {
    text: JSON.stringify({
      error: 'not_built',
      message: '/api/sync is for paired controllers, and this controller cannot be paired yet.',
    }),
  },
  reason: null,
}

/** @source document 1, GET /api/data/:entity */
export const notImplemented = refusal(501, 'not implemented', 'not_implemented')

/** @source document 1, POST /api/control/:action */
export const invalidAction = refusal(400, 'invalid action', 'invalid_action')

/** @source document 1, Authentication 4 */
export const invalidSession = refusal(401, 'invalid_session', 'invalid_session')

/** @source document 1, POST /api/session_handoff */
export const unauthorized = refusal(401, 'unauthorized', 'unauthorized')

/** @source document 1, POST /api/control/:action; GET /api/data/:entity */
export const roleDenied = refusal(403, 'unauthorized', 'role_denied')

/** @source document 1, GET /api/health */
export const healthy = granted({ ok: true })

/** @source document 1, POST /api/logout */
export const loggedOut = granted({ success: true })

/** @source document 1, POST /api/control/:action */
export function methodNotAllowed(allow: string): RestOutcome {
  return { ...refusal(405, 'method not allowed', 'method_not_allowed'), headers: { allow } }
}

/**
 * In the envelope of `/api/token`, for every endpoint: one form of it is enough.
 * @param detail what is wrong with the body and where; no value of it
 * @source document 1, Error envelope; Audit denial reasons
 */
export function malformedBody(detail: string, status = 400): RestOutcome {
  const body = { error: 'malformed_body', message: 'malformed body', detail }
  return { status, body: { text: JSON.stringify(body) }, reason: 'malformed_body' }
}

/**
 * For a call that has to be recorded and cannot be. 500, as document 1 knows no status for a server that is not able.
 * @param done whether the call was carried out all the same: its record was taken, and then did not reach the disk
 */
export function notRecorded(done: boolean): RestOutcome {
  const message = done
    ? 'this was carried out, but its record in the audit did not reach the disk in time'
    : 'the audit takes no record, so this was not carried out'
  return { status: 500, body: { text: JSON.stringify({ error: 'audit_unavailable', message }) }, reason: null }
}

/** @param json what a call that was granted answers */
export function granted(json: unknown): RestOutcome {
  return { status: 200, body: { text: JSON.stringify(json) }, reason: null }
}

function refusal(status: number, error: string, reason: AuditReason): RestOutcome {
  return { status, body: { text: JSON.stringify({ error }) }, reason }
}
