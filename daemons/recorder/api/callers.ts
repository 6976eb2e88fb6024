/** Who calls: by an API token or by the session of a page; and what they may see. */
import type { IncomingHttpHeaders } from 'node:http'
import { bearerOf, readBasic } from '#kit/auth/credentials.ts'
import type { Clock } from '#kit/clock.ts'
import { callingPage } from '#kit/http/browser-rule.ts'
import { cookieOf } from '#kit/http/cookies.ts'
import { type Dialect, jsonDialect } from '#kit/http/dialect.ts'
import type { Caller, Fence, Knock } from '#kit/http/route.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { LedgerEntry } from '#kit/records/ledger-entry.ts'
import {
  type AccountList,
  type AccountPermission,
  type AccountRecord,
  isOver,
  mayHear,
  type SessionHolder,
} from '../core/access/accounts.ts'
import type { TokenBook, TokenRecord } from '../core/access/tokens.ts'

/** The cookie of the pages. @source the recorder's sheet, Accounts */
export const SESSION_COOKIE = 'svc_session'

/** `prc_` and 32 bytes as 43 letters and digits: programs that look for leaked secrets find it. */
const TOKEN_FORM = /^prc_[0-9A-Za-z]{43}$/

/** The part of kit's token store that sessions need. */
interface SessionStore {
  issue(holder: SessionHolder): string
  use(token: string): SessionHolder | undefined
  isAlive(token: string): boolean
  revoke(token: string): void
}

interface CallerParts {
  clock: Clock
  accounts: Pick<AccountList, 'all'>
  sessions: SessionStore
  tokens: Pick<TokenBook, 'find' | 'stands'>
  /** SHA-256 of a text. */
  digest(text: string): string
}

/** By what somebody was recognized, and as whom. */
interface Standing {
  account: AccountRecord
  by: { session: string } | { token: TokenRecord }
}

export interface Callers {
  /**
   * @returns undefined for a stranger: a header that was not issued here is ignored
   * @throws Fault `read_only_token`, `csrf_missing` for a write
   */
  callerOf(knock: Knock): Caller | undefined
  /** The account of a caller that this recognized. */
  accountOf(caller: Caller | undefined): AccountRecord
  /** Whether what a caller has open may go on. */
  isStillSignedIn(caller: Caller): boolean
  /** Begins a session. @returns the token for the cookie, and what its writes carry in `X-Csrf-Token` */
  begin(account: AccountRecord): { token: string; csrf: string }
  /** Ends the session of a request, if it has one. */
  end(headers: IncomingHttpHeaders): void
  /** What writes of the session of a request carry; null if it has none. */
  csrfOf(headers: IncomingHttpHeaders): string | null
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

export function createCallers(parts: CallerParts): Callers {
  const { digest, sessions, tokens } = parts
  const { byToken, csrfOfToken, present, sessionOf } = createRecognizer(parts)
  const standings = new WeakMap<Caller, Standing>()

  function callerOf(standing: Standing): Caller {
    const { account, by } = standing
    const { role, username } = account
    const name = 'token' in by ? `${username} by token ${by.token.name}` : username
    const kind = role === 'administrator' ? 'admin' : 'viewer'
    const caller: Caller = { name, role: kind, ...('token' in by && { isKey: true }) }
    standings.set(caller, standing)
    return caller
  }

  function accountOf(caller: Caller | undefined): AccountRecord {
    const standing = caller && standings.get(caller)
    if (!standing) throw new TypeError('this caller was not recognized here')
    return standing.account
  }

  return {
    accountOf,
    callerOf(knock) {
      const isWrite = !READS.has(knock.method)
      const byKey = byToken(knock)
      if (byKey && 'token' in byKey.by && byKey.by.token.isReadOnly && isWrite)
        throw new Fault('read_only_token', 'This token reads only. Use one that may write.')
      const bySession = byKey ? undefined : sessionOf(knock.headers)
      if (bySession && isWrite && knock.headers['x-csrf-token'] !== csrfOfToken(bySession.by.session))
        throw new Fault(
          'csrf_missing',
          'A write of a page carries X-Csrf-Token, as POST /api/login or GET /api/status gave it.',
        )
      const standing = byKey ?? bySession
      return standing && callerOf(standing)
    },
    isStillSignedIn(caller) {
      const standing = standings.get(caller)
      // Of the very record: what was opened with more rights than there are now ends.
      if (!standing || present(standing.account.id) !== standing.account) return false
      const { by } = standing
      return 'token' in by ? tokens.stands(by.token) : sessions.isAlive(by.session)
    },
    begin({ id, passwordHash, username }) {
      const token = sessions.issue({ name: username, accountId: id, password: digest(passwordHash) })
      return { token, csrf: csrfOfToken(token) }
    },
    end(headers) {
      const session = cookieOf(headers, SESSION_COOKIE)
      if (session !== undefined) sessions.revoke(session)
    },
    csrfOf(headers) {
      const found = sessionOf(headers)
      return found ? csrfOfToken(found.by.session) : null
    },
  }
}

/** Finds the account behind what a request shows. */
function createRecognizer({ accounts, clock, digest, sessions, tokens }: CallerParts) {
  const present = (id: string) => {
    const account = accounts.all().find((one) => one.id === id)
    return account && !isOver(account, clock.epochMs()) ? account : undefined
  }

  const csrfOfToken = (token: string) => digest(`csrf ${token}`)

  function byToken({ authorization, queryToken }: Knock): Standing | undefined {
    const shown = [bearerOf(authorization), readBasic(authorization)?.password, queryToken]
    for (const text of shown) {
      const token = text !== undefined && TOKEN_FORM.test(text) ? tokens.find(digest(text)) : undefined
      const account = token && present(token.accountId)
      if (account && token) return { account, by: { token } }
    }
    return undefined
  }

  function sessionOf(headers: IncomingHttpHeaders): { account: AccountRecord; by: { session: string } } | undefined {
    // Browsers send the cookie for pages of other ports of this machine too.
    if (callingPage(headers, { takesOrigin: () => false }) === 'foreign') return undefined
    const session = cookieOf(headers, SESSION_COOKIE)
    const holder = session === undefined ? undefined : sessions.use(session)
    const account = holder && present(holder.accountId)
    if (session === undefined || !account || digest(account.passwordHash) !== holder.password) return undefined
    return { account, by: { session } }
  }

  return { byToken, csrfOfToken, present, sessionOf }
}

/** Figures about the whole recorder, such as metrics, are for accounts that see every camera. */
export function wholeFence({ accountOf }: Pick<Callers, 'accountOf'>): Fence {
  return {
    check(caller, { path }) {
      if (path === '/metrics' && accountOf(caller).cameras !== 'all')
        throw new Fault('forbidden', 'Measurements are of all cameras, and for accounts that see them all.')
    },
    showsSample: () => true,
    refused() {},
  }
}

/** @throws Fault `forbidden` for who only watches */
export function requireOperator({ role, username }: AccountRecord, forWhat: string): void {
  if (role === 'viewer')
    throw new Fault('forbidden', `${forWhat} is for operators and administrators, and ${username} is none.`)
}

/** @returns whether a caller reads an entry of the whole ledger: who sees every camera, and what names no host unless they look after it */
export function hearsLedger({ accountOf }: Pick<Callers, 'accountOf'>) {
  return (caller: Caller | undefined, { about, what }: LedgerEntry): boolean => {
    const account = accountOf(caller)
    return account.cameras === 'all' && mayHear(account, { about, what })
  }
}

/** @throws Fault `permission_needed` */
export function requirePermission(account: AccountRecord, permission: AccountPermission, forWhat: string): void {
  if (!account.permissions.includes(permission))
    throw new Fault(
      'permission_needed',
      `${forWhat} needs the permission ${permission}, which ${account.username} lacks.`,
    )
}

/** Video players open these by URL, and ask for a password only where the answer challenges them to. */
const FOR_PLAYERS = /\.(?:mp4|mjpg|jpg)$/

/** How credentials are sent to the recorder. */
export const recorderDialect: Dialect = {
  ...jsonDialect,
  credentials: 'sign in, or send Authorization: Bearer <token>',
  moreSchemes: {
    basic: { type: 'http', scheme: 'basic', description: 'the token as the password, with any user' },
    session: { type: 'apiKey', in: 'cookie', name: SESSION_COOKIE },
  },
  // A browser that is told of Basic asks in a window of its own, over the page.
  challenge({ headers = {}, path }) {
    const isBrowser = headers.cookie !== undefined || /^mozilla\//i.test(headers['user-agent'] ?? '')
    return FOR_PLAYERS.test(path) && !isBrowser ? 'Basic realm="recorder", charset="UTF-8"' : 'Bearer'
  },
}
