/** Values checked against TypeBox schemas: defaults filled in, every fault found, each with its field and a sentence. */
import { Ajv, type ValidateFunction } from 'ajv'
import type { Static, TSchema } from 'typebox'
import { Fault } from '#kit/fault.ts'
import { withDefaults } from './defaults.ts'
import type { Form } from './form.ts'
import { formValues, spokenAsForm } from './form-values.ts'
import type { JsonSchema } from './json-schema.ts'
import { longLists } from './long-lists.ts'
import { type FieldFault, fieldFaults } from './sentences.ts'

/** Faults beyond this many are counted, not listed: a 64 KiB body can hold ten thousand. */
const MOST_LISTED = 32

/**
 * Fastify's and ajv's defaults repaired: nothing is removed, nothing in a JSON body is coerced, all faults at once.
 * `ownProperties` keeps names such as `constructor` from being found on the prototype; `strict` is off because
 * schemas carry our own words (`unit`, `check`).
 */
const settings = { allErrors: true, verbose: true, ownProperties: true, strict: false, useDefaults: false } as const
const strictAjv = withFormats(new Ajv({ ...settings, coerceTypes: false }))
/** Query strings and path parameters are text by nature: they are read as their declared type. */
const textAjv = withFormats(new Ajv({ ...settings, coerceTypes: 'array' }))

/** What a check found: the value with its defaults, and the faults (empty when it fits). */
export interface Checked {
  value: unknown
  faults: FieldFault[]
}

/**
 * Prepares a check of one schema.
 * @param from where the value comes from: `json` is taken as it is, `text` (query, path) is read as the declared type, and
 * of a `form`, given as a Form, every text is
 * @param prefix put before the name of each field: `settings.`, `?`, `:`
 * @returns the check; it fills defaults into the value it is given
 */
export function createCheck(schema: TSchema, from: Source = 'json', prefix = ''): (value: unknown) => Checked {
  if (from === 'form') return createFormCheck(schema)
  let plain: JsonSchema | undefined
  let validate: ValidateFunction | undefined
  return (given) => {
    // Copied and compiled at the first use: a daemon has a hundred shapes, of which most are never asked for.
    plain ??= closedRecords(structuredCloneOf(schema))
    const long = longLists(plain, given)
    if (long.length > 0)
      return { value: given, faults: long.map(({ field, message }) => ({ field: prefix + field, message })) }
    validate ??= (from === 'json' ? strictAjv : textAjv).compile(plain)
    const value = withDefaults(plain, given)
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
    // What else is wrong with a field that was sent twice depends on which of the two was meant.
    const others = faults.filter(({ field }) => !repeated.some((one) => one.field === field))
    return { value, faults: [...repeated, ...others] }
  }
}

/** Gives a value typed. @throws Fault `bad_fields` with `details.fields` */
export interface Reader<Schema extends TSchema = TSchema> {
  (value: unknown): Static<Schema>
  /** What it reads by, for descriptions. */
  readonly schema: Schema
}

/** The same as a function that gives the value typed, or throws. @param from `json`, or `text` as of a query */
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
 * A reader for each schema of a table: what stands under one key is read by the schema of another's choice.
 * @param rest what no schema says, asked of values that fit theirs
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

/** The faults of a form as one Fault `bad_fields`: the sentences for people, `details.fields` for a program. */
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

/** TypeBox schemas carry hidden marks of their own; ajv and the sentences read plain JSON Schema. */
function structuredCloneOf(schema: TSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema))
}

/**
 * TypeBox writes a record as the pattern `^.*$`, whose dot matches no line break: a name with one would be let
 * through with any value. Records are closed, so that such a name is refused.
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
