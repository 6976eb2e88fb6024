/** Sign-in, the first account, users, API keys. */
import { Type } from 'typebox'
import { newPassword, roles, userName } from '#kit/auth/credentials.ts'
import type { Clock } from '#kit/clock.ts'
import { fieldsFault } from '#kit/http/check.ts'
import { type Caller, Reply, type Route, route } from '#kit/http/route.ts'
import { networkOf } from '#kit/net/address.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Recorder, Refusals, SignInRecorder } from '#kit/records/records.ts'
import type { PortRegistry } from '../core/lines/port-registry.ts'
import type { ApiKeys } from '../core/people/keys.ts'
import { type Sessions, type UserBook, type Users, type UserView, userKey } from '../core/people/users.ts'
import type { Identity } from '../core/status.ts'
import { linesAnswer, meAnswer, nothingAnswer, signInAnswer, ticketAnswer } from './answers.ts'
import { portAnswer } from './port-routes.ts'

// Names that people give to things.

/** 1 to 64 characters, no control characters, no blank at either end. */
export const nameText = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[^\\s\\p{C}](?:[^\\p{C}]*[^\\s\\p{C}])?$',
  description: 'name on the plate, 1 to 64 characters, no blank at either end',
})

// Routes of setup, sign-in and the tickets a browser needs.

interface LoginRouteParts {
  users: Users
  sessions: Sessions
  identity: Identity
  tickets: { issue(caller: Caller): string; lifeMs: number }
  recorder: Recorder & SignInRecorder
  refusals: Refusals
  /** Ends at once every connection that was opened with an expired token. */
  endSignedOut(): void
}

export function loginRoutes(parts: LoginRouteParts): Route[] {
  return [setupRoute(parts), loginRoute(parts), ...sessionRoutes(parts)]
}

function setupRoute({ users, sessions, identity, recorder }: LoginRouteParts): Route {
  return route({
    method: 'POST',
    path: '/api/setup',
    who: 'anyone',
    status: 201,
    reply: signInAnswer,
    ownHostOnly: true,
    directOnly: true,
    summary: 'Make the first administrator; works once',
    body: Type.Object(
      { username: userName, password: newPassword, name: Type.Optional(nameText) },
      { additionalProperties: false },
    ),
    async handle(ask) {
      const user = await users.setUp(ask.body)
      if (ask.body.name !== undefined) await identity.rename(ask.body.name)
      await recorder.changed({ ...ask, caller: { name: user.username } }, 'administrator made', user.username)
      return new Reply(201, sessions.begin(user))
    },
  })
}

function loginRoute({ users, sessions, recorder, refusals }: LoginRouteParts): Route {
  return route({
    method: 'POST',
    path: '/api/login',
    who: 'anyone',
    reply: signInAnswer,
    summary: 'Obtain a token; with exactly one user the name may be left out',
    body: Type.Object(
      {
        username: Type.Optional(Type.String({ maxLength: 256 })),
        password: Type.String({ maxLength: 1024 }),
      },
      { additionalProperties: false },
    ),
    async handle(ask) {
      const { remoteAddress: from } = ask
      try {
        const user = await users.signIn({ ...ask.body, remoteAddress: from, signal: ask.signal })
        await recorder.signedIn({ ...ask, caller: { name: user.username } }, 'signed in')
        return sessions.begin(user)
      } catch (error) {
        // An unknown user name is not logged: people type their password into that field.
        const who = users.meant(ask.body.username)?.username ?? 'nobody'
        if (error instanceof Fault && TURNED_AWAY.has(error.code))
          refusals.add({ group: networkOf(from), who, from, what: 'sign-in refused', detail: { error: error.code } })
        throw error
      }
    },
  })
}

/** Faults that may be guesses at a password. */
const TURNED_AWAY: ReadonlySet<string> = new Set(['wrong_login', 'slow_down'])

function sessionRoutes({ sessions, tickets, endSignedOut }: LoginRouteParts): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/logout',
      who: 'user',
      reply: nothingAnswer,
      summary: 'End this token',
      handle({ token }) {
        if (token !== undefined) sessions.end(token)
        endSignedOut()
        return {}
      },
    }),
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
      if (users.isSetUp())
        throw new Fault('already_set_up', 'This gateway has its administrator already. Sign in instead.')
      return { lines: (await registry.list()).map(portAnswer) }
    },
  })
}

// Routes of users, for administrators, and of everybody's own password.

interface UserRouteParts {
  book: UserBook
  sessions: Pick<Sessions, 'begin'>
  recorder: Recorder
}

const role = Type.Enum([...roles])
const userParams = Type.Object({
  username: Type.String({ minLength: 1, maxLength: 256, description: 'name of a user' }),
})
const newBody = Type.Object({ username: userName, password: newPassword, role }, { additionalProperties: false })
const changeBody = Type.Object(
  { role: Type.Optional(role), password: Type.Optional(newPassword) },
  { additionalProperties: false },
)
const ownBody = Type.Object(
  {
    current: Type.String({ maxLength: 1024, writeOnly: true, description: 'the present password' }),
    password: newPassword,
  },
  { additionalProperties: false },
)
const entry = Type.Object({
  username: Type.String(),
  role,
  createdAt: Type.Integer({ description: 'epoch milliseconds' }),
  isLastAdmin: Type.Boolean({ description: 'can be neither removed nor made a viewer' }),
  isYou: Type.Boolean(),
})

export function userRoutes(parts: UserRouteParts): Route[] {
  return [listRoute(parts), addRoute(parts), changeRoute(parts), removeRoute(parts), ownPasswordRoute(parts)]
}

function listRoute({ book }: UserRouteParts): Route {
  return route({
    method: 'GET',
    path: '/api/users',
    who: 'admin',
    summary: 'Every user',
    reply: Type.Array(entry),
    handle: ({ caller }) => book.list().map((user) => answerOf(user, caller)),
  })
}

function addRoute({ book, recorder }: UserRouteParts): Route {
  return route({
    method: 'POST',
    path: '/api/users',
    who: 'admin',
    status: 201,
    summary: 'Make a user',
    body: newBody,
    reply: entry,
    async handle(ask) {
      const user = await book.add(ask.body)
      await recorder.changed(ask, 'user made', user.username, { role: user.role })
      return new Reply(201, answerOf(user, ask.caller))
    },
  })
}

function changeRoute({ book, recorder }: UserRouteParts): Route {
  return route({
    method: 'PATCH',
    path: '/api/users/:username',
    who: 'admin',
    summary: 'Give a user another role or password; ends all its sign-ins',
    params: userParams,
    body: changeBody,
    reply: entry,
    async handle(ask) {
      const { role, password } = ask.body
      const user = await book.change(ask.params.username, ask.body, ask.caller?.name ?? '')
      const facts = { ...(role && { role }), ...(password !== undefined && { password: 'changed' }) }
      await recorder.changed(ask, 'user changed', user.username, facts)
      return answerOf(user, ask.caller)
    },
  })
}

function removeRoute({ book, recorder }: UserRouteParts): Route {
  return route({
    method: 'DELETE',
    path: '/api/users/:username',
    who: 'admin',
    status: 204,
    summary: 'Remove a user; ends all its sign-ins, and leaves the keys it made',
    params: userParams,
    async handle(ask) {
      const { username } = await book.remove(ask.params.username)
      await recorder.changed(ask, 'user removed', username)
    },
  })
}

function ownPasswordRoute({ book, sessions, recorder }: UserRouteParts): Route {
  return route({
    method: 'POST',
    path: '/api/me/password',
    who: 'user',
    reply: signInAnswer,
    summary: 'Change your own password; ends all your sign-ins and answers a new token',
    body: ownBody,
    async handle(ask) {
      const { caller, body, remoteAddress, signal } = ask
      const user = await book.changeOwn({ ...body, username: caller?.name ?? '', remoteAddress, signal })
      await recorder.changed(ask, 'own password changed', user.username)
      return sessions.begin(user)
    },
  })
}

function answerOf(user: UserView, caller: { name: string } | undefined) {
  return { ...user, isYou: caller !== undefined && userKey(caller.name) === userKey(user.username) }
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
