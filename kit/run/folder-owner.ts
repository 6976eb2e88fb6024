/**
 * Whose a folder is, for what root runs on it. Who owns a folder, or one above it, may put a link, another folder or a pipe in
 * the place of anything in it at any instant: what root did there he would do, with root's rights. So root becomes him first.
 */
import { lstatSync, readlinkSync, type Stats } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Fault } from '#kit/fault.ts'

/** A user, by numbers: one that systemd made for a service has no name while the service is stopped. */
export interface Owner {
  uid: number
  gid: number
}

/** A folder and who decides what is in it. */
export interface OwnedFolder {
  /** Without links. */
  path: string
  isThere: boolean
  /** The first on the way from / to the folder to whom something belongs that is not root's; undefined where all is root's. */
  owner: Owner | undefined
  /** Whether the folder itself is his, but not the one that it stands in. */
  isOwnerOfItAlone: boolean
  /** The first folder of root's on the way that the owner may not pass through. */
  barrier: string | undefined
}

/** As many as the kernel follows. */
const MOST_LINKS = 40
/** What nobody's files belong to; the group of root would let its owner read what root's group may. */
const NOGROUP = 65_534

/**
 * Goes from / to a folder, link by link.
 * @throws Fault `state_foreign` where somebody could put another folder of somebody else, or of root, in its place
 */
export function ownerOfFolder(folder: string): OwnedFolder {
  const names = resolve(folder).split('/').filter(Boolean)
  const found: OwnedFolder = { path: '/', isThere: true, owner: undefined, isOwnerOfItAlone: false, barrier: undefined }
  /** Folders of root's on the way, as who comes later must pass through them. */
  const passed: { path: string; stats: Stats }[] = []
  let links = 0
  while (names.length > 0) {
    const name = names.shift() ?? ''
    // A link may lead up again; `path` has no links in it, so that its parent is what it says.
    if (name === '..') found.path = dirname(found.path)
    if (name === '..' || name === '.') continue
    const path = join(found.path, name)
    const stats = found.isThere ? lstatSync(path, { throwIfNoEntry: false }) : undefined
    if (stats === undefined) {
      found.path = path
      found.isThere = false
      found.isOwnerOfItAlone = false
      continue
    }
    refuseMixed(path, stats, found.owner)
    if (stats.uid !== 0) found.isOwnerOfItAlone = found.owner === undefined && !stats.isSymbolicLink()
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
  // In a folder with the sticky bit nobody moves what is another's.
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
 * Makes this process, all its threads, somebody's for good. The kernel lets nobody but root look into it from then on (it
 * cannot be dumped), not even another process of his.
 */
export function becomeOwner({ uid, gid }: Owner): void {
  const { setgroups, setgid, setuid, geteuid, getuid } = process
  if (!setgroups || !setgid || !setuid) throw new Error('a process cannot change its user on this system')
  // In this order: the last takes the right to do the others.
  setgroups([])
  setgid(gid)
  setuid(uid)
  process.umask(0o077)
  if (geteuid?.() !== uid || getuid?.() !== uid) throw new Error(`this process could not become user ${uid}`)
}
