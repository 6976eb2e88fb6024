/** The REST surface: the order in which a call is checked, its answer, and its audit record. */
import { bearerOf } from '#kit/auth/credentials.ts'
import type { Clock } from '#kit/clock.ts'
import { readJson } from '#kit/http/dialect.ts'
import type { Identify } from '#kit/http/route.ts'
import type { Surface, SurfaceAnswer, SurfaceCall } from '#kit/http/surface.ts'
import type { Log } from '#kit/log.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import type { ApiFunction, Origin, Session } from '../core/access/accounts.ts'
import {
  type AuditBook,
  type AuditReason,
  type AuditRecord,
  NOT_ALLOWED,
  type Outcome,
  onceKept,
} from '../core/audit.ts'
import { isMacroCall } from '../core/control/reading.ts'
import { bodyText } from '../core/json.ts'
import { BODY_BYTES } from '../core/memory.ts'
import type { Rules } from '../core/surfaces.ts'
import { type RestEndpoint, restDescription, restEndpoints } from './rest-endpoints.ts'

// Answers that do not come from a rule: each with its status, its body and its reason in the audit.

/** An outcome with additional headers. */
interface RestOutcome extends Outcome {
  headers?: Readonly<Record<string, string | string[]>>
}

/** @source document 1, What the service does */
const restDisabled = refusal(
  401,
  'rest api disabled',
  'rest_disabled',
  'The REST API of this controller is switched off; an administrator switches it on, on the page System.',
)

/** The audit has no reason for this; the status says it. */
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
const notImplemented = refusal(
  501,
  'not implemented',
  'not_implemented',
  'Rows are only read over REST. Wrap the change in a macro and run that.',
)

/** @source document 1, POST /api/control/:action */
const invalidAction = refusal(400, 'invalid action', 'invalid_action', 'The action is command or macro.')

/** @source document 1, Authentication 4 */
const invalidSession = refusal(
  401,
  'invalid_session',
  'invalid_session',
  'The token is missing, not known, or its session has ended. Get another from POST /api/token.',
)

/** @source document 1, POST /api/session_handoff */
const unauthorized = refusal(401, 'unauthorized', 'unauthorized', 'A handoff needs a session: send the token of one.')

/** @source document 1, POST /api/control/:action; GET /api/data/:entity */
const roleDenied = refusal(403, 'unauthorized', 'role_denied', NOT_ALLOWED)

/** @source document 1, GET /api/health */
const healthy = granted({ ok: true })

/** @source document 1, POST /api/logout */
const loggedOut = granted({ success: true })

/** @source document 1, POST /api/control/:action */
function methodNotAllowed(allow: string): RestOutcome {
  return {
    ...refusal(405, 'method not allowed', 'method_not_allowed', `This path takes ${allow}.`),
    headers: { allow },
  }
}

/**
 * The same envelope as in `/api/token`, for every endpoint.
 * @param detail what is wrong with the body, and where; contains no value from it
 * @source document 1, Error envelope; Audit denial reasons
 */
function malformedBody(detail: string, status = 400): RestOutcome {
  const body = { error: 'malformed_body', message: 'malformed body', detail }
  return { status, body: { text: JSON.stringify(body) }, reason: 'malformed_body' }
}

/**
 * For a call that must be recorded and cannot be. 500, because document 1 has no status for an unavailable server.
 * @param done whether the call was carried out anyway: its record was accepted, but did not reach the disk
 */
export function notRecorded(done: boolean): RestOutcome {
  const message = done
    ? 'this was carried out, but its record in the audit did not reach the disk in time'
    : 'the audit takes no record, so this was not carried out'
  return { status: 500, body: { text: JSON.stringify({ error: 'audit_unavailable', message }) }, reason: null }
}

/** @param json the answer to a granted call */
function granted(json: unknown): RestOutcome {
  return { status: 200, body: { text: JSON.stringify(json) }, reason: null }
}

/** @param message what was seen, and what to do; `error` is what clients compare */
function refusal(status: number, error: string, reason: AuditReason, message: string): RestOutcome {
  return { status, body: { text: JSON.stringify({ error, message }) }, reason }
}

// The session token of a call: taken only from its headers, never from a query or a cookie.

/** None of our tokens is longer; a longer one is not looked up. */
const LONGEST_TOKEN = 512

/**
 * `Authorization: Bearer` wins over `svc-api-token`, even if its token is invalid or missing: a caller who sends both
 * means the first. Any scheme other than Bearer is ignored.
 * @source document 1, Session token; Authentication 2
 */
export function handedToken(headers: Readonly<Record<string, string | string[] | undefined>>): string | undefined {
  const { authorization, 'svc-api-token': own } = headers
  const bearer = typeof authorization === 'string' ? /^bearer(?:[ \t]+(.*))?$/i.exec(authorization.trim()) : null
  const text = bearer ? bearer[1] : typeof own === 'string' ? own.trim() : undefined
  return text === undefined || text === '' || text.length > LONGEST_TOKEN ? undefined : text
}

// Bodies: JSON, whatever their Content-Type.

/** A parsed body, or what is wrong with it. */
type RestBody = { value: unknown } | { flaw: string; isLate: boolean }

/**
 * Ignores the Content-Type: older clients send none, and curl sends that of a form. Also ignores the charset, since
 * JSON has only one. A missing body counts as one without fields. A compressed body is refused: 256 KB need no
 * compression, and unpacking data from strangers is a risk of its own.
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
    return flaw(faultOf(error, 'bad_json', 'the body is not JSON').message)
  }
}

function flaw(sentence: string): RestBody {
  return { flaw: sentence, isLate: false }
}

// The order of checks: from here to the end of the section, top to bottom.

/** An endpoint, and the decoded path part for `:action` or `:entity`; empty for endpoints without one. */
interface RestPlace {
  endpoint: RestEndpoint
  part: string
}

const byFirst = new Map(restEndpoints.map((endpoint) => [endpoint.path.split('/')[2] ?? '', endpoint]))

/**
 * Compares exactly: with case, and without extra slashes. `/api/sync` does not match: it is the channel between paired
 * controllers.
 * @param path as sent, without the query
 */
function placeOf(path: string): RestPlace | undefined {
  return fixed.get(path) ?? placeOfParts(path)
}

/** Endpoints without a parameter, by path. */
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

/** A part that is not valid percent-encoded UTF-8 is kept as it is: no endpoint or entity has such a name. */
function decoded(part: string): string {
  if (!part.includes('%')) return part
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** What the surface depends on. */
interface RestNeeds {
  rules: Rules
  audit: AuditBook
  clock: Clock
  log: Log
  version: string
  /** The switch, as it was when the daemon started. @source document 1, What the service does */
  isEnabled: boolean
  limits: {
    /** How long an answer waits for its record to be on disk (config `audit.record_ms`). */
    recordMs: number
  }
}

/** A call during the checks, with what is known about it so far. */
interface RestCall extends SurfaceCall {
  origin: Origin
  place: RestPlace | undefined
  /** Set as soon as it is known, for the audit. */
  session?: Session
}

/** Methods that would write rows. @source document 1, GET /api/data/:entity */
const WRITES: ReadonlySet<string> = new Set(['POST', 'PATCH', 'PUT', 'DELETE'])

/** Reasons after which the caller need not be identified. */
const ABOUT_WHO: ReadonlySet<Outcome['reason']> = new Set<Outcome['reason']>([
  'invalid_session',
  'unauthorized',
  'rest_disabled',
])

const ACTIONS: ReadonlySet<string> = new Set(['command', 'macro'])

/** Most bytes of a body that is read before the caller is known. */
const STRANGER_BYTES = 4096

/**
 * @returns the function that answers calls: synchronously if nothing has to be awaited, as for the two calls of probes
 */
function createRestOrder(needs: RestNeeds): (call: RestCall) => RestOutcome | Promise<RestOutcome> {
  const { audit, isEnabled, rules } = needs
  const versioned = granted({ version: needs.version })

  return (call) => {
    const outcome = judged(call)
    return outcome instanceof Promise ? outcome.then((late) => identified(call, late)) : identified(call, outcome)
  }

  /** If a call was refused before its caller was identified, the record names the caller anyway. */
  function identified(call: RestCall, outcome: RestOutcome): RestOutcome {
    if (outcome.status >= 400 && call.session === undefined && !ABOUT_WHO.has(outcome.reason)) identify(call)
    return outcome
  }

  function judged(call: RestCall): RestOutcome | Promise<RestOutcome> {
    const { place, method } = call
    const name = place?.endpoint.name
    const isRead = method === 'GET' || method === 'HEAD'

    // The channel between paired controllers is separate, whatever the switch says.
    if (isSync(call.path)) return syncNotBuilt
    // 1. The switch comes before everything else: also before malformed calls and unknown paths.
    if (!isEnabled && !(isRead && (name === 'health' || name === 'version'))) return restDisabled
    // 2. The path, 3. the method, 4. the action.
    if (!place) return notFound
    if (name === 'data' && WRITES.has(method)) return notImplemented
    if (!(method === 'POST' ? place.endpoint.method === 'POST' : isRead && place.endpoint.method === 'GET'))
      return methodNotAllowed(place.endpoint.allow)
    if (name === 'control' && !ACTIONS.has(place.part)) return invalidAction
    if (name === 'health') return healthy
    if (name === 'version') return versioned
    // A logout always succeeds, whatever is wrong with the rest of the call.
    if (name === 'logout') return logout(call)
    return method === 'POST' ? judgedWithBody(call, place) : judgedOfCaller(needs, call, place, undefined)
  }

  /** 5. The body, of a POST. */
  async function judgedWithBody(call: RestCall, place: RestPlace): Promise<RestOutcome> {
    // A stranger's long body is not read just to report what else is wrong with it.
    if (place.endpoint.name !== 'token' && isLong(call.headers)) {
      const session = rules.resolve(handedToken(call.headers), call.origin)
      if (session === undefined) return judgedOfCaller(needs, call, place, undefined)
    }
    const body = await readRestBody(call)
    if ('flaw' in body) return malformedBody(body.flaw, body.isLate ? 408 : 400)
    if (place.endpoint.name === 'token')
      return audit.takes() ? rules.signIn(body.value, call.origin, call.signal()) : notRecorded(false)
    return judgedOfCaller(needs, call, place, body.value)
  }

  function identify(call: RestCall): void {
    const session = rules.resolve(handedToken(call.headers), call.origin)
    if (session !== undefined) call.session = session
  }

  function logout(call: RestCall): RestOutcome {
    identify(call)
    rules.logout(handedToken(call.headers))
    return loggedOut
  }
}

/** The second half of the order, for calls that need a session. @param body undefined for a read */
function judgedOfCaller(
  { audit, rules }: RestNeeds,
  call: RestCall,
  place: RestPlace,
  body: unknown,
): RestOutcome | Promise<RestOutcome> {
  const { name } = place.endpoint
  // 6. The caller.
  const session = rules.resolve(handedToken(call.headers), call.origin)
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

/** Begins a call: determines its origin and its endpoint. */
function beginCall(call: SurfaceCall, { rules }: RestNeeds): RestCall {
  const { headers, path, peer } = call
  return { ...call, origin: rules.origin(peer, headers), place: placeOf(path) }
}

/** A `command` with a macro_id calls a macro; the rule that reads the body decides which it is. */
function functionOf(action: string, body: unknown): ApiFunction | undefined {
  if (action === 'macro') return 'macro'
  return isMacroCall(body) ? undefined : 'command'
}

/** Whether a body is longer than any command written by hand, or of unknown length. */
function isLong(headers: RestCall['headers']): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > STRANGER_BYTES
}

/** @source document 1, What the service does */
function isSync(path: string): boolean {
  return path === '/api/sync' || path.startsWith('/api/sync/')
}

// The surface as the server uses it: each call goes through the order of checks, and is recorded.

/**
 * Everything under `/api`. Answers to `/api/token` and `/api/control/*` are sent when their record is on disk, the
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
    // A refusal had no effect that would need a record: while the disk accepts nothing, it is not held back.
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

/** Whether the answer waits for its record, even if it is a refusal. */
function isAwaited({ place }: RestCall): boolean {
  return place?.endpoint.name === 'token' || place?.endpoint.name === 'control'
}

/**
 * The answer to an exception: its status if its code has one, else 500 without details. A failed write to disk is also
 * 500: the caller cannot fix it, and its message names files of the building.
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

/** The size of an answer: only rows can be large, and those come in pieces or are short. */
function sizeOf({ body }: RestOutcome): number {
  return 'pieces' in body ? body.pieces.reduce((sum, { length }) => sum + length, 0) : 0
}

/** Reads have no effect that would have to be undone. */
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

// Callers of routes beside the REST surface, such as `/metrics`: sessions of it that may read.

/**
 * An elevated session counts as an administrator. The origin is judged as on the REST surface, by the chain of trusted
 * proxies and the mark of the tunnel: a user who is kept inside the building cannot read this from outside.
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
