/** The REST surface: in which order a call is checked, what answers it, and its record. */
import type { Clock } from '#kit/clock.ts'
import { readJson } from '#kit/http/dialect.ts'
import { bearerOf, type Identify } from '#kit/http/route.ts'
import type { Surface, SurfaceAnswer, SurfaceCall } from '#kit/http/surface.ts'
import type { Log } from '#kit/log.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import type { ApiFunction, Origin, Session } from '../core/access/accounts.ts'
import { type AuditBook, type AuditReason, type AuditRecord, type Outcome, onceKept } from '../core/audit.ts'
import { isMacroCall } from '../core/control/reading.ts'
import { bodyText } from '../core/json.ts'
import { BODY_BYTES } from '../core/memory.ts'
import type { Rules } from '../core/surfaces.ts'
import { type RestEndpoint, restDescription, restEndpoints } from './rest-endpoints.ts'

// Answers that no rule gives: each with its status, its body and its reason in the audit.

/** An outcome, and headers that go with it. */
interface RestOutcome extends Outcome {
  headers?: Readonly<Record<string, string | string[]>>
}

/** @source document 1, What the service does */
const restDisabled = refusal(401, 'rest api disabled', 'rest_disabled')

/** Nothing in the audit's list of reasons says so; the status does. */
const notFound: RestOutcome = {
  status: 404,
  body: { text: JSON.stringify({ error: 'not found', message: 'nothing is served under this path' }) },
  reason: null,
}

/** @source document 1, What the service does: the channel between paired controllers */
const syncNotBuilt: RestOutcome = {
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
const notImplemented = refusal(501, 'not implemented', 'not_implemented')

/** @source document 1, POST /api/control/:action */
const invalidAction = refusal(400, 'invalid action', 'invalid_action')

/** @source document 1, Authentication 4 */
const invalidSession = refusal(401, 'invalid_session', 'invalid_session')

/** @source document 1, POST /api/session_handoff */
const unauthorized = refusal(401, 'unauthorized', 'unauthorized')

/** @source document 1, POST /api/control/:action; GET /api/data/:entity */
const roleDenied = refusal(403, 'unauthorized', 'role_denied')

/** @source document 1, GET /api/health */
const healthy = granted({ ok: true })

/** @source document 1, POST /api/logout */
const loggedOut = granted({ success: true })

/** @source document 1, POST /api/control/:action */
function methodNotAllowed(allow: string): RestOutcome {
  return { ...refusal(405, 'method not allowed', 'method_not_allowed'), headers: { allow } }
}

/**
 * In the envelope of `/api/token`, for every endpoint: one form of it is enough.
 * @param detail what is wrong with the body and where; no value of it
 * @source document 1, Error envelope; Audit denial reasons
 */
function malformedBody(detail: string, status = 400): RestOutcome {
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
function granted(json: unknown): RestOutcome {
  return { status: 200, body: { text: JSON.stringify(json) }, reason: null }
}

function refusal(status: number, error: string, reason: AuditReason): RestOutcome {
  return { status, body: { text: JSON.stringify({ error }) }, reason }
}

// The session token of a call: from its headers alone, never from a query or a cookie.

/** No token of ours is longer; what is longer is not looked up. */
const LONGEST_TOKEN = 512

/**
 * `Authorization: Bearer` wins over `svc-api-token`, also with a token that is not good or missing: who names both means
 * the first. Another scheme than Bearer says nothing of a token.
 * @source document 1, Session token; Authentication 2
 */
export function tokenOf(headers: Readonly<Record<string, string | string[] | undefined>>): string | undefined {
  const { authorization, 'svc-api-token': own } = headers
  const bearer = typeof authorization === 'string' ? /^bearer(?:[ \t]+(.*))?$/i.exec(authorization.trim()) : null
  const text = bearer ? bearer[1] : typeof own === 'string' ? own.trim() : undefined
  return text === undefined || text === '' || text.length > LONGEST_TOKEN ? undefined : text
}

// Bodies: JSON, whatever their Content-Type says.

/** A body that was read, or what is wrong with it. */
type RestBody = { value: unknown } | { flaw: string; isLate: boolean }

/**
 * Older clients name no type, curl names that of a form: it is not looked at, nor a charset, which JSON has not. No body
 * at all is one without fields. A body that says it is compressed is refused: nobody needs 256 KB packed, and unpacking
 * what strangers send is a risk of its own.
 * @source document 1, Limits; Audit denial reasons
 */
async function readRestBody(call: SurfaceCall): Promise<RestBody> {
  const coding = call.headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (coding !== '' && coding !== 'identity') return flaw('the body is compressed, expected plain JSON')
  const body = await call.body()
  if (body.kind === 'too_large') return flaw(`the body is larger than ${BODY_BYTES} bytes`)
  if (body.kind !== 'whole') return { flaw: 'the body ended before its end', isLate: body.kind === 'late' }
  if (body.bytes.length === 0) return { value: {} }
  try {
    return { value: readJson(body.bytes) }
  } catch (error) {
    return flaw(faultOf(error, 'bad_json', 'the body is no JSON').message)
  }
}

function flaw(sentence: string): RestBody {
  return { flaw: sentence, isLate: false }
}

// The order of checks: from here to the end of the section, top to bottom.

/** An endpoint and what stands in its path for `:action` or `:entity`, decoded; empty for those that take nothing. */
interface RestPlace {
  endpoint: RestEndpoint
  part: string
}

const byFirst = new Map(restEndpoints.map((endpoint) => [endpoint.path.split('/')[2] ?? '', endpoint]))

/**
 * Compares exactly: with case, without a slash too many. `/api/sync` is none: that is the channel between paired
 * controllers.
 * @param path as sent, without the query
 */
function placeOf(path: string): RestPlace | undefined {
  return fixed.get(path) ?? placeOfParts(path)
}

/** Those that take nothing in their path, by it. */
const fixed: ReadonlyMap<string, RestPlace> = new Map(
  restEndpoints.flatMap((endpoint) => (endpoint.path.includes(':') ? [] : [[endpoint.path, { endpoint, part: '' }]])),
)

function placeOfParts(path: string): RestPlace | undefined {
  const [, , first = '', part, ...rest] = path.split('/')
  const endpoint = byFirst.get(decoded(first))
  if (!endpoint || rest.length > 0) return undefined
  const takesPart = endpoint.path.includes(':')
  if (takesPart !== (part !== undefined && part !== '')) return undefined
  if (!takesPart && part !== undefined) return undefined
  return { endpoint, part: decoded(part ?? '') }
}

/** A part that is no percent-encoded UTF-8 is the name it reads as: one that nothing has. */
function decoded(part: string): string {
  if (!part.includes('%')) return part
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** What answers calls. */
interface RestNeeds {
  rules: Rules
  audit: AuditBook
  clock: Clock
  log: Log
  version: string
  /** The switch, as it was when the daemon began. @source document 1, What the service does */
  isEnabled: boolean
  limits: {
    /** How long an answer waits for its record to be on the disk (config `audit.record_ms`). */
    recordMs: number
  }
}

/** One call on its way through the checks, and what was found out on it. */
interface RestCall extends SurfaceCall {
  origin: Origin
  place: RestPlace | undefined
  /** Set once it is known, for the audit. */
  session?: Session
}

/** Methods that would write rows. @source document 1, GET /api/data/:entity */
const WRITES: ReadonlySet<string> = new Set(['POST', 'PATCH', 'PUT', 'DELETE'])

/** Reasons that say who calls, or that nobody does. */
const ABOUT_WHO: ReadonlySet<Outcome['reason']> = new Set<Outcome['reason']>([
  'invalid_session',
  'unauthorized',
  'rest_disabled',
])

const ACTIONS: ReadonlySet<string> = new Set(['command', 'macro'])

/** A body that is read before it is known who calls. */
const STRANGER_BYTES = 4096

/** @returns what answers calls: at once where nothing is waited for, as for the two calls that probes make */
function createRestOrder(needs: RestNeeds): (call: RestCall) => RestOutcome | Promise<RestOutcome> {
  const { audit, isEnabled, rules } = needs
  const versioned = granted({ version: needs.version })

  return (call) => {
    const outcome = judged(call)
    return outcome instanceof Promise ? outcome.then((late) => identified(call, late)) : identified(call, outcome)
  }

  /** Refused before it was asked who calls: the record tells it all the same. */
  function identified(call: RestCall, outcome: RestOutcome): RestOutcome {
    if (outcome.status >= 400 && call.session === undefined && !ABOUT_WHO.has(outcome.reason)) identify(call)
    return outcome
  }

  function judged(call: RestCall): RestOutcome | Promise<RestOutcome> {
    const { place, method } = call
    const name = place?.endpoint.name
    const isRead = method === 'GET' || method === 'HEAD'

    // The channel between paired controllers is none of this, whatever the switch says.
    if (isSync(call.path)) return syncNotBuilt
    // 1. The switch, before everything: also before what is wrong with a call, and before paths that nothing has.
    if (!isEnabled && !(isRead && (name === 'health' || name === 'version'))) return restDisabled
    // 2. The path, 3. the method, 4. the action.
    if (!place) return notFound
    if (name === 'data' && WRITES.has(method)) return notImplemented
    if (!(method === 'POST' ? place.endpoint.method === 'POST' : isRead && place.endpoint.method === 'GET'))
      return methodNotAllowed(place.endpoint.allow)
    if (name === 'control' && !ACTIONS.has(place.part)) return invalidAction
    if (name === 'health') return healthy
    if (name === 'version') return versioned
    // Who wants to leave is let go, whatever is wrong with the rest of the call.
    if (name === 'logout') return logout(call)
    return method === 'POST' ? judgedWithBody(call, place) : judgedOfCaller(needs, call, place, undefined)
  }

  /** 5. The body, of a POST. */
  async function judgedWithBody(call: RestCall, place: RestPlace): Promise<RestOutcome> {
    // A stranger's long body is not read to find out what else is wrong with it.
    if (place.endpoint.name !== 'token' && isLong(call.headers)) {
      const session = rules.resolve(tokenOf(call.headers), call.origin)
      if (session === undefined) return judgedOfCaller(needs, call, place, undefined)
    }
    const body = await readRestBody(call)
    if ('flaw' in body) return malformedBody(body.flaw, body.isLate ? 408 : 400)
    if (place.endpoint.name === 'token')
      return audit.takes() ? rules.signIn(body.value, call.origin, call.signal()) : notRecorded(false)
    return judgedOfCaller(needs, call, place, body.value)
  }

  function identify(call: RestCall): void {
    const session = rules.resolve(tokenOf(call.headers), call.origin)
    if (session !== undefined) call.session = session
  }

  function logout(call: RestCall): RestOutcome {
    identify(call)
    rules.logout(tokenOf(call.headers))
    return loggedOut
  }
}

/** The second half of the order, for calls that somebody has to be signed in for. @param body undefined for a read */
function judgedOfCaller(
  { audit, rules }: RestNeeds,
  call: RestCall,
  place: RestPlace,
  body: unknown,
): RestOutcome | Promise<RestOutcome> {
  const { name } = place.endpoint
  // 6. Who calls.
  const session = rules.resolve(tokenOf(call.headers), call.origin)
  if (session === undefined) return name === 'session_handoff' ? unauthorized : invalidSession
  call.session = session
  if (name === 'me') return granted(rules.me(session))
  if (name === 'session_handoff') return rules.handoff(session)
  // 7. The role.
  const needed = name === 'data' ? 'query' : functionOf(place.part, body)
  if (needed && !session.may(needed)) return roleDenied
  // 8. The rest.
  if (name === 'data') return rules.answerData(session, place.part, call.query)
  if (!audit.takes()) return notRecorded(false)
  return place.part === 'macro' ? rules.runMacro(session, body) : rules.command(session, body)
}

/** Begins a call: where it comes from and what it names. */
function beginCall(call: SurfaceCall, { rules }: RestNeeds): RestCall {
  const { headers, path, peer } = call
  return { ...call, origin: rules.origin(peer, headers), place: placeOf(path) }
}

/** `command` with a macro is one, and which of the two it is is for the rule that reads the body to say. */
function functionOf(action: string, body: unknown): ApiFunction | undefined {
  if (action === 'macro') return 'macro'
  return isMacroCall(body) ? undefined : 'command'
}

/** Longer than any command by hand, or of a length that only reading tells. */
function isLong(headers: RestCall['headers']): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > STRANGER_BYTES
}

/** @source document 1, What the service does */
function isSync(path: string): boolean {
  return path === '/api/sync' || path.startsWith('/api/sync/')
}

// The surface as the server serves it: each call is answered by the order of checks, and recorded.

/**
 * Everything under `/api`. Answers to `/api/token` and `/api/control/*` go out when their record is on the disk, the
 * others at once.
 * @source document 1
 */
export function restSurface(needs: RestNeeds): Surface {
  const { audit, clock } = needs
  const outcomeOf = createRestOrder(needs)
  const wait = { audit, clock, log: needs.log, recordMs: needs.limits.recordMs }

  function handle(call: SurfaceCall): SurfaceAnswer | Promise<SurfaceAnswer> {
    const beganMs = clock.monotonicMs()
    const rest = beginCall(call, needs)
    const outcome = outcomeNow(rest)
    return outcome instanceof Promise
      ? outcome.catch((error) => failed(error, call)).then((late) => recorded(rest, late, beganMs))
      : recorded(rest, outcome, beganMs)
  }

  function outcomeNow(rest: RestCall): RestOutcome | Promise<RestOutcome> {
    try {
      return outcomeOf(rest)
    } catch (error) {
      return failed(error, rest)
    }
  }

  function recorded(rest: RestCall, made: RestOutcome, beganMs: number): SurfaceAnswer | Promise<SurfaceAnswer> {
    const outcome = rest.takes(sizeOf(made)) ? made : unreadBefore
    const record = recordOf(rest, outcome, { at: clock.epochMs(), elapsedMs: clock.monotonicMs() - beganMs })
    // Nothing is to be undone of what was refused: while the disk takes nothing, nobody is kept waiting for that.
    if (isAwaited(rest) && (record.granted || audit.takes()))
      return onceKept(wait, record, outcome, notRecorded(true)).then(answerOf)
    void audit.add(record)
    return answerOf(outcome)
  }

  return {
    prefix: '/api',
    bodyBytes: BODY_BYTES,
    describes: restDescription,
    handle,
    onRefused(call, status) {
      const outcome: RestOutcome = { status, body: { text: '' }, reason: null }
      void audit.add(recordOf(beginCall(call, needs), outcome, { at: clock.epochMs(), elapsedMs: 0 }))
    },
  }
}

/** Whose answers wait for their record, refusals too. */
function isAwaited({ place }: RestCall): boolean {
  return place?.endpoint.name === 'token' || place?.endpoint.name === 'control'
}

/**
 * What a rule threw: its status where its code has one, else 500 without a word of it. A disk that took nothing is no
 * fault that a caller could mend, and its sentence names files of the house: that is 500 as well.
 * @source document 1, HTTP statuses
 */
function failed(error: unknown, call: SurfaceCall): RestOutcome {
  const isOfDisk = error instanceof Fault && error.code === 'store_write_failed'
  const { status, headers, text } = call.answerOf(isOfDisk ? new Error(error.message, { cause: error }) : error)
  return { status, headers, body: { text }, reason: null }
}

function recordOf(
  call: RestCall,
  outcome: RestOutcome,
  { at, elapsedMs }: { at: number; elapsedMs: number },
): AuditRecord {
  const { session } = call
  return {
    at,
    elapsedMs,
    requestType: 'rest_api',
    method: call.method,
    path: call.path,
    status: outcome.status,
    clientIp: call.origin.clientIp,
    userId: session?.userId ?? outcome.user?.id ?? null,
    username: session?.username ?? outcome.user?.username ?? null,
    granted: outcome.reason === null && outcome.status < 400,
    reason: outcome.reason,
    target: outcome.target ?? null,
    runId: outcome.runId ?? null,
    facts: outcome.facts ?? null,
  }
}

/** What comes to more than a little is rows, and those come in pieces or are short. */
function sizeOf({ body }: RestOutcome): number {
  return 'pieces' in body ? body.pieces.reduce((sum, { length }) => sum + length, 0) : 0
}

/** Nothing is to be undone of what was only read. */
const unreadBefore: RestOutcome = {
  status: 503,
  body: {
    json: {
      error: 'too_much_unsent',
      message: 'the answer does not fit beside those that wait to be read at your address; read them, then ask again',
    },
  },
  reason: 'busy',
}

function answerOf({ status, headers, body }: RestOutcome): SurfaceAnswer {
  const content = 'pieces' in body ? { pieces: body.pieces } : { text: bodyText(body) }
  return headers ? { status, headers, ...content } : { status, ...content }
}

// Callers of what is served beside the REST surface, such as `/metrics`: sessions of it that may read.

/**
 * An elevated session is an administrator of the house. Where a call comes from is judged as on the REST surface, by the
 * chain of trusted proxies and the mark of the tunnel: who keeps to the building reads nothing here from outside.
 * @source document 1, Authentication 5
 */
export function houseCallers(rules: Pick<Rules, 'origin' | 'resolve'>): Identify {
  return ({ authorization, remoteAddress, headers }) => {
    const origin = rules.origin(remoteAddress, headers)
    const session = rules.resolve(bearerOf(authorization), origin)
    if (!session?.may('query')) return undefined
    return { name: session.username, role: session.isElevated ? 'admin' : 'viewer' }
  }
}
