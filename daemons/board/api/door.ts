/** What stands at the board's door: who may in, with what, and for pages of whom. */
import type { SignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import type { Clock } from '#kit/clock.ts'
import type { HttpConfig } from '#kit/config/common.ts'
import type { LoginConfig } from '#kit/config/login-keys.ts'
import { formDialect } from '#kit/http/dialect.ts'
import type { Route } from '#kit/http/route.ts'
import type { HttpServerOptions } from '#kit/http/server.ts'
import { createTickets } from '#kit/http/tickets.ts'
import type { Records } from '#kit/records.ts'
import type { AdminPassword } from '../core/admin-password.ts'
import type { HttpKeys } from '../core/http-keys.ts'
import { ADMIN } from '../core/sign-in.ts'
import { createGate } from './gate.ts'
import { createPageRule, type PageRuleParts } from './page-rule.ts'
import { passwordRoutes } from './password-routes.ts'

export interface DoorParts extends Omit<PageRuleParts, 'hosts'> {
  clock: Clock
  http: HttpConfig & HttpKeys & LoginConfig
  password: AdminPassword
  limiter: SignInLimiter
  records: Records
  /** What a browser shows when it asks for the password. */
  realm(): string
}

export interface Door {
  /** What the server needs of it. */
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
