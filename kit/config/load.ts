/** Loads a daemon's settings: file, then command line, checked whole against one schema before anything starts. */
import type { Static, TObject } from 'typebox'
import { Fault } from '#kit/fault.ts'
import { nearestName } from '#kit/nearest.ts'
import { faultOfValue, type KeySchema, type TableSchema } from './expectation.ts'
import { isTable, readSource, type Setting, sourceOfSets } from './source.ts'

/** What settings are loaded from. */
export interface LoadOptions<Schema extends TObject> {
  /** Tables, each a TypeBox object of keys with `default` and `description`. */
  schema: Schema
  /** Path of the TOML file. */
  file: string
  /** Whether a missing file is a fault: true when its name was given, false for the default one. */
  mustExist: boolean
  /** `key=VALUE` texts of the command line; they win over the file. */
  sets: readonly string[]
}

/** Settings that passed every check. */
export interface Loaded<Schema extends TObject> {
  value: Static<Schema>
  /** Whether there was a file. */
  isFileRead: boolean
}

/**
 * Loads and checks settings. Keys nobody set have their defaults.
 * @throws Fault `config_refused` that lists all faults, one a line; `details.faults` holds them as a list
 */
export async function loadConfig<Schema extends TObject>(options: LoadOptions<Schema>): Promise<Loaded<Schema>> {
  const file = await readSource(options.file, options.mustExist)
  const line = sourceOfSets(options.sets)
  const faults = [...file.faults, ...line.faults]
  const tables = tablesOf(options.schema)
  const value = defaultsOf(tables)
  // The command line comes last and wins; a fault in the file counts all the same.
  for (const setting of [...file.settings, ...line.settings]) {
    const fault = put(value, tables, setting)
    if (fault !== undefined) faults.push(`${setting.key} (${setting.where}): ${fault}`)
  }
  if (faults.length > 0) throw new Fault('config_refused', faults.join('\n'), { details: { faults } })
  return { value: value as Static<Schema>, isFileRead: file.isRead }
}

/** The tables of a schema with their keys, in order; a schema of any other shape is a mistake in the daemon. */
export function tablesOf(schema: TObject): Record<string, TableSchema> {
  const tables = (schema as unknown as TableSchema<Partial<TableSchema>>).properties
  for (const [name, table] of Object.entries(tables))
    if (!table.properties) throw new Fault('config_refused', `the schema's ${name} is no table of keys`)
  return tables as Record<string, TableSchema>
}

type Tables = Record<string, TableSchema>

function defaultsOf(tables: Tables): Record<string, Record<string, unknown>> {
  const value: Record<string, Record<string, unknown>> = {}
  for (const [table, { properties }] of Object.entries(tables)) {
    const keys: Record<string, unknown> = {}
    for (const [name, schema] of Object.entries(properties)) keys[name] = structuredClone(schema.default)
    value[table] = keys
  }
  return value
}

/** Puts one setting in its place; the sentence of what is wrong with it otherwise. */
function put(value: Record<string, Record<string, unknown>>, tables: Tables, setting: Setting): string | undefined {
  const [table = '', ...rest] = setting.key.split('.')
  const name = rest.join('.')
  if (!Object.hasOwn(tables, table)) return unknownSentence(tables, setting.key, name === '' ? undefined : table)
  if (name === '') return isTable(setting.value) ? undefined : `saw a value, expected a table: write [${table}]`
  const keys = tables[table]?.properties ?? {}
  if (!Object.hasOwn(keys, name)) return unknownSentence(tables, setting.key, undefined)
  const fault = faultOfValue(keys[name] as KeySchema, setting.value)
  if (fault === undefined && value[table]) value[table][name] = setting.value
  return fault
}

function unknownSentence(tables: Tables, key: string, unknownTable: string | undefined): string {
  const names = Object.entries(tables).flatMap(([name, { properties }]) =>
    Object.keys(properties).map((property) => `${name}.${property}`),
  )
  if (!key.includes('.')) {
    // A key written outside its table is that key, not a mistyped table.
    const meant = names.find((name) => name.endsWith(`.${key}`)) ?? nearestName(key, Object.keys(tables))
    return `unknown table or key; ${suggestion(meant, Object.keys(tables))}`
  }
  if (unknownTable === undefined) {
    // Bare names are compared: with the table before them `http.port` would be near `http.hosts`.
    const [table = '', bare = ''] = key.split('.', 2)
    const siblings = Object.keys(tables[table]?.properties ?? {})
    const near = nearestName(bare, siblings)
    const meant = near === undefined ? names.find((name) => name.endsWith(`.${bare}`)) : `${table}.${near}`
    const known = siblings.map((name) => `${table}.${name}`)
    return `unknown key; ${suggestion(meant, known)}`
  }
  const table = nearestName(unknownTable, Object.keys(tables))
  return `unknown table ${unknownTable}; ${suggestion(nearestName(key, names) ?? table, Object.keys(tables))}`
}

function suggestion(nearest: string | undefined, known: string[]): string {
  return nearest === undefined ? `known are ${known.join(', ')}` : `the nearest known one is ${nearest}`
}
