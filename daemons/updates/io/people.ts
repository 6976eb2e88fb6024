/** The administrator, who is the only person here, and the key of publishers. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { newPassword } from '#kit/auth/credentials.ts'
import { openHomes } from '#kit/auth/homes.ts'
import { hashPassword, verifyPassword } from '#kit/auth/password.ts'
import { createSignInLimiter, type SignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import { createUsersFile, readUsersFile, type UsersFile } from '#kit/auth/users-file.ts'
import type { Clock } from '#kit/clock.ts'
import { loginBounds, type TokenHttpConfig } from '#kit/config/tables.ts'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  createUserBook,
  createUserList,
  createUsers,
  type UserBook,
  type UserList,
  type Users,
} from '#kit/pure/users.ts'
import { readNamed, whyUnread } from '#kit/run/named-file.ts'
import { createStore } from '#kit/store/store.ts'
import type { Documents } from './documents.ts'

/** The name of the only user. */
export const ADMINISTRATOR = 'admin'

interface PeopleParts {
  clock: Clock
  log: Log
  stateFolder: string
  http: TokenHttpConfig
  /** Where daemons share a store: they know one administrator and one update key. */
  documents?: Documents | undefined
}

export interface People {
  list: UserList
  users: Users
  book: UserBook
  limiter: SignInLimiter
}

/** @throws Fault `store_damaged`, `accounts_gone`, and as a keeper where it is shared */
export async function openPeople(parts: PeopleParts): Promise<People> {
  const { clock, http, stateFolder, log } = parts
  const list = parts.documents ? await sharedUsers(parts, parts.documents) : await usersOfFile(parts)
  const homes = await openHomes({ folder: stateFolder, clock, log, most: http.login_homes })
  const limiter = createSignInLimiter({ clock, homes, bounds: loginBounds(http) })
  const passwords = {
    hash: (text: string) => limiter.within(() => hashPassword(text)),
    verify: verifyPassword,
  }
  const users = createUsers({
    ...{ limiter, list, passwords },
    makeFirst: (of) => ({ ...of, role: 'admin' as const, createdAt: clock.epochMs() }),
  })
  const book = createUserBook({ clock, list, passwords, isRight: users.isRight, maxUsers: 1 })
  return { list, users, book, limiter }
}

async function usersOfFile({ log, stateFolder }: PeopleParts): Promise<UserList> {
  const store = createUsersFile(stateFolder, log)
  const { users } = await store.load()
  return createUserList(users, (next) => store.save({ version: 1, users: next }))
}

/** What `plantroom password` has written, or a daemon that was alone before, is taken over, and is a file no more. */
async function sharedUsers({ log, stateFolder }: PeopleParts, documents: Documents): Promise<UserList> {
  const document = documents.open<UsersFile>({
    ...{ name: 'users', check: readUsersFile },
    onChange: ({ users }) => list.adopt(users),
  })
  const list = createUserList(document.value?.users ?? [], (users) => document.save({ version: 1, users }))
  const file = createUsersFile(stateFolder, log, 'new')
  const { users: written } = await file.load()
  if (written.length === 0) return list
  await list.change(() => written)
  await file.save({ version: 1, users: [] })
  log.notice('the administrator of users.json was taken over into the shared store')
  return list
}

/** 20 of 32 signs that nobody mistakes for one another: 100 bits. */
const SIGNS = 'abcdefghijkmnpqrstuvwxyz23456789'

function newSecret(length: number): string {
  return Array.from(randomBytes(length), (byte) => SIGNS[byte % SIGNS.length]).join('')
}

/**
 * Sets the administrator up at the first start.
 * @param passwordFile its first line is the password; empty: one is made
 * @returns the password if it was made, to be shown once
 * @throws Fault `bad_password_file`
 */
export async function firstPassword(users: Users, passwordFile: string): Promise<string | undefined> {
  if (users.isSetUp()) return undefined
  const made = newSecret(20)
  const password = passwordFile === '' ? made : firstLine(passwordFile)
  await users.setUp({ username: ADMINISTRATOR, password })
  return password === made ? made : undefined
}

function firstLine(file: string): string {
  let line: string | undefined
  try {
    line = readNamed(file).toString('utf8').split(/\r?\n/, 1)[0]
  } catch (cause) {
    throw new Fault('bad_password_file', `admin.password_file: ${file} cannot be read (${whyUnread(cause)})`, {
      cause,
    })
  }
  if (line !== undefined && Value.Check(newPassword, line)) return line
  throw new Fault(
    'bad_password_file',
    `admin.password_file: the first line of ${file} is no password of 8 to 256 signs`,
  )
}

// The key of publishers.

const keyFile = Type.Object(
  {
    version: Type.Literal(1),
    hash: Type.Union([Type.String(), Type.Null()], { description: 'SHA-256 in base64url' }),
    madeAt: Type.Union([Type.Integer(), Type.Null()]),
  },
  { additionalProperties: false },
)

type KeyFile = Static<typeof keyFile>

export interface UpdateKey {
  /** Takes as long whatever is wrong with it. */
  isRight(text: string): boolean
  /** Where the one in use comes from. */
  source(): { from: 'settings' | 'panel' | 'none'; madeAt: number | null }
  /** Makes another one, which is shown once. @throws Fault `key_in_settings`, `store_write_failed` */
  make(): Promise<string>
}

type KeyParts = Pick<PeopleParts, 'clock' | 'log' | 'stateFolder' | 'documents'>

/** @param given the setting; empty if there is none */
export async function openUpdateKey(
  { clock, documents, log, stateFolder }: KeyParts,
  given: string,
): Promise<UpdateKey> {
  const check = createReader(keyFile)
  const initial = (): KeyFile => ({ version: 1, hash: null, madeAt: null })
  const file = createStore({ folder: stateFolder, name: 'update-key', log, check, initial })
  const document = documents?.open<KeyFile>({ name: 'update-key', check, onChange: (value) => (kept = value) })
  // Of a daemon that was alone before.
  let kept = document?.value ?? (await file.load())
  const store = document ?? file
  if (document && document.value === undefined && kept.hash !== null) await document.save(kept)
  const nobody = digest(randomBytes(32).toString('hex'))
  return {
    isRight(text) {
      const right = given === '' ? kept.hash : digest(given)
      return timingSafeEqual(Buffer.from(digest(text)), Buffer.from(right ?? nobody)) && right !== null
    },
    source: () =>
      given === ''
        ? { from: kept.hash === null ? 'none' : 'panel', madeAt: kept.madeAt }
        : { from: 'settings', madeAt: null },
    async make() {
      if (given !== '')
        throw new Fault('key_in_settings', 'The update key is a setting (publishing.update_key). Change it there.')
      const text = `pup_${randomBytes(32).toString('hex')}`
      const next = { version: 1 as const, hash: digest(text), madeAt: clock.epochMs() }
      await store.save(next)
      kept = next
      return text
    },
  }
}

/** Enough for what is random, unlike a password. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
