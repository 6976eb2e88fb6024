/** The registry of all tables, which defines store, guards, forms and import check; and the site settings. */
import { readSwitch } from '#kit/pure/text.ts'
import type { Json } from '../json.ts'
import type { Book } from './book.ts'
import type { Column, Table } from './column.ts'
import {
  attributeTargets,
  avTables,
  buildingTables,
  macroTables,
  peopleTables,
  systemTables,
  uiTables,
} from './tables.ts'

// The registry: all tables, and what is secret or readable in them.

const ALL: readonly Table[] = inOrder([
  ...buildingTables,
  ...avTables,
  ...macroTables,
  ...uiTables,
  ...peopleTables,
  ...systemTables,
])
const BY_NAME = new Map(ALL.map((table) => [table.name, table]))

/** Names of boolean columns in any table: they are never secret, whatever their ending. */
const FLAGS: ReadonlySet<string> = new Set(
  ALL.flatMap(({ columns }) => columns.flatMap(({ name, type }) => (type === 'boolean' ? [name] : []))),
)

/**
 * The entities that a session without elevation may read. An allow list, so that a new table is closed by default.
 * @source document 1, GET /api/data, Guards 1
 */
const READABLE: ReadonlySet<string> = new Set([
  'attribute',
  'av_source',
  'av_zone',
  'channel',
  'channel_provider',
  'command',
  'device',
  'subsystem',
  'ui',
  'ui_control',
  'ui_macro',
  'ui_page_ui',
  'ui_page_widget',
  'ui_theme',
  'ui_widget',
  'ui_zone',
  'ui_zone_group_ui',
  'zone',
])

/** @source document 1, Secret-bearing columns */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  'hash',
  'salt',
  'pin',
  'rfid',
  'duress_pin',
  'two_factor_token',
  'token',
  'push_subscription',
  'private_key',
  'api_key',
  'secret',
  'password',
  'bearer_token',
  'credential_hash',
])

/** @source document 1, Secret-bearing columns */
const SECRET_ENDING = /_(?:token|secret|password|passwd|hash)$/

/** All tables, each after those it refers to. */
export function tables(): readonly Table[] {
  return ALL
}

/** The tables that a book holds and a site file may contain: those of the site, and records. */
export function bookTables(): readonly Table[] {
  return ALL.filter(({ keeping }) => keeping === 'site' || keeping === 'record')
}

/** The tables of the site itself: complete in memory and in an export. */
export function siteTables(): readonly Table[] {
  return ALL.filter(({ keeping }) => keeping === 'site')
}

/** A table by its exact name; safe for names from outside. */
export function tableOf(name: string): Table | undefined {
  return BY_NAME.get(name)
}

/** Whether a session without elevation may read the table. @source document 1, GET /api/data, Guards 1 */
export function isReadable(table: string): boolean {
  return READABLE.has(table)
}

/**
 * Whether the column is null in every row that leaves the controller. An unknown column is judged by its name, unless
 * that is the name of a flag.
 * @source document 1, Secret-bearing columns
 */
export function isSecretColumn(table: string, column: string): boolean {
  const known = BY_NAME.get(table)?.column(column)
  if (known === undefined) return !FLAGS.has(column) && (SECRET_NAMES.has(column) || SECRET_ENDING.test(column))
  if (known.isSecret) return true
  if (known.type === 'boolean') return false
  return SECRET_NAMES.has(column) || (isTextual(known) && SECRET_ENDING.test(column))
}

/** Whether the column is JSON in which values under sensitive keys are secret. */
export function isJsonSecret(table: string, column: string): boolean {
  return BY_NAME.get(table)?.column(column)?.isJsonSecret === true
}

/** The tables that a column may refer to; empty if it is not a reference. */
export function referredTables(column: Column): readonly string[] {
  if (column.reference !== undefined) return [column.reference]
  return column.referenceBy === undefined ? [] : attributeTargets.filter((target) => target !== 'controller')
}

function isTextual(column: Column): boolean {
  return column.type === 'text' || column.type === 'json'
}

/** Orders tables so that each comes after those it refers to; references to itself do not count. */
function inOrder(all: readonly Table[]): Table[] {
  const byName = new Map(all.map((table) => [table.name, table]))
  const placed = new Set<Table>()
  function place(table: Table): void {
    if (placed.has(table)) return
    for (const column of table.columns)
      for (const name of referredTables(column)) {
        const target = byName.get(name)
        if (target !== undefined && target !== table) place(target)
      }
    placed.add(table)
  }
  for (const table of all) place(table)
  return [...placed]
}

// Settings in the table `setting`: their definitions, limits and current values.

/** One setting of the site. */
interface SettingFacts {
  key: string
  type: 'integer' | 'boolean'
  default: number | boolean
  minimum?: number
  maximum?: number
  unit?: string
  meaning: string
}

const DAY_MS = 86_400_000

/** @source document 1, Configuration keys that govern the API */
export const siteSettings: readonly SettingFacts[] = [
  {
    key: 'api_token_life',
    type: 'integer',
    default: 3_600_000,
    minimum: 1,
    maximum: 3650 * DAY_MS,
    unit: 'ms',
    meaning: 'how long a session token lives, from when it was given',
  },
  {
    key: 'api_2fa_ttl_seconds',
    type: 'integer',
    default: 300,
    minimum: 1,
    maximum: 86_400,
    unit: 's',
    meaning: 'how long a mailed code is accepted',
  },
  {
    key: 'rest_api_enabled',
    type: 'boolean',
    default: true,
    meaning: 'whether the REST surface answers; read at start',
  },
  {
    key: 'reads_scoped_to_uis',
    type: 'boolean',
    default: false,
    meaning: 'whether sessions without elevation read only the zones of their UIs, and what belongs to these',
  },
]

/** The current values of the settings. */
interface SiteSettings {
  api_token_life: number
  api_2fa_ttl_seconds: number
  rest_api_enabled: boolean
  reads_scoped_to_uis: boolean
}

/** The settings of a book; a missing or invalid value falls back to the default. */
export function settingOf(book: Book): SiteSettings {
  const said = new Map(book.rows('setting').map((row) => [row.key, row.value]))
  const values = siteSettings.map((facts) => [facts.key, readSettingValue(facts, said.get(facts.key)) ?? facts.default])
  return Object.fromEntries(values)
}

/** @returns the value of a text, number or boolean; undefined if it is not valid for this setting */
export function readSettingValue(facts: SettingFacts, said: Json | undefined): number | boolean | undefined {
  const text = String(said ?? '').trim()
  if (facts.type === 'boolean') return readSwitch(text)
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = facts
  return number >= minimum && number <= maximum ? number : undefined
}
