/** Compares files with their index, and changes nothing. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '#kit/pure/fault.ts'
import { readMarker } from './footage-disk.ts'
import { wholePart } from './footage-file.ts'
import { filesOn } from './footage-finding.ts'
import { type FootageIndex, INDEX_FILE, openIndexAsItIs } from './footage-index.ts'

/** What was found in one folder. */
export interface FolderCheck {
  folder: string
  /** Why it was not looked through; undefined if it was. */
  skipped: 'no marker' | 'another disk' | undefined
  files: number
  bytes: number
  /** Paths below the folder, and what is wrong with each. */
  faults: { path: string; what: CheckFault }[]
}

export type CheckFault = 'not in the index' | 'not as in the index' | 'broken end' | 'nothing whole' | 'gone'

/** As much of the index at once. */
const PIECE = 1000

/**
 * @param folders with the disk that each is known by
 * @throws Fault `no_index`, `index_damaged`; the error of a disk that cannot be read
 */
export async function* checkFootage(
  indexFolder: string,
  folders: readonly { folder: string; id: string | undefined }[],
): AsyncGenerator<FolderCheck> {
  if (!existsSync(join(indexFolder, INDEX_FILE)))
    throw new Fault(
      'no_index',
      `There is no index in ${indexFolder}: the recorder makes it, or plantroom recorder rebuild.`,
    )
  const index = openIndexAsItIs(indexFolder)
  try {
    for (const one of folders) yield await checkFolder(index, one)
  } finally {
    index.close()
  }
}

async function checkFolder(
  index: FootageIndex,
  { folder, id }: { folder: string; id: string | undefined },
): Promise<FolderCheck> {
  const check: FolderCheck = { folder, skipped: undefined, files: 0, bytes: 0, faults: [] }
  const found = await readMarker(folder)
  if (found === undefined) return { ...check, skipped: 'no marker' }
  if (found !== (id ?? found)) return { ...check, skipped: 'another disk' }
  const disk = index.diskOf(found)
  const present = new Set<string>()
  for await (const { path } of filesOn({ folder, work: (task) => task() })) {
    const { fragments, sizeBytes, wholeBytes } = await wholePart(join(folder, path))
    const row = index.row(disk, path)
    check.files++
    check.bytes += sizeBytes
    present.add(path)
    const isSame = row && row.bytes === wholeBytes && row.fragments.length === fragments.length
    if (fragments.length === 0) check.faults.push({ path, what: 'nothing whole' })
    else if (wholeBytes < sizeBytes) check.faults.push({ path, what: 'broken end' })
    else if (!isSame) check.faults.push({ path, what: row ? 'not as in the index' : 'not in the index' })
  }
  for (let after = '', paths = index.paths(disk, after, PIECE); paths.length > 0; ) {
    for (const path of paths) if (!present.has(path)) check.faults.push({ path, what: 'gone' })
    after = paths.at(-1) ?? after
    paths = index.paths(disk, after, PIECE)
  }
  return check
}
