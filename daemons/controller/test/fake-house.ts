/** A fake building behind the real routes of the pages: people, zones and records that a test can change. */
import { randomBytes } from 'node:crypto'
import { type Clock, systemClock } from '#kit/clock.ts'
import { silentLog } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Ledger } from '#kit/records/ledger.ts'
import type { UiParts } from '../api/ui-routes.ts'
import type { Origin, Session } from '../core/access/accounts.ts'
import type { AuditReason, AuditRecord, Outcome } from '../core/audit.ts'
import type { FoundDaemon } from '../core/drivers/found.ts'
import { Traffic } from '../core/drivers/traffic.ts'
import type { Json } from '../core/json.ts'
import type { LiveDevice, LiveZone } from '../core/live/live-book.ts'
import type { Book, Row } from '../core/site/book.ts'
import { browseRows, describeTables, freeId } from '../core/site/browse.ts'
import type { AuditRow, AutomationRow, PendingChange } from '../core/surfaces.ts'
import { desksOf, type FakeDesks } from './fake-desks.ts'
import { BACKUP_BYTES, backupsOf, type FakeFiles, noUpdate, roomsOf, updatesOf } from './fake-files.ts'

/** Columns of a row besides those that every row has. */
export type Columns = { readonly [column: string]: Json } & { readonly id: number }

/** A person who may sign in. */
export interface FakePerson {
  id: number
  password: string
  isElevated: boolean
  functions: readonly string[]
  /** Required after the password. */
  code?: string
  isDisabled?: boolean
  mustChange?: boolean
  scope: readonly number[] | 'all'
}

/** The data behind the ports; tests change it. */
export interface FakeHouse extends FakeFiles, FakeDesks {
  parts: UiParts
  tables: Map<string, Columns[]>
  people: Map<string, FakePerson>
  zones: Map<number, LiveZone>
  devices: Map<number, LiveDevice>
  records: AuditRow[]
  /** Sessions by token. */
  sessions: Map<string, string>
  nonces: Map<string, string>
  /** The forms from which the first account was created. */
  made: Parameters<UiParts['setUp']['begin']>[0][]
  /** Bodies of commands and macros, as received. */
  asked: { what: 'command' | 'macro' | 'cancel'; by: string; body: unknown }[]
  /** Answers of the rules to commands; the first one is used up. */
  answers: Outcome[]
  pending: PendingChange[]
  /** Queries over the socket, and what was written over it. */
  read: { by: string; entity: string; query: string }[]
  written: { by: string }[]
  attributeListeners: Set<(id: number) => void>
  found: FoundDaemon[]
  /** By zone: the picture of its camera, or the fault that is answered instead. */
  stills: Map<number, Uint8Array | string>
  /** Zones whose picture was asked for, in order. */
  lookedAt: number[]
  /** What was asked to become a device. */
  adopted: object[]
  rest: { isSet: boolean; isRunning: boolean }
  schedules: AutomationRow[]
  triggers: AutomationRow[]
  /** Reports new values of a zone, like a driver. */
  report(zoneId: number, patch: Record<string, Json>): void
  reportDevice(deviceId: number, device: Partial<LiveDevice>): void
  /** Replaces the rows of a table. */
  change(table: string, rows: Columns[]): void
}

const ONE_HOUR_MS = 3_600_000

/** An empty building; ports answer from its tables. */
export function fakeHouse(clock: Clock = systemClock): FakeHouse {
  const revisions = new Map<string, number>()
  const listeners = new Set<(kind: 'device' | 'zone', id: number) => void>()
  const house: State = {
    tables: new Map(),
    people: new Map(),
    zones: new Map(),
    devices: new Map(),
    records: [],
    sessions: new Map(),
    nonces: new Map(),
    made: [],
    asked: [],
    answers: [],
    pending: [],
    read: [],
    written: [],
    attributeListeners: new Set(),
    ...{ found: [], backup: { sent: [], commits: [], restarts: 0 }, updates: noUpdate() },
    ...{ stills: new Map(), lookedAt: [] },
    ...{ adopted: [], pictures: new Map(), definitions: new Map() },
    traffic: new Traffic(clock, { devices: 2, messages: 10, messageBytes: 64, forgetMs: 30_000 }),
    rest: { isSet: true, isRunning: true },
    ...{ schedules: [], triggers: [] },
    report(zoneId, patch) {
      house.zones.set(zoneId, { ...(house.zones.get(zoneId) ?? { state: 'unknown' }), ...patch })
      for (const hear of listeners) hear('zone', zoneId)
    },
    reportDevice(deviceId, device) {
      house.devices.set(deviceId, { ...(house.devices.get(deviceId) ?? NEVER_SEEN), ...device })
      for (const hear of listeners) hear('device', deviceId)
    },
    change(table, rows) {
      house.tables.set(table, rows)
      revisions.set(table, (revisions.get(table) ?? 0) + 1)
    },
  }
  const people = peopleOf(house)
  const book = bookOf(house, revisions)
  const parts: UiParts = {
    people,
    control: controlOf(house),
    audit: auditOf(house),
    socket: socketOf(house, people),
    rest: {
      state: () => house.rest,
      notDriven: () => [{ row: 'credential 1 "ftp"', why: 'nothing signs in with credentials yet' }],
      async set(isOn) {
        house.rest = { ...house.rest, isSet: isOn }
      },
    },
    pending: pendingOf(house),
    ...{ backups: backupsOf(house, clock), updates: updatesOf(house) },
    ...{ tables: tablesOf(house, book), ...desksOf(house, book) },
    ...{ ledger: emptyLedger, journal: { record: () => {} } },
    ...{ rooms: roomsOf(house, book), stills: stillsOf(house) },
    automation: { schedules: () => house.schedules, triggers: () => house.triggers },
    found: foundOf(house),
    book,
    setUp: setUpOf(house),
    live: liveOf(house, listeners),
    clock,
    log: silentLog,
    isSecure: false,
    originOf: ({ remoteAddress }): Origin => ({ clientIp: remoteAddress, isRemote: false, isLocal: true }),
    limits: LIMITS,
  }
  return Object.assign(house, { parts })
}

function stillsOf(house: State): UiParts['stills'] {
  const looks = new Set<string>()
  return {
    everyMs: 500,
    async still({ id }) {
      house.lookedAt.push(id)
      const still = house.stills.get(id)
      if (still === undefined) throw new Fault('no_still', 'This zone is no camera of a recorder.')
      if (typeof still === 'string') throw new Fault('still_failed', still)
      return still
    },
    isNewLook: (...look) => looks.size < looks.add(look.join('/')).size,
  }
}

/** Nothing has happened here. */
const emptyLedger = {
  list: () => [],
  openCounts: () => NOTHING_OPEN,
  keptSince: () => 0,
  acknowledge: noEntry,
} as unknown as Ledger

/** Of the root CA of every gateway here. */
export const FINGERPRINT = Array.from({ length: 32 }, () => 'AB').join(':')

function foundOf(house: State): UiParts['found'] {
  return {
    isLooking: () => true,
    list: () => house.found,
    async root() {
      return { fingerprint: FINGERPRINT, endsAt: Date.UTC(2036, 0, 1), adopted: null }
    },
    async adopt(wish) {
      house.adopted.push(wish)
    },
  }
}

const LIMITS = {
  coalesceMs: 20,
  beatMs: 500,
  zonesPerMessage: 100,
  waitingZones: 1000,
  socketsPerSession: 3,
  ticketLifeMs: 10_000,
  maxTickets: 16,
  planBytes: 200_000,
  planUploadMs: 5000,
  recordMs: 2000,
  backup: { maxBytes: BACKUP_BYTES, idleMs: 5000, wholeMs: 60_000 },
  ...{ behindMs: 5000, endMs: 30_000, signInMs: 10_000, strangers: 3, perAccount: 4, messages: 50, badMessages: 5 },
  ...{ requests: 4, accountRequests: 5, allRequests: 8, requestBytes: 2_000_000, ids: 3 },
}

type State = Omit<FakeHouse, 'parts'>

const NEVER_SEEN: LiveDevice = { state: 'unknown', ipAddress: null, lastSeenAt: null, error: null }

function liveOf(house: State, listeners: Set<(kind: 'device' | 'zone', id: number) => void>): UiParts['live'] {
  return {
    device: (id) => house.devices.get(id) ?? NEVER_SEEN,
    zone: (id) => house.zones.get(id) ?? { state: 'unknown' },
    revision: () => 0,
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** The real sights over the rows of the house; `written` has what was asked to be written. */
function socketOf(house: State, people: UiParts['people']): UiParts['socket'] {
  const scoped = (username: string, id: number) => {
    const scope = house.people.get(username)?.scope ?? []
    return scope === 'all' || scope.includes(id)
  }
  return {
    people: { ...people, sessionOf: (token, from, isUse) => people.sessionOf(token, from, isUse) },
    answerData: ({ username }, entity, query) => {
      house.read.push({ by: username, entity, query })
      return { status: 200, body: { text: '[{"id":1}]' }, reason: null, target: `entity ${entity}` }
    },
    writes: {
      async setAttribute({ username }, wish) {
        house.written.push({ by: username, ...wish })
        return { status: 200, body: { json: { success: true } }, reason: null, target: 'attribute 1' }
      },
      async write({ username }, wish) {
        house.written.push({ by: username, ...wish })
        return { status: 200, body: { json: { success: true, pending: 1 } }, reason: null }
      },
    },
    attributes: {
      onChange(listener) {
        house.attributeListeners.add(listener)
        return () => house.attributeListeners.delete(listener)
      },
    },
    sights: ({ username }) => ({
      zone: (id) => scoped(username, id),
      device: (id) => scoped(username, id),
      attribute: (id) => (scoped(username, id) ? { id, value: String(id) } : undefined),
      attributeChange: (id) => scoped(username, id),
    }),
  }
}

function pendingOf(house: State): UiParts['pending'] {
  let rounds = 1
  let undoable = 0
  let applied: PendingChange[] = []
  const clear = (): number => {
    const many = house.pending.length
    rounds += 1
    house.pending = []
    return many
  }
  return {
    changes: () => house.pending,
    count: () => house.pending.length,
    revision: () => rounds * 1000 + house.pending.length,
    async apply() {
      const bad = house.pending.find(({ name }) => name === 'refused')
      const fields = [{ field: String(bad?.id), message: 'The device it names is gone.' }]
      if (bad) throw new Fault('pending_refused', 'One of the changes does not fit.', { details: { fields } })
      applied = house.pending
      undoable = applied.length
      return clear()
    },
    undoable: () => undoable,
    async undo() {
      undoable = 0
      house.pending = applied
      return applied.length
    },
    async discard() {
      return clear()
    },
  }
}

/** The real forms over the rows of the house; what is written only becomes one more change that waits. */
function tablesOf(house: State, book: Book): UiParts['tables'] {
  return {
    tables: () => describeTables(book),
    rows: (ask) => browseRows(book, [], ask),
    freeId: (table) => freeId([], table, () => Math.max(0, ...book.rows(table).map(({ id }) => id)) + 1),
    async write({ username }, wish) {
      house.written.push({ by: username, ...wish })
      return house.answers.shift() ?? { status: 200, body: { json: { success: true, pending: 1 } }, reason: null }
    },
  }
}

function setUpOf(house: State): UiParts['setUp'] {
  return {
    isNeeded: () => house.people.size === 0,
    isLost: () => false,
    async begin(form) {
      house.made.push(form)
      const { username, password } = form
      house.people.set(username, {
        id: 1,
        password,
        isElevated: true,
        functions: ['command', 'macro', 'query'],
        scope: 'all',
      })
    },
  }
}

function bookOf(house: State, revisions: Map<string, number>): Book {
  const rows = (table: string): Row[] => {
    const times = { created_at: 0, updated_at: 0 }
    return (house.tables.get(table) ?? []).map((row) => ({ ...times, ...row }))
  }
  return {
    rows,
    row: (table, id) => rows(table).find((row) => row.id === id),
    named: (table, name) => rows(table).filter((row) => row.name === name),
    revision: (table) => revisions.get(table) ?? 0,
  }
}

/** A refusal by the rules. */
export function refused(status: number, error: string, reason: AuditReason, message = error): Outcome {
  return { status, body: { json: { error, message } }, reason }
}

const WRONG: Outcome = {
  ...refused(403, 'invalid_credential', 'invalid_credential'),
  body: { json: { error: 'invalid_credential', message: 'wrong', fields: [{ field: 'current', message: 'wrong' }] } },
}

function peopleOf(house: State): UiParts['people'] {
  const begin = (username: string): Outcome => {
    const token = randomBytes(24).toString('base64url')
    house.sessions.set(token, username)
    return { status: 200, body: { json: { token, expires: ONE_HOUR_MS, sites: [] } }, reason: null }
  }
  return {
    async signIn(given) {
      const { username, password, two_factor_token: code } = given as Record<string, unknown>
      if (!username || !password) return refused(200, 'missing_credential', 'missing_credential', 'missing credential')
      const person = house.people.get(String(username))
      if (!person || person.isDisabled || person.password !== password) {
        const outcome = refused(200, 'invalid_credential', 'invalid_credential', 'invalid credential')
        return person ? { ...outcome, user: { id: person.id, username: String(username) } } : outcome
      }
      if (person.code === undefined || code === person.code) return begin(String(username))
      if (code !== undefined) return refused(200, '2fa_mismatch', '2fa_mismatch', 'two factor fail')
      const message = 'A code was mailed to s***@harbour.example.'
      return {
        status: 200,
        body: { json: { error: 'two_factor_auth', message, ttl_seconds: 300 } },
        reason: '2fa_required',
      }
    },
    async redeem(nonce) {
      const username = house.nonces.get(nonce)
      house.nonces.delete(nonce)
      return username === undefined ? refused(401, 'unauthorized', 'unauthorized') : begin(username)
    },
    signOut: (token) => void house.sessions.delete(token),
    async changePassword({ username }, { current, password }) {
      const person = house.people.get(username)
      if (person?.password !== current) return WRONG
      Object.assign(person, { password, mustChange: false })
      for (const [token, name] of house.sessions) if (name === username) house.sessions.delete(token)
      return begin(username)
    },
    sessionOf(token) {
      const username = house.sessions.get(token)
      const person = username === undefined ? undefined : house.people.get(username)
      return person && username !== undefined && !person.isDisabled ? sessionOf(username, person) : undefined
    },
  }
}

function sessionOf(username: string, { id, isElevated, functions, mustChange }: FakePerson): Session {
  const name = isElevated ? 'Administrators' : 'Staff'
  return {
    userId: id,
    username,
    roles: [{ id: isElevated ? 1 : 2, created_at: 0, updated_at: 0, name, elevated: isElevated }],
    isElevated,
    surface: 'socket',
    mustChangePassword: mustChange === true,
    may: (what) => functions.includes(what),
    uis: [{ id: 1, created_at: 0, updated_at: 0, name: 'Phones' }],
  }
}

function controlOf(house: State): UiParts['control'] {
  const answer = (): Outcome =>
    house.answers.shift() ?? { status: 200, body: { json: { success: true } }, reason: null, target: 'zone 1' }
  return {
    async command({ username }, body) {
      house.asked.push({ what: 'command', by: username, body })
      return answer()
    },
    async macro({ username }, body) {
      house.asked.push({ what: 'macro', by: username, body })
      return answer()
    },
    cancel({ username }, body) {
      house.asked.push({ what: 'cancel', by: username, body })
      return answer()
    },
    scope({ username }) {
      const scope = house.people.get(username)?.scope ?? []
      return scope === 'all' ? scope : new Set(scope)
    },
  }
}

function auditOf(house: State): UiParts['audit'] {
  return {
    takes: () => true,
    late: () => {},
    async add(record: AuditRecord) {
      house.records.unshift({ id: house.records.length + 1, ...record })
    },
    async auditList({
      user,
      reason,
      path,
      granted,
      trouble,
      zone,
      from = 0,
      to = Number.MAX_VALUE,
      before = Infinity,
      limit,
    }) {
      const has = (text: string | null, part = '') => (text ?? '').toLowerCase().includes(part.toLowerCase())
      const fits = house.records.filter(
        (row) =>
          row.id < before &&
          row.at >= from &&
          row.at < to &&
          has(row.username, user) &&
          has(row.path, path) &&
          (granted === undefined || row.granted === granted) &&
          (trouble === undefined || (!row.granted || row.facts?.outcome === 'failed') === trouble) &&
          has(row.facts?.action ?? null, zone) &&
          (reason === undefined || row.reason === reason),
      )
      return { rows: fits.slice(0, limit), before: fits.length > limit ? (fits[limit - 1]?.id ?? null) : null }
    },
  }
}

const NOTHING_OPEN = { fault: 0, warning: 0, notice: 0 }

function noEntry(id: number): never {
  throw new Fault('unknown_entry', `The ledger has no entry ${id}.`)
}
