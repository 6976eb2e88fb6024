/** Where settings come from: a TOML file and `--set key=VALUE`, read into one flat list of keys. */
import { closeSync, readFileSync } from 'node:fs'
import { parse, TomlError } from 'smol-toml'
import { openToRead } from '#kit/run/caller-files.ts'

/** One setting as it was seen. */
export interface Setting {
  /** `table.key`, or the bare name of something that stands outside any table. */
  key: string
  value: unknown
  /** Where it stands, for messages: `gateway.toml line 3`, `command line`. */
  where: string
}

/** What a source holds, and what is wrong with its text. */
export interface Source {
  settings: Setting[]
  faults: string[]
  /** Whether there was a file to read. */
  isRead: boolean
}

/** A config file is written by hand; more than this is something else. */
const LARGEST_FILE_BYTES = 1_048_576

/** Reads a file. One that is missing is a fault only when `mustExist`. Text that is no TOML is one fault, with its line. */
export async function readSource(file: string, mustExist: boolean): Promise<Source> {
  let bytes: Uint8Array
  try {
    bytes = bytesOf(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && !mustExist) return { settings: [], faults: [], isRead: false }
    return refused(code === 'ENOENT' ? `${file}: there is no such file` : `${file}: cannot be read (${code})`)
  }
  if (bytes.length > LARGEST_FILE_BYTES)
    return refused(`${file}: has ${bytes.length} bytes, expected at most ${LARGEST_FILE_BYTES}`)
  let text = ''
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const lines = linesOfKeys(text)
    const where = (key: string) => (lines.has(key) ? `${file} line ${lines.get(key)}` : file)
    return { settings: settingsOf(parse(text), where), faults: [], isRead: true }
  } catch (error) {
    if (error instanceof TomlError)
      return refused(`${file} line ${error.line}: ${secondTime(text, error.line) ?? firstLine(error.message)}`)
    if (error instanceof TypeError) return refused(`${file}: is not UTF-8 text`)
    throw error
  }
}

function bytesOf(file: string): Uint8Array {
  const descriptor = openToRead(file)
  try {
    return readFileSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Reads `key=VALUE` texts. VALUE is TOML; what is no TOML and does not look like it is a string. The last one wins. */
export function sourceOfSets(sets: readonly string[]): Source {
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
    // A line break in VALUE could bring further keys along.
    if (Object.keys(parsed).length === 1) return { value: parsed.v }
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    if (/^["'[{]/.test(text)) return { fault: `${JSON.stringify(text)} is no TOML value: ${firstLine(error.message)}` }
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
 * Line of each `[table]` and `key =`, as written by hand; smol-toml tells lines of broken syntax only. Keys it misses
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

/** What stands twice, as after pasting a table below the one that is there: smol-toml names neither it nor the first place. */
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

/** smol-toml puts a picture of the place below its sentence. */
function firstLine(message: string): string {
  return (message.split('\n')[0] ?? '').replace(/^Invalid TOML document: /, '')
}
