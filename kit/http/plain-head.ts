/** Heads of requests made plain, so that every rule after it looks at the same host and the same origin. */
import type { IncomingMessage } from 'node:http'
import { Fault } from '#kit/fault.ts'

/** Headers by which somebody is let in or turned away, each with a bit of its own. */
const LONE: ReadonlyMap<string, number> = new Map([
  ['host', 1],
  ['origin', 2],
  ['referer', 4],
  ['authorization', 8],
])
/** Most names are none of them by their length alone. */
const LENGTHS: ReadonlySet<number> = new Set([...LONE.keys()].map(({ length }) => length))

/** Fields of a head: a hundred is what servers take elsewhere, and each takes 136 bytes, however short it is. */
const MOST_FIELDS = 128

/**
 * Of two such headers Node keeps the first; what stands between may have looked at the second.
 * @throws Fault `bad_http`; `head_too_large` where it has more fields than may be
 * @source RFC 9112, 3.2; RFC 9110, 5.3
 */
export function checkLoneHeaders({ rawHeaders }: IncomingMessage): void {
  const fields = rawHeaders.length / 2
  if (fields > MOST_FIELDS)
    throw new Fault('head_too_large', `the request has ${fields} header fields, expected at most ${MOST_FIELDS}`)
  let seen = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const said = rawHeaders[at] ?? ''
    if (!LENGTHS.has(said.length)) continue
    const name = said.toLowerCase()
    const bit = LONE.get(name) ?? 0
    if ((seen & bit) !== 0) throw new Fault('bad_http', `the request has the header ${name} twice`)
    seen |= bit
  }
}

const ABSOLUTE = /^https?:\/\/([^/?#]*)/i

/**
 * A request may name its whole address in its first line; then that is the host it speaks to, whatever Host says.
 * @returns the path and query alone
 * @source RFC 9112, 3.2.2
 */
export function originForm(request: Pick<IncomingMessage, 'url' | 'headers'>): string {
  const url = request.url ?? ''
  if (url.startsWith('/')) return url
  const [whole, authority] = ABSOLUTE.exec(url) ?? []
  if (whole === undefined) return url
  request.headers.host = authority
  const rest = url.slice(whole.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}
