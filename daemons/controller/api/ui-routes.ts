/** The routes and the socket of the pages, put together. */
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

/** Bounds of the pages, from the `ui` table and `http`. */
interface UiLimits extends FeedLimits {
  socketsPerSession: number
  ticketLifeMs: number
  maxTickets: number
  /** How long an answer waits for its record to be on the disk (config `audit.record_ms`). */
  recordMs: number
}

/** What the pages stand on. */
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
  /** Pages come by TLS: cookies are marked so that they never go without. */
  isSecure: boolean
  originOf(ask: { remoteAddress: string; headers: IncomingHttpHeaders }): Origin
  limits: UiLimits
}

/** What the server is given. */
export interface Ui {
  routes: readonly Route[]
  sockets: readonly SocketRoute[]
  /**
   * `takeTicket` of the server: a ticket is worth no more than the session it was given to, and opens no socket too many.
   * The socket is judged by where it is opened from, not by where its ticket was asked for.
   */
  takeTicket: TakeTicket
  /** Closes sockets of sessions that are over, at once: after an account was changed. They are found out at the next beat anyway. */
  closeEnded(): void
}

/** Puts them together over the ports; nothing is opened or timed before a page comes. */
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

/** Every route of the pages, behind one gate. */
export function uiRoutes(parts: UiParts & Pick<UiSessionParts, 'tickets' | 'ended'>): Route[] {
  const gate = createUiGate(parts)
  return [...uiSessionRoutes(gate, parts), ...uiZoneRoutes(gate, parts), ...uiAdminRoutes(gate, parts)]
}
