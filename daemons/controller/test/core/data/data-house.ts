/** A small building for tests of reading data: tables as in the registry, a book, live state, and callers. */
import { fakeClock } from '#kit/clock-fake.ts'
import type { Session } from '../../../core/access/accounts.ts'
import type { DataLimits, DataWorld } from '../../../core/data/answer-data.ts'
import { createAnswerRoom, createDataTurns } from '../../../core/data/turns.ts'
import {
  type ColumnFace,
  createBlocks,
  createReady,
  createViews,
  type SchemaFace,
  type TableFace,
} from '../../../core/data/views.ts'
import type { Json } from '../../../core/json.ts'
import type { LiveDevice } from '../../../core/live/live-book.ts'
import { createLive } from '../../../core/live/live-values.ts'
import type { LivelyBook, Row } from '../../../core/site/book.ts'
import type { ColumnType } from '../../../core/site/column.ts'

export const limits: DataLimits = {
  queryBytes: 16_384,
  conditions: 64,
  depth: 4,
  listItems: 1000,
  patternChars: 1000,
  orderedRows: 100_000,
}

const READY_BYTES = 16_777_216

/** Sensitive words in a name. */
const SENSITIVE = /^(password|passwd|pwd|passphrase|secret|token|key|pin|hash|salt|credential)$/
const SECRET_NAMES =
  /^(hash|salt|pin|rfid|duress_pin|two_factor_token|token|push_subscription|private_key|api_key|secret|password|bearer_token|credential_hash)$|_(token|secret|password|passwd|hash)$/

function isSensitiveName(name: string): boolean {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[_\-. ]+/)
    .some((word) => SENSITIVE.test(word.toLowerCase()))
}

function withoutSecrets(json: Json): Json {
  if (json === null || typeof json !== 'object') return json
  if (Array.isArray(json)) return json.map(withoutSecrets)
  return Object.fromEntries(
    Object.entries(json as Record<string, Json>).map(([name, value]) => [
      name,
      isSensitiveName(name) ? null : withoutSecrets(value),
    ]),
  )
}

/** Columns as `name:type`, text by default; `!` is secret, `?` has secrets in its JSON. */
const TABLES: Readonly<Record<string, string>> = {
  subsystem: 'name type position:integer enabled:boolean',
  device:
    'name subsystem_id:integer driver transport:json address ip_address serial_number poll_ms:integer elevated:boolean enabled:boolean username password! api_key! config:json?',
  zone: 'name device_id:integer subsystem_id:integer address type elevated:boolean min:real max:real unit position:integer overrides:json',
  attribute: 'name value previous_value type secure:boolean system_target target_id:integer unit changed_at:integer',
  command: 'name label subsystem_id:integer args_schema:json elevated:boolean',
  channel_provider: 'name type config:json?',
  auth_user: 'username email hash! salt! pin! two_factor_token! must_change_password:boolean enabled:boolean',
  auth_role: 'name elevated:boolean rules',
  credential: 'name username password! private_key! bearer_token! credential_hash!',
  macro: 'name elevated:boolean',
  web_service: 'name url headers:json? api_key! secret!',
  license: 'key_hint token!',
  request_history: 'at:integer method path status:integer reason',
  attribute_history: 'attribute_id:integer value at:integer',
}
const READABLE = new Set(['subsystem', 'device', 'zone', 'attribute', 'command', 'channel_provider'])
const HISTORY = new Set(['request_history', 'attribute_history'])

function columnOf(text: string): [string, ColumnFace] {
  const [name = '', type = 'text'] = text.replace(/[!?]$/, '').split(':')
  const column = { name, type: type as ColumnType, isSecret: text.endsWith('!'), isJsonSecret: text.endsWith('?') }
  return [name, column]
}

const tables = new Map(
  Object.entries(TABLES).map(([name, columns]): [string, TableFace] => [
    name,
    {
      name,
      columns: new Map(['id:integer', ...columns.split(' '), 'created_at:integer', 'updated_at:integer'].map(columnOf)),
      isReadable: READABLE.has(name),
      isHistory: HISTORY.has(name),
    },
  ]),
)

export const schema: SchemaFace = {
  table: (name) => tables.get(name),
  isSecretName: (name) => SECRET_NAMES.test(name),
  isSensitiveName,
  withoutSecrets,
}

export type Tables = Readonly<Record<string, readonly Readonly<Record<string, Json>>[]>>

/** Rows by table; ids count from 1 unless given. `touch` replaces an attribute. */
export function bookOf(content: Tables): LivelyBook & { touch(attribute: Row): void } {
  const byTable = new Map(
    Object.entries(content).map(([table, rows]): [string, readonly Row[]] => [
      table,
      rows.map((row, at) => ({ id: at + 1, created_at: 1000, updated_at: 2000, ...row })),
    ]),
  )
  const rows = (table: string) => byTable.get(table) ?? NONE
  return {
    rows,
    row: (table, id) => rows(table).find((row) => row.id === id),
    named: (table, name) => rows(table).filter((row) => row.name === name),
    revision: () => 1,
    shape: () => 1,
    touch(attribute) {
      byTable.set(
        'attribute',
        rows('attribute').map((row) => (row.id === attribute.id ? attribute : row)),
      )
    },
  }
}
const NONE: readonly Row[] = []

export interface HouseOptions {
  /** Default: the tables above. */
  schema?: SchemaFace
  devices?: Readonly<Record<number, Partial<LiveDevice>>>
  zones?: Readonly<Record<number, Readonly<Record<string, Json>>>>
  limits?: Partial<DataLimits>
  /** Steps of queries per turn; unlimited by default. */
  turnSteps?: number
  /** Memory for answers; unlimited by default. */
  roomBytes?: number
  readyBytes?: number
}

/** A world with these rows; `breaths` counts how often other work got a turn. */
export function worldOf(content: Tables, options: HouseOptions = {}): DataWorld & { breaths: { count: number } } {
  const book = bookOf(content)
  const face = options.schema ?? schema
  const ready = createReady(options.readyBytes ?? READY_BYTES)
  const breaths = { count: 0 }
  let looks = 0
  const bounds = { fields: 100, fieldChars: 100_000, totalChars: 10_000_000 }
  const clock = fakeClock(3000)
  const { live, values } = createLive({
    ...{ book, clock, limits: bounds },
    put: (row) => book.touch(row),
    leftOut() {},
  })
  // As drivers do: attributes of these names get the values.
  for (const [id, zone] of Object.entries(options.zones ?? {})) live.report({ zoneId: Number(id) }, zone)
  return {
    book,
    live: {
      device: (id) => ({ state: 'unknown', ipAddress: null, lastSeenAt: null, error: null, ...options.devices?.[id] }),
      zone: (id) => live.zone(id),
      revision: () => 1,
      onChange: () => () => {},
    },
    values,
    schema: face,
    views: createViews(face, ready),
    blocks: createBlocks(ready),
    history: {
      async *pieces(table, isNewestFirst) {
        const rows = isNewestFirst ? book.rows(table).toReversed() : book.rows(table)
        for (let at = 0; at < rows.length; at += 2) yield rows.slice(at, at + 2)
      },
    },
    limits: { ...limits, ...options.limits },
    turns: createDataTurns({
      // Each reading of the clock counts as a step, so the length of a turn is given in steps.
      nowMs: () => looks++,
      onceAround(run) {
        breaths.count++
        setImmediate(run)
      },
      limits: { turnMs: options.turnSteps ?? Number.POSITIVE_INFINITY, queries: 4, sideBySide: 4 },
    }),
    room: createAnswerRoom(options.roomBytes ?? Number.POSITIVE_INFINITY),
    breaths,
  }
}

/** A caller that may use the function `query`. */
export function callerOf(isElevated: boolean): Session {
  return {
    userId: 1,
    username: 'caller',
    roles: [],
    isElevated,
    surface: 'api',
    mustChangePassword: false,
    may: () => true,
    uis: [],
  }
}
export const plainCaller = callerOf(false)
export const elevatedCaller = callerOf(true)
