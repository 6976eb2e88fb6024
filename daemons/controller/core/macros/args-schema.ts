/**
 * Checks what a macro or a command is called with against its args_schema: a part of JSON Schema that needs no code made
 * from outside text, and no search: each value is held against one schema, once. What the part has not is refused, never
 * passed over.
 */
import { Fault } from '#kit/fault.ts'
import { isObject } from '../json-kind.ts'
import type { Json } from '../row.ts'

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
