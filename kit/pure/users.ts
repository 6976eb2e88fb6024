/** The users of a daemon, their passwords and their sign-ins. */
import type { Role } from '../auth/credentials.ts'
import type { SignInLimiter } from '../auth/sign-in-limiter.ts'
import type { Clock } from '../clock.ts'
import { Fault } from './fault.ts'
import { createSerialTurn } from './pace.ts'

// The list of users: found by name, changed one change at a time, and no change takes effect before it is saved.

/** One entry of users.json. Never changed in place: a token belongs to the very record of its sign-in. */
export interface UserRecord {
  readonly username: string
  readonly role: Role
  /** argon2id as a PHC string. */
  readonly passwordHash: string
  /** Epoch milliseconds. */
  readonly createdAt: number
}

/** What every record of a person has; a daemon may keep more in it. */
export type NamedRecord = Pick<UserRecord, 'username' | 'passwordHash'>

export interface UserList<User extends NamedRecord = UserRecord> {
  all(): readonly User[]
  /** By the name as typed: upper or lower case and Unicode composition do not matter. */
  find(username: string): User | undefined
  /**
   * Changes run one after another.
   * @param apply gives the new list; undefined if nothing is to change
   * @throws what `apply` and the save throw; the list is then as it was
   */
  change(apply: (users: readonly User[]) => User[] | undefined): Promise<void>
  /** Takes over what another process saved. */
  adopt(users: readonly User[]): void
  /** Calls the handler after each change. */
  onChange(handler: () => void): void
}

/** Names that the journal uses for actors other than users. */
const RESERVED: ReadonlySet<string> = new Set(['nobody', 'plantroom'])

/** @throws Fault `user_exists` for a name that the journal uses for something else */
function refuseReserved(username: string): void {
  if (RESERVED.has(userKey(username)))
    throw new Fault(
      'user_exists',
      `The journal writes ${userKey(username)} for callers who are not users. Choose another name.`,
    )
}

/**
 * The key under which names are compared. No two users differ by case only, because telephones begin a typed name with
 * a capital.
 */
export function userKey(username: string): string {
  return username.normalize('NFKC').toLowerCase()
}

/** @param records the saved users @param save resolves once the list is on disk */
export function createUserList<User extends NamedRecord>(
  records: readonly User[],
  save: (users: User[]) => Promise<void>,
): UserList<User> {
  let users = records
  const inTurn = createSerialTurn()
  const handlers: (() => void)[] = []

  async function change(apply: (users: readonly User[]) => User[] | undefined): Promise<void> {
    const next = apply(users)
    if (!next) return
    await save(next)
    adopt(next)
  }

  function adopt(next: readonly User[]): void {
    users = next
    for (const handler of handlers) handler()
  }

  return {
    adopt,
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
  /** @param hash undefined for an unknown name: takes just as long, and is never right */
  verify(password: string, hash: string | undefined): Promise<boolean>
}

/** What somebody gives to sign in. */
interface SignInWish extends Pick<PasswordTry, 'password' | 'remoteAddress' | 'signal'> {
  username?: string
}

export interface UsersParts<User extends NamedRecord = UserRecord> {
  passwords: Passwords
  limiter: Pick<SignInLimiter, 'judge' | 'succeeded'>
  list: UserList<User>
  /** The record of the first administrator. */
  makeFirst(of: NamedRecord): User
}

/** One attempt with a password. */
interface PasswordTry<User extends NamedRecord = UserRecord> {
  /** The name as typed. */
  account: string
  /** The user whose password it must be; undefined if there is no such user. */
  user: User | undefined
  password: string
  remoteAddress: string
  /** Aborted when the client hangs up. */
  signal?: AbortSignal
}

export interface Users<User extends NamedRecord = UserRecord> {
  isSetUp(): boolean
  /** Makes the first administrator. @throws Fault `already_set_up`, `user_exists` for a reserved name */
  setUp(first: { username: string; password: string }): Promise<User>
  /**
   * @param login without `username` it means the only user
   * @throws Fault `wrong_login`, `username_needed`, `not_set_up`, and what the rate limiter throws
   */
  signIn(login: SignInWish): Promise<User>
  /** The user that a login names, whether the password is right or not: for the journal. */
  meant(username: string | undefined): User | undefined
  /**
   * Whether the password is right; a wrong one counts against its network and its account. @throws as the rate limiter
   */
  isRight(tried: PasswordTry<User>): Promise<boolean>
}

export function createUsers<User extends NamedRecord>(parts: UsersParts<User>): Users<User> {
  const { limiter, list, makeFirst, passwords } = parts
  let settingUp = false

  async function setUp(first: { username: string; password: string }): Promise<User> {
    if (list.all().length > 0 || settingUp) throw alreadySetUp()
    refuseReserved(first.username)
    settingUp = true
    try {
      const passwordHash = await passwords.hash(first.password)
      const user = makeFirst({ username: first.username, passwordHash })
      await list.change((users) => {
        if (users.length > 0) throw alreadySetUp()
        return [user]
      })
      return user
    } finally {
      settingUp = false
    }
  }

  /** The name may be left out while there is exactly one user (interface document 2, part A, Login). */
  function meant(username: string | undefined): User | undefined {
    if (username !== undefined) return list.find(username)
    return list.all().length === 1 ? list.all()[0] : undefined
  }

  async function isRight({
    account,
    user,
    password,
    remoteAddress: address,
    signal,
  }: PasswordTry<User>): Promise<boolean> {
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
        throw new Fault('not_set_up', 'There is no administrator yet. Open the page, or POST /api/setup.')
      const user = meant(username)
      if (!user && username === undefined)
        throw new Fault('username_needed', 'There is more than one user here. Say which one signs in with username.')
      const account = user?.username ?? username ?? ''
      const isSignedIn = await isRight({ ...shown, account, user })
      // If the user was changed or removed meanwhile, the password that was right is not that of the present user.
      if (!user || !isSignedIn || list.find(user.username) !== user)
        throw new Fault('wrong_login', 'The name or the password is wrong.')
      return user
    },
  }
}

function alreadySetUp(): Fault {
  return new Fault('already_set_up', 'There is an administrator already. Sign in instead.')
}

// Administration of users, and changing one's own password.

/** A user as shown to an administrator. */
export interface UserView {
  username: string
  role: Role
  createdAt: number
  /** This user can be neither removed nor made a viewer, as nobody could administer the daemon any more. */
  isLastAdmin: boolean
}

interface UserBookParts {
  clock: Clock
  list: UserList
  passwords: Passwords
  isRight(tried: PasswordTry): Promise<boolean>
  /** The most users; key `users.max`. */
  maxUsers: number
}

/** A user's request to change the own password. */
interface OwnPassword extends Pick<PasswordTry, 'remoteAddress' | 'signal'> {
  username: string
  /** The present password. */
  current: string
  password: string
}

/**
 * A new role, a new password and a removal end every token, ticket, socket and download of that user. Each method
 * throws Fault `store_write_failed` if the change could not be saved; then nothing has changed.
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
      // Checked before the hash, which is expensive, and again in the serialised change, where it counts.
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

/** @param seen the record that the change is based on; if the present one differs, it is not overwritten */
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

/** @throws Fault `user_exists`, `too_many_users` */
export function refuseNew(list: UserList<NamedRecord>, username: string, maxUsers: number): void {
  refuseReserved(username)
  const there = list.find(username)
  if (there)
    throw new Fault(
      'user_exists',
      `There is a user ${there.username} already. Names that differ only in case count as the same.`,
    )
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

export function lastAdmin({ username }: NamedRecord): Fault {
  return new Fault('last_admin', `${username} is the only administrator. Make another one first.`)
}

// What a sign-in gives: a token that stays valid while it is used, and as long as its user's record is the same.

/** The caller with a token or a key. */
export interface Signed {
  name: string
  role: Role
}

/** Tokens are in memory only, so a restart ends them (interface document 2, part A, Authentication 2). */
interface Tokens {
  issue(caller: Signed): string
  use(token: string): Signed | undefined
  /** The same as a lookup, but does not count as a use. */
  isAlive(token: string): boolean
  revoke(token: string): void
  revokeAll(isOver: (caller: Signed) => boolean): void
}

/** The reply to setup and login. */
interface SignInAnswer {
  token: string
  username: string
  role: Role
  /** How long the token is valid without use; each use restarts this time. */
  expiresInMs: number
}

export interface Sessions {
  begin(user: UserRecord): SignInAnswer
  /**
   * The caller with this token, the same object each time; undefined if the token is unknown or expired, or if its user
   * has been changed or removed.
   */
  callerOf(token: string): Signed | undefined
  /** Whether the token by which `callerOf` found this caller is still valid: for sockets, which outlive a request. */
  isStillSignedIn(caller: Signed): boolean
  end(token: string): void
}

/** Interface document 2, part A, Authentication 2. */
export const TOKEN_LIFE_MS = 12 * 60 * 60 * 1000

export function createPageSessions(users: Pick<UserList, 'all' | 'onChange'>, tokens: Tokens): Sessions {
  /** The record is the very one: a new password or role makes another record, and a removal leaves none. */
  const signIns = new WeakMap<Signed, { token: string; user: UserRecord }>()
  users.onChange(() => {
    const standing = new Set(users.all())
    tokens.revokeAll((caller) => !standing.has(signIns.get(caller)?.user as UserRecord))
  })
  return {
    begin(user) {
      const { username, role } = user
      const caller = { name: username, role }
      const token = tokens.issue(caller)
      signIns.set(caller, { token, user })
      // The user may have been changed while the password was checked.
      if (!users.all().includes(user)) tokens.revoke(token)
      return { token, username, role, expiresInMs: TOKEN_LIFE_MS }
    },
    callerOf: tokens.use,
    isStillSignedIn(caller) {
      const signIn = signIns.get(caller)
      return signIn !== undefined && tokens.isAlive(signIn.token)
    },
    end: tokens.revoke,
  }
}
