/** Files of a daemon's state: each is written whole or not at all, with the last good version beside it. */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs'
import { chmod, copyFile, type FileHandle, link, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Clock, systemClock } from '../clock.ts'
import type { Log } from '../log.ts'
import { Fault } from '../pure/fault.ts'

// Atomic files: whole or absent, whatever happens while they are written.

// A mark that accounts existed once: a daemon that finds the mark but no accounts has lost them, and is not starting
// for the first time. docs/decisions/browser-origins-and-local-callers.md.

/** The mark of one state folder. */
interface SetUpMark {
  isSet(): boolean
  set(): void
  /** Call when the last account is removed. */
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

/** Disk calls that a save makes, so that a test can make any of them fail. */
export interface Disk {
  open(path: string, flags: string, mode?: number): Promise<FileHandle>
  rename(from: string, to: string): Promise<void>
  link(from: string, to: string): Promise<void>
}

/** The disk of the machine. */
export const systemDisk: Disk = { open, rename, link }

/** How to replace a file. */
interface ReplaceOptions {
  disk?: Disk
  /** Where to keep the replaced file; an earlier backup there is overwritten. */
  backup?: string
}

/**
 * Replaces a file: temporary file beside it, fsync, rename, fsync of the folder. Mode 0600.
 * @param text in pieces if it is long, which are produced one after the other
 * @throws the error of the call that failed; the old file is then untouched, and no temporary file is left
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

/** Where the next version of a file is written before it gets the file's name. */
function temporaryOf(path: string): string {
  return `${path}.tmp`
}

/**
 * Creates a folder for state, for its owner alone, and any missing folder above it, open to everybody: a daemon with
 * its own user has to reach what the command line created for it, whatever the umask of root's shell.
 */
export async function makeFolder(folder: string): Promise<void> {
  await makeOne(folder, 0o700)
}

async function makeOne(folder: string, mode: number): Promise<void> {
  if (existsSync(folder)) return
  await makeOne(dirname(folder), 0o755)
  try {
    // Not by `recursive`, which loops forever where nothing can be created, as below /proc.
    await mkdir(folder, { mode })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' && existsSync(folder)) return
    throw error
  }
  await chmod(folder, mode)
}

/**
 * Opens a file of the state, and nothing else in its place: a link is not followed, and a pipe does not block. The
 * caller closes it.
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
 * Creates a file for SQLite, which follows links, if there is none: its log and its index get the mode of the file. An
 * existing one is not opened: closing it would release this process's locks on it.
 * @throws the error of open(2); ELOOP if something there is not a plain file
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
  return Object.assign(new Error(`${code}: ${path} is not a plain file`), { code, path })
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
  // Left by a crash, or planted as a link: it is created anew, never written through.
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
 * Gives the present file a second name, without a moment in which it has none. Where hard links are refused (FAT, some
 * network and overlay file systems) it is copied instead.
 */
async function keepBackup(disk: Disk, path: string, backup: string): Promise<void> {
  const temporary = temporaryOf(backup)
  await rm(temporary, { force: true })
  try {
    await disk.link(path, temporary)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // The first save has nothing to back up.
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

/** How to create a store. */
interface StoreOptions<T> {
  folder: string
  /** The file is `<name>.json`. */
  name: string
  /** Checks and types what was read; throws a Fault if it is invalid. */
  check(value: unknown): T
  /** The value of a store that was never saved. */
  initial(): T
  log: Log
  /** For the time in `<name>.json.damaged-<time>`. Default: the system clock. */
  clock?: Clock
  disk?: Disk
}

/** Our state never gets near this size; a larger file would be held in memory several times over. */
const LARGEST_FILE_BYTES = 67_108_864

/** What `load` found: nothing yet, the file, its backup, or no file at all. */
type StoreState = 'unloaded' | 'file' | 'backup' | 'initial'

/** A value kept in a file. */
export interface Store<T> {
  /**
   * Reads the file. A damaged one is reported and set aside, and the backup takes its place.
   * @throws Fault `store_damaged` if there is a damaged file and no good backup: both stay where they are
   */
  load(): Promise<T>
  /**
   * Saves a value as it is at the call. One save runs at a time; of the waiting ones only the last is written. Resolves
   * when this value or a later one is on the disk.
   * @throws Fault `store_write_failed`; the file on the disk is then the one before
   */
  save(value: T): Promise<void>
  readonly state: StoreState
}

/** Creates a store; touches the disk at `load` and `save` only. */
export function createStore<T>(options: StoreOptions<T>): Store<T> {
  const path = join(options.folder, `${options.name}.json`)
  const write = (text: string) => writeState(options, path, text)
  const save = createSaver(write)
  let state: StoreState = 'unloaded'

  async function load(): Promise<T> {
    await makeFolder(options.folder)
    // Left by a crash during a save: it was never acknowledged, so nobody misses it.
    await rm(temporaryOf(path), { force: true })
    const found = await readState(options, path)
    state = found.state
    return found.value
  }

  return {
    load,
    save: (value) => save(`${JSON.stringify(value, null, 2)}\n`),
    get state() {
      return state
    },
  }
}

interface Waiter {
  resolve(): void
  reject(fault: unknown): void
}

/** Runs one write at a time; texts that arrive meanwhile replace each other. */
function createSaver(write: (text: string) => Promise<void>): (text: string) => Promise<void> {
  let next: { text: string; waiters: Waiter[] } | undefined
  let isWriting = false

  async function run(): Promise<void> {
    isWriting = true
    while (next) {
      const { text, waiters } = next
      next = undefined
      try {
        await write(text)
        for (const waiter of waiters) waiter.resolve()
      } catch (fault) {
        for (const waiter of waiters) waiter.reject(fault)
      }
    }
    isWriting = false
  }

  return (text) =>
    new Promise((resolve, reject) => {
      next = { text, waiters: [...(next?.waiters ?? []), { resolve, reject }] }
      // Never rejects: each outcome goes to its waiters.
      if (!isWriting) void run()
    })
}

async function writeState<T>(options: StoreOptions<T>, path: string, text: string): Promise<void> {
  try {
    await replaceFile(path, text, { disk: options.disk ?? systemDisk, backup: `${path}.bak` })
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    const why = code === 'ENOSPC' || code === 'EDQUOT' ? 'the disk is full' : `the disk answered ${code}`
    throw new Fault('store_write_failed', `${path} was not saved: ${why}; the version before is still there`, {
      cause: error,
      details: { errno: code },
    })
  }
}

async function readState<T>(options: StoreOptions<T>, path: string): Promise<{ value: T; state: StoreState }> {
  const { log } = options
  const main = await readChecked(path, options.check)
  if (main.isGood) return { value: main.value, state: 'file' }
  const backup = await readChecked(`${path}.bak`, options.check)
  if (!backup.isGood) {
    if (main.damage === undefined && backup.damage === undefined) return { value: options.initial(), state: 'initial' }
    const damage = main.damage ?? backup.damage
    const sentence = `${path} is damaged (${reasonOf(damage)}) and there is no good backup beside it: put a backup back with plantroom restore, or move ${path} and its .bak away to start afresh`
    throw new Fault('store_damaged', sentence, { cause: damage })
  }
  if (main.damage === undefined) {
    log.error('state file missing, its backup is used', { file: path })
  } else {
    const aside = `${path}.damaged-${timeOfName(options.clock ?? systemClock)}`
    await rename(path, aside)
    log.error('state file damaged, its backup is used', { file: path, aside, fault: main.damage })
  }
  return { value: backup.value, state: 'backup' }
}

/** A value, or why there is none; `damage` is undefined if there is no file. */
type Read<T> = { isGood: true; value: T } | { isGood: false; damage: unknown }

async function readChecked<T>(path: string, check: (value: unknown) => T): Promise<Read<T>> {
  let text: string
  try {
    text = textOf(path)
  } catch (error) {
    // A disk that cannot be read is not a damaged file: nothing may be set aside because of it.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { isGood: false, damage: undefined }
    throw new Fault('store_unreadable', `${path} cannot be read (${(error as NodeJS.ErrnoException).code})`, {
      cause: error,
    })
  }
  try {
    return { isGood: true, value: check(parsed(text)) }
  } catch (damage) {
    return { isGood: false, damage }
  }
}

/** @throws the error of the disk; EFBIG for a file too large for any daemon to have written */
function textOf(path: string): string {
  const descriptor = openPlain(path, constants.O_RDONLY)
  try {
    if (fstatSync(descriptor).size > LARGEST_FILE_BYTES)
      throw Object.assign(new Error(`EFBIG: ${path} is too large`), { code: 'EFBIG' })
    return readFileSync(descriptor, 'utf8')
  } finally {
    closeSync(descriptor)
  }
}

/**
 * @throws Fault `store_damaged` with the position only: the parser's own message quotes the text there, such as a
 * secret
 */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const place = /position \d+/.exec((error as Error).message)?.[0]
    throw new Fault('store_damaged', place === undefined ? 'it is not JSON' : `it is not JSON at ${place}`)
  }
}

function reasonOf(damage: unknown): string {
  return damage instanceof Error ? damage.message : String(damage)
}

/** 20251121T015200Z: sortable, and valid as a file name everywhere. */
function timeOfName(clock: Clock): string {
  return new Date(clock.epochMs()).toISOString().replace(/[-:]|\.\d+/g, '')
}
