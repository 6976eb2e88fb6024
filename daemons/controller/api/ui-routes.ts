/** Combines the routes and the socket of the pages. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '#kit/clock.ts'
import type { Route, TakeTicket } from '#kit/http/route.ts'
import { createTickets, type SocketRoute } from '#kit/http/sockets.ts'
import type { Log } from '#kit/log.ts'
import type { Origin } from '../core/access/accounts.ts'
import type { AuditBook } from '../core/audit.ts'
import type { LiveBook } from '../core/live/live-book.ts'
import type { FeedLimits } from '../core/live/zone-feed.ts'
import type { Book } from '../core/site/book.ts'
import type { UiAudit, UiControl, UiPending, UiPeople, UiRest, UiSetUp } from '../core/surfaces.ts'
import { uiAdminRoutes } from './ui-admin-routes.ts'
import { createUiGate } from './ui-gate.ts'
import { type UiSessionParts, uiSessionRoutes } from './ui-session-routes.ts'
import { createUiLive, type UiCaller, uiZoneRoutes } from './ui-zone-routes.ts'

/** Limits of the pages, from the `ui` table and `http`. */
interface UiLimits extends FeedLimits {
  socketsPerSession: number
  ticketLifeMs: number
  maxTickets: number
  /** How long an answer waits for its record to be on disk (config `audit.record_ms`). */
  recordMs: number
}

/** What the pages depend on. */
export interface UiParts {
  people: UiPeople
  setUp: UiSetUp
  control: UiControl
  audit: AuditBook & UiAudit
  rest: UiRest
  pending: UiPending
  book: Book
  live: LiveBook
  clock: Clock
  log: Log
  /** Pages are served over TLS: cookies are marked Secure. */
  isSecure: boolean
  originOf(ask: { remoteAddress: string; headers: IncomingHttpHeaders }): Origin
  limits: UiLimits
}

/** What the server gets. */
export interface Ui {
  routes: readonly Route[]
  sockets: readonly SocketRoute[]
  /**
   * `takeTicket` of the server: a ticket is worth no more than its session, and cannot exceed the limit on sockets. A
   * socket is judged by the origin that opens it, not by the one that asked for its ticket.
   */
  takeTicket: TakeTicket
  /**
   * Closes sockets of ended sessions at once, after an account was changed. Without this, the next beat would find
   * them.
   */
  closeEnded(): void
}

/** Combines everything over the ports; opens nothing and sets no timer before a page connects. */
export function createUi(parts: UiParts): Ui {
  const { people, clock, limits } = parts
  const tickets = createTickets<UiCaller>({ clock, lifeMs: limits.ticketLifeMs, max: limits.maxTickets })
  const live = createUiLive(parts)
  return {
    routes: uiRoutes({ ...parts, tickets, ended: live.closeEnded }),
    sockets: [live.route],
    takeTicket(ticket, knock) {
      const given = tickets.take(ticket)
      if (!given || !live.hasRoom(given.token)) return undefined
      const caller: UiCaller = { ...given, from: parts.originOf(knock) }
      return people.sessionOf(caller.token, caller.from) ? caller : undefined
    },
    closeEnded: live.closeEnded,
  }
}

/** All routes of the pages, behind one gate. */
export function uiRoutes(parts: UiParts & Pick<UiSessionParts, 'tickets' | 'ended'>): Route[] {
  const gate = createUiGate(parts)
  return [...uiSessionRoutes(gate, parts), ...uiZoneRoutes(gate, parts), ...uiAdminRoutes(gate, parts)]
}
