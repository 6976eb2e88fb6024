/** The users there are: found by name, changed one after another, and no change is made that was not saved. */

import type { Role } from '#kit/auth/roles.ts'
import { Fault } from '#kit/fault.ts'
import { createTurn } from '#kit/turn.ts'

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
export function refuseReserved(username: string): void {
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
  const inTurn = createTurn()
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
