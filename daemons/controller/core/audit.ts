/** What was asked of the controller and what came of it: the answer to a call, and its record. */
import { atMost, type Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import type { JsonBody } from './json.ts'
import type { Row } from './site/book.ts'

/** The 21 reasons of document 1 and those of this house beyond them. */
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

/** What came of what was asked: of a macro `partly` where some of its steps failed, and it went on. */
export type AuditOutcome = 'done' | 'partly' | 'failed' | 'refused' | 'running'

/** A command or a macro as the audit tells it. Holds no secret. */
export interface AuditFacts {
  /** `level 40 on "Hall"`, `macro "Night"`. */
  action: string
  outcome: AuditOutcome
  /** Why it was not done, or not all of it; null where it was. */
  detail: string | null
}

/** One row of request_history. Never holds a secret: no body, no header, no query string. */
export interface AuditRecord {
  /** Epoch ms. */
  at: number
  requestType: 'rest_api' | 'ui'
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
  /** `zone 12`, `device 3`, `macro 4`, `entity zone`; null where there is none. */
  target: string | null
  runId: number | null
  /** Of commands and macros. */
  facts?: AuditFacts | null
}

/** Where records go. */
interface AuditLog {
  /**
   * @param isAwaited whether an answer waits for it: it is written at once, else within 200 ms together with others
   * @returns resolves once the record is on the disk; who need not wait for it lets it go: it never rejects
   */
  add(record: AuditRecord, isAwaited?: boolean): Promise<void>
}

/** A log that tells before a call is carried out whether it can record it. */
export interface AuditBook extends AuditLog {
  /**
   * The answer did not wait for this record, and was 500: the audit says so. It is changed where it waits; where it was on
   * its way to the disk, another one tells it.
   */
  late(record: AuditRecord): void
  /** False while the disk takes nothing, or too much waits for it: what must be recorded is not begun then. */
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
 * Holds an answer back until its record is on the disk.
 * @returns the answer; `unrecorded` where something was done and the disk was late. What was refused needs no taking back:
 * the log has it by then
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

/** What is looked for in the audit: everything that is named has to hold, exactly, and `fits` where it is given. */
export interface AuditSearch {
  /** Rows given at most. */
  limit: number
  /** Older than this one: `next` of the answer before. */
  beforeId?: number
  granted?: boolean
  reason?: AuditReason
  username?: string
  clientIp?: string
  /** Epoch ms, both; `untilAt` itself is not among them. */
  fromAt?: number
  untilAt?: number
  fits?: (row: Row) => boolean
}

/** The audit as it is read: rows with the columns of request_history, beside id, created_at and updated_at. */
export interface AuditReader {
  /**
   * Visits all, from the newest to the oldest, in pieces between which everything else goes on.
   * @param visit false ends it
   * @param beforeId begins below this one
   * @throws Fault `audit_read_failed`
   */
  scan(visit: (row: Row) => boolean, beforeId?: number): Promise<void>
  /**
   * All of it, a piece at a time, each read when it is asked for: what is long is never in memory as a whole.
   * @throws Fault `audit_read_failed`
   */
  pieces(isNewestFirst: boolean): AsyncIterable<readonly Row[]>
  /**
   * @returns the newest that are found; `next` where older ones have not been looked at, even if nothing was found: a
   * search looks at so many rows and no more
   * @throws Fault `audit_read_failed`
   */
  list(search: AuditSearch): Promise<{ rows: readonly Row[]; next: number | null }>
}

// The answer of a rule to a call, before it becomes HTTP.

/** An answer and what the audit says of it. `reason` is null where the call was granted. */
export interface Outcome {
  status: number
  body: JsonBody
  reason: AuditReason | null
  /** As in AuditRecord. */
  target?: string
  /** Whom a sign-in was for, where that account exists; calls with a session are those of its user. */
  user?: { id: number; username: string }
  runId?: number
  /** Of a command or a macro: what was asked, and what came of it. */
  facts?: AuditFacts
}
