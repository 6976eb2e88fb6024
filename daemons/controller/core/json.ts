/** JSON: kinds of values, equality, response bodies, bounded copies, and the check against a schema. */
import { Fault } from '#kit/pure/fault.ts'

// Kinds of values, with type guards, and objects whose keys come from outside.

/** A column value: JSON columns are already parsed, booleans are booleans. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** Whether a value is an object in the sense of JSON, not a list. */
export function isObject(value: unknown): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a value is a list; `Array.isArray` would turn a readonly list into `any[]`. */
export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}

/**
 * Sets a key that comes from outside. V8 allocates array slots up to a numeric key: `{"999":0}` takes 200 bytes when
 * JSON.parse makes it, but 12 KiB when copied key by key. Defining the property as read-only first makes V8 use a hash
 * table instead. `__proto__` is treated as a key like any other.
 */
export function putKey(object: { [key: string]: Json }, key: string, value: Json): void {
  const first = key.charCodeAt(0)
  const isNumber = first >= 48 && first <= 57 && String(Number(key) >>> 0) === key
  if (isNumber && !Object.hasOwn(object, key)) Object.defineProperty(object, key, { ...READ_ONLY, value })
  if (isNumber || key === '__proto__') Object.defineProperty(object, key, { ...WRITABLE, value })
  else object[key] = value
}

const READ_ONLY = { configurable: true, enumerable: true, writable: false }
const WRITABLE = { ...READ_ONLY, writable: true }

/** Like Object.fromEntries, for keys that come from outside. */
export function objectOf(entries: Iterable<readonly [string, Json]>): { [key: string]: Json } {
  const object: { [key: string]: Json } = {}
  for (const [key, value] of entries) putKey(object, key, value)
  return object
}

/** The kind of a JSON value, in words for a sentence. */
export function kindOf(said: unknown): string {
  if (said === null) return 'null'
  if (Array.isArray(said)) return 'a list'
  const words: Record<string, string> = {
    boolean: 'true or false',
    number: Number.isInteger(said) ? 'a whole number' : 'a number with a fraction',
    string: 'text',
    object: 'an object',
  }
  return words[typeof said] ?? 'nothing'
}

// Equality.

/** Deep equality: the order of keys does not count; undefined equals only itself, not null. */
export function isSameJson(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  // A Map, since a key may have the name of an inherited property.
  const values = new Map<string, Json>(Object.entries(one))
  const entries = Object.entries(other) as [string, Json][]
  return values.size === entries.length && entries.every(([key, value]) => isSameJson(values.get(key), value))
}

// Response bodies.

/** A JSON value, text that is already JSON, or such text as UTF-8 in pieces, which the receiver must not change. */
export type JsonBody =
  | { readonly json: unknown }
  | { readonly text: string }
  | { readonly pieces: readonly Uint8Array[] }

/** A body as one text, for callers that do not write it piece by piece. */
export function bodyText(body: JsonBody): string {
  if ('text' in body) return body.text
  if ('json' in body) return JSON.stringify(body.json)
  const decoder = new TextDecoder()
  return body.pieces.map((piece) => decoder.decode(piece, { stream: true })).join('')
}

// Copies of values from outside: frozen, and within bounds.

/**
 * Overhead of a value besides its text, in characters, for `[]` and numbers alike. @source measured: an empty object
 * takes 64 bytes, at four per character
 */
export const VALUE_CHARS = 16

/**
 * Overhead of an object's shape in V8: 160 bytes more if no other object has the same names. @source measured, frozen
 */
export const SHAPE_CHARS = 32

/** Deeper values are refused; what a device reports about itself needs two or three levels. */
const DEEPEST = 8

/**
 * An object for names from outside, including `__proto__`: it inherits nothing. Object.create(null) would work too, but
 * makes a hash table of up to a kilobyte; these are as small as other objects.
 */
export class Plain {
  [name: string]: Json
}
Reflect.deleteProperty(Plain.prototype, 'constructor')
Object.setPrototypeOf(Plain.prototype, null)

/**
 * Copies a value and freezes the copy; objects have no prototype, so any key is just a key.
 * @param most size limit in characters: those of names and texts, plus 16 for each value and each name, plus 32 for
 * each object that is not empty
 * @returns undefined if it is not JSON, too deep or too large
 */
export function boundedCopy(value: unknown, most: number): Json | undefined {
  let left = most

  function copyOf(each: unknown, depth: number): Json | undefined {
    left -= VALUE_CHARS + (typeof each === 'string' ? each.length : 0)
    if (left < 0 || depth > DEEPEST) return undefined
    if (each === null || typeof each === 'boolean' || typeof each === 'string') return each
    if (typeof each === 'number') return Number.isFinite(each) ? each : undefined
    if (typeof each !== 'object') return undefined
    if (Array.isArray(each)) {
      const list: Json[] = []
      for (const item of each) {
        const copy = copyOf(item, depth + 1)
        if (copy === undefined) return undefined
        list.push(copy)
      }
      return Object.freeze(list)
    }
    const record: Record<string, Json> = new Plain()
    const entries = Object.entries(each)
    if (entries.length > 0) left -= SHAPE_CHARS
    for (const [key, item] of entries) {
      left -= VALUE_CHARS + key.length
      const copy = copyOf(item, depth + 1)
      if (copy === undefined) return undefined
      putKey(record, key, copy)
    }
    return Object.freeze(record)
  }

  return copyOf(value, 0)
}

/** The size of a bounded value, counted in the same way. */
export function charsOf(value: Json): number {
  if (typeof value === 'string') return VALUE_CHARS + value.length
  if (value === null || typeof value !== 'object') return VALUE_CHARS
  if (isList(value)) return value.reduce((sum: number, item) => sum + charsOf(item), VALUE_CHARS)
  const entries = Object.entries(value)
  return entries.reduce(
    (sum, [key, item]) => sum + VALUE_CHARS + key.length + charsOf(item),
    VALUE_CHARS + (entries.length > 0 ? SHAPE_CHARS : 0),
  )
}

// Checks args against an args_schema. Supports the part of JSON Schema that needs neither code generation from outside
// text nor search: each value is compared with one schema, once. A keyword beyond it is refused, never ignored.

type Fields = { readonly [key: string]: Json }

/** A parsed schema. */
export interface ArgsSchema {
  readonly types: readonly string[] | undefined
  /** From `enum` and `const`: scalars. */
  readonly among: readonly Json[] | undefined
  readonly bounds: readonly Bound[]
  readonly properties: ReadonlyMap<string, ArgsSchema>
  readonly required: readonly string[]
  /** The schema for other properties; true allows anything, false nothing. */
  readonly others: ArgsSchema | boolean
  readonly items: ArgsSchema | undefined
  readonly fallback: Json | undefined
}

interface Bound {
  readonly keyword: BoundKeyword
  readonly limit: number
}

/** Keywords with a limit; each applies to one kind of value, as in JSON Schema. */
const BOUNDS = {
  minimum: (value: Json, limit: number) => typeof value !== 'number' || value >= limit,
  maximum: (value: Json, limit: number) => typeof value !== 'number' || value <= limit,
  exclusiveMinimum: (value: Json, limit: number) => typeof value !== 'number' || value > limit,
  exclusiveMaximum: (value: Json, limit: number) => typeof value !== 'number' || value < limit,
  minLength: (value: Json, limit: number) => typeof value !== 'string' || lengthOf(value) >= limit,
  maxLength: (value: Json, limit: number) => typeof value !== 'string' || lengthOf(value) <= limit,
  minItems: (value: Json, limit: number) => !Array.isArray(value) || value.length >= limit,
  maxItems: (value: Json, limit: number) => !Array.isArray(value) || value.length <= limit,
} as const
type BoundKeyword = keyof typeof BOUNDS

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']
/** Keywords that JSON Schema itself calls annotations. */
const NOTES = ['$schema', '$id', '$comment', 'title', 'description', 'examples', 'deprecated', 'format']
const CHECKS = ['type', 'enum', 'const', 'properties', 'required', 'additionalProperties', 'items', 'default']
const KNOWN = new Set<string>([...NOTES, ...CHECKS, ...Object.keys(BOUNDS)])

/** Most levels of nested schemas, most schemas in all, and most faults reported per call. */
const DEEPEST_SCHEMA = 8
const MOST_SCHEMAS = 500
const MOST_FAULTS = 10
/** Longest excerpt of a name that a fault quotes, in characters. */
const LONGEST_SAID = 64

/** @throws Fault `macro_schema` with the place and what is not understood there */
export function readArgsSchema(schema: Json): ArgsSchema {
  const count = { left: MOST_SCHEMAS }
  return readAt(schema, 'args_schema', DEEPEST_SCHEMA, count)
}

function readAt(schema: Json, place: string, depthLeft: number, count: { left: number }): ArgsSchema {
  if (!isObject(schema)) throw refused(place, 'is not an object')
  if (depthLeft === 0 || --count.left < 0) throw refused(place, 'is too deep, or one schema too many')
  const strange = Object.keys(schema).find((keyword) => !KNOWN.has(keyword))
  if (strange !== undefined) throw refused(place, `has ${JSON.stringify(strange)}, which is not checked here`)
  const inner = (part: Json, key: string) => readAt(part, `${place}.${key}`, depthLeft - 1, count)
  const properties = own(schema, 'properties') ?? {}
  if (!isObject(properties)) throw refused(place, 'has properties that are no object')
  const others = own(schema, 'additionalProperties') ?? true
  const items = own(schema, 'items')
  return {
    types: typesOf(schema, place),
    among: amongOf(schema, place),
    bounds: boundsOf(schema, place),
    properties: new Map(Object.keys(properties).map((key) => [key, inner(properties[key] as Json, key)])),
    required: namesOf(schema, place),
    others: typeof others === 'boolean' ? others : inner(others, '*'),
    items: items === undefined ? undefined : inner(items, 'items'),
    fallback: own(schema, 'default'),
  }
}

function typesOf(schema: Fields, place: string): string[] | undefined {
  const type = own(schema, 'type')
  if (type === undefined) return undefined
  const types = Array.isArray(type) ? type : [type]
  if (!types.every((entry) => TYPES.includes(entry as string))) throw refused(place, 'has a type that JSON has not')
  return types as string[]
}

function amongOf(schema: Fields, place: string): Json[] | undefined {
  const one = own(schema, 'const')
  const several = own(schema, 'enum')
  if (one === undefined && several === undefined) return undefined
  const among = one === undefined ? several : [one]
  if (!Array.isArray(among) || among.some((entry) => typeof entry === 'object' && entry !== null))
    throw refused(place, 'has an enum or const of more than texts, numbers, true, false and null')
  return among
}

function boundsOf(schema: Fields, place: string): Bound[] {
  return (Object.keys(BOUNDS) as BoundKeyword[]).flatMap((keyword) => {
    const limit = own(schema, keyword)
    if (limit === undefined) return []
    if (typeof limit !== 'number') throw refused(place, `has a ${keyword} that is no number`)
    return [{ keyword, limit }]
  })
}

function namesOf(schema: Fields, place: string): string[] {
  const names = own(schema, 'required') ?? []
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string'))
    throw refused(place, 'has a required that is no list of names')
  return names as string[]
}

/**
 * Checks the args of a call. Returns at most 10 sentences with places but without the values; empty if all is well.
 * @param args values by name
 */
export function argsFaults(schema: ArgsSchema, args: ReadonlyMap<string, Json>): string[] {
  const faults: string[] = []
  checkFields(schema, [...args], 'args', faults)
  if (schema.types && !schema.types.includes('object')) tell(faults, 'args is none of what args_schema asks for')
  return faults
}

/** Fills in the defaults of missing args; defaults at deeper levels are ignored. */
export function withArgDefaults(schema: ArgsSchema, args: ReadonlyMap<string, Json>): Map<string, Json> {
  const whole = new Map(args)
  for (const [name, { fallback }] of schema.properties)
    if (fallback !== undefined && !whole.has(name)) whole.set(name, fallback)
  return whole
}

function check(schema: ArgsSchema, value: Json, place: string, faults: string[]): void {
  if (faults.length >= MOST_FAULTS) return
  if (schema.types && !schema.types.some((type) => isOfType(value, type)))
    tell(faults, `${place} is not of type ${schema.types.join(' or ')}`)
  if (schema.among && !schema.among.includes(value)) tell(faults, `${place} is none of the values that are allowed`)
  for (const { keyword, limit } of schema.bounds)
    if (!BOUNDS[keyword](value, limit)) tell(faults, `${place} breaks ${keyword} ${limit}`)
  if (Array.isArray(value)) {
    const { items } = schema
    if (items) value.forEach((entry: Json, index) => void check(items, entry, `${place}[${index}]`, faults))
  } else if (isObject(value)) checkFields(schema, Object.entries(value), place, faults)
}

function checkFields(schema: ArgsSchema, fields: [string, Json][], place: string, faults: string[]): void {
  const names = new Set(fields.map(([name]) => name))
  for (const name of schema.required) if (!names.has(name)) tell(faults, `${place}.${named(name)} is missing`)
  for (const [name, value] of fields) {
    const rule = schema.properties.get(name) ?? schema.others
    if (rule === false) tell(faults, `${place}.${named(name)} is not known`)
    else if (rule !== true) check(rule, value, `${place}.${named(name)}`, faults)
  }
}

function tell(faults: string[], fault: string): void {
  if (faults.length < MOST_FAULTS) faults.push(fault)
}

function isOfType(value: Json, type: string): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isObject(value)
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type
}

/** A name as a sentence shows it: shortened, and quoted if it is not a plain word. */
function named(name: string): string {
  return /^\w+$/.test(name) && name.length <= LONGEST_SAID ? name : JSON.stringify(name.slice(0, LONGEST_SAID))
}

/** Length in characters, as JSON Schema counts them, not in code units. */
function lengthOf(text: string): number {
  let length = 0
  for (const _ of text) length++
  return length
}

function own(schema: Fields, key: string): Json | undefined {
  return Object.hasOwn(schema, key) ? schema[key] : undefined
}

function refused(place: string, what: string): Fault {
  return new Fault('macro_schema', `${place} ${what}`)
}
