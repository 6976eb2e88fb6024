/** A factory reset: what the API has set is gone from the state folder. */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder, systemDisk } from '#kit/store/whole-file.ts'
import { NETWORK, STARTS } from './board-files.ts'
import { FLOORS } from './firmware.ts'

/** State files, their backups, what was set aside, and what a crash left half written. */
const STATE_FILE = /^(?<name>[\w-]+)\.json(?:\.bak|\.tmp|\.bak\.tmp|\.damaged-\w+)?$/

/**
 * What tells of this very reset; what must not be undone by one: which firmware is too old; and what the machine was told
 * of its address: without it nobody would know that there is one to take back.
 */
const KEPT: readonly string[] = [STARTS, FLOORS, NETWORK]

/**
 * Removes every state file of a folder and of the folders in it. The journal stays: it says who did this. Done again
 * where it was cut off, it ends the same.
 */
export async function forgetState(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true })
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await forgetState(path)
    const name = STATE_FILE.exec(entry.name)?.groups?.name
    if (entry.isFile() && name !== undefined && !KEPT.includes(name)) await rm(path)
  }
  await syncFolder(systemDisk, folder)
}
