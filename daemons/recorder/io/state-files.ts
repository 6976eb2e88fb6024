/** The files of the state folder: users and cameras. */
import { Type } from 'typebox'
import { openHomes } from '#kit/auth/homes.ts'
import { hashPassword, verifyPassword } from '#kit/auth/password.ts'
import { createSignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import { createUsersFile } from '#kit/auth/users-file.ts'
import type { Clock } from '#kit/clock.ts'
import { loginBounds, type TokenHttpConfig } from '#kit/config/tables.ts'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import {
  createUserBook,
  createUserList,
  createUsers,
  type NamedRecord,
  type UserBook,
  type UserList,
  type Users,
} from '#kit/pure/users.ts'
import { createStore } from '#kit/store/store.ts'
import type { CameraRecord } from '../core/cameras/book.ts'

/** A file of a later version is refused rather than half understood. */
const VERSION = 1 as const

const strict = { additionalProperties: false }
const textOrNull = Type.Union([Type.String(), Type.Null()])
const camerasFile = Type.Object(
  {
    version: Type.Literal(VERSION),
    cameras: Type.Array(
      Type.Object(
        {
          // Names a folder of footage.
          id: Type.String({ pattern: '^[0-9a-f]{8}$' }),
          name: Type.String(),
          enabled: Type.Boolean(),
          url: Type.String(),
          username: textOrNull,
          password: textOrNull,
        },
        strict,
      ),
    ),
  },
  strict,
)

/** The saved cameras, and saving them. @param folder the state folder */
export async function openCameras(folder: string, log: Log) {
  const initial = () => ({ version: VERSION, cameras: [] as CameraRecord[] })
  const store = createStore({ folder, name: 'cameras', log, check: createReader(camerasFile), initial })
  const { cameras: records } = await store.load()
  return { records, save: (cameras: CameraRecord[]) => store.save({ version: VERSION, cameras }) }
}

/** The users of this recorder. */
interface People {
  list: UserList
  users: Users
  book: UserBook
}

interface PeopleParts {
  clock: Clock
  log: Log
  stateFolder: string
  /** The keys of this table that concern sign-ins. */
  http: TokenHttpConfig
  maxUsers: number
}

/** @throws Fault `store_damaged` if users.json or homes.json cannot be read, nor its backup */
export async function openPeople({ clock, http, log, maxUsers, stateFolder }: PeopleParts): Promise<People> {
  const store = createUsersFile(stateFolder, log)
  const list = createUserList((await store.load()).users, (users) => store.save({ version: VERSION, users }))
  const homes = await openHomes({ folder: stateFolder, clock, log, most: http.login_homes })
  const limiter = createSignInLimiter({ clock, homes, bounds: loginBounds(http) })
  const passwords = { hash: (text: string) => limiter.within(() => hashPassword(text)), verify: verifyPassword }
  const makeFirst = (of: NamedRecord) => ({ ...of, role: 'admin' as const, createdAt: clock.epochMs() })
  const users = createUsers({ passwords, limiter, list, makeFirst })
  return { list, users, book: createUserBook({ clock, list, passwords, isRight: users.isRight, maxUsers }) }
}
