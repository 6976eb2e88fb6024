/** Sessions of the panel: each is a record in the store, so every daemon on it knows them. */
import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '#kit/clock.ts'
import type { Signed, UserList, UserRecord } from '#kit/pure/users.ts'
import type { Changed, Keeper, SessionRecord } from '../core/ports.ts'

interface SessionParts {
  clock: Clock
  keeper: Pick<Keeper, 'inTurn' | 'saveSessions'>
  records: readonly SessionRecord[]
  users: Pick<UserList, 'find'>
  lifeMs: number
  /** Sessions at once: beyond, the oldest ends. */
  most: number
}

export interface PanelSessions {
  /** @param before token of a session that ends with it @throws as a keeper */
  begin(user: UserRecord, before: string | undefined): Promise<{ token: string }>
  /** The same object each time; undefined once it has ended, or its user has another password. */
  callerOf(token: string): Signed | undefined
  isStillSignedIn(caller: Signed): boolean
  /** @throws as a keeper: it goes on then */
  end(token: string): Promise<void>
  /** Takes over what another daemon wrote. */
  follow(sessions: Changed<SessionRecord>): void
}

export function createSessions({ clock, keeper, lifeMs, most, records, users }: SessionParts): PanelSessions {
  /** By hash, the oldest first. */
  const all = new Map(
    [...records].sort((one, other) => one.beganAt - other.beganAt).map((record) => [record.hash, record]),
  )
  const callers = new Map<string, Signed>()
  const hashes = new WeakMap<Signed, string>()

  /** Two daemons may have clocks that differ a little. */
  function isAlive({ beganAt, password, username }: SessionRecord): boolean {
    const user = users.find(username)
    return Math.abs(clock.epochMs() - beganAt) < lifeMs && user !== undefined && digest(user.passwordHash) === password
  }

  function forget(gone: readonly string[]): void {
    for (const hash of gone) {
      all.delete(hash)
      callers.delete(hash)
    }
  }

  /** Those that are over, and the oldest beyond the bound. */
  function over(): string[] {
    const alive = [...all.values()].filter(isAlive)
    const kept = new Set(alive.slice(Math.max(0, alive.length - most + 1)))
    return [...all.values()].filter((one) => !kept.has(one)).map(({ hash }) => hash)
  }

  function find(hash: string): Signed | undefined {
    const record = all.get(hash)
    const user = record && isAlive(record) ? users.find(record.username) : undefined
    if (!user) return undefined
    const caller = callers.get(hash) ?? { name: user.username, role: user.role }
    callers.set(hash, caller)
    hashes.set(caller, hash)
    return caller
  }

  return {
    async begin({ passwordHash, username }, before) {
      const token = randomBytes(32).toString('base64url')
      const record = { hash: digest(token), username, password: digest(passwordHash), beganAt: clock.epochMs() }
      await keeper.inTurn(async () => {
        const removed = [...new Set([...over(), ...(before === undefined ? [] : [digest(before)])])]
        await keeper.saveSessions({ changed: [record], removed })
        forget(removed)
        all.set(record.hash, record)
      })
      return { token }
    },
    callerOf: (token) => find(digest(token)),
    isStillSignedIn: (caller) => find(hashes.get(caller) ?? '') !== undefined,
    end: (token) =>
      keeper.inTurn(async () => {
        const hash = digest(token)
        if (!all.has(hash)) return
        await keeper.saveSessions({ changed: [], removed: [hash] })
        forget([hash])
      }),
    follow({ changed, removed }) {
      forget(removed)
      for (const record of changed) all.set(record.hash, record)
    },
  }
}

/** Enough for what is random, or a hash already. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
