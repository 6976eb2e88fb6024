/** Combines the routes and the socket of the pages. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '#kit/clock.ts'
import type { Route } from '#kit/http/route.ts'
import { createTickets, type SocketRoute } from '#kit/http/sockets.ts'
import type { Log } from '#kit/log.ts'
import type { Journal } from '#kit/records/journal.ts'
import type { Ledger } from '#kit/records/ledger.ts'
import type { Origin } from '../core/access/accounts.ts'
import type { AuditBook } from '../core/audit.ts'
import type { UiDefinitions } from '../core/drivers/definitions.ts'
import type { Stills } from '../core/drivers/stills.ts'
import type { LiveBook } from '../core/live/live-book.ts'
import type { Book } from '../core/site/book.ts'
import type {
  UiAudit,
  UiAutomation,
  UiControl,
  UiFound,
  UiMacros,
  UiPending,
  UiPeople,
  UiRest,
  UiRooms,
  UiSetUp,
  UiTables,
  UiTraffic,
  UiUpdates,
} from '../core/surfaces.ts'
import { type SocketCaller, type SocketLimits, type SocketParts, socketRoute } from './socket.ts'
import { uiAdminRoutes } from './ui-admin-routes.ts'
import { type UiBackupParts, uiBackupRoutes } from './ui-backup-routes.ts'
import { uiDefinitionRoutes } from './ui-definition-routes.ts'
import { uiDeviceRoutes } from './ui-device-routes.ts'
import { createUiGate } from './ui-gate.ts'
import { uiMacroRoutes } from './ui-macro-routes.ts'
import { uiPlanRoutes } from './ui-plan-routes.ts'
import { type UiSessionParts, uiSessionRoutes } from './ui-session-routes.ts'
import { uiTableRoutes } from './ui-table-routes.ts'
import { uiUpdateRoutes, updateView } from './ui-update-routes.ts'
import { uiZoneRoutes } from './ui-zone-routes.ts'

/** Limits of the pages and their socket, from the tables `ui` and `socket`. */
interface UiLimits extends SocketLimits {
  ticketLifeMs: number
  maxTickets: number
  /** Of a backup that is sent. */
  backup: UiBackupParts['uploadBounds']
  planBytes: number
  planUploadMs: number
}

/** What the pages depend on. */
export interface UiParts {
  people: UiPeople
  setUp: UiSetUp
  control: UiControl
  audit: AuditBook & UiAudit
  /** What only the socket depends on. */
  socket: Pick<SocketParts, 'people' | 'answerData' | 'writes' | 'attributes' | 'sights'>
  rest: UiRest
  backups: UiBackupParts['backups']
  updates: UiUpdates
  pending: UiPending
  tables: UiTables
  macros: UiMacros
  traffic: UiTraffic
  definitions: UiDefinitions
  ledger: Ledger
  journal: Pick<Journal, 'record'>
  automation: UiAutomation
  found: UiFound
  rooms: UiRooms
  stills: Stills
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
   * Closes sockets of ended sessions at once, after an account was changed. Without this, the next beat would find
   * them.
   */
  closeEnded(): void
}

/** Combines everything over the ports; opens nothing and sets no timer before a page connects. */
export function createUi(parts: UiParts): Ui {
  const { clock, limits } = parts
  const tickets = createTickets<SocketCaller>({ clock, lifeMs: limits.ticketLifeMs, max: limits.maxTickets })
  const updates: SocketParts['updates'] = {
    onChange: (listener) => parts.updates.onChange((view) => listener(updateView(view))),
  }
  const socket = socketRoute({ ...parts, ...parts.socket, tickets, updates })
  return {
    routes: uiRoutes({ ...parts, tickets, ended: socket.closeEnded }),
    sockets: [socket],
    closeEnded: socket.closeEnded,
  }
}

/** All routes of the pages, behind one gate. */
export function uiRoutes(parts: UiParts & Pick<UiSessionParts, 'tickets' | 'ended'>): Route[] {
  const gate = createUiGate(parts)
  return [
    ...uiSessionRoutes(gate, parts),
    ...uiZoneRoutes(gate, parts),
    ...uiAdminRoutes(gate, parts),
    ...uiTableRoutes(gate, parts),
    ...uiMacroRoutes(gate, parts),
    ...uiDefinitionRoutes(gate, parts),
    ...uiDeviceRoutes(gate, parts),
    ...uiBackupRoutes(gate, { backups: parts.backups, uploadBounds: parts.limits.backup }),
    ...uiUpdateRoutes(gate, parts.updates),
    ...uiPlanRoutes(gate, parts),
  ]
}
