/** Files that are replaced whole: after a crash at any instant there is the old file or the new one, never a part. */
import { chownSync, existsSync, statSync } from 'node:fs'
import { chmod, constants, copyFile, type FileHandle, link, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/** The calls to the disk that a save makes, so that a test can make any of them fail. */
export interface Disk {
  open(path: string, flags: string, mode?: number): Promise<FileHandle>
  rename(from: string, to: string): Promise<void>
  link(from: string, to: string): Promise<void>
}

/** The disk of the machine. */
export const systemDisk: Disk = { open, rename, link }

/** How a file is replaced. */
export interface ReplaceOptions {
  disk?: Disk
  /** Where the file that is replaced is kept; what was there goes. */
  backup?: string
}

/**
 * Replaces a file: temporary file beside it, fsync, rename, fsync of the folder. Mode 0600, owned by the
 * folder's owner.
 * @throws the error of the call that failed; the old file is untouched then, and no temporary file is left
 */
export async function replaceFile(
  path: string,
  text: string | Uint8Array,
  options: ReplaceOptions = {},
): Promise<void> {
  const disk = options.disk ?? systemDisk
  const folder = dirname(path)
  const temporary = temporaryOf(path)
  try {
    await writeSynced(disk, temporary, text)
    if (options.backup !== undefined) await keepBackup(disk, path, options.backup)
    await disk.rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await syncFolder(disk, folder)
}

/** Where the next version of a file is written before it takes the file's name. */
export function temporaryOf(path: string): string {
  return `${path}.tmp`
}

/**
 * Makes a folder for state, for its owner alone, with what is missing above it. What root makes belongs to the owner of
 * what it stands in, and is passed through by everybody: a daemon with a user of its own has to reach what the command
 * line made for it, whatever the umask of root's shell is.
 */
export async function makeFolder(folder: string): Promise<void> {
  await makeOne(folder, 0o700)
}

async function makeOne(folder: string, mode: number): Promise<void> {
  if (existsSync(folder)) return
  await makeOne(dirname(folder), 0o755)
  try {
    // Not by `recursive`, which turns for ever where nothing can be made, as below /proc.
    await mkdir(folder, { mode })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' && existsSync(folder)) return
    throw error
  }
  await chmod(folder, mode)
  belongToFolder(folder)
}

/**
 * Gives a file or folder that root made to the owner of its folder, so that a daemon with a user of its own can open what the
 * command line wrote for it. Does nothing for anybody but root.
 */
export function belongToFolder(path: string): void {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = statSync(dirname(path))
  chownSync(path, uid, gid)
}

/** Makes renames and new names in a folder durable. */
export async function syncFolder(disk: Disk, folder: string): Promise<void> {
  const handle = await disk.open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function writeSynced(disk: Disk, path: string, text: string | Uint8Array): Promise<void> {
  const handle = await disk.open(path, 'w', 0o600)
  try {
    await handle.writeFile(text)
    belongToFolder(path)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Gives the present file a second name, without a moment in which it has none. Where hard links are refused
 * (FAT, some network and overlay file systems) it is copied instead.
 */
async function keepBackup(disk: Disk, path: string, backup: string): Promise<void> {
  const temporary = temporaryOf(backup)
  await rm(temporary, { force: true })
  try {
    await disk.link(path, temporary)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // The first save has nothing to keep.
    if (code === 'ENOENT' || !existsSync(path)) return
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EOPNOTSUPP' && code !== 'EMLINK') throw error
    await copyFile(path, temporary, constants.COPYFILE_EXCL)
  }
  try {
    await disk.rename(temporary, backup)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}
