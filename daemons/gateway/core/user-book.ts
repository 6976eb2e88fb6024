/** What an administrator does with users, and what every user does with his own password. */

import type { Role } from '#kit/auth/roles.ts'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import { refuseReserved, type UserList, type UserRecord } from './user-list.ts'
import type { Passwords, PasswordTry } from './users.ts'

/** A user as an administrator sees him. */
export interface UserView {
  username: string
  role: Role
  createdAt: number
  /** He can be neither removed nor made a viewer: nobody could administer the gateway any more. */
  isLastAdmin: boolean
}

export interface UserBookParts {
  clock: Clock
  list: UserList
  passwords: Passwords
  isRight(tried: PasswordTry): Promise<boolean>
  /** Users at most; key `users.max`. */
  maxUsers: number
}

/** Somebody's wish for another password. */
export interface OwnPassword extends Pick<PasswordTry, 'remoteAddress' | 'signal'> {
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
