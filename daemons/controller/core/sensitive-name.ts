/** Which names of attributes and of JSON keys stand for a secret, and JSON without what stands under them. */
import { isList, objectOf } from './json-kind.ts'
import type { Json } from './row.ts'

/** Words that are sensitive, and so are words that end with one: `wifipassword`, `refreshtoken`. No innocent word does. */
const LONG_WORDS = [
  ...['password', 'passwd', 'pwd', 'pswd', 'passphrase', 'passcode', 'pincode', 'secret', 'token', 'credential'],
  ...['rfid', 'jwt', 'psk', 'pushsubscription'],
]

/** Words that are sensitive by themselves, and behind what LEADING names: `monkey`, `hairpin` and `compass` are none. */
const SHORT_WORDS = ['key', 'pin', 'hash', 'salt', 'pass', 'psw', 'bearer', 'cookie', 'authorization', 'authorisation']

/** What people write before one of them without a space: `apikey`, `sshkeys`, `userpass`. */
const LEADING = [
  ...['access', 'account', 'admin', 'api', 'app', 'auth', 'cam', 'camera', 'cert', 'client', 'cloud', 'crypto', 'db'],
  ...['device', 'door', 'duress', 'encryption', 'ftp', 'gateway', 'guest', 'hmac', 'host', 'http', 'id', 'integration'],
  ...['ldap', 'licence', 'license', 'login', 'master', 'mqtt', 'my', 'onvif', 'private', 'public', 'push', 'refresh'],
  ...[
    'root',
    'rsa',
    'rtsp',
    'server',
    'service',
    'session',
    'sftp',
    'shared',
    'sign',
    'signing',
    'sip',
    'smtp',
    'snmp',
  ],
  ...['ssh', 'ssl', 'stream', 'tls', 'tunnel', 'user', 'usr', 'vpn', 'web', 'webhook', 'wifi', 'wlan', 'wpa'],
]

/** Of one and of many. No two of LEADING and the words make a third: it is read in time in proportion to its length. */
const LONG = new RegExp(`(?:${LONG_WORDS.join('|')})(?:e?s)?$`)
const SHORT = new RegExp(
  `^(?:${[...LEADING, ...LONG_WORDS, ...SHORT_WORDS].join('|')})*(?:${SHORT_WORDS.join('|')})(?:e?s)?$`,
)
/** Longer words are no compound of these. */
const LONGEST_COMPOUND = 64

/** Two words that are sensitive together, and `pass` where it is what sound and signals do. */
const PUSH_SUBSCRIPTION = /\bpush subscriptions?\b/
const PAIRED: ReadonlySet<string> = new Set(['push', 'pass'])
const INNOCENT_PASS = /\b(?:low|high|band|all|by) pass\b|\bpass (?:through|thru|band|fail)\b/g

/** Whatever is sensitive has one of these as letters in a row: most names are judged by this alone. */
const MAYBE = new RegExp([...LONG_WORDS, ...SHORT_WORDS, 'subscription'].join('|'), 'i')
const IS_ASCII = /^[\0-\x7f]*$/

const LOWER_UPPER = /([\p{Ll}\p{Lo}])(?=\p{Lu})/gu
/** `APIKey` is API and Key. */
const UPPER_HEAD = /(\p{Lu})(?=\p{Lu}\p{Ll})/gu
/** `PINcode` is PIN and code. */
const UPPER_RUN = /(\p{Lu}\p{Lu})(?=\p{Ll})/gu
const NO_LETTERS = /[^\p{L}]+/u
/** Accents, and what is not seen at all. */
const UNSEEN = /[\p{M}\p{Default_Ignorable_Code_Point}]/gu

/** JSON nested deeper than this is not looked through: what lies below counts as secret. */
const DEEPEST = 64

/**
 * Whether a name holds one of the sensitive words, of one or of many, after it is split at whatever is no letter and at
 * camel case, in every way that it can be read: `api_keys`, `wifiPassword`, `PINcode`, `passWord`, `password2`,
 * `sessionkeys`. Letters of other widths and with accents count as the plain ones.
 * Takes time in proportion to the name.
 */
export function isSensitiveName(name: string): boolean {
  const plain = IS_ASCII.test(name) ? name : name.normalize('NFKD').replace(UNSEEN, '')
  if (!MAYBE.test(plain) && !/push/i.test(plain)) return false
  const split = plain.replace(LOWER_UPPER, '$1 ')
  return hasWord(plain) || hasWord(split.replace(UPPER_HEAD, '$1 ')) || hasWord(split.replace(UPPER_RUN, '$1 '))
}

function hasWord(spaced: string): boolean {
  const words = spaced.toLowerCase().split(NO_LETTERS)
  // Two words count together in few names: most are judged word by word at once.
  if (!words.some((word) => PAIRED.has(word))) return words.some(isWord)
  const joined = words.join(' ')
  return PUSH_SUBSCRIPTION.test(joined) || joined.replace(INNOCENT_PASS, ' ').split(' ').some(isWord)
}

function isWord(word: string): boolean {
  return LONG.test(word.slice(-LONGEST_COMPOUND)) || (word.length <= LONGEST_COMPOUND && SHORT.test(word))
}

/**
 * The same JSON with null for every value under a sensitive key, at every depth; below 64 levels everything is null. A
 * key may be written as a value: of `{"name": "password", "value": "x"}`, and of a list of pairs, the value is null too.
 * @returns the value itself where nothing was taken out
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

/** Keys whose value says what another value of the object is called, by their last word. */
const NAMING = new Set(
  'name names key id field label title param parameter property setting header attribute option variable'.split(' '),
)
/** Of forms: what is typed there. */
const TYPING = new Set(['type', 'kind'])
/** Keys that hold such a value, by any of their words. */
const VALUE_WORDS = new Set('value values val vals v content contents data text string default'.split(' '))
const TYPED_WORDS = new Set(['value', 'values', 'val', 'default'])

/** Tells of the keys of an object whether what stands under them is secret, by their names or by what the object says. */
export function secretKeys(object: { readonly [key: string]: Json }): (key: string) => boolean {
  let words: ReadonlySet<string> | undefined
  for (const [key, value] of Object.entries(object)) {
    if (typeof value !== 'string' || !isSensitiveName(value)) continue
    const last = wordsOf(key).at(-1) ?? ''
    if (NAMING.has(last)) words = VALUE_WORDS
    else if (TYPING.has(last)) words ??= TYPED_WORDS
  }
  const named = words
  if (named === undefined) return isSensitiveName
  return (key) => isSensitiveName(key) || wordsOf(key).some((word) => named.has(word))
}

/** Tells of the items of a list whether they are pairs with a sensitive name before the value: `[["pin", "1234"]]`. */
export function secretPairs(list: readonly Json[]): (item: Json) => boolean {
  const isPairs = list.length > 0 && list.every((item) => isPair(item))
  return (item) => isPairs && isPair(item) && isSensitiveName(item[0])
}

function isPair(item: Json): item is readonly [string, Json] {
  return isList(item) && item.length === 2 && typeof item[0] === 'string'
}

function wordsOf(key: string): string[] {
  return key
    .replace(LOWER_UPPER, '$1 ')
    .toLowerCase()
    .split(NO_LETTERS)
    .filter((word) => word !== '')
}

/** Both, as they are handed to what looks through values. */
export const NAME_RULES = { isSensitiveName, withoutSecrets }
