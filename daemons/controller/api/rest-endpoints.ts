/** The endpoints of document 1 as a table, and which of them a path names. */

/** Bodies are read up to and with this size. @source document 1, Limits */
export const BODY_BYTES = 262_144

/** One row of the table. `allow` is what a 405 tells. */
export interface RestEndpoint {
  name: 'token' | 'logout' | 'me' | 'session_handoff' | 'health' | 'version' | 'control' | 'data'
  method: 'GET' | 'POST'
  path: string
  who: 'anyone' | 'user'
  summary: string
  allow: string
}

const READ = 'GET, HEAD'

/** @source document 1, Endpoints */
export const restEndpoints: readonly RestEndpoint[] = [
  {
    name: 'token',
    method: 'POST',
    path: '/api/token',
    who: 'anyone',
    summary: 'Exchanges username and password for a session token',
    allow: 'POST',
  },
  { name: 'logout', method: 'POST', path: '/api/logout', who: 'anyone', summary: 'Revokes the token', allow: 'POST' },
  { name: 'me', method: 'GET', path: '/api/me', who: 'user', summary: 'Who the token is', allow: READ },
  {
    name: 'session_handoff',
    method: 'POST',
    path: '/api/session_handoff',
    who: 'user',
    summary: 'Exchanges the token for a nonce that signs into the page',
    allow: 'POST',
  },
  { name: 'health', method: 'GET', path: '/api/health', who: 'anyone', summary: 'Whether it lives', allow: READ },
  { name: 'version', method: 'GET', path: '/api/version', who: 'anyone', summary: 'Its version', allow: READ },
  {
    name: 'control',
    method: 'POST',
    path: '/api/control/:action',
    who: 'user',
    summary: 'Runs a command or a macro',
    allow: 'POST',
  },
  {
    name: 'data',
    method: 'GET',
    path: '/api/data/:entity',
    who: 'user',
    summary: 'Rows of one entity',
    allow: READ,
  },
]

/** An endpoint and what stands in its path for `:action` or `:entity`, decoded; empty for those that take nothing. */
export interface RestPlace {
  endpoint: RestEndpoint
  part: string
}

const byFirst = new Map(restEndpoints.map((endpoint) => [endpoint.path.split('/')[2] ?? '', endpoint]))

/**
 * Compares exactly: with case, without a slash too many. `/api/sync` is none: that is the channel between paired
 * controllers.
 * @param path as sent, without the query
 */
export function placeOf(path: string): RestPlace | undefined {
  return fixed.get(path) ?? placeOfParts(path)
}

/** Those that take nothing in their path, by it. */
const fixed: ReadonlyMap<string, RestPlace> = new Map(
  restEndpoints.flatMap((endpoint) => (endpoint.path.includes(':') ? [] : [[endpoint.path, { endpoint, part: '' }]])),
)

function placeOfParts(path: string): RestPlace | undefined {
  const [, , first = '', part, ...rest] = path.split('/')
  const endpoint = byFirst.get(decoded(first))
  if (!endpoint || rest.length > 0) return undefined
  const takesPart = endpoint.path.includes(':')
  if (takesPart !== (part !== undefined && part !== '')) return undefined
  if (!takesPart && part !== undefined) return undefined
  return { endpoint, part: decoded(part ?? '') }
}

/** A part that is no percent-encoded UTF-8 is the name it reads as: one that nothing has. */
function decoded(part: string): string {
  if (!part.includes('%')) return part
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
