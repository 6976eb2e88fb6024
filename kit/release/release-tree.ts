/** The files of a release on the disk, while they are written: each file and folder of them is then there for good. */
import { constants } from 'node:fs'
import { chmod, type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { Fault } from '../pure/fault.ts'
import { counted } from '../pure/text.ts'
import { syncFolder, systemDisk } from '../store/store.ts'
import { diskFull, isDiskFull } from './disk-room.ts'
import { MANIFEST_FILE, type ManifestEntry, MOST_FILES, readManifest } from './manifest.ts'

/** Folders of a release; each takes a block of the disk, and costs the archive nothing but a few letters. */
const MOST_FOLDERS = MOST_FILES
/** What ext4 gives out at least. */
const BLOCK_BYTES = 4096
export const MANIFEST_MODE = 0o644
const FOLDER_MODE = 0o755

/** The files of a release as they are written. */
export interface Tree {
  /**
   * Makes the folders of the files, and the manifest; before any file.
   * @returns the files that it lists
   * @throws Fault `bad_manifest`, `archive_ambiguous` for names that some file system takes for one, `archive_too_large`
   */
  begin(manifest: Buffer): Promise<ManifestEntry[]>
  addFile(path: string, mode: number, content: AsyncIterable<Buffer>): Promise<void>
}

/**
 * Makes a release; every file and folder of it is then on the disk for good.
 * @param root does not exist yet; removed after a fault
 * @param write adds each file
 * @throws Fault `update_disk_full` whose `details.missingBytes` says how much more room it takes; what `write` throws
 */
export async function makeTree<Result>(root: string, write: (tree: Tree) => Promise<Result>): Promise<Result> {
  // Before the rest: what was there already is not ours to remove.
  await makeFolder(root)
  try {
    const { close, ...tree } = createTree(root)
    const result = await write(tree)
    await close()
    return result
  } catch (fault) {
    await rm(root, { recursive: true, force: true })
    throw fault
  }
}

/** Once the disk is full the rest is only counted, so that the fault can say how much room is missing. @param root is there, and empty */
function createTree(root: string): Tree & { close(): Promise<void> } {
  let folders: string[] = []
  let missingBytes = 0
  let full: unknown

  /** @returns whether it was done; not if the disk is full */
  async function attempt(bytes: number, write: () => Promise<unknown>): Promise<void> {
    const inBlocks = Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES
    if (full === undefined) {
      try {
        await write()
        return
      } catch (cause) {
        if (!isDiskFull(cause)) throw cause
        full = cause
      }
    }
    missingBytes += inBlocks
  }

  async function writeFile(file: FileHandle, content: AsyncIterable<Buffer>): Promise<void> {
    for await (const chunk of content) await attempt(chunk.length, () => file.writeFile(chunk))
    await attempt(0, () => file.sync())
  }

  async function addFile(path: string, mode: number, content: AsyncIterable<Buffer>): Promise<void> {
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants
    let file: FileHandle | undefined
    await attempt(0, async () => {
      file = await open(join(root, path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
      await file.chmod(mode)
    })
    if (file === undefined) {
      for await (const chunk of content) await attempt(chunk.length, async () => {})
      return
    }
    try {
      await writeFile(file, content)
    } finally {
      await file.close()
    }
  }

  return {
    async begin(manifest) {
      const entries = readManifest(manifest)
      folders = foldersOf(entries)
      for (const one of folders) await attempt(BLOCK_BYTES, () => makeFolder(join(root, one)))
      await addFile(MANIFEST_FILE, MANIFEST_MODE, Readable.from([manifest]))
      return entries
    },
    addFile,
    async close() {
      // Each folder after those in it.
      for (const one of [...folders.reverse(), '', '..'])
        await attempt(0, () => syncFolder(systemDisk, join(root, one)))
      if (full !== undefined) throw diskFull(dirname(root), Math.max(missingBytes, BLOCK_BYTES), full)
    },
  }
}

/**
 * The folders of the files, each before those in it.
 * @throws Fault `archive_ambiguous` for names that some file system takes for one, `archive_too_large`
 */
function foldersOf(entries: readonly ManifestEntry[]): string[] {
  const folders = new Set<string>()
  for (const { path } of entries)
    for (let slash = path.indexOf('/'); slash > 0; slash = path.indexOf('/', slash + 1))
      folders.add(path.slice(0, slash))
  if (folders.size > MOST_FOLDERS)
    throw new Fault('archive_too_large', `the archive has ${counted(folders.size, 'folder')}, at most ${MOST_FOLDERS}`)
  // Paths are ASCII, so they have one normal form, and case is all that is to be folded.
  const folded = new Map<string, string>()
  for (const path of [MANIFEST_FILE, ...entries.map((entry) => entry.path), ...folders]) {
    const other = folded.get(path.toLowerCase())
    if (other !== undefined)
      throw new Fault(
        'archive_ambiguous',
        `${other} and ${path} in the archive differ in nothing but upper and lower case`,
      )
    folded.set(path.toLowerCase(), path)
  }
  return [...folders].sort()
}

/** Daemons with users of their own read it, whatever the umask of whoever started this. */
async function makeFolder(path: string): Promise<void> {
  await mkdir(path)
  await chmod(path, FOLDER_MODE)
}
