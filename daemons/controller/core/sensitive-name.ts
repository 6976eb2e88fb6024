/** Which names of attributes and of JSON keys stand for a secret, and JSON without what stands under them. */
import { isList } from './json-kind.ts'
import type { Json } from './row.ts'

/** Words that make a name sensitive. */
const WORDS: ReadonlySet<string> = new Set([
  'password',
  'passwd',
  'pwd',
  'passphrase',
  'secret',
  'token',
  'key',
  'pin',
  'hash',
  'salt',
  'credential',
  // As people write them in one word, for many, and the headers that carry them.
  ...['passwords', 'passphrases', 'secrets', 'credentials'],
  ...['apikey', 'accesskey', 'authkey', 'passkey', 'privatekey', 'secretkey', 'sessionkey', 'sharedkey', 'psk'],
  ...['accesstoken', 'authtoken', 'refreshtoken', 'sessiontoken', 'passcode', 'pincode'],
  ...['authorization', 'cookie'],
])

/** Whatever is sensitive has one of the words in it as letters in a row: most names are judged by this alone. */
const MAYBE = new RegExp([...WORDS].join('|'), 'i')

const LOWER_UPPER = /([\p{Ll}\p{Lo}])(?=\p{Lu})/gu
/** `APIKey` is API and Key. */
const UPPER_HEAD = /(\p{Lu})(?=\p{Lu}\p{Ll})/gu
/** `PINcode` is PIN and code. */
const UPPER_RUN = /(\p{Lu}\p{Lu})(?=\p{Ll})/gu
const NO_LETTERS = /[^\p{L}]+/u

/** JSON nested deeper than this is not looked through: what lies below counts as secret. */
const DEEPEST = 64

/**
 * Whether a name holds one of the sensitive words, after it is split at whatever is no letter and at camel case, in
 * every way that it can be read: `api_key`, `wifiPassword`, `PINcode`, `passWord`, `password2`. Of plurals those that
 * stand above.
 * Takes time in proportion to the name.
 */
export function isSensitiveName(name: string): boolean {
  if (!MAYBE.test(name)) return false
  const split = name.replace(LOWER_UPPER, '$1 ')
  return hasWord(name) || hasWord(split.replace(UPPER_HEAD, '$1 ')) || hasWord(split.replace(UPPER_RUN, '$1 '))
}

function hasWord(spaced: string): boolean {
  return spaced
    .toLowerCase()
    .split(NO_LETTERS)
    .some((word) => WORDS.has(word))
}

/**
 * The same JSON with null for every value under a sensitive key, at every depth; below 64 levels everything is null.
 * @returns the value itself where nothing was taken out
 */
export function withoutSecrets(value: Json): Json {
  return without(value, 0)
}

function without(value: Json, depth: number): Json {
  if (value === null || typeof value !== 'object') return value
  if (depth >= DEEPEST) return null
  let isChanged = false
  function inner(key: string | undefined, before: Json): Json {
    const after = key !== undefined && isSensitiveName(key) ? null : without(before, depth + 1)
    if (after !== before) isChanged = true
    return after
  }
  const copy = isList(value)
    ? value.map((item) => inner(undefined, item))
    : // Defines properties, so that a key `__proto__` is one like any other.
      Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inner(key, item)]))
  return isChanged ? copy : value
}

/** Both, as they are handed to what looks through values. */
export const NAME_RULES = { isSensitiveName, withoutSecrets }
