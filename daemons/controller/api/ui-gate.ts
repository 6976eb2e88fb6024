/** Runs before every route of the pages: checks the page's origin and the session, and records the call. */
import type { IncomingHttpHeaders } from 'node:http'
import { type TSchema, Type } from 'typebox'
import type { Clock } from '#kit/clock.ts'
import { callingPage } from '#kit/http/browser-rule.ts'
import { createReader } from '#kit/http/check.ts'
import { cookieOf } from '#kit/http/cookies.ts'
import { KIT_STATUS } from '#kit/http/errors.ts'
import { type Ask, type RefusedAsk, Reply, type Route, route, type UploadBounds, type WhoMay } from '#kit/http/route.ts'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Origin, Session } from '../core/access/accounts.ts'
import { type AuditBook, type AuditReason, type AuditRecord, type Outcome, onceKept } from '../core/audit.ts'
import { bodyText } from '../core/json.ts'
import type { UiPeople } from '../core/surfaces.ts'
import { refusal } from './answers.ts'
import { notRecorded } from './rest-surface.ts'

// Cookies: the session of the pages, and the nonce with which another system hands a person over.

/** The session of a page. Cookies are shared between ports, so the name must be unique. */
export const SESSION_COOKIE = 'svc_controller'
/** The nonce of POST /api/session_handoff, set by the system that asked for it. @source document 1, Handoff nonce */
export const HANDOFF_COOKIE = 'svc_handoff'

// The gate before every route.
/** What the gate depends on. */
export interface UiGateParts {
  people: Pick<UiPeople, 'sessionOf'>
  audit: AuditBook
  clock: Clock
  log: Log
  limits: {
    /** How long an answer waits for its record to be on disk (config `audit.record_ms`). */
    recordMs: number
  }
  /** Where a request comes from, judged by its peer and the trusted proxies. */
  originOf(ask: { remoteAddress: string; headers: IncomingHttpHeaders }): Origin
}

/** What a handler of the pages receives. */
export interface UiAsk {
  /** Unparsed; each handler parses its own. */
  body: unknown
  query: unknown
  headers: IncomingHttpHeaders
  from: Origin
  /** The token in the session cookie, valid or not; never log it. */
  token: string | undefined
  /** Aborted when the client hangs up. */
  readonly signal: AbortSignal
  /** Sets the caller for the record, if it becomes known only later. */
  calledBy(who: Pick<Session, 'userId' | 'username'>): void
}

/** The same, with the signed-in session. */
export interface SignedAsk extends UiAsk {
  session: Session
  token: string
}

/** What a handler returns: an outcome, with cookies to set. */
export interface UiAnswer {
  outcome: Outcome
  cookies?: readonly string[]
  /** Sent in place of the body of the outcome: a file. */
  file?: Reply
  /** Of a call that an open page repeats, and that was recorded when it began. */
  isRepeat?: boolean
}

/** Anything with a schema to describe: a reader, or a parser with rules of its own. */
interface Readable {
  readonly schema: TSchema
}

/** One route of the pages. */
interface UiRouteSpec<Asked> {
  method: Route['method']
  path: string
  summary: string
  /** Schema of the answer. */
  reply: TSchema
  /** Of a file; JSON if absent. */
  replyType?: string
  /** The schemas by which its handler parses the body and the query. */
  body?: Readable
  query?: Readable
  /** The body, of any type, is passed on as it arrives. */
  upload?: UploadBounds
  /** Only if the request uses an address or name of this machine. */
  ownHostOnly?: boolean
  /**
   * For actions that must not go unrecorded, always or with these headers: started only while the audit accepts
   * records, and answered once the record is on disk.
   */
  isRecordedFirst?: true | ((headers: IncomingHttpHeaders) => boolean)
  /** Answered also while this person has to change the password first. */
  isForOldPassword?: true
  /** Asked by an open page by itself: it keeps no session alive. */
  isByItself?: true
  handle(ask: Asked): Promise<UiAnswer> | UiAnswer
}

/** Creates routes that all follow the same rules. */
export interface UiGate {
  /** For callers who need not be signed in. */
  open(spec: UiRouteSpec<UiAsk>): Route
  /** For signed-in callers. */
  signed(spec: UiRouteSpec<SignedAsk>): Route
  /** For callers signed in with a role that has Elevated on. */
  elevated(spec: UiRouteSpec<SignedAsk>): Route
}

/** The token of a granted sign-in. @throws Error if a sign-in is granted without a token: a bug, which must not look like a refusal */
export function tokenOf({ body }: Outcome): { token: string; expires: number } {
  const { token, expires } = ('json' in body ? body.json : JSON.parse(bodyText(body))) as Record<string, unknown>
  if (typeof token !== 'string' || !/^[\w.~+/-]+$/.test(token) || typeof expires !== 'number')
    throw new Error('a sign-in was granted without a token, or with one that fits no cookie')
  return { token, expires }
}

/** Statuses of the faults that routes of the controller throw. */
export const UI_FAULT_STATUS: Readonly<Record<string, number>> = {
  not_signed_in: 401,
  not_elevated: 403,
  password_change_required: 403,
  pending_changed: 409,
  pending_refused: 422,
  pending_waiting: 409,
  nothing_to_undo: 409,
  already_set_up: 409,
  not_first_start: 409,
  setup_remote: 403,
  audit_read_failed: 500,
  bad_message: 400,
  bad_backup: 400,
  no_backup: 409,
  backup_busy: 409,
  backup_failed: 507,
  update_busy: 409,
  update_foreign: 409,
  update_refused: 409,
  update_unreachable: 503,
  found_gone: 404,
  found_known: 409,
  found_root: 409,
  found_root_unread: 502,
  traffic_busy: 503,
  definition_invalid: 422,
  definition_unknown: 422,
  definition_changed: 409,
  definition_not_kept: 507,
  webhook_refused: 401,
  webhook_flood: 429,
  webhook_early: 503,
  favourites_full: 409,
  no_still: 404,
  still_failed: 502,
  picture_refused: 422,
  picture_large: 422,
  plans_full: 409,
  plan_unknown: 404,
  plan_overtaken: 409,
}

/** Includes the faults that the server itself answers: the record contains the status that was sent. */
const STATUS = new Map(Object.entries({ ...KIT_STATUS, ...UI_FAULT_STATUS }))

/** The status of a fault. */
export function statusOf(code: string): number {
  return STATUS.get(code) ?? 500
}

/** The reason of a fault in the audit. */
export function reasonOf(code: string): AuditReason | null {
  return REASONS.get(code) ?? null
}

const REASONS: ReadonlyMap<string, AuditReason> = new Map<string, AuditReason>([
  ['not_signed_in', 'invalid_session'],
  ['not_elevated', 'elevation_denied'],
  ['password_change_required', 'password_change_required'],
  ['foreign_origin', 'foreign_origin'],
  ['bad_fields', 'bad_fields'],
  ['already_set_up', 'unauthorized'],
  ['not_first_start', 'unauthorized'],
  ['setup_remote', 'remote_denied'],
  ['bad_message', 'malformed_body'],
  ['slow_down', 'busy'],
  ['too_many_sockets', 'busy'],
])

/** Reads the body of a request that says nothing. */
export const readNothing = createReader(Type.Object({}, { additionalProperties: false }))

/** The answer to a granted call. */
export function granted(json: unknown, target?: string): UiAnswer {
  return { outcome: { status: 200, body: { json }, reason: null, ...(target === undefined ? {} : { target }) } }
}

/**
 * Turns the cookie into a session or a refusal, and records each call whatever its result.
 * @returns the functions that create routes; handlers may throw any Fault, which is recorded and answered by the server
 */
export function createUiGate(parts: UiGateParts): UiGate {
  const make = <Entered extends object>(spec: UiRouteSpec<UiAsk & Entered>, { who, enter }: Door<Entered>): Route =>
    route({
      method: spec.method,
      path: spec.path,
      who: 'anyone',
      page: {
        cookie: SESSION_COOKIE,
        who,
        check(head) {
          checkPage(head.headers)
          enter({ ...visitOf(parts, head), calledBy() {} })
        },
      },
      sameOriginOnly: true,
      ...(spec.ownHostOnly ? { ownHostOnly: true } : {}),
      summary: spec.summary,
      reply: spec.reply,
      ...(spec.replyType === undefined ? {} : { replyType: spec.replyType }),
      refusal,
      // Parsed by the handler, after the gate: so errors in it are recorded like any other refusal.
      ...(spec.upload ? { upload: spec.upload } : spec.method === 'GET' ? { query: ANYTHING } : { body: ANYTHING }),
      reads: { body: spec.body?.schema, query: spec.query?.schema },
      onRefused: (refused) => recordRefused(parts, spec, refused),
      handle: (ask) => serve(parts, spec, { ask, run: (given) => spec.handle(Object.assign(given, enter(given))) }),
    })
  return {
    open: (spec) => make(spec, { who: 'anyone', enter: () => ({}) }),
    signed: (spec) => make(spec, { who: 'user', enter: (visit) => signedIn(parts, visit, spec) }),
    elevated: (spec) => make(spec, { who: 'admin', enter: (visit) => elevated(signedIn(parts, visit)) }),
  }
}

const ANYTHING = { additionalProperties: true }

/** The caller, as far as the head of a request tells. */
type Visit = Pick<UiAsk, 'from' | 'token' | 'calledBy'>

/** Decides who may enter. Checked before the body is read, and again after: a session may have ended in between. */
interface Door<Entered> {
  who: WhoMay
  /** @throws Fault `not_signed_in`, `not_elevated` */
  enter(visit: Visit): Entered
}

function visitOf({ originOf }: UiGateParts, head: Pick<Ask, 'remoteAddress' | 'headers'>): Omit<Visit, 'calledBy'> {
  return { from: originOf(head), token: cookieOf(head.headers, SESSION_COOKIE) }
}

export const MUST_CHANGE = 'Change your password first. Until then nothing else is answered.'

type Entered = Pick<SignedAsk, 'session' | 'token'>

function signedIn(
  { people }: UiGateParts,
  { token, from, calledBy }: Visit,
  { isByItself, isForOldPassword }: Pick<UiRouteSpec<never>, 'isByItself' | 'isForOldPassword'> = {},
): Entered {
  const session = token === undefined ? undefined : people.sessionOf(token, from, isByItself !== true)
  if (!session || token === undefined)
    throw new Fault('not_signed_in', 'You are not signed in, or your sign-in has ended. Sign in and try again.')
  calledBy(session)
  if (session.mustChangePassword && isForOldPassword !== true) throw new Fault('password_change_required', MUST_CHANGE)
  return { session, token }
}

function elevated(entered: Entered): Entered {
  const { isElevated, username } = entered.session
  if (!isElevated) throw new Fault('not_elevated', `This needs a role with Elevated on, and ${username} has none.`)
  return entered
}

/** The request, and the handler to run. */
interface Called {
  ask: { body: unknown; query: unknown; remoteAddress: string; headers: IncomingHttpHeaders; signal: AbortSignal }
  run(ask: UiAsk): Promise<UiAnswer> | UiAnswer
}

async function serve(parts: UiGateParts, spec: UiRouteSpec<never>, { ask, run }: Called): Promise<Reply> {
  const { clock, audit } = parts
  const begunMs = clock.monotonicMs()
  const visit = visitOf(parts, ask)
  const { from } = visit
  let caller: Pick<Session, 'userId' | 'username'> | undefined
  const recordOf = (outcome: Omit<Outcome, 'body'>): AuditRecord => ({
    at: clock.epochMs(),
    requestType: 'ui',
    method: spec.method,
    path: spec.path,
    status: outcome.status,
    elapsedMs: Math.round(clock.monotonicMs() - begunMs),
    clientIp: from.clientIp,
    userId: caller?.userId ?? outcome.user?.id ?? null,
    username: caller?.username ?? outcome.user?.username ?? null,
    granted: outcome.reason === null && outcome.status < 400,
    reason: outcome.reason ?? outcome.alarm ?? null,
    target: outcome.target ?? null,
    runId: outcome.runId ?? null,
    facts: outcome.facts ?? null,
  })
  const given: UiAsk = {
    body: ask.body,
    query: ask.query,
    headers: ask.headers,
    ...visit,
    get signal() {
      return ask.signal
    },
    calledBy(who) {
      caller = who
    },
  }
  try {
    const { isRecordedFirst: first = false } = spec
    const mustRecord = typeof first === 'function' ? first(ask.headers) : first
    const answer = mustRecord && !audit.takes() ? { outcome: notRecorded(false) } : await run(given)
    const record = recordOf(answer.outcome)
    // A refusal had no effect that would need a record: while the disk accepts nothing, it is not held back.
    if (mustRecord && (record.granted || audit.takes())) {
      // Without its cookies: nobody is signed in by a call that was not recorded.
      const unrecorded: UiAnswer = { outcome: notRecorded(true) }
      return replyOf(await onceKept({ ...parts, recordMs: parts.limits.recordMs }, record, answer, unrecorded))
    }
    if (answer.isRepeat !== true) void audit.add(record)
    return replyOf(answer)
  } catch (fault) {
    const code = fault instanceof Fault ? fault.code : 'internal'
    void audit.add(recordOf({ status: statusOf(code), reason: reasonOf(code) }))
    throw fault
  }
}

/**
 * Records a call that was refused before its handler ran: because of its head, or because its body is too long, missing
 * or not JSON. So the audit also shows probing of this kind.
 */
function recordRefused(
  parts: UiGateParts,
  { method, path }: Pick<UiRouteSpec<never>, 'method' | 'path'>,
  { status, code = '', ...head }: RefusedAsk,
): void {
  const { clock, audit, people } = parts
  const { from, token } = visitOf(parts, head)
  const session = token === undefined ? undefined : people.sessionOf(token, from, false)
  void audit.add({
    ...{ at: clock.epochMs(), requestType: 'ui', method, path, status, elapsedMs: 0 },
    ...{ clientIp: from.clientIp, userId: session?.userId ?? null, username: session?.username ?? null },
    ...{ granted: false, reason: reasonOf(code) ?? (BODY_STATUS.has(status) ? 'malformed_body' : null) },
    ...{ target: null, runId: null },
  })
}

/** Statuses for a body that is refused before the handler reads it. */
const BODY_STATUS: ReadonlySet<number> = new Set([400, 413, 415])

/** The browser sends the cookie for any page, so the page's origin is checked; programs send no Origin. */
function checkPage(headers: IncomingHttpHeaders): void {
  const page = callingPage(headers, { takesOrigin: () => false })
  if (page !== 'own' && page !== 'none')
    throw new Fault(
      'foreign_origin',
      'Only a page of this controller may send this, opened under the same host name as the request.',
    )
}

function replyOf({ file, outcome: { status, body }, cookies = [] }: UiAnswer): Reply {
  if (file) return file
  const headers: Record<string, string | string[]> = cookies.length === 0 ? {} : { 'set-cookie': [...cookies] }
  if ('json' in body) return new Reply(status, body.json, headers)
  return new Reply(status, Buffer.from(bodyText(body)), {
    ...headers,
    'content-type': 'application/json; charset=utf-8',
  })
}
