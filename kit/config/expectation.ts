/** What a key's schema allows, as a check and as words for people. */
import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { counted } from '#kit/bytes/words.ts'

/**
 * What a key may say of itself beyond JSON schema: `unit` for people, `secret` for a value that no message shows,
 * `check` for rules a schema cannot say; it returns the sentence of what is wrong, or undefined.
 */
export interface KeySchema {
  type?: string
  enum?: unknown[]
  default?: unknown
  description?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  pattern?: string
  maxItems?: number
  items?: KeySchema
  unit?: string
  secret?: boolean
  check?: (value: unknown) => string | undefined
}

/** One table of a schema, or the whole schema. */
export interface TableSchema<Property = KeySchema> {
  properties: Record<string, Property>
  description?: string
}

/** What is wrong with a value, or undefined. The sentence says what was seen and what is expected. */
export function faultOfValue(schema: KeySchema, value: unknown): string | undefined {
  if (!Value.Check(schema as TSchema, value))
    return `saw ${schema.secret ? 'something else' : seenText(schema, value)}, expected ${expectedText(schema)}`
  return schema.check?.(value)
}

/** What is allowed, in words: `a whole number from 1 to 64 (ms)`. */
export function expectedText(schema: KeySchema): string {
  const unit = schema.unit === undefined ? '' : ` (${schema.unit})`
  if (schema.enum) return `one of ${schema.enum.map((value) => JSON.stringify(value)).join(', ')}`
  if (schema.type === 'boolean') return 'true or false'
  if (schema.type === 'array') {
    const most = schema.maxItems === undefined ? '' : ` of at most ${schema.maxItems}`
    return `a list${most}, each ${expectedText(schema.items ?? {})}${unit}`
  }
  if (schema.type === 'string') {
    const form = schema.pattern === undefined ? '' : `, matching ${schema.pattern}`
    return `text${rangeText(schema.minLength, schema.maxLength, 'character')}${form}${unit}`
  }
  if (schema.type === 'integer' || schema.type === 'number') {
    const kind = schema.type === 'integer' ? 'a whole number' : 'a number'
    return `${kind}${rangeText(schema.minimum, schema.maximum, '')}${unit}`
  }
  return 'a value'
}

function rangeText(least: number | undefined, most: number | undefined, what: string): string {
  const bound = (value: number) => (what === '' ? String(value) : counted(value, what))
  if (least !== undefined && most !== undefined) return ` from ${least} to ${bound(most)}`
  if (least !== undefined) return ` of at least ${bound(least)}`
  if (most !== undefined) return ` of at most ${bound(most)}`
  return ''
}

/** The value that was seen, or the item of a list that is to blame. */
function seenText(schema: KeySchema, value: unknown): string {
  if (Array.isArray(value) && schema.items) {
    const bad = value.findIndex((item) => !Value.Check(schema.items as TSchema, item))
    if (bad >= 0) return `${shortText(value[bad])} as item ${bad + 1}`
    return `a list of ${value.length}`
  }
  return shortText(value)
}

function shortText(value: unknown): string {
  const text = value instanceof Date ? value.toISOString() : (JSON.stringify(value) ?? String(value))
  return text.length > 80 ? `${text.slice(0, 80)}...` : text
}
