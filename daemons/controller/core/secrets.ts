/** Recognises secrets by name or inside text, and removes them from values. */
import { isSensitiveName, wordsOfName } from '#kit/pure/sensitive-name.ts'
import { isList, type Json, objectOf } from './json.ts'

// Names of attributes and JSON keys that suggest a secret, and JSON without the values under them.

/** JSON nested deeper than this is not searched: everything below counts as secret. */
const DEEPEST = 64

/**
 * The same JSON with null for every value under a sensitive key, at every depth; below 64 levels everything is null. A
 * key may also be given as a value: in `{"name": "password", "value": "x"}` and in a list of pairs, the value is null
 * too.
 * @returns the value itself if nothing was removed
 */
export function withoutSecrets(value: Json): Json {
  return without(value, 0)
}

function without(value: Json, depth: number): Json {
  if (value === null || typeof value !== 'object') return value
  if (depth >= DEEPEST) return null
  let isChanged = false
  function inner(isSecret: boolean, before: Json): Json {
    const after = isSecret ? null : without(before, depth + 1)
    if (after !== before) isChanged = true
    return after
  }
  if (isList(value)) {
    const isSecretPair = secretPairs(value)
    const list = value.map((item) => {
      if (!isSecretPair(item)) return inner(false, item)
      const [name, had] = item as readonly [string, Json]
      if (had !== null) isChanged = true
      return [name, null]
    })
    return isChanged ? list : value
  }
  const isSecretKey = secretKeys(value)
  const copy = objectOf(Object.entries(value).map(([key, item]) => [key, inner(isSecretKey(key), item)]))
  return isChanged ? copy : value
}

/** Keys, by their last word, whose value names another value of the object. */
const NAMING = new Set(
  'name names key id field label title param parameter property setting header attribute option variable'.split(' '),
)
/** The same for form fields: `type` says what is typed into them. */
const TYPING = new Set(['type', 'kind'])
/** Keys, by any of their words, that hold the named value. */
const VALUE_WORDS = new Set('value values val vals v content contents data text string default'.split(' '))
const TYPED_WORDS = new Set(['value', 'values', 'val', 'default'])

/** Tells for each key of an object whether its value is secret, by the key's own name or by what the object says. */
export function secretKeys(object: { readonly [key: string]: Json }): (key: string) => boolean {
  let words: ReadonlySet<string> | undefined
  for (const [key, value] of Object.entries(object)) {
    if (typeof value !== 'string' || !isSensitiveName(value)) continue
    const last = wordsOfName(key).at(-1) ?? ''
    if (NAMING.has(last)) words = VALUE_WORDS
    else if (TYPING.has(last)) words ??= TYPED_WORDS
  }
  const named = words
  if (named === undefined) return isSensitiveName
  return (key) => isSensitiveName(key) || wordsOfName(key).some((word) => named.has(word))
}

/** Tells for each item of a list whether it is a pair of a sensitive name and a value: `[["pin", "1234"]]`. */
export function secretPairs(list: readonly Json[]): (item: Json) => boolean {
  const isPairs = list.length > 0 && list.every((item) => isPair(item))
  return (item) => isPairs && isPair(item) && isSensitiveName(item[0])
}

function isPair(item: Json): item is readonly [string, Json] {
  return isList(item) && item.length === 2 && typeof item[0] === 'string'
}

/** Both functions, as code that searches values takes them. */
export const NAME_RULES = { isSensitiveName, withoutSecrets }

// Secrets inside texts. In addresses, as cameras have them: `rtsp://viewer:secret@10.0.0.9/1`, `/shot.cgi?usr=a&pwd=b`.
// In lines, as drivers send and log them: `Authorization: Basic YWRtaW46cHc=`, `password: b`.

/**
 * The part between the slashes and the host: up to the last `@` before the next slash, since passwords are often not
 * escaped.
 * @source RFC 3986, 3.2.1
 */
const USERINFO = /:\/\/[^\s/"]+@/g

/**
 * One name of a query with its value; `;` separates like `&`, as in addresses of old devices. In JSON as text, the
 * quote that ends the address may be escaped: its backslash is not part of the address.
 */
const PARAMETER = /((?:^|[?&;,\s])([\w.%-]{1,64})=)(?:[^&;#\s"\\]|\\(?!"))+/g

/** A name followed by a colon: the rest of the line is its value. The scheme of an address does not count. */
const NAMED_LINE = /(?<![\w-])([\w-]{1,64})[ \t]*:(?!\/\/)[ \t]*(?=\S)/g

/** Credentials without a name before them. @source RFC 6750, 2.1; RFC 7617, 2 */
const SCHEME = /\b(bearer|basic)([ \t]+)([\w.~+/-]{6,4096}=*)/gi

/** Anything shorter is an ordinary word: `bearer service`. */
const SHORTEST_BEARER = 16

/** Names that are sensitive only as query parameters. */
const OF_PARAMETERS: ReadonlySet<string> = new Set(['auth', 'sig', 'signature'])

/** The same value without secrets in addresses, unchanged if there are none: no column name marks these. */
export function withoutAddressSecrets(value: Json): Json {
  if (typeof value === 'string') return withoutInText(value)
  if (value === null || typeof value !== 'object') return value
  let isChanged = false
  const seen = (before: Json): Json => {
    const after = withoutAddressSecrets(before)
    if (after !== before) isChanged = true
    return after
  }
  const copy = isList(value)
    ? value.map(seen)
    : objectOf(Object.entries(value).map(([name, item]) => [String(seen(name)), seen(item)]))
  return isChanged ? copy : value
}

function withoutInText(text: string): string {
  const named = text.includes('://') ? text.replace(USERINFO, '://***@') : text
  if (!named.includes('=')) return named
  return named.replace(PARAMETER, (whole, head: string, name: string) => (isSecret(name) ? `${head}***` : whole))
}

function isSecret(name: string): boolean {
  return isSensitiveName(name) || OF_PARAMETERS.has(name.toLowerCase())
}

/**
 * The same text without values that a line names as secret, and without credentials by scheme; for values, not for
 * names.
 */
export function withoutLineSecrets(text: string): string {
  return withoutNamed(text).replace(SCHEME, (whole, scheme: string, gap: string, said: string) =>
    isCredential(scheme, said) ? `${scheme}${gap}***` : whole,
  )
}

function withoutNamed(text: string): string {
  if (!text.includes(':')) return text
  let seen = ''
  let from = 0
  for (const { 0: head, 1: name = '', index } of text.matchAll(NAMED_LINE)) {
    if (index < from || !isSensitiveName(name)) continue
    const value = index + head.length
    const length = text.slice(value).search(/[\r\n]/)
    seen += `${text.slice(from, value)}***`
    from = length < 0 ? text.length : value + length
  }
  return from === 0 ? text : seen + text.slice(from)
}

function isCredential(scheme: string, said: string): boolean {
  if (scheme.toLowerCase() === 'bearer') return said.length >= SHORTEST_BEARER
  try {
    return atob(said).includes(':')
  } catch {
    return false
  }
}

// What a session without elevation sees of a value with nested secrets, such as an attribute: null in their place.

type Rules = typeof NAME_RULES

/** The rules, and what to do with a text that is not JSON. */
interface Looking extends Rules {
  inText(text: string): Json
  /** Texts that are not JSON are names that somebody gave. */
  isName?: true
}

/** A value nested deeper than this is hidden from anyone who may not see secrets. */
const MOST_LEVELS = 64

/**
 * A value with null in place of secrets, and addresses without theirs. A text that is JSON is written again from its
 * parsed value, so that no trick of spelling gets through (duplicate names, escapes). A text that only looks like JSON
 * and names a secret becomes null as a whole.
 * @source document 1, Guards 3
 */
export function seenValue(rules: Rules, value: Json | undefined): Json {
  const { isSensitiveName, withoutSecrets } = rules
  return seen({ isSensitiveName, withoutSecrets, inText: withoutTextSecrets }, value ?? null, 0)
}

function withoutTextSecrets(text: string): string {
  return withoutLineSecrets(String(withoutAddressSecrets(text)))
}

/** The same for a text that is a name rather than a value: if it is not JSON, only secrets in addresses are removed. */
export function seenText({ isSensitiveName, withoutSecrets }: Rules, text: string): Json {
  return seenJsonText({ isSensitiveName, withoutSecrets, inText: withoutAddressSecrets, isName: true }, text, 0)
}

/** Rules by which nothing is secret: they only write the value again. */
const NOTHING_SECRET: Looking = {
  isSensitiveName: () => false,
  withoutSecrets: (value) => value,
  inText: (text) => text,
}

/** Whether a value contains something secret; a value too deep to search counts as secret. */
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

/** Handles JSON inside the texts of JSON: some devices report settings like that. */
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

/** Whether a text, as it is seen without its secrets, has a place where there may have been one. */
export function hasSecretPlace(rules: Pick<Rules, 'isSensitiveName'>, seen: string): boolean {
  return seen.includes('***') || namesSecret(rules, seen)
}

/** Whether any word of a text is a sensitive name. */
function namesSecret({ isSensitiveName }: Pick<Rules, 'isSensitiveName'>, text: string): boolean {
  return text.split(/[^\p{L}\p{N}_.-]+/u).some((word) => word !== '' && isSensitiveName(word))
}

/** How deep brackets are nested; counted before parsing, since parsing deep JSON may overflow the stack. */
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

/** The depth of a value; stops counting at one above the limit. */
function levelsOf(value: Json, above = 0): number {
  if (value === null || typeof value !== 'object' || above > MOST_LEVELS) return above
  let deepest = above + 1
  for (const item of Object.values(value)) deepest = Math.max(deepest, levelsOf(item, above + 1))
  return deepest
}
