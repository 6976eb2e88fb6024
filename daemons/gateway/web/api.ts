/** What this gateway's API answers, as far as the pages read it, and the calls they make. */
import type { Role } from '#kit/auth/credentials.ts'
import type { DriverCounts, LineSettings } from '#kit/line/line.ts'
import { call } from '#kit/web/call.ts'
import type { UnitView } from '../core/bus/units.ts'
import type { PortEvent } from '../core/lines/ports.ts'
import type { ModbusScanJob } from '../core/modbus/master.ts'
import type { RegisterView } from '../core/modbus/slave-registers.ts'
import type { KeyView } from '../core/people/keys.ts'
import type { UserView } from '../core/people/users.ts'
import type { PointList } from '../core/points/book.ts'
import type { PointTemplate } from '../core/points/definition.ts'
import type { PointView } from '../core/points/values.ts'

// Users and API keys: the calls.

/** One who may sign in. */
export interface User extends UserView {
  isYou: boolean
}

/** What makes a key. */
export interface KeyBody {
  name: string
  role: string
  ports?: string[]
  expiresAt?: number
}

function user(name: string): `/${string}` {
  return `/api/users/${encodeURIComponent(name)}`
}

/** The calls. */
export const usersApi = {
  users: () => call<User[]>('GET /api/users'),
  addUser: (body: object) => call<User>('POST /api/users', body),
  changeUser: (name: string, body: object) => call<User>(`PATCH ${user(name)}`, body),
  removeUser: (name: string) => call<void>(`DELETE ${user(name)}`),
  /** Ends every sign-in of this user; the answer is a new one. */
  changePassword: (body: { current: string; password: string }) =>
    call<{ token: string }>('POST /api/me/password', body),
  keys: () => call<KeyView[]>('GET /api/keys'),
  addKey: (body: KeyBody) => call<KeyView & { key: string }>('POST /api/keys', body),
  removeKey: (id: string) => call<void>(`DELETE /api/keys/${encodeURIComponent(id)}`),
}

// Units, the scan for units, and registers of a Modbus line: the calls.

/** Which registers are meant, as typed. */
interface RegisterRange {
  unitId: number | string
  table: string
  address: number | string
  quantity: number | string
}

function query(facts: object): string {
  const words = Object.entries(facts).map(([name, value]) => [name, String(value)])
  return new URLSearchParams(words as [string, string][]).toString()
}

/** The calls. */
export const busApi = {
  units: (path: string) => call<UnitView[]>(`GET ${portRoute(path, '/units')}`),
  forgetUnit: (path: string, unitId: number) => call(`DELETE ${portRoute(path, `/units/${unitId}`)}`),
  scan: (path: string) => call<ModbusScanJob>(`GET ${portRoute(path, '/rest/scan')}`),
  startScan: (path: string, body: object) => call<ModbusScanJob>(`POST ${portRoute(path, '/rest/scan')}`, body),
  cancelScan: (path: string) => call<ModbusScanJob>(`DELETE ${portRoute(path, '/rest/scan')}`),
  registers: (path: string, range: RegisterRange) =>
    call<RegisterView>(`GET ${portRoute(path, `/registers?${query(range)}`)}`),
  writeRegisters: (path: string, body: object) => call<RegisterView>(`PUT ${portRoute(path, '/registers')}`, body),
}

// Points and templates: the calls.

function point(path: string, name: string): `/${string}` {
  return portRoute(path, `/points/${encodeURIComponent(name)}`)
}

/** The calls. */
export const pointsApi = {
  points: (path: string) => call<PointList>(`GET ${portRoute(path, '/points')}`),
  /** `at`: its place in the list, from 0; the last where that is left out. */
  insert: (path: string, { name, ...rest }: { name: string }, at?: number) =>
    call<PointView>(`POST ${point(path, name)}${at === undefined ? '' : `?at=${at}`}`, rest),
  addTemplate: (path: string, body: object) => call<PointList>(`POST ${portRoute(path, '/points')}`, body),
  change: (path: string, name: string, body: object, ifMatch: string | undefined) =>
    call<PointView>(`PATCH ${point(path, name)}`, body, { ifMatch }),
  remove: (path: string, name: string) => call<void>(`DELETE ${point(path, name)}`),
  templates: () => call<PointTemplate[]>('GET /api/templates/modbus'),
}

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
interface Delivery {
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
