/** One value of a site file as its column takes it. */
import type { Json } from '../row.ts'
import type { Column } from '../schema/column.ts'
import { quoted } from './site-faults.ts'

/** The value as it is kept, or what is wrong with it; never quotes the value, which may be a secret. */
export type ReadValue = { value: Json; fault?: undefined } | { value?: undefined; fault: string }

/**
 * Reads a value that is no reference. Lenient where nothing can be misunderstood: a number for text, 0 and 1 for
 * booleans, ISO 8601 for times, `rules` as a list of lines.
 * @param depth levels that a JSON column may have
 */
export function readValue(column: Column, said: unknown, depth: number): ReadValue {
  if (said === null) return column.isRequired ? { fault: 'must not be null' } : { value: null }
  switch (column.type) {
    case 'boolean':
      return readFlag(said)
    case 'integer':
      return readInteger(column, said)
    case 'real':
      return typeof said === 'number' && Number.isFinite(said)
        ? within(column, said)
        : { fault: `must be a number, is ${kindOf(said)}` }
    case 'text':
      return readText(column, said, depth)
    case 'json':
      return readJson(said, depth)
  }
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

function readFlag(said: unknown): ReadValue {
  if (typeof said === 'boolean') return { value: said }
  if (said === 0 || said === 1) return { value: said === 1 }
  return { fault: `must be true or false, is ${kindOf(said)}` }
}

function readInteger(column: Column, said: unknown): ReadValue {
  const value = column.isTime && typeof said === 'string' ? epochOf(said) : said
  const wish = column.isTime ? 'an epoch in ms or an ISO 8601 time' : 'a whole number'
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return { fault: `must be ${wish}, is ${kindOf(said)}` }
  return within(column, value)
}

/** Only what begins with a date: Date.parse takes `1` and other things that nobody meant as a time. */
function epochOf(said: string): number | undefined {
  const isIso = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/.test(said)
  const epoch = isIso ? Date.parse(said) : Number.NaN
  return Number.isNaN(epoch) ? undefined : epoch
}

function within(column: Column, value: number): ReadValue {
  const { minimum = -Infinity, maximum = Infinity } = column
  if (value < minimum) return { fault: `must be at least ${minimum}, is ${value}` }
  if (value > maximum) return { fault: `must be at most ${maximum}, is ${value}` }
  // -0 would come back from the store as 0.
  return { value: value === 0 ? 0 : value }
}

function readText(column: Column, said: unknown, depth: number): ReadValue {
  if (column.isAnyJson && typeof said === 'object') {
    const json = readJson(said, depth)
    return json.fault === undefined ? { value: JSON.stringify(json.value) } : json
  }
  if (column.isAnyJson && typeof said === 'boolean') return { value: String(said) }
  if (typeof said === 'number' && Number.isFinite(said)) return checkedText(column, String(said))
  if (typeof said !== 'string') return { fault: `must be text, is ${kindOf(said)}` }
  return checkedText(column, said)
}

function checkedText(column: Column, said: string): ReadValue {
  if (said.includes('\0')) return { fault: 'holds a character NUL' }
  if (!said.isWellFormed()) return { fault: 'holds half of a surrogate pair' }
  // An empty choice is one that was left open.
  if (column.choices !== undefined && !column.choices.includes(said))
    return { fault: `must be one of ${column.choices.join(', ')}, is ${quoted(said)}` }
  const isLabel = column.isRequired && column.default === null
  if (isLabel && said.trim() === '') return { fault: 'must not be empty' }
  return { value: said }
}

/** A number beyond what JavaScript holds would come back from the store as null. */
function readJson(said: unknown, depth: number): ReadValue {
  let level: unknown[] = [said]
  // Level by level, so that no depth can exhaust the stack.
  for (let left = depth; level.length > 0; left--) {
    if (left < 0) return { fault: `is nested deeper than ${depth} levels` }
    if (level.some((value) => typeof value === 'number' && !Number.isFinite(value)))
      return { fault: 'holds a number that is too large' }
    level = level.flatMap((value) => (value !== null && typeof value === 'object' ? Object.values(value) : []))
  }
  return { value: JSON.parse(JSON.stringify(said)) as Json }
}
