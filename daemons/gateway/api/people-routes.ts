/** The gateway's own routes of people: who is asking, tickets, the lines of the first run, API keys. */
import { Type } from 'typebox'
import { roles } from '#kit/auth/credentials.ts'
import type { Clock } from '#kit/clock.ts'
import { fieldsFault } from '#kit/http/check.ts'
import { loginRoutes, nameText, userRoutes } from '#kit/http/people-routes.ts'
import { type Caller, Reply, type Route, route } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Users } from '#kit/pure/users.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { PortRegistry } from '../core/lines/port-registry.ts'
import type { ApiKeys } from '../core/people/keys.ts'
import { linesAnswer, meAnswer, ticketAnswer } from './answers.ts'
import { portAnswer } from './port-routes.ts'

/** Setup, sign-in, users. */
export function signInRoutes(parts: Parameters<typeof loginRoutes>[0] & Parameters<typeof userRoutes>[0]): Route[] {
  return [...loginRoutes(parts), ...userRoutes(parts)]
}

interface Tickets {
  issue(caller: Caller): string
  lifeMs: number
}

/** Who is asking, and a ticket for what takes no header. */
export function callerRoutes({ tickets }: { tickets: Tickets }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/me',
      who: 'user',
      reply: meAnswer,
      summary: 'Current user, or the key that asks',
      handle: ({ caller }) =>
        caller && {
          username: caller.name,
          role: caller.role,
          isKey: caller.isKey ?? false,
          ports: caller.only ?? null,
        },
    }),
    route({
      method: 'POST',
      path: '/api/ticket',
      who: 'user',
      reply: ticketAnswer,
      summary: 'One-time ticket for a WebSocket or a download, where a browser cannot set the header',
      handle: ({ caller }) => caller && { ticket: tickets.issue(caller), expiresInMs: tickets.lifeMs },
    }),
  ]
}

// The list of lines, which the first-run page needs before anybody can sign in.

/**
 * Only until there is an administrator. Without it the first run would have to make one before its last step, to be
 * able to list the lines, and going back would no longer be possible.
 */
export function firstRunRoute({ users, registry }: { users: Users; registry: PortRegistry }): Route {
  return route({
    method: 'GET',
    path: '/api/setup',
    who: 'anyone',
    reply: linesAnswer,
    ownHostOnly: true,
    directOnly: true,
    summary: 'Lines found, for the first run; only until there is an administrator',
    async handle() {
      if (users.isSetUp()) throw new Fault('already_set_up', 'There is an administrator already. Sign in instead.')
      return { lines: (await registry.list()).map(portAnswer) }
    },
  })
}

interface KeyRouteParts {
  keys: ApiKeys
  clock: Clock
  /** Checks that a path may be a port at all. @throws Fault `port_not_allowed` */
  checkPath(path: string): void
  recorder: Recorder
}

/** The last instant that a Date holds. */
const LATEST_AT = 8_640_000_000_000_000

const instant = Type.Integer({ minimum: 0, maximum: LATEST_AT, description: 'epoch milliseconds' })
const paths = Type.Array(Type.String({ minLength: 1, maxLength: 512, description: 'device path' }), {
  minItems: 1,
  maxItems: 64,
  uniqueItems: true,
  description: 'ports, by the names they are set up by',
})
const role = Type.Enum([...roles])
const newKeyBody = Type.Object(
  {
    name: nameText,
    role,
    ports: Type.Union([paths, Type.Null()], { default: null, description: 'the only ports it is for; null for all' }),
    expiresAt: Type.Union([instant, Type.Null()], { default: null, description: 'null for never' }),
  },
  { additionalProperties: false },
)
const keyParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 128, description: 'id of a key' }) })
const facts = {
  id: Type.String(),
  name: Type.String(),
  role,
  ports: Type.Union([Type.Array(Type.String()), Type.Null()]),
  createdAt: instant,
  createdBy: Type.String({ description: 'who made it, even where that user is gone' }),
  expiresAt: Type.Union([instant, Type.Null()]),
  lastUsedAt: Type.Union([instant, Type.Null()]),
  state: Type.Enum(['live', 'expired']),
}
const keyEntry = Type.Object(facts)
const made = Type.Object({ ...facts, key: Type.String({ description: 'the key itself: shown this once' }) })

export function keyRoutes(parts: KeyRouteParts): Route[] {
  return [listKeysRoute(parts), makeRoute(parts), removeKeyRoute(parts)]
}

function listKeysRoute({ keys }: KeyRouteParts): Route {
  return route({
    method: 'GET',
    path: '/api/keys',
    who: 'admin',
    summary: 'Every API key, without its secret',
    reply: Type.Array(keyEntry),
    handle: () => keys.list(),
  })
}

function makeRoute({ keys, clock, checkPath, recorder }: KeyRouteParts): Route {
  return route({
    method: 'POST',
    path: '/api/keys',
    who: 'admin',
    status: 201,
    summary: 'Make an API key for a program; its text is in this answer and in no other',
    body: newKeyBody,
    reply: made,
    async handle(ask) {
      const { ports, expiresAt } = ask.body
      checkWish(ask.body, { nowAt: clock.epochMs(), checkPath })
      const key = await keys.make(ask.body, ask.caller?.name ?? '')
      await recorder.changed(ask, 'key made', key.name, { id: key.id, role: key.role, ports, expiresAt })
      return new Reply(201, key)
    },
  })
}

function removeKeyRoute({ keys, recorder }: KeyRouteParts): Route {
  return route({
    method: 'DELETE',
    path: '/api/keys/:id',
    who: 'admin',
    status: 204,
    summary: 'Remove an API key; its sockets and downloads end at once',
    params: keyParams,
    async handle(ask) {
      const { id, name } = await keys.remove(ask.params.id)
      await recorder.changed(ask, 'key removed', name, { id })
    },
  })
}

/** Checks what no schema can express. @throws Fault `bad_fields` */
function checkWish(
  { ports, expiresAt }: { ports: string[] | null; expiresAt: number | null },
  by: { nowAt: number; checkPath(path: string): void },
): void {
  const faults = (ports ?? []).flatMap((path, index) => {
    const message = sentenceOf(() => by.checkPath(path))
    return message === undefined ? [] : [{ field: `ports[${index}]`, message }]
  })
  if (expiresAt !== null && expiresAt <= by.nowAt) {
    const [then, now] = [expiresAt, by.nowAt].map((at) => new Date(at).toISOString())
    faults.push({ field: 'expiresAt', message: `is ${then}; expected an instant after now, ${now}` })
  }
  if (faults.length > 0) throw fieldsFault(faults)
}

function sentenceOf(check: () => void): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof Fault) return error.message
    throw error
  }
}
