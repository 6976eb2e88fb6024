/** The state folder: its owner, its lock, and files that a caller passes in. */

import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readlinkSync,
  renameSync,
  rmSync,
  type Stats,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Fault } from '../pure/fault.ts'
import { finishRestore, LOCK_FILE } from '../store/restore.ts'
import { makePlain, syncFolder, systemDisk } from '../store/store.ts'
import { openNamed } from './named-file.ts'

// Ownership, for when root runs on the folder. Whoever owns it, or one above it, may replace anything in it at any
// instant by a link, another folder or a pipe, and so misuse root's rights. So root becomes that user first.

/** A user, by numbers: one that systemd created for a service has no name while the service is stopped. */
export interface Owner {
  uid: number
  gid: number
}

/** A folder and who controls its contents. */
export interface OwnedFolder {
  /** With links resolved. */
  path: string
  isThere: boolean
  /** Owner of the first folder on the way from / that is not root's; undefined if all are root's. */
  owner: Owner | undefined
  /** The first of root's folders on the way that the owner may not enter. */
  barrier: string | undefined
}

/** As many links as the kernel follows. */
const MOST_LINKS = 40
/** A group that owns no files; root's group would let the owner read what that group may. */
const NOGROUP = 65_534

/**
 * Walks from / to a folder, link by link.
 * @throws Fault `state_foreign` if somebody could replace it by a folder of somebody else, or of root
 */
export function ownerOfFolder(folder: string): OwnedFolder {
  const names = resolve(folder).split('/').filter(Boolean)
  const found: OwnedFolder = { path: '/', isThere: true, owner: undefined, barrier: undefined }
  /** Root's folders on the way, which the owner must be able to enter. */
  const passed: { path: string; stats: Stats }[] = []
  let links = 0
  while (names.length > 0) {
    const name = names.shift() ?? ''
    // A link may lead up again; `path` has no links in it, so its parent is correct.
    if (name === '..') found.path = dirname(found.path)
    if (name === '..' || name === '.') continue
    const path = join(found.path, name)
    const stats = found.isThere ? lstatSync(path, { throwIfNoEntry: false }) : undefined
    if (stats === undefined) {
      found.path = path
      found.isThere = false
      continue
    }
    refuseMixed(path, stats, found.owner)
    if (stats.uid !== 0) found.owner ??= { uid: stats.uid, gid: stats.gid === 0 ? NOGROUP : stats.gid }
    if (stats.isSymbolicLink()) {
      if (++links > MOST_LINKS)
        throw new Fault('state_foreign', `${folder} leads through more than ${MOST_LINKS} links`)
      const target = readlinkSync(path)
      if (target.startsWith('/')) found.path = '/'
      names.unshift(...target.split('/').filter(Boolean))
      continue
    }
    found.path = path
    if (stats.uid === 0) passed.push({ path, stats })
  }
  found.barrier = found.owner && passed.find(({ stats }) => !mayPass(stats, found.owner as Owner))?.path
  return found
}

/** @throws Fault `state_foreign` */
function refuseMixed(path: string, stats: Stats, owner: Owner | undefined): void {
  const { uid, gid, mode } = stats
  if (owner !== undefined && uid !== owner.uid)
    throw new Fault(
      'state_foreign',
      `${path} belongs to user ${uid}, and the way to it leads through what is user ${owner.uid}'s, who could put another in its place: give both to one of them, or the upper one to root (chown)`,
    )
  const isOpen = (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && gid !== 0)
  // In a folder with the sticky bit nobody can move what belongs to others.
  const isSticky = (mode & 0o1000) !== 0
  if (uid === 0 && stats.isDirectory() && isOpen && !isSticky)
    throw new Fault(
      'state_foreign',
      `${path} belongs to root, and others may write to it: they could put anything in the place of the state (chmod go-w ${path})`,
    )
}

function mayPass({ mode, gid }: Stats, owner: Owner): boolean {
  return (mode & (gid === owner.gid ? 0o010 : 0o001)) !== 0
}

/**
 * Makes this process, with all its threads, run as a user for good. From then on the kernel lets only root inspect it
 * (it cannot be dumped), not even other processes of that user.
 */
export function becomeOwner({ uid, gid }: Owner): void {
  const { setgroups, setgid, setuid, geteuid, getuid } = process
  if (!setgroups || !setgid || !setuid) throw new Error('a process cannot change its user on this system')
  // In this order: the last call gives up the right to make the others.
  setgroups([])
  setgid(gid)
  setuid(uid)
  process.umask(0o077)
  if (geteuid?.() !== uid || getuid?.() !== uid) throw new Error(`this process could not become user ${uid}`)
}

// Files named by the caller of a command. They are read and written with the caller's rights, although the command runs
// as the owner of the state folder. If the caller is root, the command runs in another process, which receives the
// files already open (scripts/cli/as-owner.ts).

/** What a command does with files; paths as typed. */
export interface StateUse {
  /** The daemon whose program the command needs beside its own. */
  daemon?: string
  /** The daemon's folder; absolute. */
  folder: string
  /** Whether the folder is created if missing. */
  makes: boolean
  /** Files of the caller to read, each only if it exists. */
  reads?: readonly string[]
  /** A file of the caller that is written whole. */
  writes?: string
  /** Whether an older one stays, and the command is refused. */
  keepsOlder?: boolean
}

/** What a process gets that acts as the owner of a state folder; descriptors by number. */
export interface Handed {
  owner: Owner
  reads: Readonly<Record<string, number>>
  writes: number | undefined
}

/**
 * Environment variable that carries it, as JSON: each bundle of a process reads it itself. Set by root for its child.
 */
export const HANDED_VARIABLE = 'PLANTROOM_HANDED'

/** Undefined if this process runs as its caller. */
export function handed(): Handed | undefined {
  const text = process.env[HANDED_VARIABLE]
  return text === undefined ? undefined : (JSON.parse(text) as Handed)
}

/** Opens a file of the caller for reading; the caller of this function closes it. @throws as `openNamed` */
export function openToRead(path: string): number {
  return handed()?.reads[resolve(path)] ?? openNamed(path)
}

/**
 * Writes a file of the caller: it gets its name once whole, only its owner may read it, and it is new: a link in its
 * place is not followed.
 * @param write gets a descriptor; false if it failed, and the old file stays
 * @param keepsOlder whether whatever has the name already, a link too, stays: EEXIST
 * @throws the error of the call that failed
 */
export async function writeWhole(
  path: string,
  write: (descriptor: number) => Promise<boolean>,
  { keepsOlder = false }: Pick<StateUse, 'keepsOlder'> = {},
): Promise<void> {
  const given = handed()?.writes
  if (given !== undefined) {
    await write(given)
    return
  }
  // Before anything is done, since a backup may take minutes.
  if (keepsOlder) refuseOlder(path)
  // An unguessable name: in /tmp somebody else may have created a guessable one.
  const draft = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`)
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants
  const descriptor = openSync(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  try {
    if (!(await write(descriptor))) return
    fsyncSync(descriptor)
    if (keepsOlder) nameFirst(draft, path)
    else renameSync(draft, path)
    await syncFolder(systemDisk, dirname(path))
  } finally {
    closeSync(descriptor)
    rmSync(draft, { force: true })
  }
}

function refuseOlder(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return
  throw Object.assign(new Error(`${path} is there`), { code: 'EEXIST', syscall: 'link' })
}

/** Unlike a rename, a link never replaces what somebody put there meanwhile. */
function nameFirst(draft: string, path: string): void {
  try {
    linkSync(draft, path)
  } catch (error) {
    // A stick with FAT knows no links.
    if (!['EPERM', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS', 'EMLINK'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw error
    refuseOlder(path)
    renameSync(draft, path)
  }
}

/** A folder that is locked. */
export interface StateLock {
  release(): void
}

/**
 * Locks a state folder for this process, and goes on with a restore that was cut off there.
 *
 * Node has no flock, and a file with a process id in it outlives a SIGKILL and can be replaced by two at once. SQLite,
 * which is built in, takes a POSIX lock on a file of its own in one call; the kernel releases it with the process.
 * @throws Fault `state_locked` if another process holds it, `state_unusable` if the folder cannot be written,
 * `restore_unfinished`
 */
export function lockState(folder: string): StateLock {
  const path = join(folder, LOCK_FILE)
  let database: DatabaseSync | undefined
  try {
    makePlain(path)
    database = new DatabaseSync(path, { timeout: 0 })
    // A journal in memory leaves no second file behind.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    database?.close()
    throw faultOfLock(folder, error)
  }
  const held = database
  try {
    finishRestore(folder)
  } catch (fault) {
    held.close()
    throw fault
  }
  return { release: () => held.close() }
}

/** SQLITE_BUSY. */
const BUSY = 5

function faultOfLock(folder: string, error: unknown): Fault {
  if ((error as { errcode?: number }).errcode === BUSY)
    return new Fault('state_locked', `${folder} is in use by a daemon that runs: stop that one first`, { cause: error })
  const { code } = error as NodeJS.ErrnoException
  const why = code === 'ELOOP' ? `: ${LOCK_FILE} in it is not a plain file` : ''
  return new Fault('state_unusable', `the state folder ${folder} cannot be written${why}`, { cause: error })
}
