/** Puts storage together, for the daemon and for its commands. */
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import type { Fault } from '#kit/pure/fault.ts'
import type { Conditions } from '#kit/records/ledger-entry.ts'
import type { RecorderConfig } from '../config.ts'
import type { StorageBook } from '../core/storage/storage-book.ts'
import { type Footage, openFootage } from '../io/footage-store.ts'
import { openStorage } from '../io/state-files.ts'

/** What storage is put together from. */
export interface StorageContext {
  config: RecorderConfig
  stateFolder: string
  clock: Clock
  log: Log
  /** The index of footage is damaged, and was put aside. */
  onIndexDamaged(fault: Fault): void
  /** A file of a camera is gone. */
  onRemoved?(camera: string, startAt: number, endAt: number): void
}

const DAY_MS = 86_400_000

/** Where the index of footage lies: beside the state, and on none of the disks that may be pulled. */
export function indexFolderOf({ stateFolder }: Pick<StorageContext, 'stateFolder'>): string {
  return `${stateFolder}-index`
}

/** What was said of storage, and below that what the settings say. */
export function storageOf({ config, log, stateFolder }: StorageContext): Promise<StorageBook> {
  const { folder, folders, free_bytes, keep_bytes, keep_days, preserved, preserved_of_account } = config.storage
  const first = { folder: folder === '' ? `${stateFolder}-footage` : folder, isOwn: true }
  const further = [...new Set(folders)]
    .filter((one) => one !== first.folder)
    .map((one) => ({ folder: one, isOwn: false }))
  const kept = { keepDays: keep_days, keepBytes: keep_bytes, freeBytes: free_bytes }
  const bounds = { mostPreserved: preserved, mostOfAccount: preserved_of_account }
  const parts = { ...bounds, settings: { ...kept, folders: [first, ...further] } }
  return openStorage({ folder: stateFolder, log }, parts)
}

/** @param ledger gets the faults of disks */
export function footageOf(
  { clock, config, log, onIndexDamaged, onRemoved = () => {}, stateFolder }: StorageContext,
  book: StorageBook,
  ledger: Pick<Conditions, 'raise' | 'clear'>,
): Promise<Footage> {
  const { storage } = config
  const about = { what: 'footage_not_kept', where: 'storage', severity: 'fault' } as const
  return openFootage({
    ...{ folder: indexFolderOf({ stateFolder }), stateFolder, folders: book.folders(), clock },
    limits: {
      ...{ flushMs: storage.flush_s * 1000, lookMs: storage.look_ms, stuckMs: storage.stuck_ms },
      proveMs: storage.prove_s * 1000,
      ...{ queueBytes: storage.queue_bytes, totalQueueBytes: storage.queue_total_bytes },
    },
    keeping: {
      keepMs: (camera) => keepMsOf(book, camera),
      keepBytes: () => book.kept().keepBytes,
      freeBytes: () => book.kept().freeBytes,
      isHeld: (camera, fromAt, toAt) => book.isPreserved(camera, fromAt, toAt),
    },
    onKnown: (folder, id) => book.know(folder, id),
    onDisk({ fault, folder, state }) {
      log.notice('disk', { folder, state })
      if (!fault) return ledger.clear('disk_lost', folder)
      ledger.raise({ what: 'disk_lost', where: folder, severity: 'fault', sentence: fault.message })
    },
    onFault(fault) {
      if (!fault) return ledger.clear(about.what, about.where)
      log.error('footage not kept', { fault })
      ledger.raise({ ...about, sentence: fault.message })
    },
    ...{ onIndexDamaged, onRemoved },
  })
}

/** How long footage of a camera is kept. */
export function keepMsOf(book: Pick<StorageBook, 'kept'>, camera: string): number {
  return (book.kept().keepDaysOf[camera] ?? book.kept().keepDays) * DAY_MS
}
