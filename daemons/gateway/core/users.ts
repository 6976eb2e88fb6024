/** Who may sign in: the first administrator, sign-in, and what slows a guesser down. */
import type { SignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import { refuseReserved, type UserList, type UserRecord, userKey } from './user-list.ts'

/** Password hashing, off the main thread. */
export interface Passwords {
  /** @throws Fault `busy` */
  hash(password: string): Promise<string>
  /** @param hash undefined for a name that does not exist: takes as long, and is never right */
  verify(password: string, hash: string | undefined): Promise<boolean>
}

/** What somebody signs in with. */
export interface SignInWish extends Pick<PasswordTry, 'password' | 'remoteAddress' | 'signal'> {
  username?: string
}

export interface UsersParts {
  clock: Clock
  passwords: Passwords
  limiter: Pick<SignInLimiter, 'judge' | 'succeeded'>
  list: UserList
}

/** One try of a password. */
export interface PasswordTry {
  /** The name as typed. */
  account: string
  /** Whose password it has to be; undefined for nobody's. */
  user: UserRecord | undefined
  password: string
  remoteAddress: string
  /** Aborted when the client hangs up. */
  signal?: AbortSignal
}

export interface Users {
  isSetUp(): boolean
  /** Makes the first administrator. @throws Fault `already_set_up`, `user_exists` for a reserved name */
  setUp(first: { username: string; password: string }): Promise<UserRecord>
  /**
   * @param login without `username` it means the only user
   * @throws Fault `wrong_login`, `username_needed`, `not_set_up`, and what the rate limiter throws
   */
  signIn(login: SignInWish): Promise<UserRecord>
  /** Whom a login means, whether its password is right or not: for the journal. */
  meant(username: string | undefined): UserRecord | undefined
  /** Whether a password is right; a wrong one counts against its network and its account. @throws as the rate limiter */
  isRight(tried: PasswordTry): Promise<boolean>
}

export function createUsers(parts: UsersParts): Users {
  const { clock, limiter, list, passwords } = parts
  let settingUp = false

  async function setUp(first: { username: string; password: string }): Promise<UserRecord> {
    if (list.all().length > 0 || settingUp) throw alreadySetUp()
    refuseReserved(first.username)
    settingUp = true
    try {
      const passwordHash = await passwords.hash(first.password)
      const user: UserRecord = { username: first.username, role: 'admin', passwordHash, createdAt: clock.epochMs() }
      await list.change((users) => {
        if (users.length > 0) throw alreadySetUp()
        return [user]
      })
      return user
    } finally {
      settingUp = false
    }
  }

  /** Interface document 2, part A, Login: with exactly one user the name may be left out. */
  function meant(username: string | undefined): UserRecord | undefined {
    if (username !== undefined) return list.find(username)
    return list.all().length === 1 ? list.all()[0] : undefined
  }

  async function isRight({ account, user, password, remoteAddress: address, signal }: PasswordTry): Promise<boolean> {
    const who = { address, account: userKey(account) }
    const verify = () => passwords.verify(password, user?.passwordHash)
    const isMatch = await limiter.judge({ ...who, signal, verify })
    if (isMatch) limiter.succeeded(who)
    return isMatch
  }

  return {
    isSetUp: () => list.all().length > 0,
    setUp,
    meant,
    isRight,
    async signIn({ username, ...shown }) {
      if (list.all().length === 0)
        throw new Fault('not_set_up', 'This gateway has no administrator yet. Open its page, or POST /api/setup.')
      const user = meant(username)
      if (!user && username === undefined)
        throw new Fault('username_needed', 'There is more than one user here. Say which one signs in with username.')
      const account = user?.username ?? username ?? ''
      const isSignedIn = await isRight({ ...shown, account, user })
      // A user who was changed or removed meanwhile is not the one whose password was right.
      if (!user || !isSignedIn || list.find(user.username) !== user)
        throw new Fault('wrong_login', 'The name or the password is wrong.')
      return user
    },
  }
}

function alreadySetUp(): Fault {
  return new Fault('already_set_up', 'This gateway has its administrator already. Sign in instead.')
}
