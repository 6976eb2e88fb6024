/** Users and keys out of their files, with the hashing of this machine behind them. */
import { isSecretOf, makeApiKey } from '#kit/auth/api-key.ts'
import { createLoginGuard } from '#kit/auth/login-guard.ts'
import { createPasswords } from '#kit/auth/password.ts'
import type { Clock } from '#kit/clock.ts'
import type { TokenHttpConfig } from '#kit/config/common.ts'
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
  /** Its login keys. */
  http: TokenHttpConfig
  /** Keys `users.max`, `keys.max`, `keys.save_ms`. */
  limits: { users: number; keys: number; keySaveMs: number }
}

/** @throws Fault `store_damaged` where users.json or keys.json cannot be read, nor its backup */
export async function openPeople({ clock, log, http, limits }: PeopleParts, files: StateFiles): Promise<People> {
  const list = createUserList(await files.users.load(), (users) => files.users.save(users))
  const passwords = createPasswords({ workers: http.password_workers, queue: http.password_queue })
  const guard = createLoginGuard({
    clock,
    freeTries: http.login_free_tries,
    waitMs: http.login_wait_ms,
    waitMaxMs: http.login_wait_max_ms,
    table: http.login_table,
  })
  const users = createUsers({ clock, passwords, guard, list })
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
