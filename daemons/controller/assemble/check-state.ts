/** Whether a controller could start with the files of a backup, before they are put in the place of those that are there. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import { AUDIT_FILE } from '../io/audit-file.ts'
import { isAudit } from '../io/audit-reader.ts'
import { DATABASE_FILE, hasDatabase, tryDatabase } from '../io/database-file.ts'

/** What a fault of a database that is opened means for a backup; others are told as they are. */
const MEANINGS: ReadonlyMap<string, string> = new Map([
  ['database_foreign', 'is a database of another program'],
  ['database_newer', 'was written by a newer version: install that one first'],
  ['database_damaged', 'is damaged: a row of it cannot be read'],
])

/** @throws Fault `bad_backup` */
export function checkState(folder: string): void {
  if (hasDatabase(folder)) tryToOpen(join(folder, DATABASE_FILE))
  const audit = join(folder, AUDIT_FILE)
  if (existsSync(audit) && !isAudit(audit))
    throw new Fault('bad_backup', `${AUDIT_FILE} in the backup is no audit of a controller`)
}

function tryToOpen(path: string): void {
  try {
    tryDatabase(path, systemClock.epochMs())
  } catch (cause) {
    const { code, message } = cause as Fault
    throw new Fault('bad_backup', `${DATABASE_FILE} in the backup ${MEANINGS.get(code) ?? message}`, { cause })
  }
}
