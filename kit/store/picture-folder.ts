/** The folder of pictures for plans of a site: each file is named for its content, and never changes. */
import { createHash } from 'node:crypto'
import { constants, createReadStream, fstatSync, lstatSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Fault } from '../pure/fault.ts'
import { isPictureName, type PictureKind } from '../pure/picture.ts'
import { makeFolder, openPlain, replaceFile } from './store.ts'

/** Below the state folder: a backup takes it along. */
const FOLDER = 'plans'

interface PictureFolderParts {
  stateFolder: string
  /** Most files. */
  most: number
  /** Names of the pictures that plans show, or will show soon. */
  inUse(): ReadonlySet<string>
  /** Refuses one more, where all are in use. @param count those there are */
  full(count: number): Fault
}

/** The pictures on the disk. */
export interface PictureFolder {
  /**
   * Keeps a picture; the same one again changes nothing.
   * @returns its name: `<sha256>.png`
   * @throws Fault, that of `full`, if all the pictures there are needed
   */
  put(bytes: Uint8Array, kind: PictureKind): Promise<string>
  /** Whether there is one of this name, which may come from anywhere. */
  has(name: string): boolean
  /** A picture, piece by piece; undefined if there is none of this name. */
  open(name: string): { stream: AsyncIterable<Uint8Array>; sizeBytes: number } | undefined
  /** Removes what no plan shows. */
  sweep(): Promise<void>
}

export function openPictureFolder({ full, inUse, most, stateFolder }: PictureFolderParts): PictureFolder {
  const folder = join(stateFolder, FOLDER)

  const namesThere = async () => (await readdir(folder)).filter(isPictureName)

  /** Drops the oldest that no plan shows: somebody has looked at them and chosen another. */
  async function makeRoom(): Promise<void> {
    const there = await namesThere()
    if (there.length < most) return
    const used = inUse()
    const ages = there
      .filter((name) => !used.has(name))
      .map(async (name) => ({ name, at: (await stat(join(folder, name))).mtimeMs }))
    const free = (await Promise.all(ages)).toSorted((one, other) => one.at - other.at)
    const [oldest] = free
    if (oldest === undefined) throw full(there.length)
    for (const { name } of free.slice(0, there.length - most + 1)) await rm(join(folder, name), { force: true })
  }

  return {
    async put(bytes, kind) {
      const name = `${createHash('sha256').update(bytes).digest('hex')}.${kind}`
      await makeFolder(folder)
      if ((await readdir(folder)).includes(name)) return name
      await makeRoom()
      await replaceFile(join(folder, name), bytes)
      return name
    },
    has: (name) => isPictureName(name) && (lstatSync(join(folder, name), { throwIfNoEntry: false })?.isFile() ?? false),
    open(name) {
      // Names come from rows that an import may have written.
      if (!isPictureName(name)) return undefined
      const descriptor = descriptorOf(join(folder, name))
      if (descriptor === undefined) return undefined
      const sizeBytes = fstatSync(descriptor).size
      return { stream: createReadStream('', { fd: descriptor }), sizeBytes }
    },
    async sweep() {
      await makeFolder(folder)
      const used = inUse()
      for (const name of await namesThere()) if (!used.has(name)) await rm(join(folder, name), { force: true })
    },
  }
}

/** Undefined if there is no such file, or a folder or a link in its place. @throws the error of open(2) */
function descriptorOf(path: string): number | undefined {
  try {
    return openPlain(path, constants.O_RDONLY)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR'].includes(code)) return undefined
    throw error
  }
}
