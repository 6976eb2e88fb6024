/** Routes of the panel: its session, its password, the update key, and the audit. */
import { Type } from 'typebox'
import { newPassword } from '#kit/auth/credentials.ts'
import { dropPlanted, dropSession, keepSession } from '#kit/http/cookies.ts'
import { type Ask, instant, object, orNull, Reply, type Route, route, text } from '#kit/http/route.ts'
import { networkOf } from '#kit/net/address.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { UserBook, UserRecord, Users } from '#kit/pure/users.ts'
import type { Journal } from '#kit/records/journal.ts'
import type { Recorder, Refusals, SignInRecorder } from '#kit/records/records.ts'
import { type Callers, SESSION_COOKIE, SESSION_MS } from './callers.ts'

export interface PanelRouteParts {
  users: Pick<Users, 'signIn'>
  book: Pick<UserBook, 'changeOwn'>
  sessions: {
    /** @param before token of a session that ends with it */
    begin(user: UserRecord, before: string | undefined): Promise<{ token: string }>
    end(token: string): Promise<void>
  }
  callers: Callers
  recorder: Recorder & SignInRecorder
  refusals: Refusals
  journal: Pick<Journal, 'list'>
  updateKey: { source(): { from: 'settings' | 'panel' | 'none'; madeAt: number | null }; make(): Promise<string> }
  /** Limits and addresses as they are set. */
  settings(): Settings
  isSecure: boolean
  /** Ends at once what is open and may not go on. */
  endSignedOut(): void
}

interface Settings {
  upload_bytes: number
  artifact_bytes: number
  session_ms: number
  public_url: string
  halt_percent: number
  window: string
}

const signedIn = object({ csrf: Type.String({ description: 'what writes of the session carry in X-Csrf-Token' }) })
const typed = Type.String({ maxLength: 1024, writeOnly: true })

export function panelRoutes(parts: PanelRouteParts): Route[] {
  return [...sessionRoutes(parts), ...keyRoutes(parts), auditRoute(parts)]
}

function sessionRoutes(parts: PanelRouteParts): Route[] {
  const { callers, isSecure, recorder, refusals, sessions, users } = parts
  const cookie = { name: SESSION_COOKIE, isSecure }

  /** A session that the browser had before is over. */
  async function begin(user: UserRecord, { headers }: Pick<Ask, 'headers'>): Promise<Reply> {
    const { token } = await sessions.begin(user, callers.sessionOf(headers))
    const cookies = [...dropPlanted(cookie, headers.host), keepSession(cookie, token, SESSION_MS)]
    return new Reply(200, { csrf: callers.csrfOf(token) }, { 'set-cookie': cookies })
  }

  return [
    route({
      method: 'POST',
      path: '/admin/api/login',
      who: 'anyone',
      summary: 'Sign in to the panel; the session is a cookie, and lasts 24 hours',
      body: Type.Object({ password: typed }, { additionalProperties: false }),
      reply: signedIn,
      async handle(ask) {
        const { remoteAddress: from } = ask
        try {
          const user = await users.signIn({ ...ask.body, remoteAddress: from, signal: ask.signal })
          await recorder.signedIn({ remoteAddress: from, caller: { name: user.username } }, 'signed in')
          return await begin(user, ask)
        } catch (error) {
          if (error instanceof Fault && ['wrong_login', 'slow_down'].includes(error.code))
            refusals.add({
              ...{ group: networkOf(from), who: 'nobody', from, what: 'sign-in refused' },
              detail: { error: error.code },
            })
          throw error
        }
      },
    }),
    route({
      method: 'POST',
      path: '/admin/api/logout',
      who: 'admin',
      summary: 'End the session',
      reply: object({}),
      async handle({ headers }) {
        await sessions.end(callers.sessionOf(headers) ?? '')
        parts.endSignedOut()
        return new Reply(200, {}, { 'set-cookie': [dropSession(cookie)] })
      },
    }),
    passwordRoute(parts, begin),
    route({
      method: 'GET',
      path: '/admin/api/session',
      who: 'admin',
      summary: 'Whether the session goes on, and what its writes carry',
      reply: signedIn,
      handle: ({ headers }) => ({ csrf: callers.csrfOf(callers.sessionOf(headers) ?? '') }),
    }),
  ]
}

function passwordRoute(
  { book, recorder }: PanelRouteParts,
  begin: (user: UserRecord, ask: Pick<Ask, 'headers'>) => Promise<Reply>,
): Route {
  return route({
    method: 'POST',
    path: '/admin/api/password',
    who: 'admin',
    summary: 'Change the password; ends every session and begins a new one',
    body: Type.Object({ current: typed, next: newPassword }, { additionalProperties: false }),
    reply: signedIn,
    async handle(ask) {
      const { caller, remoteAddress, signal } = ask
      const { current, next: password } = ask.body
      const user = await book.changeOwn({
        ...{ username: caller?.name ?? '', current, password, remoteAddress, signal },
      })
      await recorder.changed(ask, 'password changed')
      return await begin(user, ask)
    },
  })
}

function keyRoutes({ recorder, settings, updateKey }: PanelRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/admin/api/settings',
      who: 'admin',
      summary: 'Where the update key comes from, and limits as they are set',
      reply: object({
        update_key: object({ from: Type.Enum(['settings', 'panel', 'none']), made_at: orNull(instant) }),
        ...{ upload_bytes: Type.Integer(), artifact_bytes: Type.Integer(), session_ms: Type.Integer() },
        ...{ public_url: text, halt_percent: Type.Integer(), window: text },
      }),
      handle() {
        const { from, madeAt } = updateKey.source()
        return { update_key: { from, made_at: madeAt }, ...settings() }
      },
    }),
    route({
      method: 'POST',
      path: '/admin/api/update-key',
      who: 'admin',
      summary: 'Make a new update key, shown this once; the one before ends',
      reply: object({ update_key: text }),
      async handle(ask) {
        const update_key = await updateKey.make()
        await recorder.changed(ask, 'update key made')
        return { update_key }
      },
    }),
  ]
}

const part = Type.String({ minLength: 1, maxLength: 128 })

function auditRoute({ journal }: PanelRouteParts): Route {
  return route({
    method: 'GET',
    path: '/admin/api/audit',
    who: 'admin',
    summary: 'Who did what, every publish included, newest first',
    query: Type.Object(
      {
        limit: Type.Integer({ default: 100, minimum: 1, maximum: 1000 }),
        before: Type.Optional(Type.Integer({ minimum: 1, description: 'only entries with a smaller seq' })),
        ...{ who: Type.Optional(part), what: Type.Optional(part) },
      },
      { additionalProperties: false },
    ),
    reply: object({ entries: Type.Array(Type.Object({ seq: Type.Integer(), at: instant, who: text, what: text })) }),
    handle: (ask) => ({ entries: journal.list(ask.query) }),
  })
}
