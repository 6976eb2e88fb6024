/** What the board keeps beside its roles: settings.json, starts.json, network.json and peers.json in the state folder. */
import { type TSchema, Type } from 'typebox'
import { createReader } from '#kit/http/check.ts'
import type { Log } from '#kit/log.ts'
import { createStore } from '#kit/store.ts'
import type { Kept } from '../core/machine-ports.ts'
import { type NetworkRecord, untouchedNetwork } from '../core/network-record.ts'
import type { KeptPeer } from '../core/peer.ts'
import type { SettingsFile } from '../core/settings-book.ts'
import type { StartRecord } from '../core/start-record.ts'
import { roleNames } from '../wire/role-name.ts'

/** The version of each file's shape; a file of a later one is refused rather than half understood. */
const VERSION = 1 as const

const settings = Type.Object({
  // Read setting by setting: core/settings-check.ts.
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
const network = Type.Object({
  state: Type.Enum(['dhcp', 'unconfirmed', 'static', 'fallen_back', 'refused']),
  address: Type.Union([
    Type.Object({ ip: Type.String(), prefix: Type.Integer({ minimum: 1, maximum: 32 }), gw: Type.String() }),
    Type.Null(),
  ]),
  saves: Type.Integer({ minimum: 0 }),
  bootId: Type.String(),
  deadlineMs: Type.Union([Type.Number(), Type.Null()]),
  why: Type.String(),
})
const port = Type.Integer({ minimum: 1, maximum: 65_535 })
const text = Type.String({ maxLength: 256 })
const nullable = Type.Union([text, Type.Null()])
const peer = Type.Object({
  id: text,
  claim: Type.Object({
    ...{ role: Type.Enum([...roleNames]), name: text, host: text, port, from: text, path: text },
    ...{ version: nullable, stream: nullable, reach: Type.Array(text, { minItems: 1, maxItems: 16 }) },
  }),
  proven: Type.Object({ address: text, port, host: text }),
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

/** The file that a reset leaves, since it says that there is one. */
export const STARTS = 'starts'

/** What the machine was told of its address, which outlives a reset until it is told otherwise. */
export const NETWORK = 'network'

interface FileOptions {
  folder: string
  log: Log
  name: string
  shape: TSchema
}

/** One file as `{version, value}`; undefined before it was first saved. */
function fileOf<T>({ folder, log, name, shape }: FileOptions): Kept<T | undefined> {
  const read = createReader(Type.Object({ version: Type.Literal(VERSION), value: shape }))
  const check = (value: unknown) => read(value) as { version: typeof VERSION; value: T | undefined }
  const store = createStore({ folder, name, log, check, initial: () => ({ version: VERSION, value: undefined }) })
  return {
    load: async () => (await store.load()).value,
    save: (value) => store.save({ version: VERSION, value }),
  }
}

function withFirst<T>(file: Kept<T | undefined>, first: T): Kept<T> {
  return { load: async () => (await file.load()) ?? first, save: (value) => file.save(value) }
}
