/** The users a daemon keeps: users.json in its state folder, which the command line can also write. */
import { type Static, type TSchema, Type } from 'typebox'
import { createReader } from '../http/check.ts'
import type { Log } from '../log.ts'
import { Fault } from '../pure/fault.ts'
import { createStore, type Store, setUpMark } from '../store/store.ts'
import { roles } from './credentials.ts'

const strict = { additionalProperties: false }

/** What every record of a person has. */
export const namedRecord = {
  username: Type.String(),
  passwordHash: Type.String({ description: 'argon2id as a PHC string' }),
  createdAt: Type.Integer({ description: 'epoch ms' }),
}

const userRecord = Type.Object({ ...namedRecord, role: Type.Enum([...roles]) }, strict)

/** The whole file. */
export interface UsersFile<User = Static<typeof userRecord>> {
  version: 1
  users: User[]
}

/** Reads what such a file holds, wherever it is kept. @throws Fault `bad_fields` */
export const readUsersFile = createReader(
  Type.Object({ version: Type.Literal(1), users: Type.Array(userRecord) }, strict),
) as (value: unknown) => UsersFile

/** How it is opened. */
interface UsersFileOptions<Schema extends TSchema> {
  folder: string
  log: Log
  /** Of one record, where a daemon keeps more than name, role and password. */
  record: Schema
  /**
   * What to do about a file that had users and is gone or was emptied; `new` for the command line, which creates an
   * administrator in any case.
   */
  gone: 'damage' | 'new'
}

/**
 * Opens the file of a state folder; without a file there are no users. An empty list would let anybody become
 * administrator, so a file that had users and is gone or was emptied is reported, not taken for a first start.
 */
export function createUsersFile(folder: string, log: Log, gone: 'damage' | 'new' = 'damage'): Store<UsersFile> {
  return openUsersFile({ folder, log, record: userRecord, gone })
}

/** The same for records of a daemon's own. */
export function openUsersFile<Schema extends TSchema>(
  options: UsersFileOptions<Schema>,
): Store<UsersFile<Static<Schema>>> {
  const { folder, gone } = options
  const mark = setUpMark(folder)
  const store = storeOf(options)
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

function storeOf<Schema extends TSchema>({ folder, log, record }: UsersFileOptions<Schema>) {
  const file = Type.Object({ version: Type.Literal(1), users: Type.Array(record) }, strict)
  return createStore<UsersFile<Static<Schema>>>({
    folder,
    name: 'users',
    log,
    check: createReader(file) as unknown as (value: unknown) => UsersFile<Static<Schema>>,
    initial: () => ({ version: 1 as const, users: [] }),
  })
}
