/** The rules about people for tests: tables in memory, a clock that stands still, letters in a list. */
import { createHash, randomBytes } from 'node:crypto'
import { fakeClock } from '#kit/clock-fake.ts'
import { limiterHere } from '#kit/test/auth/limiter-here.ts'
import type { Letter, Origin, Secrets } from '../../../core/access/accounts.ts'
import { createPeople, type PeopleLimits, type PeopleParts } from '../../../core/access/people.ts'
import type { Undelivered } from '../../../core/access/sign-in.ts'
import type { Outcome } from '../../../core/audit.ts'
import type { Json } from '../../../core/json.ts'
import { bodyText } from '../../../core/json.ts'
import type { Book, Keeper, Row } from '../../../core/site/book.ts'

export const HERE: Origin = { clientIp: '10.0.0.7', isRemote: false, isLocal: true }
export const AWAY: Origin = { clientIp: '203.0.113.7', isRemote: true, isLocal: false }

type Columns = Record<string, Json>

/** Tables that a test fills and changes. */
export interface Tables extends Book, Keeper {
  put(table: string, row: Row): void
  remove(table: string, id: number): void
  /** Runs before a change is stored, like a slow disk. */
  beforeChange: () => Promise<void>
  changes: { table: string; id: number; columns: Columns }[]
}

export function tablesOf(content: Record<string, readonly Row[]>): Tables {
  const tables = new Map(Object.entries(content))
  const revisions = new Map<string, number>()
  const rows = (table: string) => tables.get(table) ?? []
  function set(table: string, next: readonly Row[]): void {
    tables.set(
      table,
      next.toSorted((one, other) => one.id - other.id),
    )
    revisions.set(table, (revisions.get(table) ?? 0) + 1)
  }
  const made: Tables = {
    rows,
    row: (table, id) => rows(table).find((row) => row.id === id),
    named: (table, name) => rows(table).filter((row) => row.name === name),
    revision: (table) => revisions.get(table) ?? 0,
    put: (table, row) => set(table, [...rows(table).filter(({ id }) => id !== row.id), row]),
    remove: (table, id) =>
      set(
        table,
        rows(table).filter((row) => row.id !== id),
      ),
    beforeChange: async () => {},
    changes: [],
    async change(table, id, columns) {
      await made.beforeChange()
      made.changes.push({ table, id, columns })
      const row = made.row(table, id)
      if (row) made.put(table, { ...row, ...columns })
    },
  }
  return made
}

/** Ada may do everything from anywhere; her password is `open sesame`. */
export const ADA: Row = {
  id: 1,
  username: 'Ada',
  email: 'ada@example.org',
  hash: 'hash of open sesame',
  salt: '',
  enabled: true,
  revoked_at: null,
  valid_from: null,
  valid_until: null,
  two_factor_auth: false,
  two_factor_token: null,
  two_factor_issued_at: null,
}

export const OPERATOR: Row = {
  id: 5,
  name: 'operator',
  elevated: false,
  allow_remote: true,
  skip_2fa_local: false,
  rules: 'allow api command, query\nallow ui 1',
  session_timeout_min: null,
}

export const limits: PeopleLimits = {
  sessions: 100,
  uiSessionMs: 12 * 60 * 60 * 1000,
  mailAgainMs: 30_000,
  misses: 5,
  nonces: 100,
  ...{ pinTries: 3, pinRestMs: 900_000, pinRestMaxMs: 86_400_000, triesTable: 100 },
}

export const realSecrets: Secrets = {
  randomBytes: (count) => randomBytes(count),
  digest: (secret) => createHash('sha256').update(secret).digest('base64url'),
}

/** @param ada columns of Ada to change; @param more other tables to change */
export function peopleWorld(
  ada: Columns = {},
  more: Record<string, readonly Row[]> = {},
  parts: Partial<PeopleParts> = {},
) {
  const clock = fakeClock()
  const tables = tablesOf({
    auth_user: [{ ...ADA, ...ada }],
    auth_role: [OPERATOR],
    site: [
      { id: 8, name: 'Annex' },
      { id: 9, name: 'Main house' },
    ],
    auth_user_role: [{ id: 1, user_id: 1, role_id: 5 }],
    auth_user_site: [
      { id: 1, user_id: 1, site_id: 9 },
      { id: 2, user_id: 1, site_id: 8 },
    ],
    ui: [
      { id: 1, name: 'Hall', enabled: true },
      { id: 2, name: 'Cellar', enabled: true },
    ],
    ...more,
  })
  const letters: Letter[] = []
  const undelivered: Undelivered[] = []
  const pinEvents: { event: string; username: string; clientIp: string }[] = []
  const compared: (string | undefined)[] = []
  const people = createPeople({
    book: tables,
    keeper: tables,
    undelivered: (to) => void undelivered.push(to),
    homeOf: () => undefined,
    pinEvent: (event, who) => void pinEvents.push({ event, ...who }),
    hashPassword: async (password) => ({ hash: `hash of ${password}`, salt: '' }),
    clock,
    secrets: realSecrets,
    passwords: {
      async verify(password, stored) {
        compared.push(stored)
        return stored === `hash of ${password}`
      },
    },
    postman: { send: async (letter) => void letters.push(letter) },
    settings: () => ({ api_token_life: 3_600_000, api_2fa_ttl_seconds: 300 }),
    waitingOf: () => undefined,
    limiter: limiterHere({ clock, freeTries: 100 }).limiter,
    limits,
    ...parts,
  })
  return { people, tables, clock, letters, undelivered, compared, pinEvents }
}

export type PeopleWorld = ReturnType<typeof peopleWorld>

export const RIGHT = { username: 'Ada', password: 'open sesame' }

/** The body of an outcome. */
export function jsonOf(outcome: Pick<Outcome, 'body'>): Record<string, unknown> {
  return ('json' in outcome.body ? outcome.body.json : JSON.parse(bodyText(outcome.body))) as Record<string, unknown>
}

/** The identity behind a token, or `invalid_session`. */
export function meIn({ people }: PeopleWorld, token: string | undefined, origin = HERE): unknown {
  const session = people.resolve(token, origin)
  return session && people.me(session)
}

/** Signs Ada in and returns her token. */
export async function tokenIn({ people }: PeopleWorld, form: unknown = RIGHT): Promise<string> {
  return String(jsonOf(await people.signIn(form, HERE)).token)
}

/** The code in the newest letter. */
export function codeIn({ letters }: PeopleWorld): string {
  return /code is (\S+)/.exec(letters.at(-1)?.text ?? '')?.[1] ?? ''
}
