/** Addresses of what daemons share: a database of PostgreSQL, and a bucket of an S3 server. */

export interface PostgresAddress {
  /** A name or an address; a folder, beginning with a slash, for a Unix socket. */
  host: string
  port: number
  database: string
  /** Undefined: as this process is called. */
  user: string | undefined
  /** Undefined if the address holds none. */
  password: string | undefined
  /** TLS, with a certificate that is checked. */
  isSecure: boolean
}

const POSTGRES_FORM =
  'postgres://USER@HOST:PORT/DATABASE, or postgres:///DATABASE?user=USER&host=/run/postgresql; ?sslmode=disable or ?sslmode=verify-full may follow'

/** The text is not quoted: it may hold a password. @source PostgreSQL 15, 34.1.1.2 Connection URIs */
export function postgresSentence(value: unknown): string | undefined {
  if (value === '' || postgresAddress(String(value))) return undefined
  return `it is no address of a database: expected ${POSTGRES_FORM}`
}

/**
 * Without `sslmode`, all but this machine is called by TLS. `require` and the like, which trust any certificate, are refused.
 * @returns undefined if it cannot be read
 * @source PostgreSQL 15, 34.1.1.2 Connection URIs
 */
export function postgresAddress(text: string): PostgresAddress | undefined {
  const url = URL.parse(text)
  if (!url || !/^postgres(?:ql)?:$/.test(url.protocol) || url.hash !== '') return undefined
  const asked = Object.fromEntries(url.searchParams)
  const { host: named, port = url.port || '5432', sslmode, user = decoded(url.username), ...others } = asked
  const host = named ?? url.hostname.replace(/^\[(.*)\]$/, '$1')
  const database = decoded(url.pathname.slice(1))
  const password = decoded(url.password)
  const words = [host, database, user, password]
  if (Object.keys(others).length > 0 || host === '' || !database || words.some(isNone)) return undefined
  if (url.searchParams.size !== Object.keys(asked).length || !isPort(port)) return undefined
  if (named !== undefined && (url.hostname !== '' || !named.startsWith('/'))) return undefined
  if (sslmode !== undefined && sslmode !== 'disable' && sslmode !== 'verify-full') return undefined
  const isSecure = sslmode === undefined ? !isHere(host) : sslmode === 'verify-full'
  if (isSecure && host.startsWith('/')) return undefined
  return {
    ...{ host, database, isSecure, port: Number(port) },
    ...{ user: user || undefined, password: password || undefined },
  }
}

function isPort(text: string): boolean {
  return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535
}

function isHere(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

/** Undefined for what is no percent-encoded text. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function isNone(text: string | undefined): boolean {
  return text === undefined || text.length > 255 || /\p{Cc}/u.test(text)
}

export interface BucketAddress {
  bucket: string
  /** What names of files begin with: empty, or with a slash at its end. */
  prefix: string
}

/** @source Amazon S3, Bucket naming rules */
const BUCKET = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/((?:[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}\/?){0,8}))?$/

/** @source Amazon S3, Bucket naming rules */
export function bucketSentence(value: unknown): string | undefined {
  if (value === '' || bucketAddress(String(value))) return undefined
  return 'it is no address of a bucket: expected s3://BUCKET or s3://BUCKET/PREFIX; the server is set by endpoint, the account by access_key and secret_file'
}

/** @returns undefined if it cannot be read @source Amazon S3, Bucket naming rules */
export function bucketAddress(text: string): BucketAddress | undefined {
  const [, bucket, prefix = ''] = BUCKET.exec(text) ?? []
  if (bucket === undefined) return undefined
  return { bucket, prefix: prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/` }
}

const ENDPOINT = /^https?:\/\/(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/

/** @source RFC 9110, 4.2 */
export function endpointSentence(value: unknown): string | undefined {
  if (value === '' || (ENDPOINT.test(String(value)) && URL.canParse(String(value)))) return undefined
  return 'it is no address of an S3 server: expected https://HOST:PORT without a path; the account is set by access_key and secret_file'
}
