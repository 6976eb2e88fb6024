/** Routes of API keys, for administrators who signed in. */

import { Type } from 'typebox'
import { roles } from '#kit/auth/roles.ts'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import { fieldsFault } from '#kit/http/check.ts'
import { Reply, type Route, route } from '#kit/http/route.ts'
import type { Recorder } from '#kit/recorder.ts'
import type { ApiKeys } from '../core/api-keys.ts'
import { nameText } from './name-text.ts'

export interface KeyRouteParts {
  keys: ApiKeys
  clock: Clock
  /** Whether a path may be a port at all. @throws Fault `port_not_allowed` */
  checkPath(path: string): void
  recorder: Recorder
}

/** The last instant that a Date holds. */
const LATEST_AT = 8_640_000_000_000_000

const instant = Type.Integer({ minimum: 0, maximum: LATEST_AT, description: 'epoch milliseconds' })
const role = Type.Enum([...roles])
const paths = Type.Array(Type.String({ minLength: 1, maxLength: 512, description: 'device path' }), {
  minItems: 1,
  maxItems: 64,
  uniqueItems: true,
  description: 'ports, by the names they are set up by',
})
const newBody = Type.Object(
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
const entry = Type.Object(facts)
const made = Type.Object({ ...facts, key: Type.String({ description: 'the key itself: shown this once' }) })

export function keyRoutes(parts: KeyRouteParts): Route[] {
  return [listRoute(parts), makeRoute(parts), removeRoute(parts)]
}

function listRoute({ keys }: KeyRouteParts): Route {
  return route({
    method: 'GET',
    path: '/api/keys',
    who: 'admin',
    summary: 'Every API key, without its secret',
    reply: Type.Array(entry),
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
    body: newBody,
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

function removeRoute({ keys, recorder }: KeyRouteParts): Route {
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

/** What no schema can say. @throws Fault `bad_fields` */
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
