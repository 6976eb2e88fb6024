/** The gateway's API as the pages use it: its replies, and the calls. */
import type { Role } from '#kit/auth/credentials.ts'
import type { DriverCounts, LineSettings } from '#kit/line/line.ts'
import type { OutletView } from '#kit/pure/mqtt-outlet.ts'
import type { UserView } from '#kit/pure/users.ts'
import { call } from '#kit/web/call.ts'
import type { UnitView } from '../core/bus/units.ts'
import type { OutstationFace } from '../core/dnp3/dnp3.ts'
import type { EquipmentFace } from '../core/equipment/equipment.ts'
import type { PointBucket } from '../core/history/buckets.ts'
import type { HuntJob } from '../core/hunt/run.ts'
import type { PortEvent } from '../core/lines/ports.ts'
import type { MbusScanJob } from '../core/mbus/scan.ts'
import type { UnitIdentity } from '../core/modbus/identify.ts'
import type { ModbusScanJob, TestRead } from '../core/modbus/master.ts'
import type { RegisterView } from '../core/modbus/slave-registers.ts'
import type { RingFace } from '../core/mstp/mstp.ts'
import type { KeyView } from '../core/people/keys.ts'
import type { PointList } from '../core/points/book.ts'
import type { PointTemplate } from '../core/points/definition.ts'
import type { PointView } from '../core/points/values.ts'
import type { protocols } from '../core/protocols.ts'

// Calls about users and API keys.

/** A user who may sign in. */
export interface User extends UserView {
  isYou: boolean
}

/** The body that makes a key. */
export interface KeyBody {
  name: string
  role: string
  ports?: string[]
  expiresAt?: number
}

function user(name: string): `/${string}` {
  return `/api/users/${encodeURIComponent(name)}`
}

/** Calls about users, keys and passwords. */
export const usersApi = {
  users: () => call<User[]>('GET /api/users'),
  addUser: (body: object) => call<User>('POST /api/users', body),
  changeUser: (name: string, body: object) => call<User>(`PATCH ${user(name)}`, body),
  removeUser: (name: string) => call<void>(`DELETE ${user(name)}`),
  /** Ends every sign-in of this user and returns a new token. */
  changePassword: (body: { current: string; password: string }) =>
    call<{ token: string }>('POST /api/me/password', body),
  keys: () => call<KeyView[]>('GET /api/keys'),
  addKey: (body: KeyBody) => call<KeyView & { key: string }>('POST /api/keys', body),
  removeKey: (id: string) => call<void>(`DELETE /api/keys/${encodeURIComponent(id)}`),
}

// Calls about what an MQTT broker is told.

/** Reply of `GET /api/mqtt`. */
export interface Mqtt extends Omit<OutletView, 'state' | 'since'> {
  state: OutletView['state'] | 'off'
  broker: string | null
  isEncrypted: boolean
  prefix: string | null
  since: number | null
}

/** A broker has 10 s for its answer by default, and at most ten minutes. */
const BROKER_ANSWER_MS = 60_000

export const mqttApi = {
  state: () => call<Mqtt>('GET /api/mqtt'),
  test: () => call<{ topic: string; tookMs: number }>('POST /api/mqtt/test', undefined, { answerMs: BROKER_ANSWER_MS }),
}

// Calls about units, the scan for units, and the registers of a Modbus line.

/** A range of registers, as typed. */
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

/** A scan of a Modbus line, or of an M-Bus line. */
export type ScanJob = ModbusScanJob | MbusScanJob

/** Calls about units, scans and registers. */
export const busApi = {
  units: (path: string) => call<UnitView[]>(`GET ${portRoute(path, '/units')}`),
  forgetUnit: (path: string, unitId: number) => call(`DELETE ${portRoute(path, `/units/${unitId}`)}`),
  scan: (path: string) => call<ScanJob>(`GET ${portRoute(path, '/rest/scan')}`),
  startScan: (path: string, body: object) => call<ScanJob>(`POST ${portRoute(path, '/rest/scan')}`, body),
  cancelScan: (path: string) => call<ScanJob>(`DELETE ${portRoute(path, '/rest/scan')}`),
  identify: (path: string, unitId: number) =>
    call<UnitIdentity>(`POST ${portRoute(path, '/rest/identify')}`, { unitId }, { answerMs: BUS_ANSWER_MS }),
  testRead: (path: string, body: object) =>
    call<TestRead>(`POST ${portRoute(path, '/rest/test-read')}`, body, { answerMs: BUS_ANSWER_MS }),
  registers: (path: string, range: RegisterRange) =>
    call<RegisterView>(`GET ${portRoute(path, `/registers?${query(range)}`)}`),
  writeRegisters: (path: string, body: object) => call<RegisterView>(`PUT ${portRoute(path, '/registers')}`, body),
}

/** Calls about a hunt for the settings of a line. */
export const huntApi = {
  job: (path: string) => call<HuntJob>(`GET ${portRoute(path, '/hunt')}`),
  start: (path: string, body: object) => call<HuntJob>(`POST ${portRoute(path, '/hunt')}`, body),
  cancel: (path: string) => call<HuntJob>(`DELETE ${portRoute(path, '/hunt')}`),
}

// Calls about points and templates.

function point(path: string, name: string): `/${string}` {
  return portRoute(path, `/points/${encodeURIComponent(name)}`)
}

/** What a point did, as `GET .../points/:name/history` answers. Instants are epoch ms. */
export interface PointHistory {
  name: string
  unit: string | null
  decimals: number | null
  from: number
  to: number
  stepMs: number
  buckets: PointBucket[]
}

/** Calls about the points of a line, and about templates. */
export const pointsApi = {
  points: (path: string) => call<PointList>(`GET ${portRoute(path, '/points')}`),
  /** `at`: the index in the list, from 0; the end if left out. */
  insert: (path: string, { name, ...rest }: { name: string }, at?: number) =>
    call<PointView>(`POST ${point(path, name)}${at === undefined ? '' : `?at=${at}`}`, rest),
  addTemplate: (path: string, body: object) => call<PointList>(`POST ${portRoute(path, '/points')}`, body),
  change: (path: string, name: string, body: object, ifMatch: string | undefined) =>
    call<PointView>(`PATCH ${point(path, name)}`, body, { ifMatch }),
  remove: (path: string, name: string) => call<void>(`DELETE ${point(path, name)}`),
  history: (path: string, name: string, range: { from: number; to: number }) =>
    call<PointHistory>(`GET ${point(path, name)}/history?${query(range)}` as `GET /${string}`),
  templates: () => call<PointTemplate[]>('GET /api/templates/modbus'),
}

/** Reply to `GET /api/status`. */
export interface Status {
  product: string
  name: string
  version: string
  uptimeMs: number
  adminConfigured: boolean
}

/** Reply to `GET /api/me`. */
export interface Me {
  username: string
  role: Role
}

/** The protocols to choose from. */
export type ProtocolName = (typeof protocols)[number]

/** One line, found or set up. Instants are epoch ms by the gateway's clock. */
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
  protocol: ProtocolName | null
  line: LineSettings | null
  settings: Record<string, unknown> | null
  revision: string | null
  counters: Counters | null
  /** How many `error` events there were within the last hour. */
  errorsLastHour: number | null
  /** Counts of units: all that were asked, and by state; null if the protocol has no units. */
  units: { total: number; well: number; slow: number; noisy: number; silent: number } | null
  unsupported: string[]
  webhooks: number
}

/** Counts of a port since it was set up, by name; `driver` are those of the driver. */
export type Counters = { [name: string]: number } & { driver?: DriverCounts | null }

/** Reply to `GET /api/system`. */
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
  temperatures: { name: string; celsius: number }[]
  tls: {
    isOn: boolean
    /** Null without TLS, until the root is downloaded. */
    rootFingerprint: string | null
    rootEndsAt: number | null
    leaf: { names: string[]; addresses: string[]; endsAt: number } | null
    outside: string[]
  }
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

/** Reply to the test of a webhook. */
interface Delivery {
  delivered: boolean
  status: number | null
  message: string
  tookMs: number
}

/** Reply to a Modbus request. */
export interface ModbusAnswer {
  unitId: number
  fc: number
  address: number
  quantity: number
  values?: (number | boolean)[] | null
}

/** Reply to the read of a meter. */
export interface MeterReading {
  unitId: number
  meter: { id: string; manufacturer: string | null; medium: { name: string } } | null
  status: string[]
  isComplete: boolean
  problem: string | null
  records: {
    record: string
    value: number | string | null
    unit: string | null
    problem: string | null
    function: string
    storage: number
  }[]
}

/** Reply to a frame that was sent on an MS/TP line. */
export interface MstpAnswer {
  sent: number
  reply: {
    frameType: string
    source: number
    dataHex: string
    bacnet: { pdu?: string; service?: string } | null
  } | null
  tookMs: number | null
  postponed: boolean
}

/** A DNP3 outstation, and points of one kind. */
export type Outstation = ReturnType<OutstationFace['view']> & {
  kind: SetPointAnswer['kind']
  shown: Omit<SetPointAnswer, 'isEvent'>[]
}

/** A point as it is set. */
export type SetPointAnswer = ReturnType<OutstationFace['points']>[number] & { isEvent: boolean }

/** The device on a line, by its definition. */
export interface Equipment {
  title: string
  zone: string | null
  values: EquipmentValue[]
  commands: {
    name: string
    title: string | null
    args: {
      name: string
      title: string | null
      expected: string
      choices: string[] | null
      value: string | number | boolean | null
    }[]
  }[]
}

/** A value of a device, as it shows. */
export type EquipmentValue = ReturnType<EquipmentFace['view']>['values'][number]

/** Reply to a command of a device. */
export interface EquipmentAnswer {
  command: string
  values: Record<string, string | number | boolean | null>
}

/** Body of `PUT /api/ports/:path`. Mistyped numbers stay text, so that the API names what it expects. */
export interface PortBody {
  protocol: string
  line: Record<string, unknown>
  settings: Record<string, unknown>
}

/** A request to a bus takes its time: it is queued behind others, each with its timeouts. */
const BUS_ANSWER_MS = 60_000
/** Two attempts of five seconds, and the time there and back. */
const TEST_ANSWER_MS = 15_000

/** The route of a port, with the device path percent-encoded. */
export function portRoute(path: string, rest = ''): `/${string}` {
  return `/api/ports/${encodeURIComponent(path)}${rest}`
}

function hook(path: string, id: string | number, rest = ''): `/${string}` {
  return portRoute(path, `/webhooks/${encodeURIComponent(String(id))}${rest}`)
}

/** Calls about the gateway, its lines and its webhooks. */
export const api = {
  status: () => call<Status>('GET /api/status'),
  linesForSetup: () => call<{ lines: Port[] }>('GET /api/setup', undefined, { isSignIn: true }),
  setup: (body: { username: string; password: string; name?: string }) =>
    call<{ token: string }>('POST /api/setup', body, { isSignIn: true }),
  logout: () => call<object>('POST /api/logout'),
  me: () => call<Me>('GET /api/me', undefined, { isPolled: true }),
  system: () => call<System>('GET /api/system?licences=false', undefined, { isPolled: true }),
  rename: (name: string) => call<System>('PATCH /api/system', { name }),
  ports: () => call<Port[]>('GET /api/ports', undefined, { isPolled: true }),
  setUpPort: (path: string, body: PortBody, ifMatch: string | undefined) =>
    call<Port>(`PUT ${portRoute(path)}`, body, { ifMatch }),
  removePort: (path: string) => call<void>(`DELETE ${portRoute(path)}`),
  switchPort: (path: string, act: 'open' | 'close') => call<Port>(`POST ${portRoute(path, `/${act}`)}`),
  transmit: (path: string, hex: string) =>
    call<{ sent: number }>(`POST ${portRoute(path, '/rest/tx')}`, { hex }, { answerMs: BUS_ANSWER_MS }),
  request: (path: string, body: object) =>
    call<ModbusAnswer>(`POST ${portRoute(path, '/rest/request')}`, body, { answerMs: BUS_ANSWER_MS }),
  readMeter: (path: string, body: object) =>
    call<MeterReading>(`POST ${portRoute(path, '/rest/read')}`, body, { answerMs: BUS_ANSWER_MS }),
  initMeter: (path: string, body: object) =>
    call<{ unitId: number }>(`POST ${portRoute(path, '/rest/init')}`, body, { answerMs: BUS_ANSWER_MS }),
  sendFrame: (path: string, body: object) =>
    call<MstpAnswer>(`POST ${portRoute(path, '/rest/send')}`, body, { answerMs: BUS_ANSWER_MS }),
  ring: (path: string) => call<ReturnType<RingFace['view']>>(`GET ${portRoute(path, '/ring')}`),
  outstation: (path: string, { kind, limit, start }: { kind: string | null; start: number; limit: number }) =>
    call<Outstation>(
      `GET ${portRoute(path, `/outstation?start=${start}&limit=${limit}${kind === null ? '' : `&kind=${kind}`}`)}`,
    ),
  setPoint: (path: string, body: object) => call<SetPointAnswer>(`POST ${portRoute(path, '/rest/set-point')}`, body),
  equipment: (path: string) => call<Equipment>(`GET ${portRoute(path, '/equipment')}`),
  command: (path: string, body: object) =>
    call<EquipmentAnswer>(`POST ${portRoute(path, '/rest/command')}`, body, { answerMs: BUS_ANSWER_MS }),
  frames: (path: string, limit: number) => call<PortEvent[]>(`GET ${portRoute(path, `/frames?limit=${limit}`)}`),
  webhooks: (path: string) => call<Webhook[]>(`GET ${portRoute(path, '/webhooks')}`),
  addWebhook: (path: string, body: object) => call<Webhook>(`POST ${portRoute(path, '/webhooks')}`, body),
  changeWebhook: (path: string, id: string | number, body: object) => call<Webhook>(`PUT ${hook(path, id)}`, body),
  removeWebhook: (path: string, id: string | number) => call<void>(`DELETE ${hook(path, id)}`),
  testWebhook: (path: string, id: string | number) =>
    call<Delivery>(`POST ${hook(path, id, '/test')}`, undefined, { answerMs: TEST_ANSWER_MS }),
}
