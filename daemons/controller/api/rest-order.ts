/** In which order a call of the REST surface is checked, and what answers it: this file is that order, top to bottom. */
import type { SurfaceCall } from '#kit/http/surface.ts'
import type { AuditBook } from '../core/audit.ts'
import { isMacroCall } from '../core/control/command-body.ts'
import type { Outcome } from '../core/outcome.ts'
import type { CallHeaders, Rules } from '../core/rules.ts'
import type { ApiFunction, Origin, Session } from '../core/session.ts'
import { tokenOf } from '../wire/token-header.ts'
import {
  granted,
  healthy,
  invalidAction,
  invalidSession,
  loggedOut,
  malformedBody,
  methodNotAllowed,
  notFound,
  notImplemented,
  notRecorded,
  type RestOutcome,
  restDisabled,
  roleDenied,
  syncNotBuilt,
  unauthorized,
} from './rest-answers.ts'
import { readRestBody } from './rest-body.ts'
import { placeOf, type RestPlace } from './rest-endpoints.ts'

/** What answers calls. */
export interface RestNeeds {
  rules: Rules
  audit: AuditBook
  version: string
  /** The switch, as it was when the daemon began. @source document 1, What the service does */
  isEnabled: boolean
  /** Whether the tunnel brought a call. */
  isTunnel(peer: string, headers: CallHeaders): boolean
}

/** One call on its way through the checks, and what was found out on it. */
export interface RestCall extends SurfaceCall {
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
export function createRestOrder(needs: RestNeeds): (call: RestCall) => RestOutcome | Promise<RestOutcome> {
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
      if (session === 'invalid_session') return judgedOfCaller(needs, call, place, undefined)
    }
    const body = await readRestBody(call)
    if ('flaw' in body) return malformedBody(body.flaw, body.isLate ? 408 : 400)
    if (place.endpoint.name === 'token')
      return audit.takes() ? rules.signIn(body.value, call.origin, call.signal()) : notRecorded(false)
    return judgedOfCaller(needs, call, place, body.value)
  }

  function identify(call: RestCall): void {
    const session = rules.resolve(tokenOf(call.headers), call.origin)
    if (session !== 'invalid_session') call.session = session
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
  if (session === 'invalid_session') return name === 'session_handoff' ? unauthorized : invalidSession
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
export function beginCall(call: SurfaceCall, { rules, isTunnel }: RestNeeds): RestCall {
  const { headers, path, peer } = call
  return { ...call, origin: rules.origin(peer, headers, isTunnel(peer, headers)), place: placeOf(path) }
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
