/** Files that are there whole or not at all, whatever happens while they are written. */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs'
import { chmod, copyFile, type FileHandle, link, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

// A mark beside a daemon's accounts that there were some: who finds none beside the mark has lost them, and has not started for
// the first time. docs/decisions/browser-origins-and-local-callers.md.

/** Of one state folder. */
interface SetUpMark {
  isSet(): boolean
  set(): void
  /** For who gives the last account up. */
  clear(): void
}

const FILE = 'set-up.json'

export function setUpMark(folder: string): SetUpMark {
  const path = join(folder, FILE)
  return {
    isSet: () => existsSync(path),
    set() {
      if (!existsSync(path)) writeFileSync(path, 'true\n', { flag: 'wx', mode: 0o600, flush: true })
    },
    clear: () => rmSync(path, { force: true }),
  }
}

/** The calls to the disk that a save makes, so that a test can make any of them fail. */
export interface Disk {
  open(path: string, flags: string, mode?: number): Promise<FileHandle>
  rename(from: string, to: string): Promise<void>
  link(from: string, to: string): Promise<void>
}

/** The disk of the machine. */
export const systemDisk: Disk = { open, rename, link }

/** How a file is replaced. */
interface ReplaceOptions {
  disk?: Disk
  /** Where the file that is replaced is kept; what was there goes. */
  backup?: string
}

/**
 * Replaces a file: temporary file beside it, fsync, rename, fsync of the folder. Mode 0600.
 * @param text in pieces where it is long, which are asked for one after the other
 * @throws the error of the call that failed; the old file is untouched then, and no temporary file is left
 */
export async function replaceFile(
  path: string,
  text: string | Uint8Array | Iterable<string>,
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
 * Makes a folder for state, for its owner alone, with what is missing above it, which everybody passes through: a daemon with
 * a user of its own has to reach what the command line made for it, whatever the umask of root's shell is.
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
}

/**
 * Opens a file of the state, but nothing else that stands in its place: a link is not followed, a pipe does not keep anybody
 * waiting. Whoever opens it closes it.
 * @param flags of open(2), such as O_RDONLY
 * @throws the error of open(2); ELOOP for a link or a pipe, EISDIR for a folder
 */
export function openPlain(path: string, flags: number, mode = 0o600): number {
  const descriptor = openSync(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, mode)
  const stats = fstatSync(descriptor)
  if (stats.isFile()) return descriptor
  closeSync(descriptor)
  throw notPlain(path, stats)
}

/**
 * Makes a file for SQLite, which follows links, where there is none: its log and its index get the mode of the file. One that is
 * there is not opened: closing it would let go of the locks that this process has on it.
 * @throws the error of open(2); ELOOP where something stands there that is no plain file
 */
export function makePlain(path: string): void {
  const { O_RDWR, O_CREAT, O_EXCL } = constants
  try {
    closeSync(openSync(path, O_RDWR | O_CREAT | O_EXCL, 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const stats = lstatSync(path)
    if (!stats.isFile()) throw notPlain(path, stats)
  }
}

function notPlain(path: string, stats: Stats): Error {
  const code = stats.isDirectory() ? 'EISDIR' : 'ELOOP'
  return Object.assign(new Error(`${code}: ${path} is no plain file`), { code, path })
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

async function writeSynced(disk: Disk, path: string, text: string | Uint8Array | Iterable<string>): Promise<void> {
  // Left by a crash, or put there as a link: it is made anew, never written through.
  await rm(path, { force: true })
  const handle = await disk.open(path, 'wx', 0o600)
  try {
    await handle.writeFile(text)
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
