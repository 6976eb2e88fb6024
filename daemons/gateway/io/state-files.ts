/**
 * The files of the state folder (ports with webhooks and points, users, keys), and the templates delivered with the
 * gateway.
 */
import { readdir, readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { type TSchema, Type } from 'typebox'
import { isSecretOf, makeApiKey, roles } from '#kit/auth/credentials.ts'
import { openHomes } from '#kit/auth/homes.ts'
import { hashPassword, verifyPassword } from '#kit/auth/password.ts'
import { createSignInLimiter } from '#kit/auth/sign-in-limiter.ts'
import { createUsersFile } from '#kit/auth/users-file.ts'
import type { Clock } from '#kit/clock.ts'
import { loginBounds, type TokenHttpConfig } from '#kit/config/tables.ts'
import { createReader, createReaders } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { lineSettings } from '#kit/pure/line.ts'
import {
  createUserBook,
  createUserList,
  createUsers,
  type NamedRecord,
  type UserBook,
  type UserList,
  type UserRecord,
  type Users,
} from '#kit/pure/users.ts'
import { createStore, type Store } from '#kit/store/store.ts'
import type { PortRecord } from '../core/lines/ports.ts'
import { type ApiKeys, createApiKeys, type KeyRecord } from '../core/people/keys.ts'
import { badPoints, pointFaults, refuseBadPoints } from '../core/points/book.ts'
import { anyPoint, type PointTemplate, pointTemplate, type TemplateLibrary } from '../core/points/definition.ts'
import { protocols, settingsFaults, settingsOfProtocol } from '../core/protocols.ts'
import type { IdentityRecord } from '../core/status.ts'

// Templates are files beside the bundle: read on demand, and cached for a moment.

const readTemplate = createReader(pointTemplate)

/** Reading and checking them takes 15 ms of the main thread, which serves the lines, so the result is cached. */
const KEPT_MS = 10_000

/** @param folder holds one `<id>.json` per device */
export function createTemplateFiles(folder: string, clock: Pick<Clock, 'after'>): TemplateLibrary {
  let kept: Promise<readonly PointTemplate[]> | undefined
  return {
    list() {
      if (kept === undefined) {
        kept = readAll(folder)
        clock.after(KEPT_MS, () => {
          kept = undefined
        })
      }
      return kept
    },
  }
}

async function readAll(folder: string): Promise<PointTemplate[]> {
  const names = await readdir(folder).catch((cause) => {
    throw new Fault('template_damaged', `The templates in ${folder} cannot be read.`, { cause })
  })
  const files = names.filter((name) => name.endsWith('.json'))
  const templates = await Promise.all(files.map((name) => readOne(join(folder, name), name)))
  return templates.sort((a, b) => `${a.maker} ${a.model}`.localeCompare(`${b.maker} ${b.model}`, 'en'))
}

/** Checks everything that a route checks of points, because the points of a template go straight to a line. */
async function readOne(path: string, name: string): Promise<PointTemplate> {
  try {
    const template = readTemplate(JSON.parse(await readFile(path, 'utf8')))
    const faults = pointFaults(template.points)
    if (faults.length > 0) throw badPoints(faults)
    if (name !== `${template.id}.json`)
      throw new Fault('bad_fields', `id is ${template.id}, expected the name of its file`)
    return template
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'it cannot be read'
    throw new Fault('template_damaged', `The template ${name} is damaged: ${why}`, { cause })
  }
}

/** The version of each file's format. A file of a later version is refused rather than half understood. */
const VERSION = 1 as const

const strict = { additionalProperties: false }
const webhook = Type.Object(
  {
    id: Type.String(),
    url: Type.String(),
    events: Type.Array(Type.String()),
    secret: Type.Union([Type.String(), Type.Null()]),
    headers: Type.Record(Type.String(), Type.String()),
    enabled: Type.Boolean(),
  },
  strict,
)
const port = Type.Object(
  {
    path: Type.String(),
    protocol: Type.Enum([...protocols]),
    line: lineSettings,
    settings: Type.Record(Type.String(), Type.Unknown()),
    enabled: Type.Boolean(),
    points: Type.Array(anyPoint, { default: [] }),
    webhooks: Type.Array(webhook),
  },
  strict,
)

const instant = Type.Union([Type.Integer(), Type.Null()])
const key = Type.Object(
  {
    id: Type.String({ pattern: '^[0-9a-f]{16}$' }),
    name: Type.String(),
    role: Type.Enum([...roles]),
    ports: Type.Union([Type.Array(Type.String()), Type.Null()]),
    createdAt: Type.Integer(),
    createdBy: Type.String(),
    expiresAt: instant,
    lastUsedAt: instant,
    // The format fixes the length, because hashes of unequal length cannot be compared in constant time.
    secretHash: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' }),
  },
  strict,
)

/** The four files. */
export interface StateFiles {
  ports: Store<PortRecord[]>
  users: Store<UserRecord[]>
  keys: Store<KeyRecord[]>
  identity: Store<IdentityRecord>
}

/** @param folder the state folder of the daemon */
export function createStateFiles(folder: string, log: Log): StateFiles {
  const readFile: (value: unknown) => unknown = createReader(fileOf({ ports: Type.Array(port) }))
  // Settings are checked too: a file with settings that fit no protocol is as damaged as any, and its backup is used.
  const readPorts = (value: unknown) => {
    const file = readFile(value) as { ports: PortRecord[] }
    return { version: VERSION, ports: file.ports.map(withDefaults) }
  }
  const readKeys = createReader(fileOf({ keys: Type.Array(key) }))
  const readIdentity = createReader(fileOf({ name: Type.String({ minLength: 1 }) }))
  const store = <File>(name: string, check: (value: unknown) => unknown, initial: () => File) =>
    createStore<File>({ folder, name, log, check: (value) => check(value) as File, initial })
  const ports = store('ports', readPorts, () => ({ version: VERSION, ports: [] as PortRecord[] }))
  const keys = store('keys', readKeys, () => ({ version: VERSION, keys: [] as KeyRecord[] }))
  const identity = store('identity', readIdentity, () => ({ version: VERSION, name: hostname() }))
  return {
    ports: mapped(
      ports,
      (file) => file.ports,
      (list) => ({ version: VERSION, ports: list }),
    ),
    users: mapped(
      createUsersFile(folder, log),
      (file) => file.users,
      (list) => ({ version: VERSION, users: list }),
    ),
    keys: mapped(
      keys,
      (file) => file.keys,
      (list) => ({ version: VERSION, keys: list }),
    ),
    identity: mapped(
      identity,
      ({ name }) => ({ name }),
      ({ name }) => ({ version: VERSION, name }),
    ),
  }
}

function fileOf(properties: Record<string, TSchema>) {
  return Type.Object({ version: Type.Literal(VERSION), ...properties }, strict)
}

/**
 * Fills in the defaults of keys that a newer version added, and checks the points. @throws Fault `bad_fields` that
 * names the port
 */
function withDefaults(record: PortRecord): PortRecord {
  try {
    refuseBadPoints(record.points)
    return {
      ...record,
      settings: settingsReaders[record.protocol as keyof typeof settingsReaders](record.settings) as Record<
        string,
        unknown
      >,
    }
  } catch (cause) {
    const { code, message } = faultOf(cause, 'bad_fields', 'its settings are not understood')
    throw new Fault(code, `${record.path}: ${message}`, { cause })
  }
}

const settingsReaders = createReaders(settingsOfProtocol, 'settings.', settingsFaults)

function mapped<File, Value>(
  store: Store<File>,
  open: (file: File) => Value,
  wrap: (value: Value) => File,
): Store<Value> {
  return {
    load: async () => open(await store.load()),
    save: (value) => store.save(wrap(value)),
    get state() {
      return store.state
    },
  }
}

// Loads users and keys from their files, and provides the password hashing.

/** The users and keys of this gateway. */
export interface People {
  list: UserList
  users: Users
  book: UserBook
  keys: ApiKeys
}

interface PeopleParts {
  clock: Clock
  log: Log
  stateFolder: string
  /** The keys of this table that concern sign-ins. */
  http: TokenHttpConfig
  /** Keys `users.max`, `keys.max`, `keys.save_ms`. */
  limits: { users: number; keys: number; keySaveMs: number }
}

/** @throws Fault `store_damaged` if users.json, keys.json or homes.json cannot be read, nor its backup */
export async function openPeople(
  { clock, log, stateFolder, http, limits }: PeopleParts,
  files: StateFiles,
): Promise<People> {
  const list = createUserList(await files.users.load(), (users) => files.users.save(users))
  const homes = await openHomes({ folder: stateFolder, clock, log, most: http.login_homes })
  const limiter = createSignInLimiter({ clock, homes, bounds: loginBounds(http) })
  const hash = (text: string) => limiter.within(() => hashPassword(text))
  const passwords = { hash, verify: verifyPassword }
  const makeFirst = (of: NamedRecord) => ({ ...of, role: 'admin' as const, createdAt: clock.epochMs() })
  const users = createUsers({ passwords, limiter, list, makeFirst })
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
