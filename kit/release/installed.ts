/**
 * Releases on the disk of a machine:
 *
 *     releases/1.4.0-1f3a09c2/    the files of one, with their manifest; never changed once its `.complete` is there
 *     releases/.staging           one that is being unpacked
 *     current, previous           links to two of them
 *     runtime/node-24.21.0        the Node that they run on (runtime.ts)
 *
 * A release gets its name when every file of it is on the disk, and a link is swapped by a rename: whenever the power
 * fails, `current` names a whole release. Names below `releases` that begin with a dot are rubbish to whoever starts anew.
 */
import { createHash } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { chmod, lstat, readdir, readFile, readlink, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { Fault } from '../pure/fault.ts'
import { isVersion } from '../pure/version.ts'
import { openPlain, replaceFile, syncFolder, systemDisk } from '../store/store.ts'
import { isDiskFull } from './disk-room.ts'
import { bundleHash, MANIFEST_FILE, type ManifestEntry, readManifest } from './manifest.ts'
import { pruneRuntimes } from './runtime.ts'

const RELEASES = 'releases'
const MARK = '.complete'
const STAGING = '.staging'
/** What is being removed: no half of a release has the name of one. */
const GONE = '.gone'

const mark = Type.Object(
  {
    version: Type.Refine(Type.String({ maxLength: 64 }), isVersion),
    bundle: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  },
  { additionalProperties: false },
)
/** What `.complete` says of its release. */
export type ReleaseMark = Static<typeof mark>

/** The folder of a release, below `releases`. */
export function releaseFolder({ version, bundle }: ReleaseMark): string {
  return `${version}-${bundle.slice(0, 8)}`
}

/** @param folder as `releaseFolder` names it */
export function releasePath(root: string, folder: string): string {
  return join(root, RELEASES, folder)
}

/** The releases of one machine. Only whoever has the lock (apply.ts) changes them. */
export interface Installed {
  /** What `current` names. @throws Fault `update_not_ours` where Plantroom was not installed in this form */
  current(): Promise<{ folder: string; mark: ReleaseMark }>
  /** What `previous` names; undefined if nothing. */
  previous(): Promise<string | undefined>
  /** Whether this release is there, and each of its files still is what its manifest says. */
  isWhole(mark: ReleaseMark): Promise<boolean>
  /**
   * Makes a release.
   * @param fill makes the folder it is handed, each file and folder of it on the disk for good
   * @throws what `fill` throws, and errors of the disk; nothing but rubbish is then left
   */
  make(mark: ReleaseMark, fill: (folder: string) => Promise<void>): Promise<void>
  /** Makes `current` name a release, and `previous` the one before. May be repeated after any cut. */
  swap(folders: { from: string; to: string }): Promise<void>
  /**
   * Makes `current` name the release before, and `previous` again what it named. Needs no room on the disk for the
   * first. May be repeated after any cut.
   */
  swapBack(folders: { from: string; before: string | undefined }): Promise<void>
  /** Removes all releases but those that the two links name, and what only the others ran on. */
  prune(): Promise<void>
}

/** @param root the folder with `releases` and the links */
export function installedAt(root: string): Installed {
  const releases = join(root, RELEASES)
  const pathOf = (folder: string) => releasePath(root, folder)

  const target = (link: Link) => targetOf(root, link)

  const remove = (name: string) => removeFolder(releases, name)

  async function point(link: Link, folder: string): Promise<void> {
    if ((await target(link)) === folder) return
    const draft = join(root, `.${link}`)
    await rm(draft, { force: true })
    await symlink(`${RELEASES}/${folder}`, draft)
    await rename(draft, join(root, link))
    await syncFolder(systemDisk, root)
  }

  return {
    current: () => currentOf(root),
    previous: () => target('previous'),
    async isWhole(wanted) {
      const folder = releaseFolder(wanted)
      const found = await markOf(pathOf(folder))
      if (found?.version !== wanted.version || found.bundle !== wanted.bundle) return false
      return await isAsListed(pathOf(folder), wanted.bundle)
    },
    async make(wanted, fill) {
      const folder = releaseFolder(wanted)
      await remove(STAGING)
      try {
        await fill(pathOf(STAGING))
        await replaceFile(join(pathOf(STAGING), MARK), `${JSON.stringify(wanted)}\n`)
        // Whoever may look at a release may know which it is.
        await chmod(join(pathOf(STAGING), MARK), 0o644)
        // Of an earlier try, and not whole: a folder is only renamed onto nothing.
        await remove(folder)
        await rename(pathOf(STAGING), pathOf(folder))
        await syncFolder(systemDisk, releases)
      } catch (fault) {
        await remove(STAGING)
        throw fault
      }
    },
    async swap({ from, to }) {
      await point('previous', from)
      await point('current', to)
    },
    async swapBack({ from, before }) {
      if ((await target('current')) !== from && (await target('previous')) === from) {
        // Needs no room, as a new link could.
        await rename(join(root, 'previous'), join(root, 'current'))
        await syncFolder(systemDisk, root)
      }
      await point('current', from)
      try {
        if (before !== undefined) await point('previous', before)
      } catch (error) {
        // Then there is none until the next update.
        if (!isDiskFull(error)) throw error
      }
    },
    async prune() {
      const kept = [await target('current'), await target('previous')]
      for (const name of await readdir(releases)) if (!kept.includes(name)) await remove(name)
      await syncFolder(systemDisk, releases)
      await pruneRuntimes(
        root,
        kept.filter((folder) => folder !== undefined),
      )
    },
  }
}

async function currentOf(root: string) {
  const folder = await targetOf(root, 'current')
  const found = folder === undefined ? undefined : await markOf(releasePath(root, folder))
  if (folder === undefined || found === undefined)
    throw new Fault(
      'update_not_ours',
      `${join(root, 'current')} names no release of Plantroom: it was not put here by its installer, and is not updated by this command`,
    )
  return { folder, mark: found }
}

/** In two steps, so that no half of it keeps its name. */
async function removeFolder(releases: string, name: string): Promise<void> {
  const gone = join(releases, GONE)
  await rm(gone, { recursive: true, force: true })
  if (await isThere(join(releases, name))) await rename(join(releases, name), gone)
  await rm(gone, { recursive: true, force: true })
}

type Link = 'current' | 'previous'

/** The folder that a link names; undefined if it is none of ours. */
async function targetOf(root: string, link: Link): Promise<string | undefined> {
  try {
    return /^releases\/([^/.][^/]*)$/.exec(await readlink(join(root, link)))?.[1]
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'EINVAL' || code === 'ENOTDIR') return undefined
    throw error
  }
}

/** Undefined if the release is not complete. */
async function markOf(folder: string): Promise<ReleaseMark | undefined> {
  try {
    const text = await readFile(join(folder, MARK), {
      encoding: 'utf8',
      flag: constants.O_RDONLY | constants.O_NOFOLLOW,
    })
    const found: unknown = JSON.parse(text)
    return Value.Check(mark, found) ? found : undefined
  } catch {
    return undefined
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch {
    return false
  }
}

/** A disk may have lost what it had taken: an old release is read once more before it runs. */
async function isAsListed(folder: string, bundle: string): Promise<boolean> {
  try {
    const manifest = await readFile(join(folder, MANIFEST_FILE))
    if (bundleHash(manifest) !== bundle) return false
    for (const entry of readManifest(manifest)) if (!(await isAsEntry(folder, entry))) return false
    return true
  } catch {
    return false
  }
}

async function isAsEntry(folder: string, { mode, path, sha256 }: ManifestEntry): Promise<boolean> {
  const stats = await lstat(join(folder, path))
  if (!stats.isFile() || (stats.mode & 0o7777) !== mode) return false
  return (await sha256OfFile(join(folder, path))) === sha256
}

/** SHA-256 of a file, 64 hex digits. @throws errors of the disk; ELOOP for a link */
export async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  const fd = openPlain(path, constants.O_RDONLY)
  for await (const chunk of createReadStream('', { fd, highWaterMark: 1_048_576 })) hash.update(chunk as Buffer)
  return hash.digest('hex')
}
