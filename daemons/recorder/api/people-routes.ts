/** Routes of people and of other systems: setup, sign-in, accounts with their history, API tokens. */
import { Type } from 'typebox'
import { newPassword, userName } from '#kit/auth/credentials.ts'
import type { Clock } from '#kit/clock.ts'
import { dropPlanted, dropSession, keepSession } from '#kit/http/cookies.ts'
import { nameText, signInRoutes } from '#kit/http/people-routes.ts'
import { type Ask, instant, object, orNull, Reply, type Route, route, text, yesNo } from '#kit/http/route.ts'
import { isOfOwnNetwork } from '#kit/net/address.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Users } from '#kit/pure/users.ts'
import type { Journal, JournalEntry } from '#kit/records/journal.ts'
import type { Recorder, Refusals, SignInRecorder } from '#kit/records/records.ts'
import {
  type AccountBook,
  type AccountRecord,
  accountPermissions,
  accountRoles,
  isOver,
} from '../core/access/accounts.ts'
import type { TokenBook, TokenRecord } from '../core/access/tokens.ts'
import type { Site } from '../core/site.ts'
import { type Callers, SESSION_COOKIE } from './callers.ts'

export interface PeopleRouteParts {
  clock: Clock
  users: Users<AccountRecord>
  accounts: AccountBook
  tokens: TokenBook
  callers: Callers
  journal: Pick<Journal, 'list'>
  recorder: Recorder & SignInRecorder
  refusals: Refusals
  /** How long a browser keeps the cookie of a session. */
  sessionLifeMs: number
  /** Pages are served over TLS. */
  isSecure: boolean
  site: Pick<Site, 'rename' | 'moveTo'>
  /** Ends at once what is open and may not go on. */
  endSignedOut(): void
}

const role = Type.Enum([...accountRoles])
const permissions = Type.Array(Type.Enum([...accountPermissions]), { maxItems: 8 })
const cameraIds = Type.Array(Type.String({ pattern: '^[0-9a-f]{8}$' }), { maxItems: 128 })
const cameras = Type.Union([Type.Literal('all'), cameraIds], { description: 'all, or ids of cameras' })
const expiresAt = orNull(Type.Integer({ minimum: 0, description: 'epoch milliseconds; null: it does not end' }))

/** Who is signed in, or an account. */
export const accountAnswer = object({
  ...{ id: text, username: text, role, cameras, permissions },
  ...{ expiresAt, installer: yesNo, createdAt: instant },
})

/** What a sign-in answers; the session itself is in the cookie. */
const signedAnswer = object({
  csrf: Type.String({ description: 'what writes by the cookie carry in X-Csrf-Token' }),
  account: accountAnswer,
})

export function accountView(account: AccountRecord) {
  const { createdAt, expiresAt, id, isInstaller: installer, role, username } = account
  const own = account.cameras === 'all' ? account.cameras : [...account.cameras]
  return { id, username, role, cameras: own, permissions: [...account.permissions], expiresAt, installer, createdAt }
}

export function peopleRoutes(parts: PeopleRouteParts): Route[] {
  const { callers, isSecure, sessionLifeMs, site, users } = parts
  const cookie = { name: SESSION_COOKIE, isSecure }

  /** A session that the browser had before is over. */
  function begin(account: AccountRecord, status: number, { headers }: Pick<Ask, 'headers'>): Reply {
    callers.end(headers)
    const { csrf, token } = callers.begin(account)
    const cookies = [...dropPlanted(cookie, headers.host), keepSession(cookie, token, sessionLifeMs)]
    return new Reply(status, { csrf, account: accountView(account) }, { 'set-cookie': cookies })
  }

  /** The first account begins the first set-up. @source interface document 3, A, Onboarding */
  async function setUp(first: { username: string; password: string }): Promise<AccountRecord> {
    const account = await users.setUp(first)
    await site.moveTo('hailo')
    return account
  }

  return [
    ...signInRoutes<AccountRecord>({
      ...parts,
      ...{ begin, reply: signedAnswer, users: { ...users, setUp }, rename: site.rename },
      checkSetup({ remoteAddress }) {
        if (!isOfOwnNetwork(remoteAddress))
          throw new Fault('setup_remote', 'The first account is made from a network that this machine is in.')
      },
      factsOf: ({ id }) => ({ account: id }),
    }),
    route({
      method: 'POST',
      path: '/api/logout',
      who: 'user',
      reply: object({}),
      summary: 'End the session of this cookie',
      handle({ headers }) {
        callers.end(headers)
        parts.endSignedOut()
        return new Reply(200, {}, { 'set-cookie': [dropSession(cookie)] })
      },
    }),
    ownPasswordRoute(parts, begin),
    ...accountRoutes(parts),
    ...tokenRoutes(parts),
  ]
}

function ownPasswordRoute(
  { accounts, callers, recorder }: PeopleRouteParts,
  begin: (account: AccountRecord, status: number, ask: Pick<Ask, 'headers'>) => Reply,
): Route {
  return route({
    method: 'POST',
    path: '/api/me/password',
    who: 'user',
    reply: signedAnswer,
    summary: 'Change your own password; ends all your sign-ins and begins a new one',
    body: Type.Object(
      {
        current: Type.String({ maxLength: 1024, writeOnly: true, description: 'the present password' }),
        password: newPassword,
      },
      { additionalProperties: false },
    ),
    async handle(ask) {
      requireSession(ask, 'change a password')
      const { body, remoteAddress, signal } = ask
      const account = await accounts.changeOwn(callers.accountOf(ask.caller), { ...body, remoteAddress, signal })
      await recorder.changed(ask, 'own password changed', account.username, { account: account.id })
      return begin(account, 200, ask)
    },
  })
}

const accountParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 64, description: 'id of an account' }) })

/** What an administrator says of an account. */
const accountFields = {
  cameras: Type.Optional(cameras),
  permissions: Type.Optional(permissions),
  expiresAt: Type.Optional(expiresAt),
}
const strict = { additionalProperties: false }
const newAccount = Type.Object(
  { username: userName, password: newPassword, role, ...accountFields, installer: Type.Optional(Type.Boolean()) },
  strict,
)
const changedAccount = Type.Object(
  {
    username: Type.Optional(userName),
    password: Type.Optional(newPassword),
    role: Type.Optional(role),
    ...accountFields,
  },
  strict,
)

const accountEntry = object({
  ...accountAnswer.properties,
  isLastAdmin: Type.Boolean({ description: 'can be neither removed nor made less' }),
  isYou: yesNo,
})

function accountRoutes({ accounts, callers, endSignedOut, journal, recorder }: PeopleRouteParts): Route[] {
  const entryOf = (account: AccountRecord, { caller }: Pick<Ask, 'caller'>) => ({
    ...accountView(account),
    isLastAdmin: accounts.isLastAdmin(account),
    isYou: callers.accountOf(caller).id === account.id,
  })

  return [
    route({
      method: 'GET',
      path: '/api/accounts',
      who: 'admin',
      summary: 'Every account',
      reply: Type.Array(accountEntry),
      handle: (ask) => accounts.list().map((account) => entryOf(account, ask)),
    }),
    route({
      method: 'POST',
      path: '/api/accounts',
      who: 'admin',
      status: 201,
      summary:
        'Make an account; without cameras it sees all, without permissions an administrator has all and others none',
      body: newAccount,
      reply: accountEntry,
      async handle(ask) {
        requireKeeper(callers, ask, 'make an account')
        const made = await accounts.add(ask.body)
        const { password: _, ...facts } = ask.body
        await recorder.changed(ask, 'account made', made.username, { account: made.id, ...facts })
        return new Reply(201, entryOf(made, ask))
      },
    }),
    route({
      method: 'PATCH',
      path: '/api/accounts/:id',
      who: 'admin',
      summary: 'Change an account; a new password ends its sign-ins, any change ends what it has open',
      params: accountParams,
      body: changedAccount,
      reply: accountEntry,
      async handle(ask) {
        requireKeeper(callers, ask, 'change an account')
        const changed = await accounts.change(ask.params.id, ask.body)
        const { password, ...facts } = ask.body
        const said = { account: changed.id, ...facts, ...(password !== undefined && { password: 'changed' }) }
        await recorder.changed(ask, 'account changed', changed.username, said)
        const entry = entryOf(changed, ask)
        endSignedOut()
        return entry
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/accounts/:id',
      who: 'admin',
      status: 204,
      summary: 'Remove an account with its sign-ins and its tokens',
      params: accountParams,
      async handle(ask) {
        requireKeeper(callers, ask, 'remove an account')
        const { id, username } = await accounts.remove(ask.params.id)
        await recorder.changed(ask, 'account removed', username, { account: id })
        endSignedOut()
      },
    }),
    historyRoute({ accounts, journal }),
  ]
}

const historyEntry = object({
  ...{ at: instant, who: text, from: text, what: text },
  target: Type.Optional(text),
  detail: Type.Optional(Type.Unknown()),
})

function historyRoute({ accounts, journal }: Pick<PeopleRouteParts, 'accounts' | 'journal'>): Route {
  return route({
    method: 'GET',
    path: '/api/accounts/:id/history',
    who: 'admin',
    summary: 'What was done to an account, its sign-ins and its tokens, newest first, as far as the journal reaches',
    params: accountParams,
    query: Type.Object(
      { limit: Type.Integer({ default: 100, minimum: 1, maximum: 1000, description: 'entries at most' }) },
      strict,
    ),
    reply: Type.Array(historyEntry),
    handle({ params, query }) {
      const { id } = accounts.require(params.id)
      return journal
        .list({ limit: Number.POSITIVE_INFINITY })
        .filter((entry) => isAbout(entry, id))
        .slice(0, query.limit)
        .map(({ at, detail, from, target, what, who }) => ({ at, who, from, what, target, detail }))
    },
  })
}

function isAbout({ detail }: JournalEntry, id: string): boolean {
  return typeof detail === 'object' && detail !== null && (detail as { account?: unknown }).account === id
}

// Tokens.

const tokenEntry = object({
  ...{ id: text, name: text, accountId: text, username: text, createdAt: instant },
  expiresAt,
  readOnly: yesNo,
})

const newToken = Type.Object(
  {
    name: nameText,
    expiresAt: Type.Optional(expiresAt),
    readOnly: Type.Optional(Type.Boolean({ description: 'refuses every write' })),
    accountId: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: 'the account it is bound to; default: your own' }),
    ),
  },
  strict,
)

function tokenRoutes({ accounts, callers, clock, endSignedOut, recorder, tokens }: PeopleRouteParts): Route[] {
  const usernameOf = (accountId: string) => accounts.list().find(({ id }) => id === accountId)?.username ?? ''
  const entryOf = ({ accountId, createdAt, expiresAt, id, isReadOnly: readOnly, name }: TokenRecord) => {
    return { id, name, accountId, username: usernameOf(accountId), createdAt, expiresAt, readOnly }
  }

  return [
    route({
      method: 'GET',
      path: '/tokens',
      who: 'admin',
      summary: 'Every API token, without its secret',
      reply: Type.Array(tokenEntry),
      handle: () =>
        tokens
          .list()
          .filter((token) => !isOver(token, clock.epochMs()))
          .map(entryOf),
    }),
    route({
      method: 'POST',
      path: '/tokens',
      who: 'admin',
      status: 201,
      summary: 'Make an API token, which is shown once; only for who signed in, not by a token',
      body: newToken,
      reply: object({ ...tokenEntry.properties, token: text }),
      async handle(ask) {
        requireKeeper(callers, ask, 'make a token')
        const account = accounts.require(ask.body.accountId ?? callers.accountOf(ask.caller).id)
        const { record, text } = await tokens.mint(account, ask.body)
        const { expiresAt, id, isReadOnly: readOnly, name } = record
        await recorder.changed(ask, 'token made', name, { account: account.id, token: id, expiresAt, readOnly })
        return new Reply(201, { ...entryOf(record), token: text })
      },
    }),
    route({
      method: 'DELETE',
      path: '/tokens/:id',
      who: 'admin',
      status: 204,
      summary: 'Revoke an API token: what it has open is ended at once',
      params: Type.Object({ id: Type.String({ minLength: 1, maxLength: 64, description: 'id of a token' }) }),
      async handle(ask) {
        requireKeeper(callers, ask, 'revoke a token')
        const { accountId, id, name } = await tokens.revoke(ask.params.id)
        endSignedOut()
        await recorder.changed(ask, 'token revoked', name, { account: accountId, token: id })
      },
    }),
  ]
}

/**
 * No token may set passwords: whoever stole one could sign in with a password of their own, and make more tokens.
 * @throws Fault `session_needed`
 */
function requireSession({ caller }: Pick<Ask, 'caller'>, toWhat: string): void {
  if (caller?.isKey) throw new Fault('session_needed', `A token cannot ${toWhat}. Sign in with a name and a password.`)
}

/**
 * What a temporary account made or changed would outlast it.
 * @throws Fault `session_needed`, `installer_account`
 */
function requireKeeper({ accountOf }: Pick<Callers, 'accountOf'>, ask: Pick<Ask, 'caller'>, toWhat: string): void {
  requireSession(ask, toWhat)
  if (accountOf(ask.caller).isInstaller)
    throw new Fault('installer_account', `A temporary account of an installer cannot ${toWhat}. Ask an administrator.`)
}
