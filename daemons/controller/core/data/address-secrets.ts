/** Names and passwords inside addresses, as cameras have them: `rtsp://viewer:secret@10.0.0.9/1`, `/shot.cgi?usr=a&pwd=b`. */
import { isList } from '../json-kind.ts'
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
    : // Defines properties, so that a key `__proto__` is one like any other.
      Object.fromEntries(Object.entries(value).map(([name, item]) => [String(seen(name)), seen(item)]))
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
