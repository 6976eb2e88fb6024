/** Checks bodies, queries and forms against their schema. */

import { Ajv, type ValidateFunction } from 'ajv'
import type { Static, TSchema } from 'typebox'
import { Fault } from '../pure/fault.ts'
import { readSwitch } from '../pure/text.ts'
import { branchMeant, expected, type FieldFault, fieldFaults, type JsonSchema, seen } from './schema.ts'

// Fills in the defaults of a schema before the check, also inside unions (where ajv leaves them out).

/**
 * Fills in missing values that have a default, deep, in place.
 * @returns the value given, or the default where the value itself was missing
 */
export function withDefaults(schema: JsonSchema, value: unknown): unknown {
  const filled = value === undefined && schema.default !== undefined ? structuredClone(schema.default) : value
  if (filled === null || typeof filled !== 'object') return filled
  const branches = schema.anyOf ?? schema.oneOf
  if (branches) {
    const branch = branches[branchMeant(branches, filled).index ?? -1]
    return branch ? withDefaults(branch, filled) : filled
  }
  for (const part of schema.allOf ?? []) withDefaults(part, filled)
  if (Array.isArray(filled)) fillItems(schema.items, filled)
  else fillProperties(schema, filled as Record<string, unknown>)
  return filled
}

function fillItems(items: JsonSchema | undefined, list: unknown[]): void {
  if (items) for (let i = 0; i < list.length; i++) list[i] = withDefaults(items, list[i])
}

function fillProperties(schema: JsonSchema, object: Record<string, unknown>): void {
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const filled = withDefaults(property, Object.hasOwn(object, name) ? object[name] : undefined)
    if (filled !== undefined) object[name] = filled
  }
  for (const property of Object.values(schema.patternProperties ?? {}))
    for (const name of Object.keys(object)) object[name] = withDefaults(property, object[name])
}

// Reads form bodies strictly: what a lenient reader would guess at is refused, and faults name the position.

/** One body as sent. */
export interface Form {
  /**
   * Text by name. A field sent as `a=` is empty text; a field that was not sent is absent. Has no prototype, so
   * `constructor` is a name like any other.
   */
  fields: Record<string, string>
  /** Names sent more than once: we do not guess which value counts. */
  faults: FieldFault[]
}

/**
 * Reads `application/x-www-form-urlencoded`.
 * @param maxFields more are refused before they are decoded (config `http.form_fields`)
 * @throws Fault `bad_form` with `details.position` (from 1) for a broken percent-encoding, bytes that are not UTF-8, a
 * NUL, a field without a name, and too many fields
 * @source WHATWG URL Standard, 5.1; stricter in that nothing is replaced by U+FFFD
 */
export function readForm(bytes: Uint8Array, maxFields: number): Form {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  const fields: Record<string, string> = Object.create(null)
  const repeated = new Set<string>()
  let count = 0
  for (let from = 0; from < text.length; ) {
    const found = text.indexOf('&', from)
    const end = found < 0 ? text.length : found
    if (end > from) {
      if (++count > maxFields) throw badForm(from, `there are more than ${maxFields} fields`)
      readField(text, from, end, (name, value) => {
        if (Object.hasOwn(fields, name)) repeated.add(name)
        else fields[name] = value
      })
    }
    from = end + 1
  }
  const faults = [...repeated].map((field) => ({ field, message: 'stands more than once, expected it once' }))
  return { fields, faults }
}

function readField(text: string, from: number, end: number, take: (name: string, value: string) => void): void {
  const sign = text.indexOf('=', from)
  const middle = sign < 0 || sign > end ? end : sign
  const name = decoded(text, from, middle, 'a name')
  if (name === '') throw badForm(from, 'a field has no name')
  take(name, decoded(text, middle + 1, end, 'a value'))
}

/** @param text one character for each byte */
function decoded(text: string, from: number, end: number, what: string): string {
  const part = text.slice(from, end)
  // Most text that programs send is plain and needs no decoding.
  if (/^[\w.~!$'()*,;:@/?-]*$/.test(part)) return part
  const broken = part.search(/%(?![0-9a-f]{2})/i)
  if (broken >= 0) throw badForm(from + broken, 'a percent sign is not followed by two hex digits')
  const bytes = part
    .replaceAll('+', ' ')
    .replaceAll(/%([0-9a-f]{2})/gi, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)))
  try {
    const read = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(bytes, 'latin1'))
    if (read.includes('\0')) throw badForm(from, `${what} holds a NUL`)
    return read
  } catch (cause) {
    throw cause instanceof Fault ? cause : badForm(from, `${what} is not UTF-8 text`)
  }
}

/** Values are never quoted: a form may hold a password. */
function badForm(at: number, sentence: string): Fault {
  return new Fault('bad_form', `the body is not the form expected: at position ${at + 1} ${sentence}`, {
    details: { position: at + 1 },
  })
}

// Converts a form's text to the values its schema means: numbers, switches, choices.

/** RFC 8259, 6: `010` and `0x10` are refused rather than guessed at. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/**
 * Replaces the texts of a form by values, one level deep. Text that cannot be read as its field's type stays text, and
 * the check that follows reports it.
 * @param fields not modified
 */
function formValues(schema: JsonSchema, fields: Readonly<Record<string, string>>): Record<string, unknown> {
  const values: Record<string, unknown> = Object.create(null)
  for (const [name, text] of Object.entries(fields)) {
    const property = schema.properties
    values[name] = property && Object.hasOwn(property, name) ? meaningOf(property[name] ?? {}, text) : text
  }
  return values
}

/** A copy whose messages fit forms: a switch takes more than `true` and `false` there. */
function spokenAsForm(schema: JsonSchema): JsonSchema {
  for (const property of Object.values(schema.properties ?? {}))
    for (const one of [property, ...(property.anyOf ?? [])]) if (one.type === 'boolean') one.isSwitch = true
  return schema
}

function meaningOf(schema: JsonSchema, text: string): unknown {
  const branches = schema.anyOf ?? schema.oneOf
  if (branches) {
    const readings = branches.map((branch) => meaningOf(branch, text))
    // If a branch reads the text as something else, that branch is meant; a text branch would accept any text.
    return readings.find((reading) => reading !== text) ?? (text === '' && takesNull(branches) ? null : text)
  }
  const choices = schema.const === undefined ? schema.enum : [schema.const]
  if (choices) return choices.find((choice) => isChoice(choice, text)) ?? text
  if (schema.type === 'boolean') return switchOf(text) ?? text
  if (schema.type === 'integer' || schema.type === 'number') return numberOf(text) ?? text
  return text
}

function takesNull(branches: readonly JsonSchema[]): boolean {
  return branches.some(({ type }) => type === 'null') && !branches.some(({ type }) => type === 'string')
}

function isChoice(choice: unknown, text: string): boolean {
  if (typeof choice === 'number') return numberOf(text) === choice
  if (typeof choice === 'boolean') return switchOf(text) === choice
  return choice === text
}

/** A box that is not ticked is either absent or empty. */
function switchOf(text: string): boolean | undefined {
  return text === '' ? false : readSwitch(text)
}

function numberOf(text: string): number | undefined {
  if (!NUMBER.test(text)) return undefined
  const number = Number(text)
  // Turns -0 into 0.
  return Number.isFinite(number) ? number + 0 : undefined
}

// Reports lists that are far too long before their entries are checked.

/** Lists up to this length are checked entry by entry, so that all faults of a body come at once. */
const LONG = 256

/**
 * Each wrong entry of a list costs several errors: half a megabyte of `{}` blocks a daemon for seconds.
 * @returns a fault for each list that is both long and longer than its schema allows; empty if there is none
 */
function longLists(schema: JsonSchema, value: unknown, path = ''): FieldFault[] {
  if (value === null || typeof value !== 'object') return []
  if (!Array.isArray(value))
    return Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
      Object.hasOwn(value, name)
        ? longLists(property, (value as Record<string, unknown>)[name], path === '' ? name : `${path}.${name}`)
        : [],
    )
  const { items, maxItems } = schema
  if (maxItems !== undefined && value.length > Math.max(LONG, maxItems))
    return [{ field: path, message: `is ${seen(value, false)}, expected ${expected(schema)}` }]
  return items ? value.flatMap((item, at) => longLists(items, item, `${path}[${at}]`)) : []
}

/** Faults beyond this many are counted, not listed: a 64 KiB body can hold ten thousand. */
const MOST_LISTED = 32

/**
 * Overrides Fastify's and ajv's defaults: nothing is removed, nothing in a JSON body is coerced, all faults come at
 * once. `ownProperties` keeps names such as `constructor` from being found on the prototype; `strict` is off because
 * schemas carry our own words (`unit`, `check`). Without `meta`, schemas are not checked against the schema of schemas,
 * which would be compiled in each daemon: they are ours, and the tests of each description check them.
 */
const settings = {
  ...{ allErrors: true, verbose: true, ownProperties: true, strict: false, useDefaults: false },
  ...{ meta: false, validateSchema: false },
} as const
/** Made on first use. */
const ajvs: { strict?: Ajv; text?: Ajv } = {}

function ajvOf(from: Source): Ajv {
  if (from === 'json') {
    ajvs.strict ??= withFormats(new Ajv({ ...settings, coerceTypes: false }))
    return ajvs.strict
  }
  // Query strings and path parameters are always text, so they are read as their declared type.
  ajvs.text ??= withFormats(new Ajv({ ...settings, coerceTypes: 'array' }))
  return ajvs.text
}

/** What a check found: the value with its defaults, and the faults (empty when it fits). */
export interface Checked {
  value: unknown
  faults: FieldFault[]
}

/**
 * Prepares a check of one schema.
 * @param from where the value comes from: `json` is taken as it is; `text` (query, path) is read as the declared type;
 * `form`, given as a Form, has every text read as its field's type
 * @param prefix put before the name of each field: `settings.`, `?`, `:`
 * @returns the check; it fills defaults into the value it is given
 */
export function createCheck(schema: TSchema, from: Source = 'json', prefix = ''): (value: unknown) => Checked {
  if (from === 'form') return createFormCheck(schema)
  let made: { plain: JsonSchema; hasLists: boolean; hasDefaults: boolean; validate: ValidateFunction } | undefined
  function make() {
    const plain = closedRecords(structuredCloneOf(schema))
    const words = JSON.stringify(plain)
    const validate = ajvOf(from).compile(plain)
    // Most schemas have neither, and need no walk for them.
    return { plain, hasLists: words.includes('"maxItems"'), hasDefaults: words.includes('"default"'), validate }
  }
  return (given) => {
    // Copied and compiled on first use: a daemon has a hundred schemas, and most are never used.
    made ??= make()
    const { hasDefaults, hasLists, plain, validate } = made
    const long = hasLists ? longLists(plain, given) : []
    if (long.length > 0)
      return { value: given, faults: long.map(({ field, message }) => ({ field: prefix + field, message })) }
    const value = hasDefaults ? withDefaults(plain, given) : given
    if (validate(value)) return { value, faults: [] }
    return { value, faults: fieldFaults(validate.errors ?? [], prefix) }
  }
}

/** Where values come from. */
export type Source = 'json' | 'text' | 'form'

function createFormCheck(schema: TSchema): (value: unknown) => Checked {
  const shape = spokenAsForm(structuredCloneOf(schema))
  const check = createCheck(shape as TSchema)
  return (given) => {
    const { fields, faults: repeated } = given as Form
    const { value, faults } = check(formValues(shape, fields))
    // Skip other faults of a field that was sent twice: they depend on which of the two was meant.
    const others = faults.filter(({ field }) => !repeated.some((one) => one.field === field))
    return { value, faults: [...repeated, ...others] }
  }
}

/** Returns a value typed. @throws Fault `bad_fields` with `details.fields` */
interface Reader<Schema extends TSchema = TSchema> {
  (value: unknown): Static<Schema>
  /** The schema it reads by, for descriptions. */
  readonly schema: Schema
}

/** Like `createCheck`, but returns the value typed or throws. @param from `json`, or `text` such as a query */
export function createReader<Schema extends TSchema>(
  schema: Schema,
  prefix = '',
  from: 'json' | 'text' = 'json',
): Reader<Schema> {
  const check = createCheck(schema, from, prefix)
  const read = (given: unknown): Static<Schema> => {
    const { value, faults } = check(given)
    if (faults.length > 0) throw fieldsFault(faults)
    return value as Static<Schema>
  }
  return Object.assign(read, { schema })
}

/**
 * A reader for each schema of a table, for a field whose schema depends on another field's value.
 * @param rest checks that no schema expresses, run on values that fit theirs
 */
export function createReaders<Name extends string>(
  schemas: Readonly<Record<Name, TSchema>>,
  prefix: string,
  rest: Readonly<Record<Name, (value: unknown) => FieldFault[]>>,
): Readonly<Record<Name, (value: unknown) => unknown>> {
  const readers = (Object.keys(schemas) as Name[]).map((name) => {
    const read = createReader(schemas[name], prefix)
    return [name, (given: unknown) => provenBy(rest[name], read(given), prefix)]
  })
  return Object.fromEntries(readers)
}

function provenBy(faultsOf: (value: unknown) => FieldFault[], value: unknown, prefix: string): unknown {
  const faults = faultsOf(value).map(({ field, message }) => ({ field: prefix + field, message }))
  if (faults.length > 0) throw fieldsFault(faults)
  return value
}

/** Turns the faults of a body into one Fault `bad_fields`: the sentences for people, `details.fields` for a program. */
export function fieldsFault(faults: readonly FieldFault[]): Fault {
  const listed = faults.slice(0, MOST_LISTED)
  const sentences = listed
    .slice(0, 3)
    .map(({ field, message }) => (field === '' ? `the body ${message}` : `${field} ${message}`))
  const more = faults.length - sentences.length
  const sentence = sentences.join('; ') + (more > 0 ? `; and ${more} more` : '')
  return new Fault('bad_fields', sentence, { details: { fields: listed } })
}

function withFormats(ajv: Ajv): Ajv {
  return ajv.addFormat('password', true).addFormat('byte', true)
}

/** Strips TypeBox's hidden marks; ajv and the messages read plain JSON Schema. */
function structuredCloneOf(schema: TSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema))
}

/**
 * TypeBox writes a record as the pattern `^.*$`, whose dot matches no line break: a name with one would be accepted
 * with any value. Closing the record refuses such a name.
 */
function closedRecords(schema: JsonSchema): JsonSchema {
  const parts = [
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    ...(schema.allOf ?? []),
    ...Object.values(schema.properties ?? {}),
    ...Object.values(schema.patternProperties ?? {}),
    ...(schema.items ? [schema.items] : []),
  ]
  for (const part of parts) closedRecords(part)
  if (schema.patternProperties) schema.additionalProperties ??= false
  return schema
}
