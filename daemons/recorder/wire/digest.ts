/**
 * Signing in to a camera: challenges as they arrive, and the header that answers them.
 * @source RFC 7616 (Digest, also as RFC 2069 and 2617 had it), RFC 7617 (Basic)
 */
import { Fault } from '#kit/pure/fault.ts'

/** Hash of a text as lower-case hex digits. */
export type HashText = (algorithm: 'md5' | 'sha256', text: string) => string

/** A challenge of a kind that is answered here. */
export type Challenge =
  | { scheme: 'basic' }
  | {
      scheme: 'digest'
      algorithm: 'md5' | 'sha256'
      /** As the camera spelled it, to be sent back; undefined if it said none. */
      algorithmWord: string | undefined
      realm: string
      nonce: string
      opaque: string | undefined
      hasQop: boolean
      /** Only the nonce had grown old; the password was right. */
      isStale: boolean
    }

/**
 * Reads the headers `WWW-Authenticate` of one reply.
 * @returns the best challenge: SHA-256 before MD5 before Basic, which shows the password; undefined if none is known
 */
export function readChallenge(headers: readonly string[]): Challenge | undefined {
  const all = headers.flatMap((header) => {
    const [, scheme = '', rest = ''] = /^(\w+)\s*(.*)$/s.exec(header.trim()) ?? []
    if (/^basic$/i.test(scheme)) return [{ scheme: 'basic' } as const]
    const digest = /^digest$/i.test(scheme) ? digestOf(rest) : undefined
    return digest ? [digest] : []
  })
  return all.sort((a, b) => rankOf(b) - rankOf(a))[0]
}

function rankOf(challenge: Challenge): number {
  return challenge.scheme === 'basic' ? 0 : challenge.algorithm === 'md5' ? 1 : 2
}

function digestOf(text: string): Challenge | undefined {
  const said = new Map<string, string>()
  for (const [, name = '', quoted, bare] of text.matchAll(/([\w-]+) *= *(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))/g))
    said.set(name.toLowerCase(), quoted?.replaceAll(/\\(.)/g, '$1') ?? bare ?? '')
  const realm = said.get('realm')
  const nonce = said.get('nonce')
  const algorithmWord = said.get('algorithm')
  const algorithm = ALGORITHMS.get((algorithmWord ?? 'MD5').toUpperCase())
  const qop = said.get('qop')
  const hasQop = qop !== undefined
  if (realm === undefined || nonce === undefined || algorithm === undefined) return undefined
  // Only `auth-int`, which hashes the body, is on offer: no camera was seen that asks it.
  if (hasQop && !qop.split(',').some((word) => word.trim().toLowerCase() === 'auth')) return undefined
  const isStale = said.get('stale')?.toLowerCase() === 'true'
  return { scheme: 'digest', algorithm, algorithmWord, realm, nonce, opaque: said.get('opaque'), hasQop, isStale }
}

const ALGORITHMS: ReadonlyMap<string, 'md5' | 'sha256'> = new Map([
  ['MD5', 'md5'],
  ['SHA-256', 'sha256'],
])

/** What one request is signed with. */
export interface SigningWish {
  username: string
  password: string
  method: string
  uri: string
  /** Unguessable text of this client. */
  cnonce: string
  /** How often the nonce was used, this time included. */
  count: number
}

/**
 * The header `Authorization` for one request.
 * @throws Fault `rtsp_broken` for what no header could hold, such as a quote inside a challenge's text or a line break in a user name
 */
export function authorizationOf(challenge: Challenge, wish: SigningWish, hash: HashText): string {
  const { username, password, method, uri, cnonce } = wish
  if (challenge.scheme === 'basic') return `Basic ${base64(`${username}:${password}`)}`
  const { algorithm, algorithmWord, realm, nonce, opaque, hasQop } = challenge
  const count = wish.count.toString(16).padStart(8, '0')
  const secret = hash(algorithm, `${username}:${realm}:${password}`)
  const request = hash(algorithm, `${method}:${uri}`)
  const middle = hasQop ? `${nonce}:${count}:${cnonce}:auth` : nonce
  const parts = [
    `username=${quoted(username)}`,
    `realm=${quoted(realm)}`,
    `nonce=${quoted(nonce)}`,
    `uri=${quoted(uri)}`,
    `response="${hash(algorithm, `${secret}:${middle}:${request}`)}"`,
    ...(algorithmWord === undefined ? [] : [`algorithm=${algorithm === 'md5' ? 'MD5' : 'SHA-256'}`]),
    ...(opaque === undefined ? [] : [`opaque=${quoted(opaque)}`]),
    ...(hasQop ? ['qop=auth', `nc=${count}`, `cnonce=${quoted(cnonce)}`] : []),
  ]
  return `Digest ${parts.join(', ')}`
}

function quoted(text: string): string {
  if (/["\\\r\n]/.test(text))
    throw new Fault(
      'rtsp_broken',
      'The camera or its user name has a quote, a backslash or a line break where none can be sent.',
    )
  return `"${text}"`
}

function base64(text: string): string {
  let bytes = ''
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte)
  return btoa(bytes)
}
