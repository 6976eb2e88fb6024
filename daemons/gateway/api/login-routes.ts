/** Routes of setup, sign-in and the tickets a browser needs. */
import { Type } from 'typebox'
import { type Caller, Reply, type Route, route } from '#kit/http/route.ts'
import type { Identity } from '../core/identity.ts'
import type { Sessions } from '../core/sessions.ts'
import type { Users } from '../core/users.ts'
import { nameText } from './name-text.ts'
import type { Recorder } from './recorder.ts'

export interface LoginRouteParts {
  users: Users
  sessions: Sessions
  identity: Identity
  tickets: { issue(caller: Caller): string; lifeMs: number }
  recorder: Recorder
}

const username = nameText
const newPassword = Type.String({ minLength: 8, maxLength: 256, description: '8 to 256 characters' })

export function loginRoutes(parts: LoginRouteParts): Route[] {
  return [setupRoute(parts), loginRoute(parts), ...sessionRoutes(parts)]
}

function setupRoute({ users, sessions, identity, recorder }: LoginRouteParts): Route {
  return route({
    method: 'POST',
    path: '/api/setup',
    who: 'anyone',
    ownHostOnly: true,
    summary: 'Make the first administrator; works once',
    body: Type.Object(
      { username, password: newPassword, name: Type.Optional(nameText) },
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

function loginRoute({ users, sessions, recorder }: LoginRouteParts): Route {
  return route({
    method: 'POST',
    path: '/api/login',
    who: 'anyone',
    summary: 'Obtain a token; with exactly one user the name may be left out',
    body: Type.Object(
      {
        username: Type.Optional(Type.String({ maxLength: 256 })),
        password: Type.String({ maxLength: 1024 }),
      },
      { additionalProperties: false },
    ),
    async handle(ask) {
      const user = await users.signIn({ ...ask.body, remoteAddress: ask.remoteAddress })
      await recorder.changed({ ...ask, caller: { name: user.username } }, 'signed in')
      return sessions.begin(user)
    },
  })
}

function sessionRoutes({ sessions, tickets }: LoginRouteParts): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/logout',
      who: 'user',
      summary: 'End this token',
      handle({ token }) {
        if (token !== undefined) sessions.end(token)
        return {}
      },
    }),
    route({
      method: 'GET',
      path: '/api/me',
      who: 'user',
      summary: 'Current user',
      handle: ({ caller }) => ({ username: caller?.name, role: caller?.role }),
    }),
    route({
      method: 'POST',
      path: '/api/ticket',
      who: 'user',
      summary: 'One-time ticket for a WebSocket or a download, where a browser cannot set the header',
      handle: ({ caller }) => caller && { ticket: tickets.issue(caller), expiresInMs: tickets.lifeMs },
    }),
  ]
}
