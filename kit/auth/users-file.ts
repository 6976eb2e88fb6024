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
 * The file of a state folder; no users where there is none yet. An empty list would let anybody make himself administrator, so
 * one that held users and is gone, or was emptied, is told and not taken for a first start.
 * @param gone what that means; `new` for the command line, which makes an administrator whatever is there
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
