/** Sessions of the pages, which outlive a restart: a wall of pictures stays signed in over an update. */
import { type Static, Type } from 'typebox'
import { createTokenStore, type KeptToken, type TokenStore } from '#kit/auth/credentials.ts'
import type { Clock, Timer } from '#kit/clock.ts'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { TOKEN_LIFE_MS } from '#kit/pure/users.ts'
import type { Part } from '#kit/run/parts.ts'
import { lastRestoreAt } from '#kit/store/restore.ts'
import { createStore } from '#kit/store/store.ts'
import type { SessionHolder } from '../core/access/accounts.ts'

/** How soon a sign-in is written, at the latest: a program that signs in again and again must not wear out the card. */
const SAVE_MS = 60_000
/** How soon a sign-out is: a power cut must not sign anybody in again. */
const ENDED_MS = 1000
/** How old the last use may get on the disk. */
const USED_MS = 3_600_000

const digest = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' })
const strict = { additionalProperties: false }
const sessionsFile = Type.Object(
  {
    version: Type.Literal(1),
    sessions: Type.Array(
      Type.Object(
        {
          hash: digest,
          caller: Type.Object({ name: Type.String(), accountId: Type.String(), password: digest }, strict),
          ...{ issuedAt: Type.Integer(), usedAt: Type.Integer() },
        },
        strict,
      ),
    ),
  },
  strict,
)

interface SessionParts {
  clock: Clock
  log: Log
  /** The state folder. */
  folder: string
  /** Sessions at once. */
  max: number
}

/** The sessions of a state folder, in sessions.json; those of before a backup was put back have ended. @throws Fault `store_unreadable` */
export async function openSessions({ clock, folder, log, max }: SessionParts) {
  const nothing = (): Static<typeof sessionsFile> => ({ version: 1, sessions: [] })
  const store = createStore({ folder, name: 'sessions', log, check: createReader(sessionsFile), initial: nothing })
  const { sessions: saved } = await store.load().catch((fault) => {
    if (!(fault instanceof Fault) || fault.code !== 'store_damaged') throw fault
    // No reason not to start: people sign in again.
    log.warning('sessions_forgotten', { fault })
    return nothing()
  })
  const restoredAt = lastRestoreAt(folder) ?? 0
  const known: KeptToken<SessionHolder>[] = saved.filter(({ usedAt }) => usedAt > restoredAt)
  const life = { clock, lifeMs: TOKEN_LIFE_MS, kind: 'sliding', max, known } as const
  const tokens = createTokenStore<SessionHolder>(life)
  let isChanged = false
  let savedMs = clock.monotonicMs()
  let timer: Timer | undefined
  let ending: Timer | undefined

  async function save(): Promise<void> {
    isChanged = false
    ending?.cancel()
    ending = undefined
    savedMs = clock.monotonicMs()
    try {
      await store.save({ version: 1, sessions: tokens.kept() })
    } catch (fault) {
      isChanged = true
      log.warning('sessions_not_saved', { fault })
    }
  }

  const sessions: Omit<TokenStore<SessionHolder>, 'kept' | 'revokeAll'> = {
    ...tokens,
    issue(holder) {
      isChanged = true
      return tokens.issue(holder)
    },
    use(token) {
      const holder = tokens.use(token)
      if (holder && clock.monotonicMs() - savedMs >= USED_MS) isChanged = true
      return holder
    },
    revoke(token) {
      tokens.revoke(token)
      ending ??= clock.after(ENDED_MS, () => void save())
    },
  }
  const part: Part = {
    name: 'sessions',
    start() {
      timer = clock.every(SAVE_MS, () => {
        if (isChanged) void save()
      })
    },
    async stop() {
      timer?.cancel()
      await save()
    },
  }
  return { sessions, part }
}
