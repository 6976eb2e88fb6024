/** Backups: what makes and restores them on the page, and what the command line asks of one before it restores it. */
import type { Records } from '#kit/records/records.ts'
import { takeRestoreNote } from '#kit/store/restore.ts'
import { Backups } from '../core/backups.ts'
import { limitsOf } from '../core/keys.ts'
import { createBackupDisk } from '../io/backup-disk.ts'
import type { House } from './house.ts'

export { checkState } from '../io/backup-database.ts'

/** What has to be typed where the building has no name. */
const UNNAMED = 'controller'

/** @param args of the command line, for the controller that goes on in this one's place */
export function openBackups({ context, records, site }: House, args: () => string[]): Backups {
  const { clock, config, restart, stateFolder: folder, version } = context
  const { bytes, unpackedBytes, keptMs } = limitsOf(config.backup)
  return new Backups({
    clock,
    disk: createBackupDisk({ folder, clock, version, limits: { unpackedBytes } }),
    siteName() {
      const name = site.book.rows('site')[0]?.name
      return typeof name === 'string' && name.trim() !== '' ? name.trim() : UNNAMED
    },
    restart: () => restart({ reason: 'restore', args: args() }),
    record: (who, what, detail) => records.journal.record({ who, from: 'page', what, target: 'backup', detail }),
    limits: { bytes, keptMs },
  })
}

/** The journal is that of the backup now: it says who put it in place. */
export function tellRestore({ log, stateFolder }: House['context'], { journal }: Records): void {
  const note = takeRestoreNote(stateFolder)
  if (note === undefined) return
  const what = note.what === 'undo' ? 'restore taken back' : 'backup restored'
  const detail = { madeAt: note.madeAt, at: note.at }
  journal.record({ who: note.by, from: 'restore', what, target: 'backup', detail })
  log.notice('state_restored', { by: note.by, ...detail })
}
