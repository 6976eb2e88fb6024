/** Who may sign in: the first administrator, sign-in, and what slows a guesser down. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'

export type Role = 'admin' | 'viewer'

/** One entry of users.json. */
export interface UserRecord {
  username: string
  role: Role
  /** argon2id as a PHC string. */
  passwordHash: string
  /** Epoch milliseconds. */
  createdAt: number
}

/** Password hashing, off the main thread. */
export interface Passwords {
  hash(password: string): Promise<string>
  /** @param hash undefined for a name that does not exist: takes as long, and is never right */
  verify(password: string, hash: string | undefined): Promise<boolean>
}

/** Stands before every password and slows a guesser down, by address and by account. */
export interface LoginGuard {
  /**
   * Counts as a failure until `succeeded` takes it back, so that tries at once cannot slip by.
   * @throws Fault `slow_down` (details.retryAfterMs)
   */
  attempt(remoteAddress: string, account: string): { succeeded(): void }
}

export interface UsersParts {
  clock: Clock
  passwords: Passwords
  guard: LoginGuard
  save(users: UserRecord[]): Promise<void>
}

export interface Users {
  isSetUp(): boolean
  /** Makes the first administrator. @throws Fault `already_set_up` */
  setUp(first: { username: string; password: string }): Promise<UserRecord>
  /**
   * @param login without `username` it means the only user
   * @throws Fault `wrong_login`, `username_needed`, `slow_down` (details.retryAfterMs), `not_set_up`
   */
  signIn(login: { username?: string; password: string; remoteAddress: string }): Promise<UserRecord>
  find(username: string): UserRecord | undefined
}

/** @param records what was kept */
export function createUsers(parts: UsersParts, records: UserRecord[]): Users {
  let users = records
  let settingUp = false

  async function setUp(first: { username: string; password: string }): Promise<UserRecord> {
    if (users.length > 0 || settingUp)
      throw new Fault('already_set_up', 'This gateway has its administrator already. Sign in instead.')
    settingUp = true
    try {
      const user: UserRecord = {
        username: first.username,
        role: 'admin',
        passwordHash: await parts.passwords.hash(first.password),
        createdAt: parts.clock.epochMs(),
      }
      await parts.save([user])
      users = [user]
      return user
    } finally {
      settingUp = false
    }
  }

  /** Interface document 2, part A, Login: with exactly one user the name may be left out. */
  function meant(username: string | undefined): UserRecord | undefined {
    if (username !== undefined) return users.find((user) => user.username === username)
    if (users.length === 1) return users[0]
    throw new Fault('username_needed', `There are ${users.length} users. Say which one signs in with username.`)
  }

  return {
    isSetUp: () => users.length > 0,
    setUp,
    find: (username) => users.find((user) => user.username === username),
    async signIn({ username, password, remoteAddress }) {
      if (users.length === 0)
        throw new Fault('not_set_up', 'This gateway has no administrator yet. Open its page, or POST /api/setup.')
      const user = meant(username)
      const attempt = parts.guard.attempt(remoteAddress, user?.username ?? username ?? '')
      const isRight = await parts.passwords.verify(password, user?.passwordHash)
      if (!user || !isRight) throw new Fault('wrong_login', 'The name or the password is wrong.')
      attempt.succeeded()
      return user
    },
  }
}
