/**
 * Secrets inside of texts. Of addresses, as cameras have them: `rtsp://viewer:secret@10.0.0.9/1`, `/shot.cgi?usr=a&pwd=b`.
 * Of lines, as drivers send and log them: `Authorization: Basic YWRtaW46cHc=`, `password: b`.
 */
import { isList, objectOf } from '../json-kind.ts'
import type { Json } from '../row.ts'
import { isSensitiveName } from '../sensitive-name.ts'

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
