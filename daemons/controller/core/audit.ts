/** Calls to the controller: the answer to a call, and its audit record. */
import { atMost, type Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import type { Session } from './access/accounts.ts'
import type { JsonBody } from './json.ts'
import type { Row } from './site/book.ts'

/** The 21 reasons of document 1, and this controller's own. */
export type AuditReason =
  | 'malformed_body'
  | 'missing_credential'
  | 'invalid_credential'
  | 'no_sites'
  | 'no_roles'
  | '2fa_required'
  | '2fa_mismatch'
  | '2fa_no_email'
  | 'invalid_session'
  | 'remote_denied'
  | 'unauthorized'
  | 'role_denied'
  | 'elevation_denied'
  | 'scope_denied'
  | 'unknown_macro'
  | 'elevated_table'
  | 'invalid_projection'
  | 'redacted_filter'
  | 'secure_filtered'
  | 'invalid_action'
  | 'not_implemented'
  | 'rest_disabled'
  | 'method_not_allowed'
  | 'bad_target'
  | 'bad_command'
  | 'bad_args'
  | 'bad_fields'
  | 'unknown_entity'
  | 'unknown_modifier'
  | 'busy'
  | 'bad_query'
  | 'foreign_origin'
  | 'pin_rests'
  | 'duress'
  | 'password_change_required'
  | 'trigger_limit'
  | 'missed'

/** The sentence beside `error` of a refusal that must not say why: it would tell what there is. */
export const NOT_ALLOWED = 'Your roles do not allow this, or it is not within your reach.'

/** The result of a request: a macro is `partly` done if some of its steps failed and it went on. */
export type AuditOutcome = 'done' | 'partly' | 'failed' | 'refused' | 'running'

/** A command or a macro as the audit reports it. Contains no secret. */
export interface AuditFacts {
  /** `level 40 on "Hall"`, `macro "Night"`. */
  action: string
  outcome: AuditOutcome
  /** Why it was not done, or not completely; null if it was. */
  detail: string | null
}

/** Through which surface a call came, or what of the building itself started a macro. */
export type RequestType = 'rest_api' | 'ui' | 'socket' | 'hook' | 'schedule' | 'trigger'

/** One row of request_history. Never contains a secret: no body, no header, no query string. */
export interface AuditRecord {
  /** Epoch ms. */
  at: number
  requestType: RequestType
  method: string
  /** Without the query. */
  path: string
  status: number
  elapsedMs: number
  clientIp: string
  userId: number | null
  username: string | null
  granted: boolean
  reason: AuditReason | null
  /** `zone 12`, `device 3`, `macro 4`, `entity zone`; null if there is none. */
  target: string | null
  runId: number | null
  /** Only for commands and macros. */
  facts?: AuditFacts | null
}

/** Takes audit records. */
interface AuditLog {
  /**
   * @param isAwaited whether an answer waits for it: it is then written at once, else within 200 ms together with
   * others
   * @returns resolves once the record is on disk; it never rejects, so it need not be awaited
   */
  add(record: AuditRecord, isAwaited?: boolean): Promise<void>
}

/**
 * Whether a session may learn of a record: whoever is forced to sign in must not be seen to have raised an alarm, on no
 * wall panel.
 */
export function isTold({ reason }: { readonly reason: unknown }, { byPin }: Pick<Session, 'byPin'>): boolean {
  return byPin === undefined || (reason !== 'duress' && reason !== 'pin_rests')
}

/** The condition in the ledger that a duress PIN raises; hidden from the same sessions. */
export const DURESS = 'duress_pin'

/** A log that can tell before a call is carried out whether it will be able to record it. */
export interface AuditBook extends AuditLog {
  /**
   * Notes that the answer did not wait for this record and was 500. A record that is still queued is changed; if it is
   * already being written, another record says so.
   */
  late(record: AuditRecord): void
  /** False while the disk accepts nothing, or the queue is full: a call that must be recorded is then not started. */
  takes(): boolean
}

/** Where a record is written, and how long in ms an answer waits for it. */
interface RecordWait {
  audit: AuditBook
  clock: Clock
  log: Pick<Log, 'error'>
  recordMs: number
}

/**
 * Holds an answer back until its record is on disk.
 * @returns the answer; `unrecorded` if the call had an effect and the disk was too slow. A refusal is returned as it
 * is: the log has it by then
 */
export async function onceKept<Answer>(
  { audit, clock, log, recordMs }: RecordWait,
  record: AuditRecord,
  answer: Answer,
  unrecorded: Answer,
): Promise<Answer> {
  if (await atMost(clock, recordMs, audit.add(record, true))) return answer
  log.error('audit_late', { ...record, waitedMs: recordMs })
  if (!record.granted) return answer
  audit.late(record)
  return unrecorded
}

/** A search in the audit: all given fields must match exactly, and `fits` if it is given. */
export interface AuditSearch {
  /** Most rows to return. */
  limit: number
  /** Only rows with a smaller id: `next` of the previous answer. */
  beforeId?: number
  granted?: boolean
  reason?: AuditReason
  username?: string
  clientIp?: string
  /** Epoch ms, both; `untilAt` is exclusive. */
  fromAt?: number
  untilAt?: number
  fits?: (row: Row) => boolean
}

/** Reads the audit: rows with the columns of request_history, plus id, created_at and updated_at. */
export interface AuditReader {
  /**
   * Visits all rows, from the newest to the oldest, in pieces between which other work goes on.
   * @param visit return false to stop
   * @param beforeId start below this id
   * @throws Fault `audit_read_failed`
   */
  scan(visit: (row: Row) => boolean, beforeId?: number): Promise<void>
  /**
   * All rows, in pieces that are read on demand: the whole audit is never in memory.
   * @throws Fault `audit_read_failed`
   */
  pieces(isNewestFirst: boolean): AsyncIterable<readonly Row[]>
  /**
   * @returns the newest matches. `next` is set if older rows have not been looked at, even if nothing was found: one
   * search looks at a limited number of rows
   * @throws Fault `audit_read_failed`
   */
  list(search: AuditSearch): Promise<{ rows: readonly Row[]; next: number | null }>
}

// The answer to a call, before it becomes HTTP.

/** An answer and its audit data. `reason` is null if the call was granted. */
export interface Outcome {
  status: number
  body: JsonBody
  reason: AuditReason | null
  /** For a granted call that raises an alarm in silence: stands in its record as the reason. */
  alarm?: 'duress'
  /** As in AuditRecord. */
  target?: string
  /** The account that a sign-in was for, if it exists; for calls with a session, the session's user counts. */
  user?: { id: number; username: string }
  runId?: number
  /** For a command or a macro: what was asked, and the result. */
  facts?: AuditFacts
}
