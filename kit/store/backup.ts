/** What of a state folder goes into a backup, and what has to hold of a backup before it may become a state. */
import { closeSync, constants, fstatSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { Fault, faultOf } from '../pure/fault.ts'
import { compareVersions } from '../pure/version.ts'
import { type ArchiveBounds, type Manifest, MOST_ENTRIES, readArchive, type Source, writeArchive } from './archive.ts'
import { LOCK_FILE, lastRestoreAt, RESTORE_FOLDER } from './restore.ts'
import { copyDatabase, faultOfDatabase, isDatabase, isPartOfDatabase } from './state-database.ts'
import { openPlain } from './store.ts'

// Packing.

/** What is packed, and how. */
interface PackOptions {
  /** The state folder. */
  folder: string
  /** Where databases are copied to, one after the other. */
  staging: string
  about: Omit<Manifest, 'format' | 'files'>
  /** Takes out of a copied database what must not leave the machine. */
  onCopied?: (copy: string) => void
  /** Bytes of files that are packed, of about as many in all. */
  onProgress?: (doneBytes: number, ofBytes: number) => void
}

/**
 * Packs a state folder while its daemon runs or not: each of its files is replaced atomically or only grows, and each
 * database is copied as of one instant.
 * @param to open for writing
 * @throws Fault `backup_failed`
 */
export async function packState(to: number, options: PackOptions): Promise<Manifest> {
  const { folder, about, onProgress = () => {} } = options
  const staging = mkdtempSync(join(options.staging, 'plantroom-backup-'))
  try {
    const restoredAt = lastRestoreAt(folder)
    const paths = stateFiles(folder)
    const ofBytes = paths.reduce((sum, path) => sum + sizeOf(join(folder, path)), 0)
    let doneBytes = 0
    const manifest = await writeArchive(to, sourcesOf(paths, { ...options, staging }), about, (bytes) => {
      doneBytes += bytes
      onProgress(doneBytes, Math.max(doneBytes, ofBytes))
    })
    if (lastRestoreAt(folder) !== restoredAt)
      throw new Fault('backup_failed', 'another state was put in place meanwhile: try again')
    return manifest
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const why = code === 'ENOSPC' || code === 'EDQUOT' ? 'there is no room on the disk' : (code ?? message)
    throw faultOf(cause, 'backup_failed', `the backup could not be written: ${why}`)
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/** Opens one file after the other; a running daemon may set one aside meanwhile. */
function* sourcesOf(
  paths: readonly string[],
  { folder, staging, onCopied }: Pick<PackOptions, 'folder' | 'staging' | 'onCopied'>,
): Generator<Source> {
  for (const path of paths) {
    const copy = join(staging, basename(path))
    if (isDatabase(path)) {
      if (!copyDatabase(join(folder, path), copy)) continue
      onCopied?.(copy)
    }
    const descriptor = openIfThere(isDatabase(path) ? copy : join(folder, path))
    if (descriptor === undefined) continue
    try {
      yield { path, descriptor, sizeBytes: fstatSync(descriptor).size }
    } finally {
      closeSync(descriptor)
      rmSync(copy, { force: true })
    }
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openPlain(path, constants.O_RDONLY)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Paths of the files worth keeping, in order. @throws Fault `backup_failed` for anything that is neither file nor folder */
function stateFiles(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  const files: string[] = []
  let count = 0
  for (const entry of entries) {
    const path = relative(folder, join(entry.parentPath, entry.name))
    if (!mayHold(path)) continue
    count++
    if (entry.isFile()) files.push(path)
    else if (!entry.isDirectory()) throw new Fault('backup_failed', `${path} is neither a file nor a folder`)
  }
  if (count > MOST_ENTRIES)
    throw new Fault('backup_failed', `${folder} holds ${count} files and folders, expected at most ${MOST_ENTRIES}`)
  return files.sort()
}

/**
 * Whether a backup has such a file: not the lock, unfinished saves, what a database's copy contains, or another state.
 * Nor anything below a folder of these names: it could not be put in the place of the lock, at no start.
 */
function mayHold(path: string): boolean {
  const [first] = path.split('/')
  return first !== LOCK_FILE && first !== RESTORE_FOLDER && !path.endsWith('.tmp') && !isPartOfDatabase(path)
}

// Unpacking and checking.

/** How a backup is checked. */
interface UnpackOptions {
  bounds: ArchiveBounds
  /** Whose state it has to be. */
  daemon: string
  /** The version that is to take it. */
  version: string
  /**
   * Checks whether the daemon could start with the unpacked files.
   * @throws Fault `bad_backup`
   */
  checkState?: ((folder: string) => Promise<void> | void) | undefined
  onProgress?: (doneBytes: number) => void
}

/**
 * Unpacks a backup into an empty folder and checks all of it.
 * @param from open for reading
 * @throws Fault `bad_backup` with a whole sentence, and errors of the disk; the folder then holds whatever was unpacked
 */
export async function unpackState(from: number, folder: string, options: UnpackOptions): Promise<Manifest> {
  const { bounds, checkState, daemon, onProgress = () => {}, version } = options
  let doneBytes = 0
  const onRead = (bytes: number) => {
    doneBytes += bytes
    onProgress(doneBytes)
  }
  const list = await readArchive(from, folder, { bounds, mayHold, onRead })
  if (list.daemon !== daemon)
    throw new Fault('bad_backup', `it is the state of ${list.daemon}, expected that of ${daemon}`)
  if (compareVersions(list.version, version) > 0)
    throw new Fault(
      'bad_backup',
      `it was made by version ${list.version}, and this is ${version}: install that one first`,
    )
  for (const { path } of list.files) await checkFile(folder, path)
  await checkState?.(folder)
  return list
}

/** State files are JSON, or databases: an unreadable one would keep the daemon from starting. */
async function checkFile(folder: string, path: string): Promise<void> {
  if (isDatabase(path)) {
    const fault = faultOfDatabase(join(folder, path))
    if (fault !== undefined) throw new Fault('bad_backup', `${path} in it is damaged: ${fault}`)
  }
  if (!path.endsWith('.json')) return
  try {
    JSON.parse(await readFile(join(folder, path), 'utf8'))
  } catch (cause) {
    throw new Fault('bad_backup', `${path} in it is damaged: it was so when it was backed up`, { cause })
  }
}
