/** Loads settings from a file and the command line, and reports all faults at once. */

import { closeSync } from 'node:fs'
import { parse, TomlError } from 'smol-toml'
import type { Static, TObject, TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { Fault } from '../pure/fault.ts'
import { counted, nearestName } from '../pure/text.ts'
import { readBounded, whyUnread } from '../run/named-file.ts'
import { openToRead } from '../run/state-folder.ts'

// Checks a key's value against its schema, and describes what is allowed.

/**
 * Our additions to JSON schema: `unit` for people, `secret` for a value that no message shows, `check` for rules a
 * schema cannot express; it returns the sentence of what is wrong, or undefined. `isBare`: it may be given without its
 * table, where an interface names it so.
 */
interface KeySchema {
  type?: string
  enum?: unknown[]
  default?: unknown
  description?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  pattern?: string
  maxItems?: number
  items?: KeySchema
  unit?: string
  secret?: boolean
  isBare?: boolean
  check?: (value: unknown) => string | undefined
}

/** One table of a schema, or the whole schema. */
interface TableSchema<Property = KeySchema> {
  properties: Record<string, Property>
  description?: string
}

/** What is wrong with a value, or undefined. The sentence says what was seen and what is expected. */
function faultOfValue(schema: KeySchema, value: unknown, isUnseen: boolean): string | undefined {
  if (!Value.Check(schema as TSchema, value)) {
    const seen = isUnseen || schema.secret ? 'something else' : seenText(schema, value)
    return `saw ${seen}, expected ${expectedText(schema)}`
  }
  const sentence = schema.check?.(value)
  return isUnseen && sentence !== undefined ? 'is refused; plantroom check-config says why' : sentence
}

/** What is allowed, in words: `a whole number from 1 to 64 (ms)`. */
export function expectedText(schema: KeySchema): string {
  const unit = schema.unit === undefined ? '' : ` (${schema.unit})`
  if (schema.enum) return `one of ${schema.enum.map((value) => JSON.stringify(value)).join(', ')}`
  if (schema.type === 'boolean') return 'true or false'
  if (schema.type === 'array') {
    const most = schema.maxItems === undefined ? '' : ` of at most ${schema.maxItems}`
    return `a list${most}, each ${expectedText(schema.items ?? {})}${unit}`
  }
  if (schema.type === 'string') {
    const form = schema.pattern === undefined ? '' : `, matching ${schema.pattern}`
    return `text${rangeText(schema.minLength, schema.maxLength, 'character')}${form}${unit}`
  }
  if (schema.type === 'integer' || schema.type === 'number') {
    const kind = schema.type === 'integer' ? 'a whole number' : 'a number'
    return `${kind}${rangeText(schema.minimum, schema.maximum, '')}${unit}`
  }
  return 'a value'
}

function rangeText(least: number | undefined, most: number | undefined, what: string): string {
  const bound = (value: number) => (what === '' ? String(value) : counted(value, what))
  if (least !== undefined && most !== undefined) return ` from ${least} to ${bound(most)}`
  if (least !== undefined) return ` of at least ${bound(least)}`
  if (most !== undefined) return ` of at most ${bound(most)}`
  return ''
}

/** The value that was seen, or the faulty item of a list. */
function seenText(schema: KeySchema, value: unknown): string {
  if (Array.isArray(value) && schema.items) {
    const bad = value.findIndex((item) => !Value.Check(schema.items as TSchema, item))
    if (bad >= 0) return `${shortText(value[bad])} as item ${bad + 1}`
    return `a list of ${value.length}`
  }
  return shortText(value)
}

function shortText(value: unknown): string {
  const text = value instanceof Date ? value.toISOString() : (JSON.stringify(value) ?? String(value))
  return text.length > 80 ? `${text.slice(0, 80)}...` : text
}

// Sources of settings: a TOML file and `--set key=VALUE`, read into one flat list of keys.

/** One setting as read. */
interface Setting {
  /** `table.key`, or the bare name of something outside any table. */
  key: string
  value: unknown
  /** Its place, for messages: `gateway.toml line 3`, `command line`. */
  where: string
}

/** Settings of a source, and what is wrong with its text. */
interface Source {
  settings: Setting[]
  faults: string[]
  /** Whether there was a file to read. */
  isRead: boolean
}

/** A config file is written by hand; a larger file is something else. */
const LARGEST_FILE_BYTES = 1_048_576

type FileOptions = Pick<LoadOptions<TObject>, 'file' | 'mustExist' | 'isUnseen'>

/** Reads a file. A missing one is a fault only if `mustExist`. Text that is not TOML is one fault, with its line. */
async function readSource({ file, mustExist, isUnseen = false }: FileOptions): Promise<Source> {
  let bytes: Uint8Array
  try {
    bytes = bytesOf(file)
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    if (isMissing && !mustExist) return { settings: [], faults: [], isRead: false }
    return refused(isMissing ? `${file}: there is no such file` : `${file}: cannot be read (${whyUnread(error)})`)
  }
  let text = ''
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const lines = linesOfKeys(text)
    const where = (key: string) => (lines.has(key) ? `${file} line ${lines.get(key)}` : file)
    return { settings: settingsOf(parse(text), where), faults: [], isRead: true }
  } catch (error) {
    if (error instanceof TomlError)
      return refused(`${file} line ${error.line}: ${secondTime(text, error.line) ?? syntaxText(error, isUnseen)}`)
    if (error instanceof TypeError) return refused(`${file}: is not UTF-8 text`)
    throw error
  }
}

function bytesOf(file: string): Uint8Array {
  const descriptor = openToRead(file)
  try {
    return readBounded(descriptor, LARGEST_FILE_BYTES)
  } finally {
    closeSync(descriptor)
  }
}

/** Reads `key=VALUE` texts. VALUE is TOML; if it neither is nor looks like TOML it is a string. The last one wins. */
function sourceOfSets(sets: readonly string[]): Source {
  const last = new Map<string, Setting>()
  const faults: string[] = []
  for (const set of sets) {
    const match = /^([A-Za-z0-9_.-]+)\s*=\s*(.*)$/s.exec(set)
    const key = match?.[1]
    const text = match?.[2] ?? ''
    if (key === undefined) {
      faults.push(`--set ${JSON.stringify(set)}: expected key=VALUE, such as log.level=debug`)
      continue
    }
    const parsed = tomlValue(text)
    if (parsed.fault !== undefined) faults.push(`${key} (command line): ${parsed.fault}`)
    else if (isTable(parsed.value))
      for (const [name, value] of Object.entries(parsed.value))
        last.set(`${key}.${name}`, { key: `${key}.${name}`, value, where: 'command line' })
    else last.set(key, { key, value: parsed.value, where: 'command line' })
  }
  return { settings: [...last.values()], faults, isRead: false }
}

/** Whether a parsed value is a TOML table (not a list, not a date). */
export function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}

function refused(fault: string): Source {
  return { settings: [], faults: [fault], isRead: true }
}

function tomlValue(text: string): { value?: unknown; fault?: string } {
  try {
    const parsed = parse(`v = ${text}`)
    // A line break in VALUE could smuggle in further keys.
    if (Object.keys(parsed).length === 1) return { value: parsed.v }
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    if (/^["'[{]/.test(text))
      return { fault: `${JSON.stringify(text)} is not a TOML value: ${firstLine(error.message)}` }
  }
  return { value: text }
}

function settingsOf(tables: Record<string, unknown>, where: (key: string) => string): Setting[] {
  const settings: Setting[] = []
  for (const [table, keys] of Object.entries(tables)) {
    if (!isTable(keys)) settings.push({ key: table, value: keys, where: where(table) })
    else if (Object.keys(keys).length === 0) settings.push({ key: table, value: {}, where: where(table) })
    else
      for (const [name, value] of Object.entries(keys))
        settings.push({ key: `${table}.${name}`, value, where: where(`${table}.${name}`) })
  }
  return settings
}

/**
 * Line of each `[table]` and `key =`, as written by hand; smol-toml only reports lines of broken syntax. Keys it misses
 * (quoted ones, those in inline tables) are reported with the file's name alone.
 */
function linesOfKeys(text: string): Map<string, number> {
  const lines = new Map<string, number>()
  let table = ''
  text.split('\n').forEach((line, index) => {
    const head = headOf(line)
    const key = keyOf(line)
    if (head !== undefined) table = head
    const path = head ?? (key === undefined ? undefined : table === '' ? key : `${table}.${key}`)
    if (path !== undefined && !lines.has(path)) lines.set(path, index + 1)
  })
  return lines
}

/**
 * Describes a duplicate, such as a table pasted below an existing one: smol-toml names neither it nor the first place.
 */
function secondTime(text: string, line: number): string | undefined {
  const upTo = text.split('\n').slice(0, line)
  const last = upTo.at(-1) ?? ''
  const table = headOf(last)
  const heads = table === undefined ? upTo.map(headOf).filter((head) => head !== undefined) : []
  const key = [...heads.slice(-1), keyOf(last)].join('.')
  const first = linesOfKeys(upTo.join('\n')).get(table ?? key)
  if (first === undefined || first === line) return undefined
  return table === undefined
    ? `${key} is set a second time; the first is in line ${first}: remove one`
    : `[${table}] stands a second time; the first is in line ${first}: put the keys below that one`
}

function headOf(line: string): string | undefined {
  return /^\s*\[\s*([\w.-]+)\s*\]/.exec(line)?.[1]
}

function keyOf(line: string): string | undefined {
  return /^\s*([\w.-]+)\s*=/.exec(line)?.[1]
}

function syntaxText({ message }: TomlError, isUnseen: boolean): string {
  return isUnseen ? 'is not TOML; plantroom check-config says why' : firstLine(message)
}

/** smol-toml puts a picture of the place below its message. */
function firstLine(message: string): string {
  return (message.split('\n')[0] ?? '').replace(/^Invalid TOML document: /, '')
}

/** Sources of settings. */
interface LoadOptions<Schema extends TObject> {
  /** Tables, each a TypeBox object of keys with `default` and `description`. */
  schema: Schema
  /** Path of the TOML file. */
  file: string
  /** Whether a missing file is a fault: true when its name was given, false for the default one. */
  mustExist: boolean
  /** `key=VALUE` texts of the command line; they win over the file. */
  sets: readonly string[]
  /** Faults say nothing of what they saw, for a text that leaves the house: a password may stand in any setting. */
  isUnseen?: boolean
}

/** Settings that passed every check. */
interface Loaded<Schema extends TObject> {
  value: Static<Schema>
  /** Whether there was a file. */
  isFileRead: boolean
}

/**
 * Loads and checks settings. Keys that are not set have their defaults.
 * @throws Fault `config_refused` that lists all faults, one a line; `details.faults` holds them as a list
 */
export async function loadConfig<Schema extends TObject>(options: LoadOptions<Schema>): Promise<Loaded<Schema>> {
  const file = await readSource(options)
  const line = sourceOfSets(options.sets)
  const faults = [...file.faults, ...line.faults]
  const tables = schemaTables(options.schema)
  const value = defaultsOf(tables)
  // The command line comes last and wins; faults in the file still count.
  for (const setting of [...file.settings, ...line.settings]) {
    const fault = put(value, tables, { ...setting, isUnseen: options.isUnseen ?? false })
    if (fault !== undefined) faults.push(`${setting.key} (${setting.where}): ${fault}`)
  }
  if (faults.length > 0) throw new Fault('config_refused', faults.join('\n'), { details: { faults } })
  return { value: value as Static<Schema>, isFileRead: file.isRead }
}

/** The tables of a schema with their keys, in order; a schema of any other form is a mistake in the daemon. */
export function schemaTables(schema: TObject): Record<string, TableSchema> {
  const tables = (schema as unknown as TableSchema<Partial<TableSchema>>).properties
  for (const [name, table] of Object.entries(tables))
    if (!table.properties) throw new Fault('config_refused', `the schema's ${name} is not a table of keys`)
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

/** Stores one setting; returns the sentence of what is wrong with it, if anything. */
function put(
  value: Record<string, Record<string, unknown>>,
  tables: Tables,
  given: Setting & { isUnseen: boolean },
): string | undefined {
  const setting = { ...given, key: withTable(tables, given.key) }
  const [table = '', ...rest] = setting.key.split('.')
  const name = rest.join('.')
  if (!Object.hasOwn(tables, table)) return unknownSentence(tables, setting.key, name === '' ? undefined : table)
  if (name === '') return isTable(setting.value) ? undefined : `saw a value, expected a table: write [${table}]`
  const keys = tables[table]?.properties ?? {}
  if (!Object.hasOwn(keys, name)) return unknownSentence(tables, setting.key, undefined)
  const fault = faultOfValue(keys[name] as KeySchema, setting.value, setting.isUnseen)
  if (fault === undefined && value[table]) value[table][name] = setting.value
  return fault
}

/** The whole name of a key that may be given without its table. */
function withTable(tables: Tables, key: string): string {
  const [table] = Object.entries(tables).find(([, { properties }]) => properties[key]?.isBare) ?? []
  return table === undefined ? key : `${table}.${key}`
}

function unknownSentence(tables: Tables, key: string, unknownTable: string | undefined): string {
  const names = Object.entries(tables).flatMap(([name, { properties }]) =>
    Object.keys(properties).map((property) => `${name}.${property}`),
  )
  if (!key.includes('.')) {
    // A bare name that matches a key means that key outside its table, not a mistyped table.
    const meant = names.find((name) => name.endsWith(`.${key}`)) ?? nearestName(key, Object.keys(tables))
    return `unknown table or key; ${suggestion(meant, Object.keys(tables))}`
  }
  if (unknownTable === undefined) {
    // Compares bare names: with the table before them `http.port` would be near `http.hosts`.
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

// Generates the reference of a daemon's settings from its schema.

/** A Markdown table of every key: name, what is allowed, default, meaning. */
export function referenceOf(schema: TObject): string {
  const rows = ['| key | allowed | default | meaning |', '|---|---|---|---|']
  for (const [table, { properties }] of Object.entries(schemaTables(schema)))
    for (const [name, key] of Object.entries(properties)) {
      const cells = [
        `\`${table}.${name}\``,
        expectedText(key),
        `\`${JSON.stringify(key.default)}\``,
        key.description ?? '',
      ]
      rows.push(`| ${cells.map(cellText).join(' | ')} |`)
    }
  return `${rows.join('\n')}\n`
}

/** A bar or a line break would end the cell. */
function cellText(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}
