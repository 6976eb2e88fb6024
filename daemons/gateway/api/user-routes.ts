/** Routes of users, for administrators, and of everybody's own password. */

import { Type } from 'typebox'
import { roles } from '#kit/auth/roles.ts'
import { newPassword, userName } from '#kit/auth/user-name.ts'
import { Reply, type Route, route } from '#kit/http/route.ts'
import type { Recorder } from '#kit/recorder.ts'
import type { Sessions } from '../core/sessions.ts'
import type { UserBook, UserView } from '../core/user-book.ts'
import { userKey } from '../core/user-list.ts'
import { signInAnswer } from './answers.ts'

export interface UserRouteParts {
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
