/** Text of a form as the values that a schema means: numbers, switches, choices. */
import { readSwitch } from '../bytes/switch-text.ts'
import type { JsonSchema } from './json-schema.ts'

/** RFC 8259, 6: `010` and `0x10` are refused rather than guessed at. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/**
 * Puts values in place of the texts of a form, one level deep. What cannot be read as its field's type stays text, and
 * the check that follows says so.
 * @param fields left as it is
 */
export function formValues(schema: JsonSchema, fields: Readonly<Record<string, string>>): Record<string, unknown> {
  const values: Record<string, unknown> = Object.create(null)
  for (const [name, text] of Object.entries(fields)) {
    const property = schema.properties
    values[name] = property && Object.hasOwn(property, name) ? meaningOf(property[name] ?? {}, text) : text
  }
  return values
}

/** A copy whose sentences speak of forms: a switch takes more than `true` and `false` there. */
export function spokenAsForm(schema: JsonSchema): JsonSchema {
  for (const property of Object.values(schema.properties ?? {}))
    for (const one of [property, ...(property.anyOf ?? [])]) if (one.type === 'boolean') one.isSwitch = true
  return schema
}

function meaningOf(schema: JsonSchema, text: string): unknown {
  const branches = schema.anyOf ?? schema.oneOf
  if (branches) {
    const readings = branches.map((branch) => meaningOf(branch, text))
    // A reading that is no text any more means its branch; text is what every branch of text takes.
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
  // Minus nothing is nothing.
  return Number.isFinite(number) ? number + 0 : undefined
}
