/** Access to the board: which callers may enter, with which credentials, and which pages may call. */
import { createHmac, randomBytes } from 'node:crypto'
import { Type } from 'typebox'
import { newBasicPassword, readBasic } from '#kit/auth/credentials.ts'
import { verifyPassword } from '#kit/auth/password.ts'
import type { SignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import type { Clock } from '#kit/clock.ts'
import type { HttpConfig, LoginConfig } from '#kit/config/tables.ts'
import type { BrowserRule } from '#kit/http/browser-rule.ts'
import { formDialect } from '#kit/http/dialect.ts'
import { type Caller, type Knock, type Route, route } from '#kit/http/route.ts'
import type { HttpServerOptions } from '#kit/http/server.ts'
import { createTickets } from '#kit/http/sockets.ts'
import { isHostAmong, networkOf, parseOrigin } from '#kit/net/address.ts'
import { hasProxySign } from '#kit/pure/proxy-signs.ts'
import type { Recorder, Records } from '#kit/records/records.ts'
import { ADMIN, type AdminPassword, createBoardSignIn, type From, type HttpKeys, type Signed } from '../core/sign-in.ts'

// Pages that may call: the board's own, under each of its names, and those of boards it has found.

interface PageRuleParts {
  /** The board's host names without a domain, such as `lobby`. Called for each request, as settings change them. */
  hostnames(): readonly string[]
  /** Further host names of the board; key `http.hosts`. */
  hosts: readonly string[]
  /** Its addresses, as seen by other machines. */
  addresses(): readonly string[]
  /** TCP port it listens on. */
  port(): number
  /** Whether a found board serves its pages there: `http://10.0.0.7:8080`. */
  isFoundOrigin(origin: string): boolean
}

/** @source Interface 2, B, Authentication 2 */
export function createPageRule(parts: PageRuleParts): BrowserRule {
  const names = () => [...parts.hostnames().flatMap((name) => [name, `${name}.local`]), ...parts.hosts]

  /** The matrix may be open under the address and call `lobby.local`, which is this very board. */
  function isOwnName(origin: string): boolean {
    const from = parseOrigin(origin)
    if (from?.port !== parts.port()) return false
    const host = from.host.replace(/^\[|\]$/g, '').replace(/\.$/, '')
    return [...names(), ...parts.addresses()].some((one) => one.toLowerCase() === host)
  }

  return {
    takesHost: (host) => isHostAmong(host, names),
    takesOrigin: (origin) => isOwnName(origin) || parts.isFoundOrigin(origin),
  }
}

// Identifies callers: by the credentials of a request or a ticket, and whether they are still valid.

interface GateParts {
  password: AdminPassword
  limiter: SignInLimiter
  /** Number of networks remembered as having signed in; key `http.login_table`. */
  table: number
  records: Pick<Records, 'recorder' | 'refusals'>
  /** `take` of the ticket store. */
  takeTicket(ticket: string): Caller | undefined
}

/** What the server asks about callers. */
interface Gate {
  identify(knock: Knock): Promise<Caller | undefined>
  takeTicket(ticket: string): Caller | undefined
  isStillSignedIn(caller: Caller): boolean
}

function createGate(parts: GateParts): Gate {
  const { limiter, password, records, table } = parts
  const key = randomBytes(32)
  const signIn = createBoardSignIn({
    password,
    verify: verifyPassword,
    // The same letters typed on another keyboard may be composed differently, as in kit/auth/password.ts.
    digest: (text) => createHmac('sha256', key).update(text.normalize('NFC')).digest('base64url'),
    limiter,
    table,
    onSignedIn({ address }: From) {
      void records.recorder.signedIn({ caller: { name: ADMIN }, remoteAddress: address }, 'signed in')
    },
    onRefused({ address: from, network }: From) {
      const detail = { error: 'unauthorized' }
      records.refusals.add({ group: network, who: 'nobody', from, what: 'sign-in refused', detail })
    },
  })
  const isStillSignedIn = (caller: Caller) => signIn.isStillSignedIn(caller as Signed)

  return {
    async identify({ authorization, remoteAddress, headers, signal }) {
      // While there is no password, everybody who reaches the board is administrator; but a caller behind a proxy could
      // be anyone.
      if (!password.isSet() && hasProxySign(headers)) return undefined
      const from = { address: remoteAddress, network: networkOf(remoteAddress), signal }
      return signIn.callerOf(readBasic(authorization), from)
    },
    // A ticket is worth no more than the sign-in it was issued to, and expires with it.
    takeTicket(ticket) {
      const caller = parts.takeTicket(ticket)
      return caller && isStillSignedIn(caller) ? caller : undefined
    },
    isStillSignedIn,
  }
}

// Routes of the password: set it, read it back, and get a ticket where a browser cannot send it.

interface PasswordRouteParts {
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
        const shown = caller?.name === ADMIN ? readBasic(headers.authorization) : undefined
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

// The door.

interface DoorParts extends Omit<PageRuleParts, 'hosts'> {
  clock: Clock
  http: HttpConfig & HttpKeys & LoginConfig
  password: AdminPassword
  limiter: SignInLimiter
  records: Records
  /** Shown by a browser when it asks for the password. */
  realm(): string
}

interface Door {
  /** Options for the server. */
  options: Pick<HttpServerOptions, 'identify' | 'takeTicket' | 'isStillSignedIn' | 'dialect' | 'browsers'>
  routes: Route[]
}

export function createDoor(parts: DoorParts): Door {
  const { clock, http, limiter, password, records } = parts
  const lifeMs = http.ticket_life_ms
  const tickets = createTickets({ clock, lifeMs, max: http.max_tickets })
  const takeTicket = tickets.take
  return {
    options: {
      ...createGate({ password, limiter, table: http.login_table, records, takeTicket }),
      dialect: formDialect({ user: ADMIN, realm: parts.realm, maxFields: http.form_fields }),
      browsers: createPageRule({ ...parts, hosts: http.hosts }),
    },
    routes: passwordRoutes({
      password,
      recorder: records.recorder,
      tickets: { issue: (caller) => tickets.issue(caller), lifeMs },
    }),
  }
}
