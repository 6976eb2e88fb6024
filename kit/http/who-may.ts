/** Who may call a route: credentials in, a caller or a refusal out. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { Fault } from '#kit/fault.ts'
import { bearerOf } from '../auth/bearer.ts'
import { type Dialect, jsonDialect } from './dialect.ts'
import type { Fence, Place } from './fence.ts'
import { hangUpSignal } from './hang-up.ts'
import type { Caller, WhoMay } from './route.ts'

/** What a daemon is asked to recognize a caller by. */
export interface Credentials {
  /** The Authorization header as sent. */
  authorization: string | undefined
  /** Address of the peer, without port. */
  remoteAddress: string
  /** Made when it is asked for; aborted when the client hangs up. */
  readonly signal?: AbortSignal
}

/** The same with the whole head, for who judges by what proxies and tunnels say of a caller. */
export interface Knock extends Credentials {
  headers: IncomingHttpHeaders
}

/** Given by the daemon: who these credentials belong to, undefined where to nobody. May throw a Fault, such as a wait. */
export type Identify = (knock: Knock) => Caller | undefined | Promise<Caller | undefined>

/** `take` of a ticket store. @param knock from where it is shown, which may be elsewhere than where it was given */
export type TakeTicket = (ticket: string, knock: Knock) => Caller | undefined

/** Who was recognized, and by which token or ticket. */
export interface Recognized {
  caller: Caller | undefined
  token: string | undefined
}

/** What `recognize` needs of a request. */
export interface Claim {
  headers: IncomingHttpHeaders
  who: WhoMay
  place: Place
  /** What the answer will go out by. */
  response: ServerResponse
  /** A one-time ticket from the query, on routes that take one. */
  ticket?: string | undefined
}

/** How a server recognizes its callers. */
export interface Recognizer {
  identify: Identify
  takeTicket?: TakeTicket | undefined
  /** Holds some callers to less than their role. */
  fence?: Fence | undefined
  /** How credentials are sent; default: as a bearer token. */
  dialect?: Dialect
}

/**
 * Recognizes the caller and holds the route's rule against it. Routes for anyone look at no credentials, so that
 * a stale token does not keep its owner from signing in.
 * @throws Fault `unauthorized`, `forbidden`, and what `identify` and the fence throw
 */
export async function recognize(by: Recognizer, claim: Claim): Promise<Recognized> {
  const { who, ticket, headers, place, response } = claim
  if (who === 'anyone') return { caller: undefined, token: undefined }
  const { authorization } = headers
  const isTicket = authorization === undefined && ticket !== undefined
  const { remoteAddress } = place
  const knock = {
    authorization,
    remoteAddress,
    headers,
    get signal() {
      return hangUpSignal(response)
    },
  }
  const caller = isTicket ? by.takeTicket?.(ticket, knock) : await by.identify(knock)
  if (!caller) throw new Fault('unauthorized', refusal(isTicket, authorization, by.dialect ?? jsonDialect))
  try {
    checkRole(who, caller)
    by.fence?.check(caller, place)
  } catch (fault) {
    if (fault instanceof Fault) by.fence?.refused(caller, place, fault)
    throw fault
  }
  return { caller, token: isTicket ? ticket : bearerOf(authorization) }
}

function checkRole(who: WhoMay, caller: Caller): void {
  if (who === 'admin' && caller.role !== 'admin')
    throw new Fault('forbidden', `this needs an administrator, and ${caller.name} is signed in as ${caller.role}`)
}

function refusal(isTicket: boolean, authorization: string | undefined, { credentials }: Dialect): string {
  if (isTicket) return 'the ticket is not known: each is good once and for a short time'
  if (authorization === undefined) return `credentials are missing: ${credentials}`
  return 'the credentials are not valid, or no longer: sign in again'
}
