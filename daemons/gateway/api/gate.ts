/**
 * Authenticates callers by a user's token or a program's API key, checks what they may do, and journals each refusal.
 */
import { bearerOf, looksLikeApiKey, parseApiKey } from '#kit/auth/credentials.ts'
import type { Caller, Credentials, Fence } from '#kit/http/route.ts'
import { networkOf } from '#kit/net/address.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Sessions } from '#kit/pure/users.ts'
import type { Refusals } from '#kit/records/records.ts'
import { type ApiKeys, checkKey, seesPort } from '../core/people/keys.ts'

export interface GateParts {
  sessions: Pick<Sessions, 'callerOf' | 'isStillSignedIn'>
  keys: Pick<ApiKeys, 'callerOf' | 'isLive' | 'nameOf'>
  /** `take` of the ticket store. */
  takeTicket(ticket: string): Caller | undefined
  refusals: Refusals
}

/** What the HTTP server asks the gateway about a caller. */
export interface Gate {
  identify(credentials: Credentials): Caller | undefined
  takeTicket(ticket: string): Caller | undefined
  isStillSignedIn(caller: Caller): boolean
  fence: Fence
}

export function createGate({ sessions, keys, takeTicket, refusals }: GateParts): Gate {
  const isStillSignedIn = (caller: Caller) => (caller.isKey ? keys.isLive(caller) : sessions.isStillSignedIn(caller))

  /** The text of a key never leaves this function. Its id is no secret. */
  function callerOfKey(text: string, from: string): Caller | undefined {
    const key = parseApiKey(text)
    const turnedAway = (error: string) => {
      const who = (key && keys.nameOf(key.id)) ?? 'nobody'
      refusals.add({ group: `${who} ${networkOf(from)}`, who, from, what: 'key refused', detail: { error } })
    }
    try {
      const caller = key && keys.callerOf(key)
      if (!caller) turnedAway('unauthorized')
      return caller
    } catch (error) {
      if (error instanceof Fault) turnedAway(error.code)
      throw error
    }
  }

  return {
    identify({ authorization, remoteAddress }) {
      const token = bearerOf(authorization)
      if (token === undefined) return undefined
      return looksLikeApiKey(token) ? callerOfKey(token, remoteAddress) : sessions.callerOf(token)
    },
    // A ticket is worth no more than the sign-in or API key it was issued to, and expires with it.
    takeTicket(ticket) {
      const caller = takeTicket(ticket)
      return caller && isStillSignedIn(caller) ? caller : undefined
    },
    isStillSignedIn,
    fence: {
      check(caller, place) {
        if (caller.isKey) checkKey(caller, place)
      },
      showsSample: (caller, { port }) => !caller.only || (typeof port === 'string' && seesPort(caller, port)),
      refused(caller, { method, path, params, remoteAddress: from }, { code }) {
        if (!caller.isKey) return
        const target = params.path === undefined ? {} : { target: params.path }
        const detail = { error: code, route: `${method} ${path}` }
        refusals.add({ group: caller.name, who: caller.name, from, what: 'key refused', ...target, detail })
      },
    },
  }
}
