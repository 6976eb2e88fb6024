/** Users of this gateway, their passwords and their sign-ins. */
import type { Role } from '#kit/auth/credentials.ts'
import type { SignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'

// The users there are: found by name, changed one after another, and no change is made that was not saved.

/** One entry of users.json. Never changed in place: a token belongs to the record as it was at the sign-in. */
export interface UserRecord {
  readonly username: string
  readonly role: Role
  /** argon2id as a PHC string. */
  readonly passwordHash: string
  /** Epoch milliseconds. */
  readonly createdAt: number
}

export interface UserList {
  all(): readonly UserRecord[]
  /** By the name as typed: case and composition of letters do not count. */
  find(username: string): UserRecord | undefined
  /**
   * Runs after the changes before it.
   * @param apply gives the new list; undefined where nothing is to be changed
   * @throws what `apply` and the save throw; the list is as it was then
   */
  change(apply: (users: readonly UserRecord[]) => UserRecord[] | undefined): Promise<void>
  /** Runs after each change that was made. */
  onChange(handler: () => void): void
}

/** How the journal calls those who are no users. */
const RESERVED: ReadonlySet<string> = new Set(['nobody', 'plantroom'])

/** @throws Fault `user_exists` for a name that stands in the journal for something else */
function refuseReserved(username: string): void {
  if (RESERVED.has(userKey(username)))
    throw new Fault(
      'user_exists',
      `The journal writes ${userKey(username)} for those who are no users. Take another name.`,
    )
}

/** What is equal for names that are the same: a telephone begins names with a capital, and no two users differ by case. */
export function userKey(username: string): string {
  return username.normalize('NFKC').toLowerCase()
}

/**
 * @param records what was kept
 * @param save resolves once the list is safe
 */
export function createUserList(records: readonly UserRecord[], save: (users: UserRecord[]) => Promise<void>): UserList {
  let users = records
  const inTurn = createSerialTurn()
  const handlers: (() => void)[] = []

  async function change(apply: (users: readonly UserRecord[]) => UserRecord[] | undefined): Promise<void> {
    const next = apply(users)
    if (!next) return
    await save(next)
    users = next
    for (const handler of handlers) handler()
  }

  return {
    all: () => users,
    find(username) {
      const key = userKey(username)
      return users.find((user) => userKey(user.username) === key)
    },
    change: (apply) => inTurn(() => change(apply)),
    onChange: (handler) => void handlers.push(handler),
  }
}

/** Password hashing, off the main thread. */
interface Passwords {
  /** @throws Fault `busy` */
  hash(password: string): Promise<string>
  /** @param hash undefined for a name that does not exist: takes as long, and is never right */
  verify(password: string, hash: string | undefined): Promise<boolean>
}

/** What somebody signs in with. */
interface SignInWish extends Pick<PasswordTry, 'password' | 'remoteAddress' | 'signal'> {
  username?: string
}

export interface UsersParts {
  clock: Clock
  passwords: Passwords
  limiter: Pick<SignInLimiter, 'judge' | 'succeeded'>
  list: UserList
}

/** One try of a password. */
interface PasswordTry {
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

// What an administrator does with users, and what every user does with his own password.

/** A user as an administrator sees him. */
export interface UserView {
  username: string
  role: Role
  createdAt: number
  /** He can be neither removed nor made a viewer: nobody could administer the gateway any more. */
  isLastAdmin: boolean
}

interface UserBookParts {
  clock: Clock
  list: UserList
  passwords: Passwords
  isRight(tried: PasswordTry): Promise<boolean>
  /** Users at most; key `users.max`. */
  maxUsers: number
}

/** Somebody's wish for another password. */
interface OwnPassword extends Pick<PasswordTry, 'remoteAddress' | 'signal'> {
  username: string
  /** The present one. */
  current: string
  password: string
}

/**
 * A new role, a new password and a removal end every token, ticket, socket and download of that user.
 * Each throws Fault `store_write_failed` where it could not be saved; then nothing has changed.
 */
export interface UserBook {
  list(): UserView[]
  /** @throws Fault `user_exists`, `too_many_users`, `busy` */
  add(wish: { username: string; password: string; role: Role }): Promise<UserView>
  /** @throws Fault `unknown_user`, `last_admin`, `own_password`, `busy` */
  change(username: string, wish: { role?: Role; password?: string }, by: string): Promise<UserView>
  /** @throws Fault `unknown_user`, `last_admin` */
  remove(username: string): Promise<UserView>
  /** @throws Fault `wrong_password`, and what the rate limiter throws */
  changeOwn(wish: OwnPassword): Promise<UserRecord>
}

export function createUserBook(parts: UserBookParts): UserBook {
  const { clock, list, passwords } = parts
  return {
    list: () => list.all().map((user) => viewOf(list, user)),
    async add({ username, password, role }) {
      const refuse = () => refuseNew(list, username, parts.maxUsers)
      // Before the hash, which costs, and once more in turn, where it counts.
      refuse()
      const user: UserRecord = {
        username,
        role,
        passwordHash: await passwords.hash(password),
        createdAt: clock.epochMs(),
      }
      await list.change((users) => {
        refuse()
        return [...users, user]
      })
      return viewOf(list, user)
    },
    async change(username, { role, password }, by) {
      const { username: name } = required(list, username)
      if (password !== undefined && list.find(by) === list.find(name))
        throw new Fault('own_password', 'Your own password is changed by POST /api/me/password, with the present one.')
      const passwordHash = password === undefined ? undefined : await passwords.hash(password)
      return viewOf(list, await replace(list, name, { ...(role && { role }), ...(passwordHash && { passwordHash }) }))
    },
    async remove(username) {
      const view = viewOf(list, required(list, username))
      await list.change((users) => {
        const user = required(list, username)
        if (isLastAdmin(users, user)) throw lastAdmin(user)
        return users.filter((other) => other !== user)
      })
      return view
    },
    async changeOwn({ username, current, password, ...from }) {
      const user = required(list, username)
      if (!(await parts.isRight({ ...from, account: user.username, user, password: current })))
        throw new Fault('wrong_password', 'The present password is wrong; it was not changed.')
      return await replace(list, username, { passwordHash: await passwords.hash(password) }, user)
    },
  }
}

/** @param seen the record that the change goes by; one that is another by now is not overwritten */
async function replace(list: UserList, username: string, wish: Partial<UserRecord>, seen?: UserRecord) {
  let changed = required(list, username)
  await list.change((users) => {
    const user = required(list, username)
    if (seen && seen !== user)
      throw new Fault('wrong_password', 'The password or the role was changed meanwhile. Sign in and try again.')
    const next = { ...user, ...wish }
    if (next.role !== 'admin' && isLastAdmin(users, user)) throw lastAdmin(user)
    if (next.role === user.role && next.passwordHash === user.passwordHash) return undefined
    changed = next
    return users.map((other) => (other === user ? next : other))
  })
  return changed
}

function refuseNew(list: UserList, username: string, maxUsers: number): void {
  refuseReserved(username)
  const there = list.find(username)
  if (there)
    throw new Fault('user_exists', `There is a user ${there.username} already. Names differ by more than case.`)
  if (list.all().length >= maxUsers)
    throw new Fault('too_many_users', `There are ${list.all().length} users; users.max allows ${maxUsers}.`)
}

function required(list: UserList, username: string): UserRecord {
  const user = list.find(username)
  if (!user) throw new Fault('unknown_user', 'There is no user of this name.')
  return user
}

function viewOf(list: UserList, user: UserRecord): UserView {
  const { username, role, createdAt } = user
  return { username, role, createdAt, isLastAdmin: isLastAdmin(list.all(), user) }
}

function isLastAdmin(users: readonly UserRecord[], user: UserRecord): boolean {
  return user.role === 'admin' && !users.some((other) => other !== user && other.role === 'admin')
}

function lastAdmin({ username }: UserRecord): Fault {
  return new Fault('last_admin', `${username} is the only administrator. Make another one first.`)
}

// What a sign-in gives: a token that lives while it is used, and as long as its user is the one who signed in.

/** Who calls with a token or a key. */
export interface Signed {
  name: string
  role: Role
}

/** Whom a token was issued to. */
export interface Holder {
  name: string
  /** The very record: after a new password, a new role or a removal there is another one, or none. */
  user: UserRecord
}

/** Tokens in memory only, gone at restart (interface document 2, part A, Authentication 2). */
interface Tokens {
  issue(holder: Holder): string
  use(token: string): Holder | undefined
  /** The same without counting as a use. */
  isAlive(token: string): boolean
  revoke(token: string): void
}

/** Answer of setup and login. */
interface SignInAnswer {
  token: string
  username: string
  role: Role
  /** The token's life without use; each use begins it anew. */
  expiresInMs: number
}

export interface Sessions {
  begin(user: UserRecord): SignInAnswer
  /** Who calls with this token; undefined where it is unknown, too old, or its user is another by now. */
  callerOf(token: string): Signed | undefined
  /** Whether the token stands by which `callerOf` found this caller: for sockets, which outlive their request. */
  isStillSignedIn(caller: Signed): boolean
  end(token: string): void
}

/** Interface document 2, part A, Authentication 2. */
export const TOKEN_LIFE_MS = 12 * 60 * 60 * 1000

export function createPageSessions(users: Pick<UserList, 'find'>, tokens: Tokens): Sessions {
  const signInOf = new WeakMap<Signed, { token: string; user: UserRecord }>()
  const stands = (user: UserRecord) => users.find(user.username) === user
  return {
    begin(user) {
      const token = tokens.issue({ name: user.username, user })
      return { token, username: user.username, role: user.role, expiresInMs: TOKEN_LIFE_MS }
    },
    callerOf(token) {
      const user = tokens.use(token)?.user
      if (!user) return undefined
      if (!stands(user)) {
        tokens.revoke(token)
        return undefined
      }
      const caller = { name: user.username, role: user.role }
      signInOf.set(caller, { token, user })
      return caller
    },
    isStillSignedIn(caller) {
      const signIn = signInOf.get(caller)
      return signIn !== undefined && tokens.isAlive(signIn.token) && stands(signIn.user)
    },
    end: (token) => tokens.revoke(token),
  }
}
