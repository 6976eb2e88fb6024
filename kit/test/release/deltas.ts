/** Releases unpacked in folders, and deltas between them, for tests. */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeDelta } from '../../release/delta-making.ts'
import { bundleHash, MANIFEST_FILE } from '../../release/manifest.ts'
import { type ArchiveFile, manifestOf } from './archives.ts'

/** Writes the files of a release. @returns its bundle hash */
export function writeFiles(folder: string, files: readonly ArchiveFile[]): string {
  const manifest = manifestOf(files)
  for (const { bytes, mode = 0o644, path } of [...files, { path: MANIFEST_FILE, bytes: Buffer.from(manifest) }]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), bytes)
    chmodSync(join(folder, path), mode)
  }
  return bundleHash(manifest)
}

/** A delta before it is encrypted. */
export async function deltaOf(work: string, before: readonly ArchiveFile[], next: readonly ArchiveFile[]) {
  const folder = mkdtempSync(join(work, 'delta-'))
  const folders = { before: join(folder, 'before'), next: join(folder, 'next') }
  writeFiles(folders.before, before)
  const bundle = writeFiles(folders.next, next)
  const made = await makeDelta(folders, join(folder, 'delta'))
  const bytes = readFileSync(join(folder, 'delta'))
  rmSync(folders.next, { recursive: true })
  return { ...made, bytes, bundle, before: folders.before }
}
