/** The folder of pictures for floor plans: each file is named for its content, and never changes. */
import { createHash } from 'node:crypto'
import { constants, createReadStream, fstatSync, lstatSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '#kit/pure/fault.ts'
import { makeFolder, openPlain, replaceFile } from '#kit/store/store.ts'
import { isPictureName, type PictureFolder } from '../core/site/plans.ts'

/** Below the state folder: a backup takes it along. */
const FOLDER = 'plans'

interface PictureFolderParts {
  stateFolder: string
  /** Most files. */
  most: number
  /** Names of the pictures that plans show, or will show after Apply All. */
  inUse(): ReadonlySet<string>
}

export function openPictureFolder({ stateFolder, most, inUse }: PictureFolderParts): PictureFolder {
  const folder = join(stateFolder, FOLDER)

  /** Drops the oldest that no plan shows: somebody has looked at them and chosen another. */
  async function makeRoom(): Promise<void> {
    const there = (await readdir(folder)).filter(isPictureName)
    if (there.length < most) return
    const used = inUse()
    const ages = there
      .filter((name) => !used.has(name))
      .map(async (name) => ({ name, at: (await stat(join(folder, name))).mtimeMs }))
    const free = (await Promise.all(ages)).toSorted((one, other) => one.at - other.at)
    const [oldest] = free
    if (oldest === undefined)
      throw new Fault(
        'plans_full',
        `${there.length} pictures are kept, and plans show all of them; ui.plan_pictures allows no more`,
      )
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
