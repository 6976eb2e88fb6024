/** The users a daemon keeps: users.json in its state folder, which the command line can also write. */
import { type Static, Type } from 'typebox'
import { createReader } from '../http/check.ts'
import type { Log } from '../log.ts'
import { Fault } from '../pure/fault.ts'
import { createStore, type Store, setUpMark } from '../store/store.ts'
import { roles } from './credentials.ts'

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

/**
 * Opens the file of a state folder; without a file there are no users. An empty list would let anybody become
 * administrator, so a file that had users and is gone or was emptied is reported, not taken for a first start.
 * @param gone how to treat that; `new` for the command line, which creates an administrator in any case
 */
export function createUsersFile(folder: string, log: Log, gone: 'damage' | 'new' = 'damage'): Store<UsersFile> {
  const mark = setUpMark(folder)
  const store = storeOf(folder, log)
  return {
    async load() {
      const file = await store.load()
      if (file.users.length > 0) mark.set()
      else if (mark.isSet() && gone === 'damage')
        throw new Fault(
          'accounts_gone',
          `users.json of ${folder} has no users, and there were some: put a backup back with plantroom restore, or make an administrator with plantroom password`,
        )
      return file
    },
    async save(file) {
      await store.save(file)
      if (file.users.length > 0) mark.set()
      else mark.clear()
    },
    get state() {
      return store.state
    },
  }
}

function storeOf(folder: string, log: Log): Store<UsersFile> {
  return createStore({
    folder,
    name: 'users',
    log,
    check: createReader(usersFile),
    initial: () => ({ version: 1 as const, users: [] }),
  })
}
