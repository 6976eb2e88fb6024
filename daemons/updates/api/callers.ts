/** Who calls: the administrator by the cookie of a page, a publisher by the update key, an installation by its id. */
import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { bearerOf } from '#kit/auth/credentials.ts'
import type { SignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import { callingPage } from '#kit/http/browser-rule.ts'
import { cookieOf } from '#kit/http/cookies.ts'
import { type Dialect, jsonDialect } from '#kit/http/dialect.ts'
import type { Caller, Fence, Knock } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Sessions } from '#kit/pure/users.ts'

/** The cookie of the panel. Cookies know no ports: other daemons of this machine have other names. */
export const SESSION_COOKIE = 'svc_updates_session'

/** How long a session lasts, however much it is used. @source interface document 3, B, Authentication 3 */
export const SESSION_MS = 24 * 60 * 60 * 1000

interface CallerParts {
  sessions: Pick<Sessions, 'callerOf' | 'isStillSignedIn'>
  isUpdateKey(text: string): boolean
  limiter: Pick<SignInLimiter, 'failed'>
}

export interface Callers {
  /** @throws Fault `csrf_missing` for a write of the panel without its token */
  callerOf(knock: Knock): Caller | undefined | Promise<Caller | undefined>
  isStillSignedIn(caller: Caller): boolean
  /** What writes of a session carry in `X-Csrf-Token`. */
  csrfOf(session: string): string
  /** The session of a request, if it has one. */
  sessionOf(headers: IncomingHttpHeaders): string | undefined
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

export function createCallers({ isUpdateKey, limiter, sessions }: CallerParts): Callers {
  const publishers = new WeakMap<Caller, string>()
  const csrfOf = (session: string) => createHash('sha256').update(`csrf ${session}`).digest('base64url')

  function sessionOf(headers: IncomingHttpHeaders): string | undefined {
    // Browsers send the cookie for pages of other ports of this machine too.
    if (callingPage(headers, { takesOrigin: () => false }) === 'foreign') return undefined
    return cookieOf(headers, SESSION_COOKIE)
  }

  async function publisherOf(key: string, address: string): Promise<Caller> {
    if (!isUpdateKey(key)) {
      // A wrong one is answered late, so that nobody guesses.
      await limiter.failed({ address, account: 'update key' })
      throw new Fault('unauthorized', 'The update key is wrong, or is no longer the one in use.')
    }
    const caller: Caller = { name: 'publisher', role: 'viewer', isKey: true }
    publishers.set(caller, key)
    return caller
  }

  return {
    csrfOf,
    sessionOf,
    callerOf({ authorization, headers, method, remoteAddress }) {
      const key = headers['x-svc-update-key'] ?? bearerOf(authorization)
      if (key !== undefined) return publisherOf(String(key), remoteAddress)
      const session = sessionOf(headers)
      const caller = session === undefined ? undefined : sessions.callerOf(session)
      if (session === undefined || caller === undefined) return undefined
      if (!READS.has(method) && headers['x-csrf-token'] !== csrfOf(session))
        throw new Fault('csrf_missing', 'A write carries X-Csrf-Token, as POST /admin/api/login gave it.')
      return caller
    },
    isStillSignedIn(caller) {
      const key = publishers.get(caller)
      return key === undefined ? sessions.isStillSignedIn(caller) : isUpdateKey(key)
    },
  }
}

/** Publishing is for who has the update key, and for nobody else. */
export const publisherFence: Fence = {
  check({ isKey }, { path }) {
    if (path.startsWith('/push_') && !isKey)
      throw new Fault('forbidden', 'Publishing needs the update key, in X-Svc-Update-Key or as a bearer token.')
  },
  showsSample: () => true,
  refused() {},
}

/** How credentials are sent to the update server. */
export const updatesDialect: Dialect = {
  ...jsonDialect,
  credentials: 'sign in to the panel, or send the update key in X-Svc-Update-Key or as a bearer token',
  moreSchemes: {
    session: { type: 'apiKey', in: 'cookie', name: SESSION_COOKIE },
    updateKey: { type: 'apiKey', in: 'header', name: 'X-Svc-Update-Key' },
  },
}

// Installations.

/** @source interface document 3, Limits: 32-character hash */
const INSTALLATION_ID = /^[0-9a-f]{32}$/

/**
 * The id that a request sends for its installation, in the header or in the body; undefined if it sends none.
 * @throws Fault `bad_installation_id` for one of another form, and for two that differ
 */
export function installationIdOf(
  headers: IncomingHttpHeaders,
  body?: { installation_id?: string },
): string | undefined {
  const given = [headers['x-svc-installation-id'], body?.installation_id].filter((one) => one !== undefined)
  for (const one of given)
    if (typeof one !== 'string' || !INSTALLATION_ID.test(one))
      throw new Fault('bad_installation_id', 'An installation_id has 32 hex digits in lower case.')
  if (new Set(given).size > 1)
    throw new Fault(
      'bad_installation_id',
      'The installation_id of the header is not that of the body. Send one of them.',
    )
  return given[0]?.toString()
}
