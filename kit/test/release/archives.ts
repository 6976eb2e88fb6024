/** Update archives of tests, made by hand, so that they can be what no publisher makes. */
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { bundleHash, MANIFEST_FILE, manifestText } from '../../release/manifest.ts'
import { TAR_END, tarHeader, tarPadding } from '../../store/tar.ts'

/** One file. */
export interface ArchiveFile {
  path: string
  bytes: Buffer
  mode?: number
}

/** The manifest of files, as a publisher writes it. */
export function manifestOf(files: readonly ArchiveFile[]): string {
  return manifestText(
    files.map(({ path, bytes, mode = 0o644 }) => ({
      path,
      mode,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    })),
  )
}

/** An entry of a tar: header, content, padding. @param change is handed the header before its checksum is put right */
export function tarEntry(
  { path, bytes, mode = 0o644 }: ArchiveFile,
  change: (header: Buffer) => void = () => {},
): Buffer {
  const header = tarHeader({ path, sizeBytes: bytes.length }, mode) ?? Buffer.alloc(0)
  change(header)
  header.fill(' ', 148, 156)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return Buffer.concat([header, bytes, tarPadding(bytes.length)])
}

/** The entries of an archive as a publisher packs it: the manifest, then the files in its order. */
export function entriesOf(files: readonly ArchiveFile[]): Buffer[] {
  const sorted = [...files].sort((one, other) => (one.path < other.path ? -1 : 1))
  const manifest = { path: MANIFEST_FILE, bytes: Buffer.from(manifestOf(files)) }
  return [manifest, ...sorted].map((file) => tarEntry(file))
}

/** A gzipped tar of entries. */
export function packed(entries: readonly Buffer[]): Buffer {
  return gzipSync(Buffer.concat([...entries, TAR_END]))
}

/** The archive of files, and its bundle hash. */
export function archiveOf(files: readonly ArchiveFile[]): { archive: Buffer; bundle: string } {
  return { archive: packed(entriesOf(files)), bundle: bundleHash(manifestOf(files)) }
}
