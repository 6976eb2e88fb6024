/** Routes of people: setup, sign-in, users and their passwords. */
import { type TSchema, Type } from 'typebox'
import { newPassword, roles, userName } from '../auth/credentials.ts'
import { networkOf } from '../net/address.ts'
import { Fault } from '../pure/fault.ts'
import {
  type NamedRecord,
  type Sessions,
  type UserBook,
  type UserRecord,
  type Users,
  type UserView,
  userKey,
} from '../pure/users.ts'
import type { Recorder, Refusals, SignInRecorder } from '../records/records.ts'
import { type Ask, count, object, Reply, type Route, route, text } from './route.ts'

/** The reply to a sign-in, a setup and a changed password. */
const signInAnswer = object({ token: text, username: text, role: Type.Enum([...roles]), expiresInMs: count })

// Names that people give to things.

/** 1 to 64 characters, no control characters, no blank at either end. */
export const nameText = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[^\\s\\p{C}](?:[^\\p{C}]*[^\\s\\p{C}])?$',
  description: 'name on the plate, 1 to 64 characters, no blank at either end',
})

// Routes of setup and sign-in.

interface SignInRouteParts<User extends NamedRecord> {
  users: Users<User>
  /** Begins the session of a sign-in. @param status of its answer */
  begin(user: User, status: number, ask: Pick<Ask, 'headers'>): Reply
  /** What it answers. */
  reply: TSchema
  /** Names the daemon, if it has a name of its own. */
  rename?(name: string): Promise<void>
  /** Who may not make the first administrator. @throws Fault */
  checkSetup?(ask: Pick<Ask, 'remoteAddress'>): void
  recorder: Recorder & SignInRecorder
  refusals: Refusals
  /** What the journal says of a user beside the name. */
  factsOf?(user: User): object
}

/** Setup and sign-in, for a daemon with sessions of its own kind. */
export function signInRoutes<User extends NamedRecord>(parts: SignInRouteParts<User>): Route[] {
  return [setupRoute(parts), loginRoute(parts)]
}

interface LoginRouteParts extends Omit<SignInRouteParts<UserRecord>, 'begin' | 'reply'> {
  sessions: Sessions
  /** Ends at once every connection that was opened with an expired token. */
  endSignedOut(): void
}

export function loginRoutes(parts: LoginRouteParts): Route[] {
  const begin = (user: UserRecord, status: number) => new Reply(status, parts.sessions.begin(user))
  return [...signInRoutes({ ...parts, begin, reply: signInAnswer }), logoutRoute(parts)]
}

function setupRoute<User extends NamedRecord>(parts: SignInRouteParts<User>): Route {
  const { checkSetup, factsOf, recorder, rename, reply, users } = parts
  const own = { username: userName, password: newPassword }
  return route({
    method: 'POST',
    path: '/api/setup',
    who: 'anyone',
    status: 201,
    reply,
    ownHostOnly: true,
    directOnly: true,
    summary: 'Make the first administrator; works once',
    body: Type.Object(rename ? { ...own, name: Type.Optional(nameText) } : own, { additionalProperties: false }),
    async handle(ask) {
      checkSetup?.(ask)
      const user = await users.setUp(ask.body)
      const { name } = ask.body as { name?: string }
      if (name !== undefined) await rename?.(name)
      const asker = { remoteAddress: ask.remoteAddress, caller: { name: user.username } }
      await recorder.changed(asker, 'administrator made', user.username, factsOf?.(user))
      return parts.begin(user, 201, ask)
    },
  })
}

function loginRoute<User extends NamedRecord>(parts: SignInRouteParts<User>): Route {
  const { factsOf, recorder, refusals, reply, users } = parts
  return route({
    method: 'POST',
    path: '/api/login',
    who: 'anyone',
    reply,
    summary: 'Sign in; with exactly one user the name may be left out',
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
        const asker = { remoteAddress: from, caller: { name: user.username } }
        await recorder.signedIn(asker, 'signed in', undefined, factsOf?.(user))
        return parts.begin(user, 200, ask)
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

function logoutRoute({ sessions, endSignedOut }: LoginRouteParts): Route {
  return route({
    method: 'POST',
    path: '/api/logout',
    who: 'user',
    reply: object({}),
    summary: 'End this token',
    handle({ token }) {
      if (token !== undefined) sessions.end(token)
      endSignedOut()
      return {}
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
