/** Finds files of footage on a disk again, and what of each is whole. */
import { constants } from 'node:fs'
import { lstat, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { FootageDisk } from './footage-disk.ts'
import { endOf, wholePart } from './footage-file.ts'
import type { IndexRow } from './footage-index.ts'

const DAY_MS = 86_400_000

/** `<camera>/<day>/<milliseconds since 1970>.mp4` */
const FOLDER_NAMES = [/^[\w-]{1,64}$/, /^\d{4}-\d\d-\d\d$/] as const
const FILE_NAME = /^(\d{1,16})\.mp4$/

/**
 * Every file of footage on a disk, without following links.
 * @param since files of a camera that began before are left out
 */
export async function* filesOn(
  disk: Pick<FootageDisk, 'folder' | 'work'>,
  since: (camera: string) => number = () => 0,
) {
  const list = (folder: string) => disk.work(() => readdir(join(disk.folder, folder), { withFileTypes: true }))
  const folders = async (folder: string, names: RegExp) =>
    (await list(folder)).filter((entry) => entry.isDirectory() && names.test(entry.name)).map(({ name }) => name)
  for (const camera of await folders('.', FOLDER_NAMES[0]))
    for (const day of await folders(camera, FOLDER_NAMES[1])) {
      if (Date.parse(day) + DAY_MS <= since(camera)) continue
      for (const entry of await list(join(camera, day))) {
        const [, startAt] = (entry.isFile() && FILE_NAME.exec(entry.name)) || []
        if (startAt !== undefined && Number(startAt) >= since(camera))
          yield { camera, path: `${camera}/${day}/${entry.name}`, startAt: Number(startAt) }
      }
    }
}

export async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

/** The row of a file as it is on the disk, cut off behind its whole part; undefined if nothing of it is whole. */
export async function restoredRow(folder: string, row: IndexRow): Promise<IndexRow | undefined> {
  const path = join(folder, row.path)
  const { fragments, sizeBytes, wholeBytes } = await wholePart(path).catch((error: NodeJS.ErrnoException) => {
    // Its row was written, and the power went before its name was on the disk.
    if (error.code === 'ENOENT' || error.code === 'ELOOP') return { fragments: [], sizeBytes: 0, wholeBytes: 0 }
    throw error
  })
  const [first] = fragments
  if (!first) return undefined
  if (wholeBytes < sizeBytes) {
    const handle = await open(path, constants.O_WRONLY | constants.O_NOFOLLOW)
    try {
      await handle.truncate(wholeBytes)
    } finally {
      await handle.close()
    }
  }
  return { ...row, startAt: first.wallMs, endAt: endOf(fragments), bytes: wholeBytes, fragments }
}
