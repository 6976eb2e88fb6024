/** What a non-elevated session sees of a value in which secrets may be nested, such as an attribute's: there they are null. */
import { isList, objectOf } from '../json-kind.ts'
import type { Json } from '../row.ts'
import { withoutAddressSecrets, withoutLineSecrets } from './address-secrets.ts'
import type { SchemaFace } from './schema-face.ts'

type Rules = Pick<SchemaFace, 'isSensitiveName' | 'withoutSecrets'>

/** The same, and what stays of a text that is no JSON. */
interface Looking extends Rules {
  inText(text: string): Json
  /** Texts that are no JSON are names that somebody gave. */
  isName?: true
}

/** Nested deeper than this it is shown to nobody who may not see secrets. */
const MOST_LEVELS = 64

/**
 * A value with null where a secret stands, and addresses without theirs. A text that is JSON is written anew from what it
 * means, so that nothing of its spelling passes by (a name given twice, escapes); one that only looks like JSON and names a
 * secret is null as a whole.
 * @source document 1, Guards 3
 */
export function seenValue(rules: Rules, value: Json | undefined): Json {
  const { isSensitiveName, withoutSecrets } = rules
  return seen({ isSensitiveName, withoutSecrets, inText: withoutTextSecrets }, value ?? null, 0)
}

function withoutTextSecrets(text: string): string {
  return withoutLineSecrets(String(withoutAddressSecrets(text)))
}

/** The same of a text that is no value, such as a name: where it is no JSON it stays, but for addresses. */
export function seenText({ isSensitiveName, withoutSecrets }: Rules, text: string): Json {
  return seenJsonText({ isSensitiveName, withoutSecrets, inText: withoutAddressSecrets, isName: true }, text, 0)
}

/** Rules by which nothing is secret: what a value is as it would be written anew. */
const NOTHING_SECRET: Looking = {
  isSensitiveName: () => false,
  withoutSecrets: (value) => value,
  inText: (text) => text,
}

/** Whether something of a value is not for who may not see secrets; what is too deep to be looked through is not. */
export function holdsSecret(rules: Rules, value: Json): boolean {
  if (value === null) return false
  const whole = seen(NOTHING_SECRET, value, 0)
  return whole === null || JSON.stringify(seenValue(rules, value)) !== JSON.stringify(whole)
}

function seen(rules: Looking, value: Json, level: number): Json {
  if (typeof value === 'string') return seenJsonText(rules, value, level)
  if (value === null || typeof value !== 'object') return value
  if (levelsOf(value) > MOST_LEVELS) return null
  return seenWithin(rules, rules.withoutSecrets(value), level)
}

/** JSON in the texts of JSON: some devices report settings so. */
function seenWithin(rules: Looking, value: Json, level: number): Json {
  if (typeof value === 'string') return seenJsonText(rules, value, level + 1)
  if (value === null || typeof value !== 'object') return value
  if (isList(value)) return value.map((item) => seenWithin(rules, item, level))
  return objectOf(
    Object.entries(value).map(([name, item]) => [String(rules.inText(name)), seenWithin(rules, item, level)]),
  )
}

function seenJsonText(rules: Looking, text: string, level: number): Json {
  const trimmed = text.trim()
  const first = trimmed[0]
  if (first !== '{' && first !== '[' && first !== '"') return rules.inText(text)
  if (level > MOST_LEVELS || bracketsOf(trimmed) > MOST_LEVELS) return null
  let json: Json
  try {
    json = JSON.parse(trimmed)
  } catch {
    return rules.isName !== true && namesSecret(rules, trimmed) ? null : rules.inText(text)
  }
  return JSON.stringify(seen(rules, json, level + 1))
}

/** Whether any word of what could not be read as JSON is a sensitive name. */
function namesSecret({ isSensitiveName }: Rules, text: string): boolean {
  return text.split(/[^\p{L}\p{N}_.-]+/u).some((word) => word !== '' && isSensitiveName(word))
}

/** How deep brackets stand in brackets, at most; counted before reading, as reading deep JSON may end the stack. */
export function bracketsOf(text: string): number {
  let level = 0
  let deepest = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text[at]
    if (unit === '{' || unit === '[') deepest = Math.max(deepest, ++level)
    else if (unit === '}' || unit === ']') level--
  }
  return deepest
}

/** Levels of a value, counted no further than one too many. */
function levelsOf(value: Json, above = 0): number {
  if (value === null || typeof value !== 'object' || above > MOST_LEVELS) return above
  let deepest = above + 1
  for (const item of Object.values(value)) deepest = Math.max(deepest, levelsOf(item, above + 1))
  return deepest
}
