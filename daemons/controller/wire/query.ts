/**
 * The query string of GET /api/data/:entity: its values, its syntax tree, and the branches it is parsed from.
 * @source interface document 1, GET /api/data/:entity
 */
import { Fault } from '#kit/pure/fault.ts'

// Values in conditions: texts that read as numbers are numbers.

/** A number, and its text for comparison with texts: `007` is 7 and `7`; digits beyond 2^53 are kept in the text. */
interface QueryNumber {
  readonly number: number
  readonly text: string
}

/** Null comes only from JSON. */
export type QueryValue = null | boolean | string | QueryNumber

/** Every digit can match in only one place, so matching takes time proportional to the text. */
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
const WHOLE = /^[+-]?\d+$/

/**
 * Parses a number: decimal and exponent forms that fit a double.
 * @returns undefined for everything else: empty, hexadecimal, Infinity, NaN, with spaces
 * @source document 1, GET /api/data/:entity, a parameter value that parses as a number
 */
export function queryNumber(text: string): QueryNumber | undefined {
  if (!DECIMAL.test(text)) return undefined
  const number = Number(text)
  if (!Number.isFinite(number)) return undefined
  return { number, text: WHOLE.test(text) ? wholeText(text) : String(number) }
}

/** A value from a query string. */
export function valueOfText(text: string): QueryValue {
  return queryNumber(text) ?? text
}

/** A value from JSON: JSON has types, so a text stays a text (`"007"` is not 7). */
export function valueOfJson(json: null | boolean | number | string): QueryValue {
  return typeof json === 'number' ? { number: json, text: String(json) } : json
}

/** Serial numbers have more digits than a double. */
function wholeText(text: string): string {
  let at = text.startsWith('-') || text.startsWith('+') ? 1 : 0
  while (at < text.length - 1 && text[at] === '0') at++
  const digits = text.slice(at)
  return text.startsWith('-') && digits !== '0' ? `-${digits}` : digits
}

// The syntax tree of a query string: guards check it, and rows are tested against it.

/** The operator of a condition; `in` also means equality with any of the values. */
export type Operator =
  | 'in'
  | 'notin'
  | 'like'
  | 'contains'
  | 'gt'
  | 'gte'
  | 'lt'
  | 'lte'
  | 'between'
  | 'notequal'
  | 'null'

/**
 * A test of one column. `in`, `like`, `contains`: any of the values; `notin`, `notequal`: none of them; `between`: two
 * values; `gt`, `gte`, `lt`, `lte`: one; `null`: one boolean.
 */
export interface Condition {
  readonly column: string
  readonly operator: Operator
  readonly values: readonly QueryValue[]
}

/** All conditions must hold, and at least one part of each group in `either`. */
export interface Where {
  readonly conditions: readonly Condition[]
  readonly either: readonly (readonly Where[])[]
}

export interface OrderBy {
  readonly column: string
  readonly isDescending: boolean
}

/** A column of the answer, under another name if `alias` is given. */
export interface FieldAsk {
  readonly column: string
  readonly alias?: string
}

/**
 * The contents of `_fields`; `isPlain` is false if it has anything but names of columns, and `fault` may then say what.
 */
export interface Fields {
  readonly columns: readonly FieldAsk[]
  readonly isPlain: boolean
  readonly fault?: string
}

/** A whole query. Column names are as sent: whether the columns exist is not checked here. */
export interface Query {
  readonly where: Where
  /** 1..10,000. */
  readonly limit: number
  readonly offset: number
  /** Each column once: a repetition could not change the order. */
  readonly order: readonly OrderBy[]
  readonly fields: Fields | undefined
  /** True counts rows; a text counts rows in which this column is not null. */
  readonly count: boolean | string
  readonly isInstance: boolean
}

/** Limits on parsing a query. All are settings. */
export interface QueryLimits {
  /** Characters of the raw query string, which is ASCII. */
  readonly queryBytes: number
  readonly conditions: number
  /** Most levels of nested `_or`. */
  readonly depth: number
  /** Most values of one condition. */
  readonly listItems: number
  /** Most characters of one pattern of `_like` or `_contains`. */
  readonly patternChars: number
}

// Percent decoding, strict: errors are reported, never guessed around.

const PLUS = 0x2b
const PERCENT = 0x25

/**
 * Decodes one name or value of a query string; `+` is a space.
 * @param part printable ASCII, as in the request line
 * @throws Fault `query_unreadable` for a broken escape, escaped bytes that are not UTF-8, and characters that must be
 * escaped
 * @source document 1, GET /api/data/:entity; WHATWG URL, application/x-www-form-urlencoded, without its leniency
 */
function decodePart(part: string): string {
  const bytes = new Uint8Array(part.length)
  let length = 0
  for (let at = 0; at < part.length; at++) {
    const unit = part.charCodeAt(at)
    if (unit <= 0x20 || unit >= 0x7f)
      throw new Fault('query_unreadable', `character ${at + 1} of a name or value must be percent-encoded`)
    if (unit !== PERCENT) {
      bytes[length++] = unit === PLUS ? 0x20 : unit
      continue
    }
    const byte = hexByte(part.slice(at + 1, at + 3))
    if (byte === undefined)
      throw new Fault('query_unreadable', 'a % in the query is not followed by two hexadecimal digits')
    bytes[length++] = byte
    at += 2
  }
  try {
    return decoder.decode(bytes.subarray(0, length))
  } catch (error) {
    throw new Fault('query_unreadable', 'percent-encoded bytes of the query are no UTF-8', { cause: error })
  }
}

/** Fatal: lone surrogates and overlong forms are refused. A byte order mark is kept, as it is part of the text. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function hexByte(digits: string): number | undefined {
  return /^[0-9A-Fa-f]{2}$/.test(digits) ? Number.parseInt(digits, 16) : undefined
}

// Branches: bracketed names and JSON as one kind of tree, so that every spelling is read by the same rules.

/**
 * A value at the end of a name: text of the query string, or a scalar of JSON, which has a type. `isItem`: element of a
 * list.
 */
export type Leaf = ({ readonly text: string } | { readonly json: null | boolean | number | string }) & {
  readonly isItem: boolean
}

/** The values of a name, and what follows it in brackets. `isList`: it was a JSON array. */
export interface Branch {
  readonly leaves: Leaf[]
  /** A Map: names come from outside, including `__proto__`. */
  readonly children: Map<string, Branch>
  readonly isList: boolean
}

/** Deeper JSON is refused. */
const MOST_LEVELS = 16

/**
 * Parses the raw query string into a tree; empty parts between `&` are ignored.
 * @param raw without the `?`
 * @throws Fault `query_unreadable`
 */
export function branchOfQuery(raw: string): Branch {
  const root = newBranch(false)
  for (const part of raw.split('&')) {
    if (part === '') continue
    const at = part.indexOf('=')
    if (at < 0) throw new Fault('query_unreadable', `${named(decodePart(part))} has no = and no value`)
    const path = pathOf(decodePart(part.slice(0, at)))
    let branch = root
    for (const name of path) branch = childOf(branch, name)
    branch.leaves.push({ text: decodePart(part.slice(at + 1)), isItem: false })
  }
  return root
}

/**
 * Parses a value that must be JSON into a tree.
 * @param what the name of the value, for the error message
 * @throws Fault `query_unreadable`
 */
export function branchOfJsonText(text: string, what: string): Branch {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new Fault('query_unreadable', `the value of ${named(what)} is not the JSON it must be`, { cause: error })
  }
  return branchOfJson(json, 1)
}

/** Longest excerpt of a name that an error message quotes. */
const LONGEST_SAID = 64

/** A name of the query for an error message: shortened and quoted. */
export function named(name: string): string {
  return JSON.stringify(name.length > LONGEST_SAID ? `${name.slice(0, LONGEST_SAID)}...` : name)
}

/** The name of a column in a list of names; undefined for anything else. */
export function nameIn(leaf: Leaf): string | undefined {
  if ('text' in leaf) return leaf.text
  return typeof leaf.json === 'string' ? leaf.json : undefined
}

/** Whether the name is that of a list element: `a[]`, `a[0]`. */
export function isIndex(name: string): boolean {
  return /^\d{0,5}$/.test(name)
}

function branchOfJson(json: unknown, level: number): Branch {
  if (level > MOST_LEVELS) throw new Fault('query_unreadable', `JSON in the query is nested deeper than ${MOST_LEVELS}`)
  const branch = newBranch(Array.isArray(json))
  if (Array.isArray(json))
    for (const [at, item] of json.entries()) {
      if (isScalar(item)) branch.leaves.push({ json: item, isItem: true })
      else branch.children.set(String(at), branchOfJson(item, level + 1))
    }
  else if (isScalar(json)) branch.leaves.push({ json, isItem: false })
  else
    for (const [name, value] of Object.entries(json as object))
      branch.children.set(name, branchOfJson(value, level + 1))
  return branch
}

function isScalar(json: unknown): json is null | boolean | number | string {
  return json === null || typeof json !== 'object'
}

function newBranch(isList: boolean): Branch {
  return { leaves: [], children: new Map(), isList }
}

function childOf(branch: Branch, name: string): Branch {
  let child = branch.children.get(name)
  if (child === undefined) {
    child = newBranch(false)
    branch.children.set(name, child)
  }
  return child
}

/** Splits `_or[0][_gt][id]` into its four names. */
function pathOf(name: string): string[] {
  const open = name.indexOf('[')
  if (open < 0 && name !== '') return [name]
  const path = [name.slice(0, open)]
  let at = open
  while (open > 0 && at < name.length) {
    const close = name.indexOf(']', at)
    if (name[at] !== '[' || close < 0) break
    const inner = name.slice(at + 1, close)
    if (inner.includes('[')) break
    path.push(inner)
    at = close + 1
  }
  if (open <= 0 || at < name.length) throw new Fault('query_unreadable', `${named(name)} is not a name of a parameter`)
  if (path.length > MOST_LEVELS)
    throw new Fault('query_unreadable', `${named(name)} has more than ${MOST_LEVELS - 1} brackets`)
  return path
}
