/** Routes that begin and end a session of the pages: the first account, sign-in, handoff, sign-out. */
import { Type } from 'typebox'
import { newPassword, userName } from '#kit/auth/credentials.ts'
import { createReader } from '#kit/http/check.ts'
import { cookieOf, dropEverywhere, dropPlanted, dropSession, keepSession } from '#kit/http/cookies.ts'
import type { Route } from '#kit/http/route.ts'
import type { Tickets } from '#kit/http/sockets.ts'
import { Fault } from '#kit/pure/fault.ts'
import { personView, siteView } from '../core/access/accounts.ts'
import { UNNAMED_SITE } from '../core/access/people.ts'
import type { Outcome } from '../core/audit.ts'
import type { Book } from '../core/site/book.ts'
import type { UiPeople, UiSetUp } from '../core/surfaces.ts'
import { doneAnswer, handoffAnswer, personAnswer, signInAnswer, siteAnswer, ticketAnswer } from './answers.ts'
import { readPassword } from './password-form.ts'
import type { SocketCaller } from './socket.ts'
import {
  granted,
  HANDOFF_COOKIE,
  SESSION_COOKIE,
  type SignedAsk,
  tokenOf,
  type UiAnswer,
  type UiAsk,
  type UiGate,
} from './ui-gate.ts'

// The first account, on a controller that nobody could sign in to.

/** What it depends on. */
interface UiSetUpParts {
  setUp: UiSetUp
  /** Signs in the newly created user, as POST /ui/sign-in does. */
  signIn(ask: UiAsk, credentials: { username: string; password: string }): Promise<UiAnswer>
}

const readForm = createReader(
  Type.Object(
    {
      username: userName,
      password: newPassword,
      site: Type.String({
        minLength: 1,
        maxLength: 100,
        default: UNNAMED_SITE,
        description: 'where no site is named yet',
      }),
      time_zone: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9+_/-]{1,64}$', description: 'IANA name' })),
    },
    { additionalProperties: false },
  ),
)

/**
 * Works once, only from inside the building, and only under a name or address of this machine, so that a page from
 * elsewhere cannot use it. An origin that cannot be told counts as outside: behind an unknown proxy there may be the
 * whole world.
 */
function uiSetUpRoute(gate: UiGate, { setUp, signIn }: UiSetUpParts): Route {
  return gate.open({
    method: 'POST',
    path: '/ui/setup',
    body: readForm,
    reply: signInAnswer,
    isRecordedFirst: true,
    ownHostOnly: true,
    summary: 'Makes the first account, an administrator; works once, from the building alone',
    async handle(ask) {
      if (setUp.isLost())
        throw new Fault(
          'not_first_start',
          'This controller had accounts and has lost them. Put a backup back, or make an administrator with plantroom password controller.',
        )
      if (!setUp.isNeeded())
        throw new Fault('already_set_up', 'This controller has its accounts already. Sign in instead.')
      if (!ask.from.isLocal)
        throw new Fault(
          'setup_remote',
          'The first account is made from the network of the building, not from elsewhere.',
        )
      const { username, password, site, time_zone: timeZone = null } = readForm(ask.body)
      await setUp.begin({ username, password, siteName: site.trim() || UNNAMED_SITE, timeZone })
      return signIn(ask, { username, password })
    },
  })
}

/** The body of a sign-in on the page: a wall panel sends a PIN in place of the password. */
const pageCredentials = Type.Object({
  username: Type.String(),
  password: Type.Optional(Type.String()),
  pin: Type.Optional(Type.String({ description: 'of a wall panel, in place of the password; in the building alone' })),
  two_factor_token: Type.Optional(Type.Unknown({ description: 'the code that was mailed, a text' })),
})

// Signing in and out, by password or by the nonce of another system, and the identity of the user.

/** What these routes depend on. */
export interface UiSessionParts {
  people: UiPeople
  setUp: UiSetUp
  book: Book
  tickets: Tickets<SocketCaller>
  /** Pages are served over TLS, so cookies are marked Secure. */
  isSecure: boolean
  /** Closes at once what an ended session has open. */
  ended(): void
}

/** Routes that begin and end a session. @source document 1, POST /api/token and Handoff nonce */
export function uiSessionRoutes(gate: UiGate, parts: UiSessionParts): Route[] {
  const { people, setUp, book, isSecure, ended } = parts
  return [
    gate.open({
      method: 'POST',
      path: '/ui/sign-in',
      body: { schema: pageCredentials },
      reply: signInAnswer,
      isRecordedFirst: true,
      summary: 'Signs a person in by the rules of POST /api/token; the session goes into a cookie',
      handle: async (ask) => begin(parts, ask, await people.signIn(ask.body, ask.from, ask.signal)),
    }),
    uiSetUpRoute(gate, {
      setUp,
      signIn: async (ask, credentials) => begin(parts, ask, await people.signIn(credentials, ask.from)),
    }),
    gate.open({
      method: 'POST',
      path: '/ui/handoff',
      reply: handoffAnswer,
      isRecordedFirst: (headers) => cookieOf(headers, HANDOFF_COOKIE) !== undefined,
      summary: 'Signs a person in by the nonce in the cookie svc_handoff, which is cleared',
      handle: (ask) => redeem(parts, ask),
    }),
    gate.open({
      method: 'POST',
      path: '/ui/sign-out',
      reply: doneAnswer,
      summary: 'Ends the session of the cookie',
      handle(ask) {
        const session = ask.token === undefined ? undefined : people.sessionOf(ask.token, ask.from)
        if (session) ask.calledBy(session)
        if (ask.token !== undefined) people.signOut(ask.token)
        ended()
        return { ...granted({ success: true }), cookies: [dropSession({ name: SESSION_COOKIE, isSecure })] }
      },
    }),
    gate.open({
      method: 'GET',
      path: '/ui/site',
      reply: siteAnswer,
      summary:
        'What the name plate says, who is signed in, and whether the first account is to be made: what a page asks first',
      handle(ask) {
        const session = ask.token === undefined ? undefined : people.sessionOf(ask.token, ask.from)
        if (session) ask.calledBy(session)
        const me = session ? personView(book, session) : null
        return granted({ ...siteView(book), me, ...(setUp.isNeeded() ? { setup: true } : {}) })
      },
    }),
    ...ownRoutes(gate, parts),
  ]
}

/** What a signed-in person asks about himself. */
function ownRoutes(gate: UiGate, parts: UiSessionParts): Route[] {
  const { book, tickets } = parts
  return [
    gate.signed({
      method: 'GET',
      path: '/ui/me',
      isForOldPassword: true,
      reply: personAnswer,
      summary: 'Who is signed in',
      handle: ({ session }) => granted(personView(book, session)),
    }),
    gate.signed({
      method: 'POST',
      path: '/ui/password',
      body: readPassword,
      isForOldPassword: true,
      isRecordedFirst: true,
      reply: doneAnswer,
      summary: 'Changes the own password; all other sessions of this person end',
      handle: (ask) => changePassword(parts, ask),
    }),
    gate.signed({
      method: 'POST',
      path: '/ui/ticket',
      reply: ticketAnswer,
      summary: 'A one-time ticket for the WebSocket /ws',
      handle({ session, token, from }) {
        const caller: SocketCaller = { name: session.username, role: 'viewer', token, from }
        return granted({ ticket: tickets.issue(caller) })
      },
    }),
  ]
}

/** The new session takes the place of the present one; whatever the old password began is closed at once. */
async function changePassword(
  { people, isSecure, ended }: UiSessionParts,
  { session, body, from, signal }: SignedAsk,
): Promise<UiAnswer> {
  const outcome = await people.changePassword(session, readPassword(body), from, signal)
  if (outcome.reason !== null) return { outcome }
  const { token, expires } = tokenOf(outcome)
  ended()
  return {
    outcome: { ...outcome, body: { json: { success: true } } },
    cookies: [keepSession({ name: SESSION_COOKIE, isSecure }, token, expires)],
  }
}

async function redeem(parts: UiSessionParts, ask: UiAsk): Promise<UiAnswer> {
  const cleared = dropEverywhere(HANDOFF_COOKIE, ask.headers.host)
  const nonce = cookieOf(ask.headers, HANDOFF_COOKIE)
  // Every page without a session asks this: that there is no handoff is not a refusal.
  if (nonce === undefined) return { ...granted({ signed_in: false }), cookies: cleared }
  const answer = begin(parts, ask, await parts.people.redeem(nonce, ask.from))
  return { ...answer, cookies: [...(answer.cookies ?? []), ...cleared] }
}

/** The token is put only into the cookie; a previous session of the page is ended. */
function begin({ people, book, isSecure }: UiSessionParts, ask: UiAsk, outcome: Outcome): UiAnswer {
  if (outcome.reason !== null) return { outcome }
  const { token, expires } = tokenOf(outcome)
  const session = people.sessionOf(token, ask.from)
  if (!session) return { outcome: OVER }
  ask.calledBy(session)
  if (ask.token !== undefined && ask.token !== token) people.signOut(ask.token)
  const body = { json: { signed_in: true, ...personView(book, session) } }
  const cookie = { name: SESSION_COOKIE, isSecure }
  const cookies = [...dropPlanted(cookie, ask.headers.host), keepSession(cookie, token, expires)]
  return { outcome: { ...outcome, body }, cookies }
}

/** An account may end at the moment of its sign-in. */
const OVER: Outcome = {
  status: 401,
  body: { json: { error: 'not_signed_in', message: 'The session that was just begun is over. Sign in again.' } },
  reason: 'invalid_session',
}
