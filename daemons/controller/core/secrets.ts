/** What is secret by its name or inside a text, and values without their secrets. */
import { isList, type Json, objectOf } from './json.ts'

// Names of attributes and of JSON keys that stand for a secret, and JSON without what is under them.

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

// Secrets inside texts. In addresses, as cameras have them: `rtsp://viewer:secret@10.0.0.9/1`, `/shot.cgi?usr=a&pwd=b`.
// In lines, as drivers send and log them: `Authorization: Basic YWRtaW46cHc=`, `password: b`.

/**
 * What stands between the slashes and the host: up to the last `@` before the next slash, as passwords are often not
 * escaped.
 * @source RFC 3986, 3.2.1
 */
const USERINFO = /:\/\/[^\s/"]+@/g

/**
 * One name of a query with its value; `;` separates as `&` does, in addresses of old devices. In JSON as text the quote that
 * ends the address may be an escaped one: its backslash is none of the address.
 */
const PARAMETER = /((?:^|[?&;,\s])([\w.%-]{1,64})=)(?:[^&;#\s"\\]|\\(?!"))+/g

/** A name with a colon behind it: what follows is its value, up to the end of the line. Not the scheme of an address. */
const NAMED_LINE = /(?<![\w-])([\w-]{1,64})[ \t]*:(?!\/\/)[ \t]*(?=\S)/g

/** Credentials without a name before them. @source RFC 6750, 2.1; RFC 7617, 2 */
const SCHEME = /\b(bearer|basic)([ \t]+)([\w.~+/-]{6,4096}=*)/gi

/** Shorter is a word of a sentence: `bearer service`. */
const SHORTEST_BEARER = 16

/** Words that say so of a parameter and of nothing else. */
const OF_PARAMETERS: ReadonlySet<string> = new Set(['auth', 'sig', 'signature'])

/** The same value without them, the very same where there are none: no column says that a secret stands there. */
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

/** The same text without what a line names as a secret, and without credentials by their scheme; for values, not for names. */
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

// What a session without elevation sees of a value in which secrets may be nested, such as an attribute: null in their place.

type Rules = typeof NAME_RULES

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
