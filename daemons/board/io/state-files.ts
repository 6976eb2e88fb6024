/** The board's own files in the state folder, its password, and the factory reset that removes what the API has set. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type TSchema, Type } from 'typebox'
import { createUsersFile } from '#kit/auth/users-file.ts'
import type { Clock } from '#kit/clock.ts'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createStore, syncFolder, systemDisk } from '#kit/store/store.ts'
import { type NetworkRecord, untouchedNetwork } from '../core/machine/network.ts'
import type { Kept } from '../core/machine/ports.ts'
import type { StartRecord } from '../core/machine/restart.ts'
import type { KeptPeer } from '../core/peers/peer.ts'
import type { SettingsFile } from '../core/settings/book.ts'
import { ADMIN, type AdminPassword, createAdminPassword, type PasswordKeeper } from '../core/sign-in.ts'
import { roleNames } from '../wire/names.ts'
import { FLOORS } from './firmware.ts'

// settings.json, starts.json, network.json and peers.json.

/** Version of each file's format; a file of a later one is refused rather than half understood. */
const FILE_VERSION = 1 as const

const settings = Type.Object({
  // Checked setting by setting: core/settings/book.ts.
  settings: Type.Record(Type.String(), Type.Unknown()),
  saves: Type.Integer({ minimum: 0 }),
})
const restartReasons = ['config', 'reboot', 'ota', 'factory_reset'] as const
const start = Type.Object({
  bootId: Type.String(),
  startedAt: Type.Integer(),
  reason: Type.Enum(['first', 'power', 'service', 'crash', 'unknown', ...restartReasons]),
  intent: Type.Union([Type.Enum([...restartReasons]), Type.Null()]),
  isStopped: Type.Boolean(),
})
const fixedAddress = Type.Union([
  Type.Object({
    ...{ ip: Type.String(), prefix: Type.Integer({ minimum: 1, maximum: 32 }), gw: Type.String() },
    dns: Type.Optional(Type.String()),
  }),
  Type.Null(),
])
const network = Type.Object({
  state: Type.Enum(['dhcp', 'unconfirmed', 'static', 'fallen_back', 'refused']),
  address: fixedAddress,
  before: Type.Optional(fixedAddress),
  saves: Type.Integer({ minimum: 0 }),
  bootId: Type.String(),
  deadlineMs: Type.Union([Type.Number(), Type.Null()]),
  why: Type.String(),
})
const port = Type.Integer({ minimum: 1, maximum: 65_535 })
const text = Type.String({ maxLength: 256 })
const address = Type.String({ pattern: '^[0-9A-Fa-f.:]{2,45}$' })
const nullable = Type.Union([text, Type.Null()])
const peer = Type.Object({
  id: text,
  claim: Type.Object({
    ...{ role: Type.Enum([...roleNames]), name: text, host: text, port, from: text, path: text },
    ...{ version: nullable, stream: nullable, reach: Type.Array(address, { minItems: 1, maxItems: 16 }) },
  }),
  proven: Type.Object({ address, port, host: text }),
  heardAt: Type.Integer(),
  answeredAt: Type.Integer(),
})

/** The four files. */
export interface BoardFiles {
  settings: Kept<SettingsFile | undefined>
  starts: Kept<StartRecord | undefined>
  network: Kept<NetworkRecord>
  peers: Kept<readonly KeptPeer[]>
}

/** @param folder the daemon's state folder */
export function createBoardFiles(folder: string, log: Log): BoardFiles {
  return {
    settings: fileOf<SettingsFile>({ folder, log, name: 'settings', shape: settings }),
    starts: fileOf<StartRecord>({ folder, log, name: STARTS, shape: start }),
    network: withFirst(fileOf<NetworkRecord>({ folder, log, name: NETWORK, shape: network }), untouchedNetwork),
    peers: withFirst(fileOf<readonly KeptPeer[]>({ folder, log, name: 'peers', shape: Type.Array(peer) }), []),
  }
}

/** Not removed by a reset, since it records the reset. */
const STARTS = 'starts'

/** The address that the machine was given, which outlives a reset until it is changed. */
const NETWORK = 'network'

interface FileOptions {
  folder: string
  log: Log
  name: string
  shape: TSchema
}

/** One file as `{version, value}`; undefined before it was first saved. */
function fileOf<T>({ folder, log, name, shape }: FileOptions): Kept<T | undefined> {
  const read = createReader(Type.Object({ version: Type.Literal(FILE_VERSION), value: shape }))
  const check = (value: unknown) => read(value) as { version: typeof FILE_VERSION; value: T | undefined }
  const store = createStore({ folder, name, log, check, initial: () => ({ version: FILE_VERSION, value: undefined }) })
  return {
    load: async () => (await store.load()).value,
    save: (value) => store.save({ version: FILE_VERSION, value }),
  }
}

function withFirst<T>(file: Kept<T | undefined>, first: T): Kept<T> {
  return { load: async () => (await file.load()) ?? first, save: (value) => file.save(value) }
}

// The password: the one user of users.json, which `plantroom password` writes too.

/** Opens the saved password. */
export async function openPassword(by: {
  stateFolder: string
  log: Log
  clock: Clock
  hash(text: string): Promise<string>
}): Promise<AdminPassword> {
  const keeper = createPasswordFile(by.stateFolder, by.log)
  return createAdminPassword(await keeper.load(), { keeper, hash: by.hash, epochMs: by.clock.epochMs })
}

/** @returns storage of it in the state folder; call `load` first, and once */
export function createPasswordFile(stateFolder: string, log: Log): PasswordKeeper {
  const file = createUsersFile(stateFolder, log)
  return {
    async load() {
      const { users } = await file.load()
      const user = users.find(({ username }) => username === ADMIN)
      // A board that was meant to be protected must not be open because of a different user name.
      if (!user && users.length > 0)
        throw new Fault('store_damaged', `users.json of ${stateFolder} has users and none of them is ${ADMIN}`)
      return user && { hash: user.passwordHash, setAt: user.createdAt }
    },
    save: (record) =>
      file.save({
        version: 1,
        users: record ? [{ username: ADMIN, role: 'admin', passwordHash: record.hash, createdAt: record.setAt }] : [],
      }),
  }
}

// A factory reset.

/** State files, their backups, damaged ones set aside, and ones half written in a crash. */
const STATE_FILE = /^(?<name>[\w-]+)\.json(?:\.bak|\.tmp|\.bak\.tmp|\.damaged-\w+)?$/

/**
 * Not removed by a reset: the record of this very reset; which firmware is too old; and the address that the machine
 * was given, since otherwise nobody would know that there is one to take back.
 */
const OUTLIVES_RESET: readonly string[] = [STARTS, FLOORS, NETWORK]

/**
 * Removes every state file of a folder and its subfolders. The journal stays: it says who did this. Repeating it after
 * an interruption gives the same result.
 */
export async function forgetState(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true })
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await forgetState(path)
    const name = STATE_FILE.exec(entry.name)?.groups?.name
    if (entry.isFile() && name !== undefined && !OUTLIVES_RESET.includes(name)) await rm(path)
  }
  await syncFolder(systemDisk, folder)
}
