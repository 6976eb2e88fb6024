/** Describes schemas and their violations to people: what was expected, what was seen, one sentence for each fault. */

import type { ErrorObject } from 'ajv'
import { counted, nearestName, SWITCH_WORDS, withArticle } from '../pure/text.ts'

/** The keywords that TypeBox writes and we read; others may be present too. */
export interface JsonSchema {
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  allOf?: JsonSchema[]
  properties?: Record<string, JsonSchema>
  patternProperties?: Record<string, JsonSchema>
  additionalProperties?: boolean | JsonSchema
  required?: string[]
  items?: JsonSchema
  default?: unknown
  description?: string
  format?: string
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  exclusiveMaximum?: number
  multipleOf?: number
  minItems?: number
  maxItems?: number
  writeOnly?: boolean
  /** Our own keyword: a boolean sent as the text of a form. */
  isSwitch?: boolean
}

// Finds which branch of a union schema a value means, so that defaults and messages use that branch alone.

/** The branch meant: its index; or the tag property whose value was not recognized; or neither. */
interface Meant {
  index: number | undefined
  /** Property that tells the branches apart, and the values it may have. */
  tag: { name: string; values: unknown[] } | undefined
}

/**
 * Object branches are told apart by a property that has other choices in each of them (`mode`, `kind`), else by one that
 * only one of them needs; a single object (or list) branch beside `null` is meant by every object (or list).
 */
export function branchMeant(branches: readonly JsonSchema[], value: unknown): Meant {
  if (Array.isArray(value)) return { index: loneOf(branches, 'array'), tag: undefined }
  if (value === null || typeof value !== 'object') return { index: undefined, tag: undefined }
  const lone = loneOf(branches, 'object')
  if (lone !== undefined) return { index: lone, tag: undefined }
  const objects = branches.filter((branch) => branch.type === 'object')
  const name = Object.keys(objects[0]?.properties ?? {}).find((property) => {
    const values = objects.flatMap((branch) => choicesOf(branch, property))
    return objects.every((branch) => choicesOf(branch, property).length > 0) && new Set(values).size === values.length
  })
  if (name === undefined) return { index: indexByNeed(branches, value), tag: undefined }
  const seen = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
  const index = branches.findIndex((branch) => seen !== undefined && choicesOf(branch, name).includes(seen))
  const values = objects.flatMap((branch) => choicesOf(branch, name))
  return { index: index < 0 ? undefined : index, tag: { name, values } }
}

/** What a property of a branch may be; empty: anything. */
function choicesOf(branch: JsonSchema, property: string): readonly unknown[] {
  const { const: only, enum: some } = branch.properties?.[property] ?? {}
  return only === undefined ? (some ?? []) : [only]
}

/** The branch that needs a property which the value has, and which no other branch knows. */
function indexByNeed(branches: readonly JsonSchema[], value: object): number | undefined {
  const isKnownBy = (name: string) => (branch: JsonSchema) => Object.hasOwn(branch.properties ?? {}, name)
  const index = branches.findIndex(({ required = [] }) =>
    required.some((name) => Object.hasOwn(value, name) && branches.filter(isKnownBy(name)).length === 1),
  )
  return index < 0 ? undefined : index
}

function loneOf(branches: readonly JsonSchema[], type: string): number | undefined {
  const index = branches.findIndex((branch) => branch.type === type)
  return index >= 0 && branches.filter((branch) => branch.type === type).length === 1 ? index : undefined
}

// Puts schemas and values into words: what was expected, what was seen.

/** Longer texts are not quoted. */
const LONGEST_QUOTED = 48

/** What a schema takes, as the end of a sentence: `a whole number from 1 to 65535`. */
export function expected(schema: JsonSchema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return oneOf(schema.enum)
  const branches = schema.anyOf ?? schema.oneOf
  if (branches) {
    if (branches.every((branch) => branch.const !== undefined)) return oneOf(branches.map((branch) => branch.const))
    return [...new Set(branches.map(expected))].join(' or ')
  }
  switch (schema.type) {
    case 'integer':
      return `a whole number${range(schema)}`
    case 'number':
      return `a number${range(schema)}`
    case 'string':
      return `text${bounded('character', schema.minLength, schema.maxLength)}${form(schema)}`
    case 'array':
      return `a list${bounded('entry', schema.minItems, schema.maxItems)}`
    case 'boolean':
      return schema.isSwitch ? SWITCH_WORDS : 'true or false'
    case 'object':
      return 'an object'
    case 'null':
      return 'null'
    default:
      return 'a value'
  }
}

/** A value in few words; containers only by kind, since printing a deep one may overflow the stack. */
export function seen(value: unknown, isSecret: boolean): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return `a list with ${counted(value.length, 'entry', 'entries')}`
  if (typeof value === 'object') return 'an object'
  if (typeof value !== 'string') return isSecret ? withArticle(typeof value) : String(value)
  if (isSecret || value.length > LONGEST_QUOTED) return `text with ${counted(value.length, 'character')}`
  return `text ${JSON.stringify(value)}`
}

function oneOf(values: readonly unknown[]): string {
  const written = values.map((value) => JSON.stringify(value))
  return written.length === 1 ? `${written[0]}` : `one of ${written.join(', ')}`
}

function range({ minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf }: JsonSchema): string {
  const step = multipleOf === undefined ? '' : ` in steps of ${multipleOf}`
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}${step}`
  if (minimum !== undefined) return ` of at least ${minimum}${step}`
  if (maximum !== undefined) return ` of at most ${maximum}${step}`
  if (exclusiveMinimum !== undefined) return ` above ${exclusiveMinimum}${step}`
  return exclusiveMaximum === undefined ? step : ` below ${exclusiveMaximum}${step}`
}

function bounded(unit: 'character' | 'entry', least: number | undefined, most: number | undefined): string {
  const plural = unit === 'entry' ? 'entries' : 'characters'
  if (least !== undefined && least === most) return ` of ${counted(least, unit, plural)}`
  if (least !== undefined && most !== undefined) return ` of ${least} to ${counted(most, unit, plural)}`
  if (least !== undefined) return ` of at least ${counted(least, unit, plural)}`
  return most === undefined ? '' : ` of at most ${counted(most, unit, plural)}`
}

function form(schema: JsonSchema): string {
  const what = schema.description ?? schema.format ?? (schema.pattern && `like ${schema.pattern}`)
  return what === undefined ? '' : ` (${what})`
}

// Turns ajv's errors into sentences: which field, what was seen, what was expected.

/** One fault of one field. `field` is a path as a person writes it: `line.baud`, `values[3]`, `?limit`. */
export interface FieldFault {
  field: string
  message: string
}

/** Each error costs a sentence; a body full of unknown names would produce thousands. */
const MOST_SENTENCES = 256

/** Values of fields with such names are never quoted. */
const SECRET = /pass|secret|token|authorization|credential|cookie|key$/i

/**
 * @param errors of a validator made with `allErrors` and `verbose`
 * @param prefix put before each field
 * @returns one fault for each field; branches of a union that were not meant are left out
 */
export function fieldFaults(errors: readonly ErrorObject[], prefix: string): FieldFault[] {
  const faults = new Map<string, FieldFault>()
  const silenced = unionsOf(errors)
  for (const error of errors) {
    if (faults.size >= MOST_SENTENCES) break
    if (silenced.some((union) => union.silences(error))) continue
    const path = fieldOf(error)
    const message = sentenceOf(error, path)
    if (!faults.has(path)) faults.set(path, { field: withPrefix(prefix, path), message })
  }
  return [...faults.values()]
}

/** For each union that failed, hides the errors of its branches except the one that was meant. */
function unionsOf(errors: readonly ErrorObject[]): { silences(error: ErrorObject): boolean }[] {
  return errors.filter(isUnion).map((union) => {
    const branches = (union.schema ?? []) as JsonSchema[]
    const { index } = branchMeant(branches, union.data)
    const within = `${union.schemaPath}/`
    const meant = `${within}${index}/`
    return {
      silences: (error) =>
        error === union
          ? index !== undefined
          : error.schemaPath.startsWith(within) &&
            error.instancePath.startsWith(union.instancePath) &&
            !error.schemaPath.startsWith(meant),
    }
  })
}

function isUnion(error: ErrorObject): boolean {
  return error.keyword === 'anyOf' || error.keyword === 'oneOf'
}

function sentenceOf(error: ErrorObject, path: string): string {
  const parent = (error.parentSchema ?? {}) as JsonSchema
  switch (error.keyword) {
    case 'required':
      return `is missing, expected ${expected(parent.properties?.[error.params.missingProperty] ?? {})}`
    case 'additionalProperties':
      return unknownSentence(error.params.additionalProperty, Object.keys(parent.properties ?? {}))
    case 'anyOf':
    case 'oneOf': {
      const { tag } = branchMeant((error.schema ?? []) as JsonSchema[], error.data)
      if (tag) return `needs \`${tag.name}\` to be ${expected({ enum: tag.values })}`
    }
  }
  if (error.data === undefined) return `is missing, expected ${expected(parent)}`
  const isSecret = SECRET.test(path) || parent.writeOnly === true || parent.format === 'password'
  return `is ${seen(error.data, isSecret)}, expected ${expected(parent)}`
}

function unknownSentence(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known)
  if (nearest !== undefined) return `is not known; the nearest known name is \`${nearest}\``
  if (known.length === 0) return 'is not known; no field is expected here'
  return `is not known; known here: ${known.slice(0, 24).join(', ')}`
}

/** Writes `/line/baud` and a missing or unknown name as `line.baud`. */
function fieldOf(error: ErrorObject): string {
  const steps = error.instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (error.keyword === 'required') steps.push(error.params.missingProperty)
  if (error.keyword === 'additionalProperties') steps.push(error.params.additionalProperty)
  return steps.map(written).join('').replace(/^\./, '')
}

function written(step: string): string {
  if (/^\d{1,9}$/.test(step)) return `[${step}]`
  const short = step.length > 64 ? `${step.slice(0, 64)}...` : step
  return /^[\w-]+$/.test(short) ? `.${short}` : `[${JSON.stringify(short)}]`
}

/** The value as a whole is named by its prefix: `settings.` becomes `settings`. */
function withPrefix(prefix: string, path: string): string {
  return path === '' ? prefix.replace(/\.$/, '') : prefix + path
}
