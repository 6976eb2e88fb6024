/** Schemas and values in words: what was expected, what was seen. */
import { SWITCH_WORDS } from '#kit/bytes/switch-text.ts'
import { counted, withArticle } from '#kit/bytes/words.ts'
import type { JsonSchema } from './json-schema.ts'

/** Longer texts are not quoted whole. */
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

/** A value in few words; containers by kind alone, since printing a deep one may cost the stack. */
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
