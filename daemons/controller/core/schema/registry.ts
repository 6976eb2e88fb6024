/** The registry of all tables: from it follow the store, the guards, the forms, the check of an import. */
import { avTables } from './av-tables.ts'
import { attributeTargets, buildingTables } from './building-tables.ts'
import type { Column, Table } from './column.ts'
import { macroTables } from './macro-tables.ts'
import { peopleTables } from './people-tables.ts'
import { systemTables } from './system-tables.ts'
import { uiTables } from './ui-tables.ts'

const ALL: readonly Table[] = inOrder([
  ...buildingTables,
  ...avTables,
  ...macroTables,
  ...uiTables,
  ...peopleTables,
  ...systemTables,
])
const BY_NAME = new Map(ALL.map((table) => [table.name, table]))

/** Columns that are flags, in whatever table: no secret stands under such a name, whatever it ends in. */
const FLAGS: ReadonlySet<string> = new Set(
  ALL.flatMap(({ columns }) => columns.flatMap(({ name, type }) => (type === 'boolean' ? [name] : []))),
)

/**
 * The entities that a session without elevation may read. A list of what may, so that a new table is closed.
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

/** The tables whose rows a book holds, and a site file may: those of the site, and records. */
export function bookTables(): readonly Table[] {
  return ALL.filter(({ keeping }) => keeping === 'site' || keeping === 'record')
}

/** The tables that are the site: whole in memory, and in an export. */
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
 * Whether the column is null in every row that leaves the controller. A column that nobody knows is judged by its name,
 * but for the names of flags.
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

/** The tables that a column's ids may be of; none where it is no reference. */
export function referredTables(column: Column): readonly string[] {
  if (column.reference !== undefined) return [column.reference]
  return column.referenceBy === undefined ? [] : attributeTargets.filter((target) => target !== 'controller')
}

function isTextual(column: Column): boolean {
  return column.type === 'text' || column.type === 'json'
}

/** Each table after those its rows refer to; itself does not count. */
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
