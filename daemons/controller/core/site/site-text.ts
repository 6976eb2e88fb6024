/** Parses a site file: its size, its JSON, and the values of its columns; reports every fault with its place. */
import { Fault } from '#kit/pure/fault.ts'
import { nearestName } from '#kit/pure/text.ts'
import { type Json, kindOf } from '../json.ts'
import type { Column } from './column.ts'

// Faults: all at once, each with its place.

/** Limits of a site file. Settings of the controller. */
export interface SiteLimits {
  /** Most bytes of the file. */
  bytes: number
  /** Most rows of all tables together, in a file and in the resulting site. */
  rows: number
  /** Most devices of a site. */
  devices: number
  /** Most characters of all JSON columns of a site, as core/json.ts counts them. */
  jsonChars: number
  /** Most levels of a JSON column. */
  depth: number
  /** Most characters of a text, and of JSON as text. */
  textChars: number
  /** Most faults that are listed; more are counted. */
  faults: number
}

/** One fault. `path` is `zone[3].device_id`, empty for the whole file; `sentence` contains no secret. */
export interface SiteFault {
  path: string
  sentence: string
}

/** Collects faults. */
export interface FaultList {
  /** Keeps only the first fault of each place: others mostly follow from it. */
  add(path: string, sentence: string): void
  /**
   * `; the nearest is "..."`, or nothing. The total of comparisons is limited, since lists of thousands of names are
   * slow.
   */
  nearest(name: string, known: readonly string[]): string
  readonly count: number
  /** @throws Fault `site_faults` with `details.faults` and `details.more` if anything was added */
  refuse(): void
}

/** Most comparisons of names in one check. */
const MOST_COMPARED = 20_000

/** Longest excerpt of a name in a fault. */
const LONGEST_QUOTED = 60

export function createFaultList(most: number): FaultList {
  const faults: SiteFault[] = []
  let count = 0
  let compared = 0
  const places = new Set<string>()
  return {
    add(path, sentence) {
      if (places.has(path)) return
      places.add(path)
      count++
      if (faults.length < most) faults.push({ path, sentence })
    },
    nearest(name, known) {
      compared += known.length
      if (compared > MOST_COMPARED) return ''
      const near = nearestName(name, known)
      return near === undefined ? '' : `; the nearest is ${quoted(near)}`
    },
    get count() {
      return count
    },
    refuse() {
      const [first] = faults
      if (first === undefined) return
      const more = count - faults.length
      const said = `${first.path === '' ? '' : `${first.path}: `}${first.sentence}`
      const sentence =
        count === 1 ? `the site file has a fault: ${said}` : `the site file has ${count} faults, the first ${said}`
      throw new Fault('site_faults', `${sentence}; nothing was written`, { details: { faults, more } })
    },
  }
}

/** A name from outside as a fault shows it: quoted, shortened, in one line. */
export function quoted(name: string): string {
  const short = name.length > LONGEST_QUOTED ? `${name.slice(0, LONGEST_QUOTED)}…` : name
  return JSON.stringify(short.toWellFormed())
}

// The text: within its limits, UTF-8, JSON, and no duplicate keys in an object.

/**
 * Parses the document. A duplicate key is a fault, since one of the two would silently be lost.
 * @throws Fault `site_too_large`, `site_not_json`, `site_faults`
 */
export function readSiteText(bytes: Uint8Array, limits: SiteLimits): unknown {
  if (bytes.length > limits.bytes)
    throw new Fault('site_too_large', `the site file has ${bytes.length} bytes, at most ${limits.bytes} are taken`)
  const text = decoded(bytes)
  const document = parsed(text)
  const faults = createFaultList(limits.faults)
  for (const { path, key } of repeatedKeys(text)) faults.add(path, `the key ${quoted(key)} stands twice`)
  faults.refuse()
  return document
}

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new Fault('site_not_json', 'the site file is not UTF-8 text', { cause })
  }
}

/** The parser's own message is not passed on: it quotes the text, which may contain a password. */
function parsed(text: string): unknown {
  if (text.trim() === '') throw new Fault('site_not_json', 'the site file is empty')
  try {
    return JSON.parse(text)
  } catch {
    throw new Fault('site_not_json', `the site file is not JSON at line ${lineOfFault(text)}`)
  }
}

/**
 * Many of the parser's messages give no position. So this searches for the shortest prefix that cannot be continued to
 * valid JSON: the fault is at its end.
 */
function lineOfFault(text: string): string {
  let good = 0
  let bad = text.length
  if (!isBroken(text)) return `${text.trimEnd().split('\n').length}, where it ends too early`
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2)
    // A truncated word is not a fault.
    if (isBroken(text.slice(0, middle).replace(/[a-z]{1,5}$/, ''))) bad = middle
    else good = middle
  }
  return String(text.slice(0, good).split('\n').length)
}

/** Whether the text cannot even be the beginning of JSON. */
function isBroken(text: string): boolean {
  try {
    JSON.parse(text)
    return false
  } catch (error) {
    const { message } = error as Error
    const position = /position (\d+)/.exec(message)?.[1]
    return position === undefined ? !message.startsWith('Unexpected end') : Number(position) < text.length
  }
}

interface Level {
  /** Keys so far; undefined in a list. */
  keys: Set<string> | undefined
  key: string
  index: number
}

/** Scans valid JSON text once. */
function repeatedKeys(text: string): { path: string; key: string }[] {
  const repeated: { path: string; key: string }[] = []
  const levels: Level[] = []
  let isKeyNext = false
  for (const token of tokensOf(text)) {
    const top = levels.at(-1)
    if (token === '{' || token === '[') {
      levels.push({ keys: token === '{' ? new Set() : undefined, key: '', index: 0 })
      isKeyNext = token === '{'
    } else if (token === '}' || token === ']') {
      levels.pop()
      isKeyNext = false
    } else if (token === ',') {
      if (top !== undefined && top.keys === undefined) top.index++
      isKeyNext = top?.keys !== undefined
    } else if (isKeyNext && top?.keys !== undefined) {
      const key = JSON.parse(token) as string
      if (top.keys.has(key)) repeated.push({ path: pathOf(levels.slice(0, -1)), key })
      top.keys.add(key)
      top.key = key
      isKeyNext = false
    }
  }
  return repeated
}

/** Brackets, commas and strings; numbers and words between them do not matter here. */
function* tokensOf(text: string): Generator<string> {
  const mark = /["{}[\],]/g
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    const [sign] = found
    if (sign !== '"') {
      yield sign
      continue
    }
    mark.lastIndex = endOfString(text, found.index)
    yield text.slice(found.index, mark.lastIndex)
  }
}

/**
 * The position after the string that begins at `at`. Written by hand: a regular expression stores a backtracking
 * position per character, and some millions of them overflow the stack (measured).
 */
function endOfString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (text[before] === '\\') before--
    // An even number of backslashes before the quote escape each other, so the quote ends the string.
    if ((end - before) % 2 === 1) return end + 1
  }
  return text.length
}

function pathOf(levels: readonly Level[]): string {
  return levels
    .map(({ keys, key, index }) => (keys === undefined ? `[${index}]` : `.${key}`))
    .join('')
    .replace(/^\./, '')
}

// One value, checked against its column.

/** The value to store, or what is wrong with it; never quotes the value, which may be a secret. */
export type ReadValue = { value: Json; fault?: undefined } | { value?: undefined; fault: string }

/**
 * Parses a value that is not a reference. Lenient where nothing can be misunderstood: a number for text, 0 and 1 for
 * booleans, ISO 8601 for times, `rules` as a list of lines.
 * @param depth most levels of a JSON column
 */
export function readValue(column: Column, said: unknown, depth: number): ReadValue {
  if (said === null) return column.isRequired ? { fault: 'must not be null' } : { value: null }
  switch (column.type) {
    case 'boolean':
      return readFlag(said)
    case 'integer':
      return readInteger(column, said)
    case 'real':
      return typeof said === 'number' && Number.isFinite(said)
        ? within(column, said)
        : { fault: `must be a number, is ${kindOf(said)}` }
    case 'text':
      return readText(column, said, depth)
    case 'json':
      return readJson(said, depth)
  }
}

function readFlag(said: unknown): ReadValue {
  if (typeof said === 'boolean') return { value: said }
  if (said === 0 || said === 1) return { value: said === 1 }
  return { fault: `must be true or false, is ${kindOf(said)}` }
}

function readInteger(column: Column, said: unknown): ReadValue {
  const value = column.isTime && typeof said === 'string' ? epochOf(said) : said
  const wish = column.isTime ? 'an epoch in ms or an ISO 8601 time' : 'a whole number'
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return { fault: `must be ${wish}, is ${kindOf(said)}` }
  return within(column, value)
}

/** Requires a full date: Date.parse takes `1` and other texts that nobody meant as a time. */
function epochOf(said: string): number | undefined {
  const isIso = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/.test(said)
  const epoch = isIso ? Date.parse(said) : Number.NaN
  return Number.isNaN(epoch) ? undefined : epoch
}

function within(column: Column, value: number): ReadValue {
  const { minimum = -Infinity, maximum = Infinity } = column
  if (value < minimum) return { fault: `must be at least ${minimum}, is ${value}` }
  if (value > maximum) return { fault: `must be at most ${maximum}, is ${value}` }
  // The store would return -0 as 0.
  return { value: value === 0 ? 0 : value }
}

function readText(column: Column, said: unknown, depth: number): ReadValue {
  if (column.isAnyJson && typeof said === 'object') {
    const json = readJson(said, depth)
    return json.fault === undefined ? { value: JSON.stringify(json.value) } : json
  }
  if (column.isAnyJson && typeof said === 'boolean') return { value: String(said) }
  if (typeof said === 'number' && Number.isFinite(said)) return checkedText(column, String(said))
  if (typeof said !== 'string') return { fault: `must be text, is ${kindOf(said)}` }
  return checkedText(column, said)
}

function checkedText(column: Column, said: string): ReadValue {
  if (said.includes('\0')) return { fault: 'holds a character NUL' }
  if (!said.isWellFormed()) return { fault: 'holds half of a surrogate pair' }
  // An empty choice is one that was left open.
  if (column.choices !== undefined && !column.choices.includes(said))
    return { fault: `must be one of ${column.choices.join(', ')}, is ${quoted(said)}` }
  const isLabel = column.isRequired && column.default === null
  if (isLabel && said.trim() === '') return { fault: 'must not be empty' }
  return { value: said }
}

/** A number too large for JavaScript would come back from the store as null. */
function readJson(said: unknown, depth: number): ReadValue {
  let level: unknown[] = [said]
  // Level by level, so that no depth can overflow the stack.
  for (let left = depth; level.length > 0; left--) {
    if (left < 0) return { fault: `is nested deeper than ${depth} levels` }
    if (level.some((value) => typeof value === 'number' && !Number.isFinite(value)))
      return { fault: 'holds a number that is too large' }
    level = level.flatMap((value) => (value !== null && typeof value === 'object' ? Object.values(value) : []))
  }
  return { value: JSON.parse(JSON.stringify(said)) as Json }
}
