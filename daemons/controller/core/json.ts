/** JSON: kinds of values, equality, bodies of answers, copies within bounds, and the check against a schema. */
import { Fault } from '#kit/pure/fault.ts'

// Kinds of values, told to the compiler too, and objects whose keys come from outside.

/** A value of a column: JSON columns are already read, booleans are booleans. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** An object with keys, no list: what JSON calls an object. */
export function isObject(value: unknown): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A list; `Array.isArray` makes `any[]` of one that is only read. */
export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}

/**
 * Sets a key that somebody else has chosen. V8 lays out a list up to a key that is a number: `{"999":0}`, as
 * JSON.parse makes it, is 200 bytes, a copy that is made key by key 12 KiB. A property that is once not to be written is
 * kept in a table instead. `__proto__` is a key like any other.
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

/** As Object.fromEntries, for keys that others have chosen. */
export function objectOf(entries: Iterable<readonly [string, Json]>): { [key: string]: Json } {
  const object: { [key: string]: Json } = {}
  for (const [key, value] of entries) putKey(object, key, value)
  return object
}

/** What a value of JSON is, in words for a sentence. */
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

/** Equal as values: the order of keys does not count; nothing at all is equal to itself alone, and not to null. */
export function isSameJson(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  // A Map: a key may be called as what objects inherit.
  const values = new Map<string, Json>(Object.entries(one))
  const entries = Object.entries(other) as [string, Json][]
  return values.size === entries.length && entries.every(([key, value]) => isSameJson(values.get(key), value))
}

// Bodies of answers.

/** A JSON value, text that is JSON already, or such text as UTF-8 in pieces, which stay whose they are. */
export type JsonBody =
  | { readonly json: unknown }
  | { readonly text: string }
  | { readonly pieces: readonly Uint8Array[] }

/** A body as one text, for who does not write it out piece by piece. */
export function bodyText(body: JsonBody): string {
  if ('text' in body) return body.text
  if ('json' in body) return JSON.stringify(body.json)
  const decoder = new TextDecoder()
  return body.pieces.map((piece) => decoder.decode(piece, { stream: true })).join('')
}

// Copies of values from outside: frozen, and within bounds.

/** What a value takes beside its text, in characters, be it `[]` or a number. @source measured: an empty object 64 bytes, of four a character */
export const VALUE_CHARS = 16

/** What V8 may keep of an object's shape: where no other has the same names, it is 160 bytes more. @source measured, frozen */
export const SHAPE_CHARS = 32

/** Deeper values are refused; what a device says of itself needs two or three levels. */
const DEEPEST = 8

/**
 * Names from outside, `__proto__` among them: nothing is inherited. What Object.create(null) makes would do, but is a hash
 * table of up to a kilobyte; these are as small as other objects.
 */
export class Plain {
  [name: string]: Json
}
Reflect.deleteProperty(Plain.prototype, 'constructor')
Object.setPrototypeOf(Plain.prototype, null)

/**
 * Copies a value and freezes the copy; objects have no prototype, so that any key is only a key.
 * @param most characters it may have: of names and texts, 16 for each value and each name, 32 for an object that has any
 * @returns undefined where it is no JSON, too deep or too large
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

/** Characters of a bounded value, counted in the same way. */
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

// The check of args against an args_schema: the part of JSON Schema that needs no code generated from outside text, and no
// search, since each value is compared with one schema, once. A keyword beyond it is refused, never ignored.

type Fields = { readonly [key: string]: Json }

/** A schema that was read. */
export interface ArgsSchema {
  readonly types: readonly string[] | undefined
  /** Of `enum` and `const`: scalars. */
  readonly among: readonly Json[] | undefined
  readonly bounds: readonly Bound[]
  readonly properties: ReadonlyMap<string, ArgsSchema>
  readonly required: readonly string[]
  /** What other properties must be; true is anything, false none. */
  readonly others: ArgsSchema | boolean
  readonly items: ArgsSchema | undefined
  readonly fallback: Json | undefined
}

interface Bound {
  readonly keyword: BoundKeyword
  readonly limit: number
}

/** Keywords that say how much; each applies to one kind of value, as JSON Schema has it. */
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

/** Schemas within schemas, at most; and faults told of one call. */
const DEEPEST_SCHEMA = 8
const MOST_SCHEMAS = 500
const MOST_FAULTS = 10
/** Characters of a name that a sentence says again. */
const LONGEST_SAID = 64

/** @throws Fault `macro_schema` with the place and what is not understood there */
export function readArgsSchema(schema: Json): ArgsSchema {
  const count = { left: MOST_SCHEMAS }
  return readAt(schema, 'args_schema', DEEPEST_SCHEMA, count)
}

function readAt(schema: Json, place: string, depthLeft: number, count: { left: number }): ArgsSchema {
  if (!isObject(schema)) throw refused(place, 'is no object')
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
 * What is wrong with the args of a call: sentences with places, without the values, at most 10. Empty where nothing is.
 * @param args values by name
 */
export function argsFaults(schema: ArgsSchema, args: ReadonlyMap<string, Json>): string[] {
  const faults: string[] = []
  checkFields(schema, [...args], 'args', faults)
  if (schema.types && !schema.types.includes('object')) tell(faults, 'args is none of what args_schema asks for')
  return faults
}

/** The args with the defaults of those that are left out; defaults deeper down are notes. */
export function withDefaults(schema: ArgsSchema, args: ReadonlyMap<string, Json>): Map<string, Json> {
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

/** A name as a sentence shows it: cut, and in quotes where it is no plain word. */
function named(name: string): string {
  return /^\w+$/.test(name) && name.length <= LONGEST_SAID ? name : JSON.stringify(name.slice(0, LONGEST_SAID))
}

/** In characters, as JSON Schema counts them, not in code units. */
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
