/** What the API changes, on the disk: ports.json, users.json, keys.json, identity.json in the state folder. */

import { hostname } from 'node:os'
import { type TSchema, Type } from 'typebox'
import { roles } from '#kit/auth/roles.ts'
import { createUsersFile } from '#kit/auth/users-file.ts'
import { Fault, faultOf } from '#kit/fault.ts'
import { createReader, createReaders } from '#kit/http/check.ts'
import { lineSettings } from '#kit/line/line-settings.ts'
import type { Log } from '#kit/log.ts'
import { createStore, type Store } from '#kit/store.ts'
import type { KeyRecord } from '../core/api-keys.ts'
import type { IdentityRecord } from '../core/identity.ts'
import { refuseBadPoints } from '../core/point-check.ts'
import { pointDefinition } from '../core/point-record.ts'
import { type PortRecord, protocols } from '../core/port-record.ts'
import { settingsFaults, settingsOfProtocol } from '../core/protocol-settings.ts'
import type { UserRecord } from '../core/user-list.ts'

/** The version of each file's shape; a file of a later one is refused rather than half understood. */
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
    points: Type.Array(pointDefinition, { default: [] }),
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
    // The length is part of the shape: two of unequal length cannot be compared in constant time.
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

/** @param folder the daemon's state folder */
export function createStateFiles(folder: string, log: Log): StateFiles {
  const readFile: (value: unknown) => unknown = createReader(fileOf({ ports: Type.Array(port) }))
  // Settings are part of the check: a file whose settings nobody understands is as damaged as any, and its backup is used.
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

/** Keys that came with a newer version get their defaults; points fit together. @throws Fault `bad_fields` that names the port */
function withDefaults(record: PortRecord): PortRecord {
  try {
    refuseBadPoints(record.points)
    return { ...record, settings: settingsReaders[record.protocol](record.settings) as Record<string, unknown> }
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
