/** Names and passwords inside addresses: `rtsp://viewer:secret@10.0.0.9/stream`, as cameras have them. */
import type { Json } from '../row.ts'

/**
 * What stands between the slashes and the host: up to the last `@` before the next slash, as passwords are often not
 * escaped.
 * @source RFC 3986, 3.2.1
 */
const USERINFO = /:\/\/[^\s/"\\]+@/g

/** The same value without them, the very same where there are none: no column says that a secret stands there. */
export function withoutUserinfo(value: Json): Json {
  if (typeof value === 'string') return value.includes('://') ? value.replace(USERINFO, '://***@') : value
  if (value === null || typeof value !== 'object') return value
  const text = JSON.stringify(value)
  if (!text.includes('://')) return value
  const seen = text.replace(USERINFO, '://***@')
  return seen === text ? value : (JSON.parse(seen) as Json)
}
