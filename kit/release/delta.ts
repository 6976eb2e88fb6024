/**
 * A delta: what a machine needs to make a release out of the one before, which it has on its disk. It needs no trust of its
 * own: what is made is held to the bundle hash of the signed record, file by file, as an unpacked archive is.
 *
 *      0  `SVC_DELTA_1\n`
 *     12  bundle hash of the release before
 *     44  a part: the new manifest, of the one before
 *         a part for each file of it, in its order, whose SHA-256 the manifest of the release before does not list
 *
 * A part:
 *
 *      0  how: 0 zstd · 1 zstd with a file of the release before as its dictionary, which is what `zstd --patch-from`
 *         does · 2 gzip of a file that stands further up in the new manifest
 *      1  which file: its line in the manifest, from 0, two bytes, big-endian; 0 where there is none
 *      3  bytes of the content, four bytes, big-endian
 *      7  bytes that follow, four bytes, big-endian
 */
import { createHash } from 'node:crypto'
import { constants as fileConstants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress, gzipSync, constants as zlib } from 'node:zlib'
import { Fault } from '../pure/fault.ts'
import { type ByteReader, byteReader } from '../store/byte-reader.ts'
import { bundleHash, MANIFEST_FILE, type ManifestEntry, MOST_MANIFEST_BYTES, readManifest } from './manifest.ts'
import { makeTree, type Tree } from './release-tree.ts'
import type { Unpacked } from './unpack.ts'

export const DELTA_MARK = Buffer.from('SVC_DELTA_1\n')
export const PART_BYTES = 11
const HASH_BYTES = 32
/** How the content of a part is made. */
export const HOW = { plain: 0, fromBefore: 1, gzipped: 2 } as const
/** What an archive is gzipped with, and what the pages of a bundle are. */
export const GZIP_LEVEL = 9
const CHUNK_BYTES = 65_536

/** What applying a delta may take. */
export interface DeltaBounds {
  /** Of all files of the new release together. */
  unpackedBytes: number
  /** Of a file that another is made of: it takes four times its size of memory. @source measured: 60 MB for 16 MiB */
  fileBytes: number
}

/** The two releases of a delta. */
export interface DeltaPlace {
  /** The folder of the release before; any of its files may be damaged. */
  before: string
  /** Does not exist yet; removed after a fault. */
  folder: string
  /** The bundle hash of the new release. */
  bundle: string
}

/**
 * Makes a release; every file and folder of it is then on the disk for good.
 * @param delta hostile until the bundle hash has proven what comes of it
 * @throws Fault `delta_damaged`, `delta_other_base`, `delta_too_large`, `archive_ambiguous`, `archive_too_large`,
 * `bad_manifest`, `update_disk_full`; what `delta` throws, and other errors of the disk
 */
export async function applyDelta(
  delta: AsyncIterable<Uint8Array>,
  { before, bundle, folder }: DeltaPlace,
  bounds: DeltaBounds,
): Promise<Unpacked> {
  const bytes = byteReader(delta as AsyncIterable<Buffer>, { cutOff })
  return await makeTree(folder, (tree) => makeRelease(bytes, { before, folder, bundle, bounds, tree }))
}

interface Making extends DeltaPlace {
  bounds: DeltaBounds
  tree: Tree
}

async function makeRelease(bytes: ByteReader, making: Making): Promise<Unpacked> {
  const { bounds, bundle, tree } = making
  const base = await readBase(bytes, making.before)
  const manifest = await readNewManifest(bytes, base.manifest, bounds)
  if (bundleHash(manifest) !== bundle) throw damaged('the manifest that comes of it is not the one that was announced')
  const entries = await tree.begin(manifest)
  let leftBytes = bounds.unpackedBytes - manifest.length
  const took = (chunk: Buffer) => {
    leftBytes -= chunk.length
    if (leftBytes < 0)
      throw tooLarge(`what comes of it has more than the ${bounds.unpackedBytes} bytes that unpacked_bytes allows`)
  }
  for (const [line, entry] of entries.entries()) {
    const same = base.byHash.get(entry.sha256)
    const content =
      same === undefined
        ? contentOf(bytes, await readPart(bytes), { ...making, entries, line, base: base.entries })
        : contentOfFile(join(making.before, same.path))
    await addProven(tree, entry, counted(content, took), same !== undefined)
  }
  if ((await bytes.some(1)).length > 0) throw damaged('bytes follow its end')
  return { entries, bundle }
}

async function* counted(content: AsyncIterable<Buffer>, took: (chunk: Buffer) => void): AsyncGenerator<Buffer> {
  for await (const chunk of content) {
    took(chunk)
    yield chunk
  }
}

/** @param isOfBase whether it is a file of the release before, which then is the one that is damaged */
async function addProven(tree: Tree, entry: ManifestEntry, content: AsyncIterable<Buffer>, isOfBase: boolean) {
  const hash = createHash('sha256')
  await tree.addFile(
    entry.path,
    entry.mode,
    counted(content, (chunk) => hash.update(chunk)),
  )
  if (hash.digest('hex') === entry.sha256) return
  throw isOfBase ? damagedBase(entry.path) : damaged(`what comes of it as ${entry.path} is not what the manifest says`)
}

// The release before.

interface Base {
  manifest: Buffer
  entries: readonly ManifestEntry[]
  byHash: ReadonlyMap<string, ManifestEntry>
}

async function readBase(bytes: ByteReader, folder: string): Promise<Base> {
  if (!(await bytes.exactly(DELTA_MARK.length)).equals(DELTA_MARK)) throw damaged('it does not begin with SVC_DELTA_1')
  const hash = (await bytes.exactly(HASH_BYTES)).toString('hex')
  const manifest = await readWhole(join(folder, MANIFEST_FILE), MOST_MANIFEST_BYTES)
  if (bundleHash(manifest) !== hash)
    throw new Fault(
      'delta_other_base',
      `the delta is made for a release with the bundle hash ${hash}, and the one here has ${bundleHash(manifest)}`,
    )
  const entries = readManifest(manifest)
  return { manifest, entries, byHash: new Map(entries.map((entry) => [entry.sha256, entry])) }
}

/** @throws Fault `delta_too_large`; ELOOP for a link */
async function readWhole(path: string, mostBytes: number): Promise<Buffer> {
  const file = await openFile(path)
  try {
    const { size } = await file.stat()
    if (size > mostBytes)
      throw tooLarge(`it needs ${path} with ${size} bytes in memory, where ${mostBytes} are allowed`)
    const bytes = Buffer.alloc(size)
    const { bytesRead } = await file.read(bytes, 0, size, 0)
    return bytes.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

async function openFile(path: string): Promise<FileHandle> {
  return await open(path, fileConstants.O_RDONLY | fileConstants.O_NOFOLLOW | fileConstants.O_NONBLOCK)
}

async function* contentOfFile(path: string): AsyncGenerator<Buffer> {
  const file = await openFile(path)
  try {
    // A piece at a time: whatever the size of what is there.
    yield* file.createReadStream({ highWaterMark: 1_048_576, autoClose: false }) as AsyncIterable<Buffer>
  } finally {
    await file.close()
  }
}

// Parts.

interface Part {
  how: number
  which: number
  contentBytes: number
  bytes: number
}

async function readPart(bytes: ByteReader): Promise<Part> {
  const head = await bytes.exactly(PART_BYTES)
  return {
    how: head.readUInt8(0),
    which: head.readUInt16BE(1),
    contentBytes: head.readUInt32BE(3),
    bytes: head.readUInt32BE(7),
  }
}

async function readNewManifest(bytes: ByteReader, before: Buffer, { fileBytes }: DeltaBounds): Promise<Buffer> {
  const part = await readPart(bytes)
  if (part.how !== HOW.fromBefore || part.which !== 0 || part.contentBytes > MOST_MANIFEST_BYTES)
    throw damaged('its first part is no manifest')
  const pieces: Buffer[] = []
  for await (const piece of unzipped(bytes, part, { dictionary: before, fileBytes })) pieces.push(piece)
  return Buffer.concat(pieces)
}

interface PartParts extends Pick<Making, 'before' | 'folder' | 'bounds'> {
  entries: readonly ManifestEntry[]
  /** Of the file that is made. */
  line: number
  base: readonly ManifestEntry[]
}

async function* contentOf(bytes: ByteReader, part: Part, parts: PartParts): AsyncGenerator<Buffer> {
  const { base, before, bounds, entries, folder, line } = parts
  const { fileBytes } = bounds
  if (part.how === HOW.plain && part.which === 0) yield* unzipped(bytes, part, { fileBytes })
  else if (part.how === HOW.fromBefore) {
    const from = base[part.which]
    if (from === undefined) throw damaged(`it names file ${part.which} of the release before, which has fewer`)
    const dictionary = await readWhole(join(before, from.path), fileBytes)
    if (createHash('sha256').update(dictionary).digest('hex') !== from.sha256) throw damagedBase(from.path)
    yield* unzipped(bytes, part, { dictionary, fileBytes })
  } else if (part.how === HOW.gzipped && part.bytes === 0) {
    const from = entries[part.which]
    if (from === undefined || part.which >= line) throw damaged(`it names file ${part.which}, which is not there yet`)
    yield gzipSync(await readWhole(join(folder, from.path), fileBytes), { level: GZIP_LEVEL })
  } else throw damaged(`it has a part of the kind ${part.how}, which is not known here`)
}

/** Of what zstd may look back on, so much memory at most. */
function windowOf(bytes: number): number {
  return Math.min(27, Math.max(10, Math.ceil(Math.log2(bytes))))
}

async function* unzipped(
  bytes: ByteReader,
  part: Pick<Part, 'bytes' | 'contentBytes'>,
  { dictionary, fileBytes }: { dictionary?: Buffer; fileBytes: number },
): AsyncGenerator<Buffer> {
  const unzip = createZstdDecompress({
    chunkSize: CHUNK_BYTES,
    params: { [zlib.ZSTD_d_windowLogMax]: windowOf(fileBytes) },
    ...(dictionary && { dictionary }),
  })
  let leftBytes = part.bytes
  async function* zipped() {
    while (leftBytes > 0) {
      const piece = await bytes.some(Math.min(leftBytes, CHUNK_BYTES))
      if (piece.length === 0) throw cutOff()
      leftBytes -= piece.length
      yield piece
    }
  }
  let contentBytes = 0
  const fed = pipeline(Readable.from(zipped()), unzip).catch(() => undefined)
  try {
    for await (const chunk of unzip as AsyncIterable<Buffer>) {
      contentBytes += chunk.length
      if (contentBytes > part.contentBytes) throw damaged('a part of it is longer than it says')
      yield chunk
    }
  } catch (cause) {
    throw faultOfZstd(cause)
  } finally {
    unzip.destroy()
    await fed
  }
  if (leftBytes > 0 || contentBytes !== part.contentBytes) throw damaged('a part of it has another size than it says')
}

function faultOfZstd(cause: unknown): unknown {
  const { code } = cause as NodeJS.ErrnoException
  if (cause instanceof Fault || !/^(ZSTD|Z)_/.test(code ?? '')) return cause
  if (code === 'ZSTD_error_frameParameter_windowTooLarge')
    return tooLarge('zstd needs more memory for it than delta_file_bytes allows')
  return new Fault('delta_damaged', `the delta cannot be used: a part of it is no zstd, or damaged (${code})`, {
    cause,
  })
}

function cutOff(): Fault {
  return damaged('it ends too early')
}

function damaged(what: string): Fault {
  return new Fault('delta_damaged', `the delta cannot be used: ${what}`)
}

function damagedBase(path: string): Fault {
  return new Fault('delta_other_base', `${path} of the release that runs is not what its manifest says: it is damaged`)
}

function tooLarge(why: string): Fault {
  return new Fault('delta_too_large', `the delta cannot be used: ${why}`)
}
