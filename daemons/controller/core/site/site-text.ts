/** A site file as text: within its bounds, JSON, values as columns take them, and every fault with its place. */
import { Fault } from '#kit/pure/fault.ts'
import { nearestName } from '#kit/pure/text.ts'
import { type Json, kindOf } from '../json.ts'
import type { Column } from './column.ts'

// Faults: all at once, each with its place.

/** How much of a site file is taken in. Settings of the controller. */
export interface SiteLimits {
  /** Bytes of the file at most. */
  bytes: number
  /** Rows of all tables of a file together at most, and of the site that comes of it. */
  rows: number
  /** Devices of a site at most. */
  devices: number
  /** Characters of all JSON columns of a site at most, as core/json.ts counts them. */
  jsonChars: number
  /** Levels of a JSON column at most. */
  depth: number
  /** Characters of a text at most, and of JSON as text. */
  textChars: number
  /** Faults that are told; more are counted. */
  faults: number
}

/** One fault. `path` is `zone[3].device_id`, empty for the whole file; `sentence` holds no secret. */
export interface SiteFault {
  path: string
  sentence: string
}

/** Where faults are gathered. */
export interface FaultList {
  /** Of faults in one place only the first is taken: others mostly follow from it. */
  add(path: string, sentence: string): void
  /** `; the nearest is "..."`, or nothing. Looks only so often: a list of thousands of names costs. */
  nearest(name: string, known: readonly string[]): string
  readonly count: number
  /** @throws Fault `site_faults` with `details.faults` and `details.more` where anything was added */
  refuse(): void
}

/** Comparisons of names that one check makes at most. */
const MOST_COMPARED = 20_000

/** A sentence quotes no more of a name than this. */
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

/** A name from outside as a sentence shows it: in quotes, short, in one line. */
export function quoted(name: string): string {
  const short = name.length > LONGEST_QUOTED ? `${name.slice(0, LONGEST_QUOTED)}…` : name
  return JSON.stringify(short.toWellFormed())
}

// The text: within its bounds, UTF-8, JSON, and no key twice in one object.

/**
 * Reads the document. A key that stands twice is a fault, since one of the two would be lost without a word.
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
    throw new Fault('site_not_json', 'the site file is no UTF-8 text', { cause })
  }
}

/** The parser's own sentence is not passed on: it quotes what stands there, such as a password. */
function parsed(text: string): unknown {
  if (text.trim() === '') throw new Fault('site_not_json', 'the site file is empty')
  try {
    return JSON.parse(text)
  } catch {
    throw new Fault('site_not_json', `the site file is no JSON at line ${lineOfFault(text)}`)
  }
}

/**
 * Many of the parser's sentences name no position. So the shortest beginning is looked for that nothing could follow to
 * make JSON of it: what stands at its end is wrong.
 */
function lineOfFault(text: string): string {
  let good = 0
  let bad = text.length
  if (!isBroken(text)) return `${text.trimEnd().split('\n').length}, where it ends too early`
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2)
    // A word that is cut is no fault.
    if (isBroken(text.slice(0, middle).replace(/[a-z]{1,5}$/, ''))) bad = middle
    else good = middle
  }
  return String(text.slice(0, good).split('\n').length)
}

/** Whether a text is no beginning of JSON either. */
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

/** Goes through text that is JSON once. */
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

/** The marks that brackets and commas are, and strings; numbers and words in between say nothing here. */
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
 * The place behind the string that begins at `at`. By hand: a pattern keeps a place to go back to for each character, and
 * some millions of them end the stack (measured).
 */
function endOfString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (text[before] === '\\') before--
    // An even number of backslashes are signs of their own, and end before the quote.
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

// One value, as its column takes it.

/** The value as it is kept, or what is wrong with it; never quotes the value, which may be a secret. */
export type ReadValue = { value: Json; fault?: undefined } | { value?: undefined; fault: string }

/**
 * Reads a value that is no reference. Lenient where nothing can be misunderstood: a number for text, 0 and 1 for
 * booleans, ISO 8601 for times, `rules` as a list of lines.
 * @param depth levels that a JSON column may have
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

/** Only what begins with a date: Date.parse takes `1` and other things that nobody meant as a time. */
function epochOf(said: string): number | undefined {
  const isIso = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/.test(said)
  const epoch = isIso ? Date.parse(said) : Number.NaN
  return Number.isNaN(epoch) ? undefined : epoch
}

function within(column: Column, value: number): ReadValue {
  const { minimum = -Infinity, maximum = Infinity } = column
  if (value < minimum) return { fault: `must be at least ${minimum}, is ${value}` }
  if (value > maximum) return { fault: `must be at most ${maximum}, is ${value}` }
  // -0 would come back from the store as 0.
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

/** A number beyond what JavaScript holds would come back from the store as null. */
function readJson(said: unknown, depth: number): ReadValue {
  let level: unknown[] = [said]
  // Level by level, so that no depth can exhaust the stack.
  for (let left = depth; level.length > 0; left--) {
    if (left < 0) return { fault: `is nested deeper than ${depth} levels` }
    if (level.some((value) => typeof value === 'number' && !Number.isFinite(value)))
      return { fault: 'holds a number that is too large' }
    level = level.flatMap((value) => (value !== null && typeof value === 'object' ? Object.values(value) : []))
  }
  return { value: JSON.parse(JSON.stringify(said)) as Json }
}
