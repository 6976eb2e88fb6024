/** Routes of setup, sign-in and the tickets a browser needs. */
import { Type } from 'typebox'
import { newPassword, userName } from '#kit/auth/user-name.ts'
import { Fault } from '#kit/fault.ts'
import { type Caller, Reply, type Route, route } from '#kit/http/route.ts'
import { networkOf } from '#kit/net/address.ts'
import type { Recorder, SignInRecorder } from '#kit/recorder.ts'
import type { Refusals } from '#kit/refusals.ts'
import type { Identity } from '../core/identity.ts'
import type { Sessions } from '../core/sessions.ts'
import type { Users } from '../core/users.ts'
import { meAnswer, nothingAnswer, signInAnswer, ticketAnswer } from './answers.ts'
import { nameText } from './name-text.ts'

export interface LoginRouteParts {
  users: Users
  sessions: Sessions
  identity: Identity
  tickets: { issue(caller: Caller): string; lifeMs: number }
  recorder: Recorder & SignInRecorder
  refusals: Refusals
  /** Ends at once what a dead token had open. */
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
        // A name that nobody has is not told: people type their password there.
        const who = users.meant(ask.body.username)?.username ?? 'nobody'
        if (error instanceof Fault && TURNED_AWAY.has(error.code))
          refusals.add({ group: networkOf(from), who, from, what: 'sign-in refused', detail: { error: error.code } })
        throw error
      }
    },
  })
}

/** Faults of somebody who may be guessing. */
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
