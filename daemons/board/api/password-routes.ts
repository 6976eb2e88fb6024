/** Routes of the password: set it, be told it, and a ticket where a browser cannot send it. */
import { Type } from 'typebox'
import { basicOf } from '#kit/auth/basic.ts'
import { newBasicPassword } from '#kit/auth/user-name.ts'
import type { Caller } from '#kit/http/route.ts'
import { type Route, route } from '#kit/http/route.ts'
import type { Recorder } from '#kit/recorder.ts'
import type { AdminPassword } from '../core/admin-password.ts'
import { ADMIN } from '../core/sign-in.ts'

export interface PasswordRouteParts {
  password: AdminPassword
  recorder: Recorder
  tickets: { issue(caller: Caller): string; lifeMs: number }
}

const passwordText = Type.String({
  ...newBasicPassword,
  minLength: 0,
  description: 'without control characters; empty removes the password',
})

export function passwordRoutes({ password, recorder, tickets }: PasswordRouteParts): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/password',
      who: 'admin',
      summary: 'Set the password of the user admin, or remove it',
      body: Type.Object({ password: passwordText }, { additionalProperties: false }),
      reply: Type.Object({ password_set: Type.Boolean() }),
      async handle(ask) {
        await password.change(ask.body.password)
        await recorder.changed(ask, password.isSet() ? 'password set' : 'password removed')
        return { password_set: password.isSet() }
      },
    }),
    route({
      method: 'GET',
      path: '/api/auth',
      who: 'admin',
      sameOriginOnly: true,
      summary: 'What this very request signed in with, for pages of this board alone',
      reply: Type.Object({
        username: Type.String(),
        password: Type.Union([Type.String(), Type.Null()]),
        authorization: Type.Union([Type.String(), Type.Null()], {
          description: 'the header, to be sent to other boards',
        }),
      }),
      handle({ caller, headers }) {
        const shown = caller?.name === ADMIN ? basicOf(headers.authorization) : undefined
        return {
          username: ADMIN,
          password: shown?.password ?? null,
          authorization: shown ? headers.authorization : null,
        }
      },
    }),
    route({
      method: 'POST',
      path: '/api/ticket',
      who: 'admin',
      summary: 'One-time ticket for a WebSocket or a download, where a browser cannot set the header',
      reply: Type.Object({ ticket: Type.String(), life_ms: Type.Integer() }),
      handle: ({ caller }) => caller && { ticket: tickets.issue(caller), life_ms: tickets.lifeMs },
    }),
  ]
}
