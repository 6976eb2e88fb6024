/** The users a daemon keeps: users.json in its state folder, which the command line can also write. */

import { type Static, Type } from 'typebox'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { createStore, type Store } from '#kit/store.ts'
import { roles } from './roles.ts'

const strict = { additionalProperties: false }

const usersFile = Type.Object(
  {
    version: Type.Literal(1),
    users: Type.Array(
      Type.Object(
        {
          username: Type.String(),
          role: Type.Enum([...roles]),
          passwordHash: Type.String({ description: 'argon2id as a PHC string' }),
          createdAt: Type.Integer({ description: 'epoch ms' }),
        },
        strict,
      ),
    ),
  },
  strict,
)

/** The whole file. */
export type UsersFile = Static<typeof usersFile>

/** The file of a state folder; no users where there is none yet. */
export function createUsersFile(folder: string, log: Log): Store<UsersFile> {
  return createStore({
    folder,
    name: 'users',
    log,
    check: createReader(usersFile),
    initial: () => ({ version: 1 as const, users: [] }),
  })
}
