/** The accounts of the recorder: who they are, which cameras they see, and what they may do beyond watching. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { lastAdmin, type NamedRecord, refuseNew, type UserList, type Users } from '#kit/pure/users.ts'

/** From most to fewest rights. */
export const accountRoles = ['administrator', 'operator', 'viewer'] as const

export type AccountRole = (typeof accountRoles)[number]

/** What an account may do beyond watching live and the last two minutes. */
export const accountPermissions = ['export', 'talk', 'outputs'] as const

export type AccountPermission = (typeof accountPermissions)[number]

/** What a session of the pages is of. It ends where the password changes. */
export interface SessionHolder {
  name: string
  accountId: string
  /** SHA-256 of the hash of the password. */
  password: string
}

/** One entry of users.json. Never changed in place: what was opened belongs to the very record that opened it. */
export interface AccountRecord extends NamedRecord {
  readonly id: string
  readonly role: AccountRole
  /** Ids of cameras. An administrator sees all: nobody could look after what they do not see. */
  readonly cameras: 'all' | readonly string[]
  readonly permissions: readonly AccountPermission[]
  /** Epoch milliseconds; null: it does not end. */
  readonly expiresAt: number | null
  /** A temporary account of who installs: it always ends, and no token is bound to it. */
  readonly isInstaller: boolean
  readonly createdAt: number
}

export type AccountList = UserList<AccountRecord>

/** What an administrator says of an account. */
export interface AccountWish {
  username: string
  password: string
  role: AccountRole
  cameras?: 'all' | readonly string[] | undefined
  permissions?: readonly AccountPermission[] | undefined
  expiresAt?: number | null | undefined
  installer?: boolean | undefined
}

/** Conditions whose sentence names other machines of the house, such as who takes alarms: for those who look after it. */
const OF_ADMINISTRATORS: ReadonlySet<string> = new Set(['alarm_undelivered'])

/** Whether an account may see a condition of the ledger. @param about id of the camera that it is about */
export function mayHear(
  account: Pick<AccountRecord, 'cameras' | 'role'>,
  { about, what }: { about?: string | undefined; what: string },
): boolean {
  if (account.role !== 'administrator' && OF_ADMINISTRATORS.has(what)) return false
  return account.cameras === 'all' || (about !== undefined && maySee(account, about))
}

/** Whether an account may see a camera. Every route, list and count goes by this. */
export function maySee({ cameras }: Pick<AccountRecord, 'cameras'>, camera: string): boolean {
  return cameras === 'all' || cameras.includes(camera)
}

/** Whether an account has ended. */
export function isOver({ expiresAt }: Pick<AccountRecord, 'expiresAt'>, nowAt: number): boolean {
  return expiresAt !== null && expiresAt <= nowAt
}

/** The record of the account that `POST /api/setup` makes. */
export function firstAccount(of: NamedRecord, facts: { id: string; createdAt: number }): AccountRecord {
  return {
    ...{ ...of, ...facts, role: 'administrator', cameras: 'all', permissions: accountPermissions },
    ...{ expiresAt: null, isInstaller: false },
  }
}

interface AccountBookParts {
  clock: Clock
  list: AccountList
  hash(password: string): Promise<string>
  isRight: Users<AccountRecord>['isRight']
  newId(): string
  /** The most accounts; key `users.max`. */
  most: number
  /** Called once an account is gone. */
  onRemoved(id: string): Promise<void>
}

/** Each change throws Fault `store_write_failed` if it could not be saved; then nothing has changed. */
export interface AccountBook {
  list(): readonly AccountRecord[]
  /** @throws Fault `unknown_account` */
  require(id: string): AccountRecord
  isLastAdmin(account: AccountRecord): boolean
  /** @throws Fault `user_exists`, `too_many_users`, `bad_account`, `busy` */
  add(wish: AccountWish): Promise<AccountRecord>
  /** @throws Fault `unknown_account`, `user_exists`, `last_admin`, `bad_account`, `busy` */
  change(id: string, wish: Partial<Omit<AccountWish, 'installer'>>): Promise<AccountRecord>
  /** @throws Fault `unknown_account`, `last_admin` */
  remove(id: string): Promise<AccountRecord>
  /** @throws Fault `wrong_password`, and what the rate limiter throws */
  changeOwn(account: AccountRecord, wish: OwnPassword): Promise<AccountRecord>
}

/** A wish to change the own password. */
interface OwnPassword {
  /** The present one. */
  current: string
  password: string
  remoteAddress: string
  signal: AbortSignal
}

export function createAccountBook(parts: AccountBookParts): AccountBook {
  const { clock, hash, list, newId } = parts

  function required(id: string): AccountRecord {
    const account = list.all().find((one) => one.id === id)
    if (!account) throw new Fault('unknown_account', 'There is no account with this id. GET /api/accounts lists them.')
    return account
  }

  /** @param wish looks at the present record at the moment of the change */
  async function replace(id: string, wish: (present: AccountRecord) => AccountRecord): Promise<AccountRecord> {
    let changed = required(id)
    await list.change((accounts) => {
      const present = required(id)
      changed = wish(present)
      if (isLast(accounts, present) && !isLasting(changed)) throw lastAdmin(present)
      return accounts.map((one) => (one === present ? changed : one))
    })
    return changed
  }

  return {
    list: () => list.all(),
    require: required,
    isLastAdmin: (account) => isLast(list.all(), account),
    async add({ password, ...wish }) {
      const refuse = () => refuseNew(list, wish.username, parts.most)
      // Before the hash, which is expensive, and again where it counts.
      refuse()
      const facts = factsOf(wish, clock.epochMs())
      const passwordHash = await hash(password)
      const { username } = wish
      const made = { username, ...facts, passwordHash, id: newId(), createdAt: clock.epochMs() }
      await list.change((accounts) => {
        refuse()
        return [...accounts, made]
      })
      return made
    },
    async change(id, { password, username, ...wish }) {
      const before = required(id)
      if (username !== undefined && list.find(username) !== before) refuseNew(list, username, Number.POSITIVE_INFINITY)
      factsOf({ ...before, ...changesOf(wish), installer: before.isInstaller }, clock.epochMs())
      const passwordHash = password === undefined ? undefined : await hash(password)
      return await replace(id, (present) => {
        if (username !== undefined && list.find(username) !== present)
          refuseNew(list, username, Number.POSITIVE_INFINITY)
        const facts = factsOf({ ...present, ...changesOf(wish), installer: present.isInstaller }, clock.epochMs())
        return { ...present, ...facts, ...(username && { username }), ...(passwordHash && { passwordHash }) }
      })
    },
    async remove(id) {
      const account = required(id)
      await list.change((accounts) => {
        const present = required(id)
        if (isLast(accounts, present)) throw lastAdmin(present)
        return accounts.filter((one) => one !== present)
      })
      await parts.onRemoved(id)
      return account
    },
    async changeOwn(account, { current, password, ...from }) {
      const { username } = account
      if (!(await parts.isRight({ ...from, account: username, user: account, password: current })))
        throw new Fault('wrong_password', 'The present password is wrong; it was not changed.')
      const passwordHash = await hash(password)
      return await replace(account.id, (present) => {
        if (present.passwordHash !== account.passwordHash)
          throw new Fault('wrong_password', 'The password was changed meanwhile. Sign in and try again.')
        return { ...present, passwordHash }
      })
    },
  }
}

/** What was said, without what was left out. */
function changesOf(wish: Partial<Omit<AccountWish, 'username' | 'password' | 'installer'>>) {
  return Object.fromEntries(Object.entries(wish).filter(([, value]) => value !== undefined)) as typeof wish
}

type Facts = Pick<AccountRecord, 'role' | 'cameras' | 'permissions' | 'expiresAt' | 'isInstaller'>

/** Fills in what was not said, and refuses what does not fit together. @throws Fault `bad_account` */
function factsOf(wish: Omit<AccountWish, 'username' | 'password'>, nowAt: number): Facts {
  const { cameras = 'all', expiresAt = null, installer = false, role } = wish
  const isAdmin = role === 'administrator'
  const permissions = wish.permissions ?? (isAdmin ? accountPermissions : [])
  if (isAdmin && cameras !== 'all') throw bad('An administrator sees all cameras. Expected cameras to be all.')
  if (installer && expiresAt === null) throw bad('An installer account is temporary. Expected expiresAt.')
  if (isOver({ expiresAt }, nowAt)) throw bad('The account would have ended already. Expected expiresAt in the future.')
  const own = cameras === 'all' ? cameras : [...new Set(cameras)]
  return { role, cameras: own, permissions: [...new Set(permissions)], expiresAt, isInstaller: installer }
}

function bad(sentence: string): Fault {
  return new Fault('bad_account', sentence)
}

/** One that ends some day cannot be the only one. */
function isLasting({ expiresAt, role }: AccountRecord): boolean {
  return role === 'administrator' && expiresAt === null
}

function isLast(accounts: readonly AccountRecord[], account: AccountRecord): boolean {
  return isLasting(account) && !accounts.some((one) => one !== account && isLasting(one))
}
