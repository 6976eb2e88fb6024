/**
 * Unpacks an update archive, a gzipped tar, into a new folder; until all of it is proven, it is hostile.
 *
 * One manifest has one tar: first the manifest, then its files in its order, each with the very header that we write for
 * it (kit/store/tar.ts), then the end. So a link, a device, a setuid bit, a path that leads out, an entry too many, twice
 * or not at all is a header other than the expected one; nothing has to be recognised to be refused, and no name out of a
 * header ever reaches the disk. Why not the package tar: docs/decisions/firmware-images.md.
 */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { Fault } from '../pure/fault.ts'
import { escapeControls } from '../pure/text.ts'
import { type ByteReader, byteReader } from '../store/byte-reader.ts'
import { readTarHeader, TAR_BLOCK, TAR_END, tarHeader, tarPadding } from '../store/tar.ts'
import { bundleHash, MANIFEST_FILE, type ManifestEntry, MOST_MANIFEST_BYTES } from './manifest.ts'
import { MANIFEST_MODE, makeTree, type Tree } from './release-tree.ts'

/** What an archive may take. */
export interface UnpackBounds {
  /** Of all of its files together. */
  unpackedBytes: number
  /** How many times as large as the gzipped bytes what comes out of them may be, from the first MiB on. */
  ratio: number
}

/** Measured: our own archives unpack to 4 times their size; deflate goes up to 1032. */
export const usualUnpackBounds: UnpackBounds = { unpackedBytes: 1_073_741_824, ratio: 50 }

const RATIO_FROM_BYTES = 1_048_576
const CHUNK_BYTES = 1_048_576

/** How an archive is unpacked. */
export interface UnpackOptions {
  /** The bundle hash that was signed, or offered; undefined if none was. */
  bundle: string | undefined
  bounds?: UnpackBounds
}

/** What was unpacked. */
export interface Unpacked {
  /** Files, without the manifest. */
  entries: ManifestEntry[]
  /** SHA-256 of the manifest, which stands among the files. */
  bundle: string
}

/**
 * Unpacks an archive; every file and folder is then on the disk for good.
 * @param folder does not exist yet; removed after a fault
 * @param archive gzipped; is ended early where the archive is refused
 * @throws Fault `archive_damaged`, `archive_cut`, `archive_foreign_entry`, `archive_incomplete`, `archive_ambiguous`,
 * `archive_wrong_content`, `archive_wrong_manifest`, `archive_too_large`, `bad_manifest`; `update_disk_full` whose
 * `details.missingBytes` says how much more room it takes; what `archive` throws, and other errors of the disk
 */
export async function unpackRelease(
  archive: AsyncIterable<Uint8Array>,
  folder: string,
  { bundle, bounds = usualUnpackBounds }: UnpackOptions,
): Promise<Unpacked> {
  return await makeTree(folder, (tree) => unpackGzip(archive, bounds, (bytes) => unpackTar(bytes, tree, bundle)))
}

async function unpackGzip<Result>(
  archive: AsyncIterable<Uint8Array>,
  { ratio, unpackedBytes }: UnpackBounds,
  unpack: (bytes: ByteReader) => Promise<Result>,
): Promise<Result> {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES })
  let zipped = 0
  let unpacked = 0
  let result: Result | undefined
  async function* counting() {
    for await (const piece of archive) {
      zipped += piece.length
      yield piece
    }
  }
  function onRead(bytes: number) {
    unpacked += bytes
    if (unpacked > unpackedBytes)
      throw new Fault(
        'archive_too_large',
        `unpacked, the archive has more than the ${unpackedBytes} bytes that unpacked_bytes allows`,
      )
    if (unpacked > RATIO_FROM_BYTES && unpacked > ratio * zipped)
      throw new Fault(
        'archive_too_large',
        `the archive unpacks to more than ${ratio} times its size, which ratio allows at most`,
      )
  }
  try {
    await pipeline(Readable.from(counting()), gunzip, async (bytes) => {
      result = await unpack(byteReader(bytes as AsyncIterable<Buffer>, { cutOff, onRead }))
    })
  } catch (cause) {
    throw faultOfGzip(cause)
  }
  // zlib takes no notice of what follows its stream.
  if (gunzip.bytesWritten !== zipped)
    throw new Fault('archive_damaged', `${zipped - gunzip.bytesWritten} bytes follow the end of the archive`)
  return result as Result
}

function faultOfGzip(cause: unknown): unknown {
  const { code } = cause as NodeJS.ErrnoException
  if (cause instanceof Fault || !code?.startsWith('Z_')) return cause
  if (code === 'Z_BUF_ERROR') return cutOff()
  return new Fault('archive_damaged', `the archive is no gzip, or damaged (${code})`, { cause })
}

function cutOff(): Fault {
  return new Fault('archive_cut', 'the archive ends too early')
}

async function unpackTar(bytes: ByteReader, tree: Tree, bundle: string | undefined): Promise<Unpacked> {
  const manifest = await readManifestEntry(bytes)
  const hash = bundleHash(manifest)
  if (bundle !== undefined && hash !== bundle)
    throw new Fault(
      'archive_wrong_manifest',
      `the manifest of the archive is not the one that was announced: bundle hash ${hash}, expected ${bundle}`,
    )
  const entries = await tree.begin(manifest)
  for (const entry of entries) {
    const sizeBytes = await readEntryHeader(bytes, entry)
    await unpackFile(bytes, tree, entry, sizeBytes)
  }
  if (!(await bytes.exactly(TAR_END.length)).equals(TAR_END))
    throw new Fault('archive_foreign_entry', 'the archive holds more than its manifest lists')
  if ((await bytes.some(1)).length > 0) throw new Fault('archive_damaged', 'bytes follow the end of the tar')
  return { entries, bundle: hash }
}

async function readManifestEntry(bytes: ByteReader): Promise<Buffer> {
  const expected = { path: MANIFEST_FILE, mode: MANIFEST_MODE }
  const sizeBytes = await readEntryHeader(bytes, expected)
  if (sizeBytes > MOST_MANIFEST_BYTES)
    throw new Fault('archive_too_large', `the manifest of the archive has ${sizeBytes} bytes`)
  const manifest = await bytes.exactly(sizeBytes)
  await readPadding(bytes, expected.path, sizeBytes)
  return manifest
}

/** @returns the size of the file that follows. @throws Fault unless the header is the one that we write for it */
async function readEntryHeader(bytes: ByteReader, expected: Pick<ManifestEntry, 'path' | 'mode'>): Promise<number> {
  const header = await bytes.exactly(TAR_BLOCK)
  const found = readTarHeader(header)
  if (found === 'end')
    throw new Fault('archive_incomplete', `the archive ends before ${expected.path}, which its manifest lists`)
  const written = found && tarHeader({ path: expected.path, sizeBytes: found.sizeBytes }, expected.mode)
  if (found === undefined || !written?.equals(header))
    throw new Fault(
      'archive_foreign_entry',
      `the archive holds ${describe(header)} where the file ${expected.path} with mode ${expected.mode.toString(8)} belongs`,
    )
  return found.sizeBytes
}

/** By the type flag. @source POSIX.1-2024, pax, ustar Interchange Format; GNU tar for the letters L, K and S */
const KINDS: ReadonlyMap<string, string> = new Map([
  ...([
    ['0', 'a file'],
    ['1', 'a hard link'],
    ['2', 'a symbolic link'],
    ['3', 'a device'],
    ['4', 'a device'],
  ] as const),
  ...([
    ['5', 'a folder'],
    ['6', 'a pipe'],
    ['x', 'extended facts'],
    ['g', 'extended facts'],
  ] as const),
  ...([
    ['L', 'a long name'],
    ['K', 'a long name'],
    ['S', 'a file with holes'],
  ] as const),
])

function describe(header: Buffer): string {
  const name = header.toString('utf8', 0, 100).replace(/\0.*$/s, '')
  const mode = header
    .toString('latin1', 100, 108)
    .replace(/[^0-7]/g, '')
    .replace(/^0+/, '')
  const kind = KINDS.get(header.toString('latin1', 156, 157)) ?? 'something else'
  return `${kind} named ${escapeControls(JSON.stringify(name))} with mode ${mode || '0'}`
}

async function unpackFile(bytes: ByteReader, tree: Tree, entry: ManifestEntry, sizeBytes: number): Promise<void> {
  const hash = createHash('sha256')
  async function* content() {
    for (let left = sizeBytes; left > 0; ) {
      const chunk = await bytes.some(Math.min(left, CHUNK_BYTES))
      if (chunk.length === 0) throw cutOff()
      hash.update(chunk)
      left -= chunk.length
      yield chunk
    }
  }
  await tree.addFile(entry.path, entry.mode, content())
  if (hash.digest('hex') !== entry.sha256)
    throw new Fault(
      'archive_wrong_content',
      `${entry.path} in the archive is not what its manifest says: its checksum differs`,
    )
  await readPadding(bytes, entry.path, sizeBytes)
}

async function readPadding(bytes: ByteReader, path: string, sizeBytes: number): Promise<void> {
  const padding = tarPadding(sizeBytes)
  if (!(await bytes.exactly(padding.length)).equals(padding))
    throw new Fault('archive_damaged', `something follows ${path} in the archive that does not belong to it`)
}
