/**
 * Takes secrets out of texts that others wrote: logs, states of units, answers of programs. It reads what looks like a
 * name with a value, in the spellings of JSON, of headers, of command lines, of XML and of plain text; where it cannot
 * tell how far a secret goes, it takes more. Every step takes time proportional to the text.
 */
import { isSensitiveName, wordsOfName } from '#kit/pure/sensitive-name.ts'

/** What stands in the place of a secret. */
const MASK = '***'

/** Words that are no secret in the data of a house, but are in a log. */
const OF_LOGS: ReadonlySet<string> = new Set([
  ...['session', 'sessionid', 'sid', 'ticket', 'tickets', 'auth', 'sig', 'signature', 'signatures', 'otp', 'totp'],
  ...['passwort', 'kennwort', 'community', 'pw', 'pws', 'cred', 'creds'],
])

/** Whether what stands behind this name in a log is secret. */
function isSecretName(name: string): boolean {
  return isSensitiveName(name) || DOOR_CODE.test(name) || wordsOfName(name).some((word) => OF_LOGS.has(word))
}

const DOOR_CODE = /(?:access|alarm|door|entry|security|unlock)[_.-]?code/i

/**
 * The same text without what may open a door: values of secret names, credentials of headers and addresses, what follows
 * the host of an address (the path of a webhook is its key), private keys, tokens and hashes. Lines stay lines.
 */
export function masked(text: string): string {
  const lines: string[] = []
  let open: Open | undefined
  for (const line of text.split('\n')) {
    const { head, body } = entryOf(line, open)
    if (open !== undefined && isWithin(open, head, body)) {
      if (END.test(body)) open = undefined
      lines.push(`${head}${body.slice(0, indentOf(body))}${MASK}`)
      continue
    }
    const { text: seen, isOpen } = maskedLine(body)
    open = isOpen ? { kind: isOpen, indent: indentOf(body), width: head.length, left: LONGEST_VALUE } : undefined
    lines.push(head + seen)
  }
  return lines.join('\n')
}

// Values that go on in the next lines.

/** So many lines, at most, belong to a value that was not closed where it began. */
const LONGEST_VALUE = 128

/** A value that its first line did not close. */
interface Open {
  /** Of a key, everything up to its end; else what is indented deeper, or belongs to the same entry of the journal. */
  kind: 'key' | 'value'
  indent: number
  /** Of what the journal put before the line. */
  width: number
  /** Lines. */
  left: number
}

/** What journalctl puts before each entry: time, host, program. */
const ENTRY = /^\d{4}-\d\d-\d\dT\S+ \S+ [^\s:]+(?:\[\d+\])?: /
const BEGIN = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY/
const END = /-----END /

/** Further lines of an entry are indented by as much as the first has before it. */
function entryOf(line: string, open: Open | undefined): { head: string; body: string } {
  const entry = ENTRY.exec(line)?.[0]
  const head = entry ?? (open === undefined ? '' : line.slice(0, Math.min(open.width, indentOf(line))))
  return { head, body: line.slice(head.length) }
}

function isWithin(open: Open, head: string, body: string): boolean {
  if (open.left-- === 0) return false
  if (open.kind === 'key') return true
  const isSameEntry = open.width > 0 && head.trim() === '' && body !== ''
  return isSameEntry || (body.trim() !== '' && indentOf(body) > open.indent)
}

function indentOf(line: string): number {
  return line.search(/\S|$/)
}

// One line.

/** A masked line, and what it leaves open. */
interface MaskedLine {
  text: string
  isOpen: Open['kind'] | undefined
}

function maskedLine(line: string): MaskedLine {
  const key = line.search(BEGIN)
  if (key >= 0) return { text: maskedLine(line.slice(0, key)).text + MASK, isOpen: END.test(line) ? undefined : 'key' }
  const plain = line
    .replace(ADDRESS, (_, scheme: string, rest: string) => scheme + hostOf(scheme, rest))
    .replace(/[^\s"'`]+/g, withoutUserinfo)
    .replace(SEEN_SETTING, `$1${MASK}`)
    .replace(SETTING, (all, head: string, name: string, rest: string) =>
      isSecretName(name) || name.endsWith('_file') ? `${head}${rest.startsWith(`saw ${MASK}`) ? rest : MASK}` : all,
    )
    .replace(SEEN_TEXT, `$1${MASK}`)
    .replace(USER_FLAG, `$1${MASK}`)
  const inside = withoutElements(plain)
  const flags = withoutValues(inside.text, FLAG)
  const named = withoutValues(flags.text, NAMED)
  const text = named.text.replace(SCHEME, `$1 ${MASK}`).replace(TOKEN, MASK).replace(RUN, withoutRandom)
  return { text: text.replace(HEX, '$1…'), isOpen: inside.isOpen ?? flags.isOpen ?? named.isOpen }
}

/** To the end of a word: a quote in it ends it only where something else begins or ends. */
const CHAR = /(?:[^\s"'`]|["'`](?![\s,;:}\])>&\\]|$))/.source

/** Slashes may be escaped, as in some JSON. */
const ADDRESS = new RegExp(`((?<![a-z0-9+.-])[a-z][a-z0-9+.-]*:\\\\?/\\\\?/)(${CHAR}+)`, 'giu')

/** Host and port alone, and nothing of what is no host. */
function hostOf(scheme: string, rest: string): string {
  // Stacks are full of these.
  if (/^file:/i.test(scheme) && rest.startsWith('/')) return rest
  const at = rest.lastIndexOf('@')
  const after = rest.slice(at + 1)
  const [, host = '', path = ''] =
    /^((?:\[[0-9a-f:.%]+\]|[\p{L}\p{N}._-]+)(?::\d{1,5})?)(?=[/?#\\,;)\]}>.!]|:?$)(.*)$/isu.exec(after) ?? []
  if (host === '') return MASK
  return `${at < 0 ? '' : `${MASK}@`}${host}${/^[:)\]}>.,;!]*$/.test(path) ? path : `/${MASK}`}`
}

/** `user:password@host`, without a scheme. */
function withoutUserinfo(word: string): string {
  const at = word.lastIndexOf('@')
  if (at < 0) return word
  const user = /(?:^|[=,([{/])[\w.-]{1,64}:(?!\\?\/\\?\/)/.exec(word)
  if (user === null || user.index + user[0].length > at) return word
  return word.slice(0, user.index + user[0].length) + MASK + word.slice(at)
}

/** What is wrong with a setting, in the sentence of a daemon that did not start: with what it had. */
const SETTING = /(?<![\w.-])(([\w.-]+) \((?:[^()]* line \d+|[^()]*\.toml|command line)\): )(.+)/
const SEEN_SETTING = /(\((?:[^()]* line \d+|[^()]*\.toml|command line)\): saw )(?:.*(?=, expected)|.*)/
const SEEN_TEXT = /(\bsaw (?=\\*["'`]))(?:.*(?=, expected)|.*)/

/** As curl has it. */
const USER_FLAG = /((?<![^\s"'`])(?:-u|--user|--proxy-user)(?:[ =]|["'],[ \t]*["']))[^\s"']+:[^\s"']+/g

/** Credentials without a name before them; `Basic` and `Token` are also ordinary words. */
const SCHEME =
  /\b(Bearer(?=\s)|bearer(?=\s+\S{8})|(?:Basic|Token|ApiKey|Negotiate)(?=\s+\S*[A-Z0-9=])|Digest(?=\s+\w+=))\s+(?:\w+=.*|\S+)/g

/** JSON Web Tokens, API keys of Plantroom, hashes of passwords. */
const TOKEN = /\beyJ[\w-]{8,}(?:\.[\w-]*)*|\bplk_[\w-]+|\$(?:argon2\w*|2[abxy]|[156y]|scrypt|pbkdf2[\w-]*)\$[^\s"'`]+/g

/** Such as a key of 32 bytes in base64, wherever it stands. */
const RUN = /(?<![\w+/-])[\w+-][\w+/-]{39,}=*/g
/** Of two letters or digits beside each other in chance, 62 % are of two kinds; in names few are. */
const MIXED = /[a-z](?=[A-Z\d])|[A-Z](?=[a-z\d])|\d(?=[A-Za-z])/g
const LEAST_MIXED = 0.35

function withoutRandom(run: string): string {
  return (run.match(MIXED)?.length ?? 0) > LEAST_MIXED * run.length ? MASK : run
}

const HEX = /([0-9a-f]{8})[0-9a-f]{24,}/gi

// Names with values.

const NAME = /[\p{L}\p{M}\p{N}_.-]|%(?!3[dDaA])/u.source
/** Taken whole or not at all, so that a long one is read once. */
const WHOLE_NAME = `(?<!${NAME})(?=(?<name>(?:${NAME})+))\\k<name>`

const between = (...parts: readonly RegExp[]) => `(?:${parts.map(({ source }) => source).join('|')})`
/** What says that the value of a name follows. */
const NAMED = new RegExp(
  `${WHOLE_NAME}(?:(?<index>\\[[^\\]\\s]{0,64}\\])|\\\\*["'\`]\\])?${between(
    // name=value, "name": "value", name => value, name%3Dvalue
    /(?:\\*["'`]|&quot;|&#34;|%22)?[^\S\n]*(?:=>|:=|[:=](?!\\?\/\\?\/)|[\uff1a\uff1d]|%3[dDaA])[^\S\n]*/u,
    // {"name": "password", "value": "x"}, <input name="password" value="x">
    /\\*["'`](?:,|[ \t])[ \t]*\\*["'`]?(?:value|content|data|text)\\*["'`]?[ \t]*[:=][ \t]*/,
    // ["name", "value"]
    /\\*["'`],[ \t]*(?=\\*["'`[{\d])/,
    // name("value"), the name 'value'
    /(?:\([ \t]*|[ \t]+)(?=["'`])/,
    // Password for ann: value
    /(?:[ \t]+[\p{L}\p{N}_.@-]{1,32}){1,3}:[ \t]+/u,
    // PIN 1234, the password is value1: a word with a digit, and no name=value
    /[ \t]+(?:(?:is|was|to)[ \t]+)?(?=[^\s\d=]{0,64}\d)(?![^\s=]{0,64}=)/,
  )}`,
  'gu',
)

/** `--name value`. */
const FLAG = new RegExp(`(?<![^\\s"'\`])(?=--?[\\p{L}])${WHOLE_NAME}[ \\t]+(?=\\S)`, 'gu')

/** Headers whose values have blanks, commas and quotes in them. */
const TO_THE_END = /(?:^[nrt]?|[-_.])(?:authori[sz]ation|cookies?|x-api-key|x-auth-token)$/i

function withoutValues(line: string, named: RegExp): MaskedLine {
  let text = ''
  let from = 0
  let isOpen = false
  named.lastIndex = 0
  for (let match = named.exec(line); match; match = named.exec(line)) {
    const { name: whole = '', index = '' } = match.groups ?? {}
    // In a text within a text, "\ncookie:" is a line that begins with cookie.
    const isEscaped = line[match.index - 1] === '\\' && /^[nrt]/.test(whole)
    const name = `${isEscaped && !isSecretName(whole) ? whole.slice(1) : whole}${index}`
    const start = match.index + match[0].length
    // What follows may be a name of its own.
    named.lastIndex = match.index + whole.length
    if (!isSecretName(name)) continue
    const end = TO_THE_END.test(name) ? undefined : endOfValues(line, start, /s\d*$/i.test(name))
    isOpen = end === undefined && !(TO_THE_END.test(name) && /[^[{,]\s*$/.test(line.slice(start)))
    if (end === start || OPEN_WORD.test(line.slice(start, end))) continue
    text += line.slice(from, start) + (start < line.length ? MASK : '')
    from = end ?? line.length
    named.lastIndex = from
  }
  return { text: text + line.slice(from), isOpen: isOpen ? 'value' : undefined }
}

/** What is no secret in whatever place. */
const OPEN_WORD = /^(?:true|false|null|undefined|none|""|''|\[\]|\{\})$/

const PLAIN = new RegExp(`(?:(?!&[\\w.%-]+=)${CHAR})+`, 'y')
/** After what closes a value; other than one of these it goes on. */
const CLOSED = /[\s,;:}\])>&"'`\\]|$/y
/** Credentials by their scheme have blanks in them. */
const CREDENTIALS = /(?:bearer|basic|digest|apikey|token|negotiate|hmac\S*|aws4\S*)[ \t]/iy

/** As in JSON: what follows is no part of it. */
const LITERAL = /(?:true|false|null|undefined)(?=[\s,;}\])]|$)|-?\d+(?:\.\d+)?(?=,\s?\\*"|[}\])]+(?:[\s,]|$))/y
/** Another value of a list that has no brackets. */
const ANOTHER = new RegExp(`(?:(?<=,)|,)[ \\t]*(?=\\S)(?!\\\\*["'\`]?(?:${NAME})+\\\\*["'\`]?[ \\t]*[:=])`, 'uy')

/** Where the value, or with `isMany` the values, end that begin at `start`; undefined if not in this line. */
function endOfValues(line: string, start: number, isMany: boolean): number | undefined {
  let end = endOfValue(line, start)
  while (isMany && end !== undefined && end > start) {
    const next = matchAt(ANOTHER, line, end)
    if (next === end && line[end - 1] !== ',') break
    const after = endOfValue(line, next)
    if (after === next) break
    end = after
  }
  return end
}

function endOfValue(line: string, start: number): number | undefined {
  if (matchAt(CREDENTIALS, line, start) > start) return undefined
  const literal = matchAt(LITERAL, line, start)
  if (literal > start) return literal
  const closed = endOfQuoted(line, start) ?? endOfBrackets(line, start)
  if (closed === undefined) return start === line.length ? undefined : matchAt(PLAIN, line, start)
  if (closed < 0) return undefined
  CLOSED.lastIndex = closed
  return CLOSED.test(line) ? closed : matchAt(PLAIN, line, closed)
}

/** Where a match that begins at `start` ends; `start` if there is none. */
function matchAt(pattern: RegExp, line: string, start: number): number {
  pattern.lastIndex = start
  return start + (pattern.exec(line)?.[0].length ?? 0)
}

/** Behind the closing quote; -1 if there is none, undefined if no quote begins at `start`. */
function endOfQuoted(line: string, start: number): number | undefined {
  let at = start
  while (line[at] === '\\') at++
  const quote = line[at]
  if (quote !== '"' && quote !== "'" && quote !== '`') return undefined
  // In a text within a text a quote has one backslash more before it, and each backslash is doubled.
  const level = at - start
  let backslashes = 0
  for (at++; at < line.length; at++) {
    if (line[at] === quote && backslashes % (2 * (level + 1)) === level) return at + 1
    backslashes = line[at] === '\\' ? backslashes + 1 : 0
  }
  return -1
}

/** Behind the closing bracket; -1 if there is none, undefined if no bracket begins at `start`. */
function endOfBrackets(line: string, start: number): number | undefined {
  if (!/[[{(]/.test(line[start] ?? '')) return undefined
  let depth = 0
  for (let at = start; at < line.length; ) {
    const quoted = endOfQuoted(line, at)
    if (quoted !== undefined && quoted < 0) return -1
    const sign = line[at] ?? ''
    if (quoted === undefined && '[{('.includes(sign)) depth++
    else if (quoted === undefined && ']})'.includes(sign) && --depth === 0) return at + 1
    at = quoted ?? at + 1
  }
  return -1
}

/** `<name attribute="x">value</name>`, to the end of the element or of the line. */
const ELEMENT = /<(?<name>[\p{L}\p{N}_.:-]+)(?:\s[^<>]*)?(?<!\/)>/gu

function withoutElements(line: string): MaskedLine {
  let text = ''
  let from = 0
  let isOpen = false
  for (const { 0: head, groups, index } of line.matchAll(ELEMENT)) {
    const name = groups?.name ?? ''
    const start = index + head.length
    if (index < from || !isSecretName(name)) continue
    const end = line.indexOf(`</${name}`, start)
    isOpen = end < 0
    text += `${line.slice(from, start)}${MASK}`
    from = isOpen ? line.length : end
  }
  return { text: text + line.slice(from), isOpen: isOpen ? 'value' : undefined }
}
