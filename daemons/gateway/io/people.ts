/** Users and keys out of their files, with the hashing of this machine behind them. */
import { isSecretOf, makeApiKey } from '#kit/auth/api-key.ts'
import { openHomes } from '#kit/auth/homes.ts'
import { hashPassword, verifyPassword } from '#kit/auth/password.ts'
import { createSignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import type { Clock } from '#kit/clock.ts'
import type { TokenHttpConfig } from '#kit/config/common.ts'
import { loginBounds } from '#kit/config/login-keys.ts'
import type { Log } from '#kit/log.ts'
import { type ApiKeys, createApiKeys } from '../core/api-keys.ts'
import { createUserBook, type UserBook } from '../core/user-book.ts'
import { createUserList, type UserList } from '../core/user-list.ts'
import { createUsers, type Users } from '../core/users.ts'
import type { StateFiles } from './state-files.ts'

/** Everybody who may call. */
export interface People {
  list: UserList
  users: Users
  book: UserBook
  keys: ApiKeys
}

export interface PeopleParts {
  clock: Clock
  log: Log
  stateFolder: string
  /** Its login keys. */
  http: TokenHttpConfig
  /** Keys `users.max`, `keys.max`, `keys.save_ms`. */
  limits: { users: number; keys: number; keySaveMs: number }
}

/** @throws Fault `store_damaged` where users.json, keys.json or homes.json cannot be read, nor its backup */
export async function openPeople(
  { clock, log, stateFolder, http, limits }: PeopleParts,
  files: StateFiles,
): Promise<People> {
  const list = createUserList(await files.users.load(), (users) => files.users.save(users))
  const homes = await openHomes({ folder: stateFolder, clock, log, most: http.login_homes })
  const limiter = createSignInLimiter({ clock, homes, bounds: loginBounds(http) })
  const hash = (text: string) => limiter.within(() => hashPassword(text))
  const passwords = { hash, verify: verifyPassword }
  const users = createUsers({ clock, passwords, limiter, list })
  const book = createUserBook({ clock, list, passwords, isRight: users.isRight, maxUsers: limits.users })
  const keys = createApiKeys(
    {
      clock,
      log,
      mint: { make: makeApiKey, isSecretOf },
      save: (records) => files.keys.save(records),
      limits: { max: limits.keys, saveMs: limits.keySaveMs },
    },
    await files.keys.load(),
  )
  return { list, users, book, keys }
}
