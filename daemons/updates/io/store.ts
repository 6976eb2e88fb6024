/** Where records are kept: in a file of this daemon alone, or in a database that it shares with others. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '#kit/clock.ts'
import type { Fault } from '#kit/pure/fault.ts'
import type { Seal } from '#kit/store/sealing.ts'
import { replaceFile } from '#kit/store/store.ts'
import type { StoreConfig } from '../core/keys.ts'
import type { Changed, Keeper } from '../core/ports.ts'
import { postgresAddress } from '../wire/store-address.ts'
import { openUpdatesDatabase } from './database.ts'
import { createDocuments, type Documents } from './documents.ts'
import { keeperOf, kinds, nothingStored, type RecordOf, type Row, recordReader, type Stored } from './records.ts'

/** Who is told of records that another daemon wrote, by their kind. */
export type Followers = { [Of in keyof Stored]: (records: Changed<RecordOf<Of>>) => void }

export interface UpdatesStore {
  keeper: Keeper
  /** What was there at the start. */
  stored: Stored
  /** The name of this daemon among those on the store, the same after a restart. */
  daemon: string
  /** Undefined where the store is this daemon's alone: then files have them. */
  documents: Documents | undefined
  /** From now on what others write is told; called once, when all is in its place. */
  follow(followers: Followers): Promise<void>
  /** Resolves when all that others have written until now was told. @throws Fault `store_unreachable` */
  refresh(): Promise<void>
  isReachable(): boolean
  /** Writes what is under way. */
  close(): Promise<void>
}

interface StoreParts {
  clock: Clock
  stateFolder: string
  seal: Seal
  config: StoreConfig
  /** How long another process may hold the file of this daemon alone. */
  busyMs: number
  onAway(fault: Fault): void
  onBack(): void
  /** This daemon has to start anew. */
  onBroken(fault: Fault): void
}

/** @throws Fault of the store, which does not open then */
export async function openStore(parts: StoreParts): Promise<UpdatesStore> {
  const { busyMs, config, seal, stateFolder } = parts
  const daemon = await nameOf(stateFolder)
  const address = postgresAddress(config.url)
  if (address) return await openShared(parts, address, daemon)
  const { close, keeper, stored } = openUpdatesDatabase(stateFolder, seal, busyMs)
  return {
    ...{ keeper, stored, daemon, close, documents: undefined },
    follow: async () => {},
    refresh: async () => {},
    isReachable: () => true,
  }
}

async function openShared(
  { clock, config, onAway, onBack, onBroken, seal }: StoreParts,
  address: NonNullable<ReturnType<typeof postgresAddress>>,
  daemon: string,
): Promise<UpdatesStore> {
  const { openSharedStore } = await import('./shared-store.ts')
  const { rows, store } = await openSharedStore({
    ...{ clock, seal, address, onAway, onBack, onBroken },
    ...{ passwordFile: config.password_file, caFile: config.ca_file },
    ...{ connectMs: config.connect_ms, answerMs: config.answer_ms, followMs: config.follow_ms },
    ...{ waiting: config.waiting, retryMs: config.retry_max_ms },
    ...{ retryFirstMs: config.retry_first_ms, retryMaxMs: config.retry_max_ms },
  })
  const reader = recordReader(seal)
  const read = (some: readonly Row[]) => {
    const found = nothingStored()
    for (const { kind, record } of some) if (record !== null) reader.add(found, kind, record)
    return found
  }
  const documents = createDocuments(store, rows)
  const stored = read(rows)
  stored.installation.sort((one, other) => one.registeredAt - other.registeredAt)
  return {
    ...{ keeper: keeperOf(store, seal), stored, daemon, documents },
    follow: (followers) =>
      store.follow((some) => {
        const changed = read(some)
        documents.follow(some)
        for (const kind of kinds) tell(kind, followers, changed, some)
      }),
    refresh: () => store.refresh(),
    isReachable: () => store.isReachable(),
    close: () => store.close(),
  }
}

function tell<Of extends keyof Stored>(kind: Of, followers: Followers, changed: Stored, rows: readonly Row[]): void {
  const removed = rows.flatMap((row) => (row.kind === kind && row.record === null ? [row.key] : []))
  if (changed[kind].length + removed.length > 0) followers[kind]({ changed: changed[kind], removed })
}

async function nameOf(stateFolder: string): Promise<string> {
  const path = join(stateFolder, 'daemon.id')
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    const made = randomUUID()
    await replaceFile(path, `${made}\n`)
    return made
  }
}
