/** Whether a name speaks of a secret: that of an attribute, a JSON key, a setting or a header. */

/** Sensitive words; so are words that end with one: `wifipassword`, `refreshtoken`. No innocent word does. */
const LONG_WORDS = [
  ...['password', 'passwd', 'pwd', 'pswd', 'passphrase', 'passcode', 'pincode', 'secret', 'token', 'credential'],
  ...['rfid', 'jwt', 'psk', 'pushsubscription'],
]

/** Words that are sensitive alone or after a LEADING word: `monkey`, `hairpin` and `compass` are not sensitive. */
const SHORT_WORDS = ['key', 'pin', 'hash', 'salt', 'pass', 'psw', 'bearer', 'cookie', 'authorization', 'authorisation']

/** What people write before one of those words without a space: `apikey`, `sshkeys`, `userpass`. */
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

/** Singular and plural. No two alternatives join to a third, so matching takes time proportional to the length. */
const LONG = new RegExp(`(?:${LONG_WORDS.join('|')})(?:e?s)?$`)
const SHORT = new RegExp(
  `^(?:${[...LEADING, ...LONG_WORDS, ...SHORT_WORDS].join('|')})*(?:${SHORT_WORDS.join('|')})(?:e?s)?$`,
)
/** Longer words are not compounds of these. */
const LONGEST_COMPOUND = 64

/** Two words that are sensitive together, and `pass` where it is a harmless technical term. */
const PUSH_SUBSCRIPTION = /\bpush subscriptions?\b/
const PAIRED: ReadonlySet<string> = new Set(['push', 'pass'])
const INNOCENT_PASS = /\b(?:low|high|band|all|by) pass\b|\bpass (?:through|thru|band|fail)\b/g

/** Every sensitive name contains one of these as consecutive letters: most names are decided by this test alone. */
const MAYBE = new RegExp([...LONG_WORDS, ...SHORT_WORDS, 'subscription'].join('|'), 'i')
const IS_ASCII = /^[\0-\x7f]*$/

const LOWER_UPPER = /([\p{Ll}\p{Lo}])(?=\p{Lu})/gu
/** `APIKey` is API and Key. */
const UPPER_HEAD = /(\p{Lu})(?=\p{Lu}\p{Ll})/gu
/** `PINcode` is PIN and code. */
const UPPER_RUN = /(\p{Lu}\p{Lu})(?=\p{Ll})/gu
const NO_LETTERS = /[^\p{L}]+/u
/** Accents and invisible characters. */
const UNSEEN = /[\p{M}\p{Default_Ignorable_Code_Point}]/gu

/**
 * Whether a name contains a sensitive word, singular or plural. The name is split at non-letters and at camel case, in
 * every way it can be read: `api_keys`, `wifiPassword`, `PINcode`, `passWord`, `password2`, `sessionkeys`. Full-width
 * and accented letters count as the plain ones. Takes time proportional to the name.
 */
export function isSensitiveName(name: string): boolean {
  const plain = IS_ASCII.test(name) ? name : name.normalize('NFKD').replace(UNSEEN, '')
  if (!MAYBE.test(plain) && !/push/i.test(plain)) return false
  const split = plain.replace(LOWER_UPPER, '$1 ')
  return hasWord(plain) || hasWord(split.replace(UPPER_HEAD, '$1 ')) || hasWord(split.replace(UPPER_RUN, '$1 '))
}

function hasWord(spaced: string): boolean {
  const words = spaced.toLowerCase().split(NO_LETTERS)
  // Only a few names have two words that count together: most are decided word by word.
  if (!words.some((word) => PAIRED.has(word))) return words.some(isWord)
  const joined = words.join(' ')
  return PUSH_SUBSCRIPTION.test(joined) || joined.replace(INNOCENT_PASS, ' ').split(' ').some(isWord)
}

function isWord(word: string): boolean {
  return LONG.test(word.slice(-LONGEST_COMPOUND)) || (word.length <= LONGEST_COMPOUND && SHORT.test(word))
}

/** The words of a name, in lower case: `newValue` and `new_value` are new and value. */
export function wordsOfName(name: string): string[] {
  return name
    .replace(LOWER_UPPER, '$1 ')
    .toLowerCase()
    .split(NO_LETTERS)
    .filter((word) => word !== '')
}
