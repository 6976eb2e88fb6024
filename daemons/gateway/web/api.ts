/** What this gateway's API answers, as far as the pages read it, and the calls they make. */

import type { Role } from '#kit/auth/credentials.ts'
import type { DriverCounts, LineSettings } from '#kit/line/line.ts'
import { call } from '#kit/web/call.ts'
import type { PortEvent } from '../core/lines/ports.ts'

/** Answer of `GET /api/status`. */
export interface Status {
  product: string
  name: string
  version: string
  uptimeMs: number
  adminConfigured: boolean
}

/** Answer of `GET /api/me`. */
export interface Me {
  username: string
  role: Role
}

/** One line, found or set up. Instants are the gateway's epoch ms. */
export interface Port {
  path: string
  byId: string | null
  maker: string | null
  product: string | null
  serialNumber: string | null
  found: boolean
  configured: boolean
  state: 'closed' | 'opening' | 'open' | 'absent' | 'failed' | null
  stateSince: number | null
  fault: { code: string; message: string } | null
  nextTryAt: number | null
  enabled: boolean
  protocol: 'raw' | 'modbus-rtu' | null
  line: LineSettings | null
  settings: Record<string, unknown> | null
  revision: string | null
  counters: Counters | null
  /** Events `error` within the last hour. */
  errorsLastHour: number | null
  /** Units that were asked; null where the protocol knows none. */
  units: { total: number; well: number; slow: number; noisy: number; silent: number } | null
  unsupported: string[]
  webhooks: number
}

/** Counts of a port since it was set up; those of the protocol by name. */
export type Counters = { [name: string]: number } & { driver?: DriverCounts | null }

/** Answer of `GET /api/system`. */
export interface System {
  product: string
  version: string
  name: string
  hostname: string
  node: string
  os: string
  kernel: string
  arch: string
  uptimeMs: number
  systemUptimeMs: number
  startedAt: number
  epochMs: number
  timeZone: string
  memory: { rssBytes: number; totalBytes: number; freeBytes: number }
  load: [number, number, number]
  addresses: { name: string; address: string; family: string }[]
}

/** One webhook of a port. */
export interface Webhook {
  id: string | number
  url: string
  events: string[]
  headers: Record<string, string>
  enabled: boolean
  hasSecret: boolean
  counters: { delivered: number; failed: number; dropped: number; retried: number; queued: number }
  lastError: { at: number; message: string; status: number | null } | null
  lastDeliveredAt: number | null
  pausedUntil: number | null
}

/** Answer of a webhook's test. */
export interface Delivery {
  delivered: boolean
  status: number | null
  message: string
  tookMs: number
}

/** Answer of a Modbus request. */
export interface ModbusAnswer {
  unitId: number
  fc: number
  address: number
  quantity: number
  values?: (number | boolean)[] | null
}

/** What `PUT /api/ports/:path` takes. Numbers that were typed wrongly stay text: the API says what it expected. */
export interface PortBody {
  protocol: string
  line: Record<string, unknown>
  settings: Record<string, unknown>
}

/** What acts on a bus waits for the bus: a queue of requests, each with its timeouts. */
const BUS_ANSWER_MS = 60_000
/** Two tries of five seconds and the ways there and back. */
const TEST_ANSWER_MS = 15_000

/** Route of a port: the device percent-encoded. */
export function portRoute(path: string, rest = ''): `/${string}` {
  return `/api/ports/${encodeURIComponent(path)}${rest}`
}

function hook(path: string, id: string | number, rest = ''): `/${string}` {
  return portRoute(path, `/webhooks/${encodeURIComponent(String(id))}${rest}`)
}

/** Every call the pages make. */
export const api = {
  status: () => call<Status>('GET /api/status'),
  linesForSetup: () => call<{ lines: Port[] }>('GET /api/setup', undefined, { isSignIn: true }),
  setup: (body: { username: string; password: string; name?: string }) =>
    call<{ token: string }>('POST /api/setup', body, { isSignIn: true }),
  logout: () => call<object>('POST /api/logout'),
  me: () => call<Me>('GET /api/me'),
  system: () => call<System>('GET /api/system'),
  rename: (name: string) => call<System>('PATCH /api/system', { name }),
  ports: () => call<Port[]>('GET /api/ports'),
  setUpPort: (path: string, body: PortBody, ifMatch: string | undefined) =>
    call<Port>(`PUT ${portRoute(path)}`, body, { ifMatch }),
  removePort: (path: string) => call<void>(`DELETE ${portRoute(path)}`),
  switchPort: (path: string, act: 'open' | 'close') => call<Port>(`POST ${portRoute(path, `/${act}`)}`),
  transmit: (path: string, hex: string) =>
    call<{ sent: number }>(`POST ${portRoute(path, '/rest/tx')}`, { hex }, { answerMs: BUS_ANSWER_MS }),
  request: (path: string, body: object) =>
    call<ModbusAnswer>(`POST ${portRoute(path, '/rest/request')}`, body, { answerMs: BUS_ANSWER_MS }),
  frames: (path: string, limit: number) => call<PortEvent[]>(`GET ${portRoute(path, `/frames?limit=${limit}`)}`),
  webhooks: (path: string) => call<Webhook[]>(`GET ${portRoute(path, '/webhooks')}`),
  addWebhook: (path: string, body: object) => call<Webhook>(`POST ${portRoute(path, '/webhooks')}`, body),
  changeWebhook: (path: string, id: string | number, body: object) => call<Webhook>(`PUT ${hook(path, id)}`, body),
  removeWebhook: (path: string, id: string | number) => call<void>(`DELETE ${hook(path, id)}`),
  testWebhook: (path: string, id: string | number) =>
    call<Delivery>(`POST ${hook(path, id, '/test')}`, undefined, { answerMs: TEST_ANSWER_MS }),
}
