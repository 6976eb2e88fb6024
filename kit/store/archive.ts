/**
 * The form of a backup file: a gzipped tar of files, the last of which lists them with their checksums, and a checksum
 * over the whole file. `tar -xzf` reads it too.
 */
import { createHash, type Hash } from 'node:crypto'
import { constants, fstatSync, mkdirSync, readSync, writeSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { Fault } from '../pure/fault.ts'
import { isVersion } from '../pure/version.ts'
import { type ByteReader, byteReader } from './byte-reader.ts'
import { readTarHeader, TAR_BLOCK, TAR_END, type TarEntry, tarHeader, tarPadding } from './tar.ts'

/** Present in each archive behind the files it lists. */
export const MANIFEST = 'plantroom-backup.json'

/** Increased when a file of before could be misread. */
const FORM = 2

/** The latest instant that a Date can hold. @source ECMA-262, 21.4.1.1 */
const LAST_INSTANT = 8.64e15

const manifest = Type.Object(
  {
    format: Type.Literal(FORM),
    daemon: Type.String({ maxLength: 64, description: 'whose state it is' }),
    version: Type.String({ maxLength: 64, description: 'of the Plantroom that wrote it' }),
    at: Type.Integer({ minimum: 0, maximum: LAST_INSTANT, description: 'epoch ms' }),
    secrets: Type.Union([Type.Literal('all'), Type.Literal('own')], {
      description: 'own: without the secrets of other machines',
    }),
    files: Type.Array(
      Type.Object({
        path: Type.String({ minLength: 1, maxLength: 256, description: 'below the state folder' }),
        sizeBytes: Type.Integer({ minimum: 0 }),
        sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
      }),
    ),
  },
  { additionalProperties: false },
)

/** Contents of an archive's list. */
export type Manifest = Static<typeof manifest>

/** Most files and folders below a state folder; one with more is something else. */
export const MOST_ENTRIES = 10_000

/** Longest list of them. */
const MANIFEST_BYTES = 4_194_304

/** Read and written at once. */
const CHUNK_BYTES = 65_536

// The tar.

/** @throws Fault `backup_failed` for a name or size that a header cannot hold */
function headerOf(path: string, sizeBytes: number): Buffer {
  const header = tarHeader({ path, sizeBytes }, 0o600)
  if (header === undefined)
    throw new Fault('backup_failed', `${path} has too long a name for a backup, or is too large`)
  return header
}

/** What a header says; undefined for the blocks of zeros at the end. @throws Fault `bad_backup` */
function readHeader(header: Buffer): TarEntry | undefined {
  const entry = readTarHeader(header)
  if (entry === undefined) throw new Fault('bad_backup', 'it holds what no backup holds')
  return entry === 'end' ? undefined : entry
}

// The end of the file: an empty member of gzip whose comment is the checksum of all bytes before. So no byte of a backup
// can change unseen, not even one that gzip ignores, and a file that was cut lacks it.
// @source RFC 1952, 2.2 and 2.3

const COMMENTED = Buffer.from([0x1f, 0x8b, 8, 0x10, 0, 0, 0, 0, 0, 3])
const EMPTY = Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 0, 0])
const COMMENT = 'plantroom sha256 '

function endOf(hash: Hash): Buffer {
  return Buffer.concat([COMMENTED, Buffer.from(`${COMMENT}${hash.digest('hex')}\0`), EMPTY])
}

const END_BYTES = endOf(createHash('sha256')).length

// Writing.

/** One file of an archive, open for reading. */
export interface Source {
  path: string
  descriptor: number
  sizeBytes: number
}

/**
 * Writes an archive.
 * @param to open for writing
 * @param sources each is read to its size, and closed, before the next is asked for
 * @param onRead bytes of files read since the last call
 * @throws Fault `backup_failed`, and errors of the disk
 */
export async function writeArchive(
  to: number,
  sources: AsyncIterable<Source> | Iterable<Source>,
  about: Omit<Manifest, 'format' | 'files'>,
  onRead: (bytes: number) => void = () => {},
): Promise<Manifest> {
  const list: Manifest = { format: FORM, ...about, files: [] }
  // By hand: a stream closes its descriptor where it fails, and this one is the caller's.
  await pipeline(Readable.from(tarOf(sources, list, onRead)), createGzip(), withEnd, async (bytes) => {
    for await (const chunk of bytes as AsyncIterable<Buffer>) writeAll(to, chunk)
  })
  return list
}

async function* tarOf(
  sources: AsyncIterable<Source> | Iterable<Source>,
  list: Manifest,
  onRead: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  for await (const { path, descriptor, sizeBytes } of sources) {
    yield headerOf(path, sizeBytes)
    const hash = createHash('sha256')
    for (const chunk of chunksOf(descriptor, 0, sizeBytes)) {
      hash.update(chunk)
      onRead(chunk.length)
      yield chunk
    }
    yield tarPadding(sizeBytes)
    list.files.push({ path, sizeBytes, sha256: hash.digest('hex') })
  }
  const text = Buffer.from(`${JSON.stringify(list, null, 2)}\n`)
  yield Buffer.concat([headerOf(MANIFEST, text.length), text, tarPadding(text.length), TAR_END])
}

async function* withEnd(zipped: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  for await (const chunk of zipped) {
    hash.update(chunk)
    yield chunk
  }
  yield endOf(hash)
}

function writeAll(to: number, chunk: Buffer): void {
  for (let at = 0; at < chunk.length; ) at += writeSync(to, chunk, at)
}

/** @throws Fault `backup_failed` if the file has become shorter */
function* chunksOf(descriptor: number, from: number, to: number): Generator<Buffer> {
  for (let at = from; at < to; ) {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, to - at))
    const read = readSync(descriptor, chunk, 0, chunk.length, at)
    if (read === 0) throw new Fault('backup_failed', 'a file became shorter while it was read')
    at += read
    yield chunk.subarray(0, read)
  }
}

// Reading.

/** What one archive may take on the disk. */
export interface ArchiveBounds {
  /** Of all of its files together. */
  unpackedBytes: number
}

/**
 * Unpacks an archive into an empty folder, and compares every byte with its checksums.
 * @param from open for reading; a pipe is no backup
 * @param mayHold says of each path whether a backup may have such a file
 * @throws Fault `bad_backup` with what is wrong, as the end of a sentence; the folder then holds whatever was unpacked
 */
export async function readArchive(
  from: number,
  folder: string,
  { bounds, mayHold, onRead = () => {} }: ReadOptions,
): Promise<Manifest> {
  const stats = fstatSync(from)
  if (!stats.isFile()) throw new Fault('bad_backup', 'it is no file')
  const zippedBytes = stats.size - END_BYTES
  proveWhole(from, zippedBytes)
  const zipped = Readable.from(chunksOf(from, 0, zippedBytes))
  const found = new Map<string, Found>()
  let text = ''
  try {
    await pipeline(zipped, createGunzip(), async (bytes) => {
      text = await unpack(byteReader(bytes as AsyncIterable<Buffer>, { cutOff, onRead }), {
        folder,
        bounds,
        mayHold,
        found,
      })
    })
  } catch (cause) {
    if (cause instanceof Fault || (cause as NodeJS.ErrnoException).syscall !== undefined) throw cause
    throw new Fault('bad_backup', 'it cannot be unpacked', { cause })
  }
  const list = readManifest(text)
  compare(list, found)
  return list
}

/** How an archive is read. */
export interface ReadOptions {
  bounds: ArchiveBounds
  mayHold(path: string): boolean
  /** Unpacked bytes since the last call. */
  onRead?: (bytes: number) => void
}

type Found = Pick<Manifest['files'][number], 'sizeBytes' | 'sha256'>

/** @throws Fault `bad_backup` */
function proveWhole(from: number, zippedBytes: number): void {
  const magic = Buffer.alloc(2)
  readSync(from, magic, 0, 2, 0)
  if (zippedBytes < TAR_BLOCK / 8 || magic[0] !== COMMENTED[0] || magic[1] !== COMMENTED[1])
    throw new Fault('bad_backup', 'it is no backup of Plantroom, or was cut off')
  const end = Buffer.alloc(END_BYTES)
  readSync(from, end, 0, END_BYTES, zippedBytes)
  const mark = COMMENTED.length + COMMENT.length
  if (end.toString('latin1', COMMENTED.length, mark) !== COMMENT)
    throw new Fault('bad_backup', 'its end is missing: it is no backup of Plantroom, or was cut off. Copy it again')
  const hash = createHash('sha256')
  for (const chunk of chunksOf(from, 0, zippedBytes)) hash.update(chunk)
  if (!endOf(hash).equals(end)) throw new Fault('bad_backup', 'it is damaged: its checksum differs. Copy it again')
}

function cutOff(): Fault {
  return new Fault('bad_backup', 'it ends too early')
}

/** @returns the text of the list. @throws Fault `bad_backup` */
async function unpack(
  bytes: ByteReader,
  { folder, bounds, mayHold, found }: Omit<ReadOptions, 'onRead'> & { folder: string; found: Map<string, Found> },
): Promise<string> {
  let leftBytes = bounds.unpackedBytes
  const folders = new Set<string>()
  for (;;) {
    const entry = readHeader(await bytes.exactly(TAR_BLOCK))
    if (entry === undefined) throw new Fault('bad_backup', `it has no ${MANIFEST}`)
    const { path, sizeBytes } = entry
    if (path === MANIFEST) {
      if (sizeBytes > MANIFEST_BYTES) throw new Fault('bad_backup', `its ${MANIFEST} is too long`)
      const text = (await bytes.exactly(sizeBytes)).toString('utf8')
      await bytes.exactly(tarPadding(sizeBytes).length + TAR_END.length)
      if ((await bytes.some(1)).length > 0) throw new Fault('bad_backup', `something follows its ${MANIFEST}`)
      return text
    }
    const above = foldersAbove(path)
    const isTaken = found.has(path) || folders.has(path) || above.some((one) => found.has(one))
    if (!isPlainPath(path) || !mayHold(path) || isTaken)
      throw new Fault('bad_backup', `it holds ${JSON.stringify(path)}, which no backup holds`)
    // Folders count: a few zipped bytes of names would make a million of them, each of which takes a block of the disk.
    for (const one of above) folders.add(one)
    if (found.size + folders.size >= MOST_ENTRIES)
      throw new Fault('bad_backup', `it holds more than ${MOST_ENTRIES} files and folders`)
    leftBytes -= sizeBytes
    if (leftBytes < 0)
      throw new Fault('bad_backup', `unpacked it is more than ${bounds.unpackedBytes} bytes, which is not taken`)
    found.set(path, await unpackOne(bytes, join(folder, path), sizeBytes))
    await bytes.exactly(tarPadding(sizeBytes).length)
  }
}

/** `a` and `a/b` of `a/b/c`. */
function foldersAbove(path: string): string[] {
  const names = path.split('/').slice(0, -1)
  return names.map((_, at) => names.slice(0, at + 1).join('/'))
}

/** Below the folder, and written as we write it. */
function isPlainPath(path: string): boolean {
  return path.split('/').every((name) => name !== '' && name !== '.' && name !== '..') && !path.includes('\ufffd')
}

async function unpackOne(bytes: ByteReader, path: string, sizeBytes: number): Promise<Found> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants
  const file: FileHandle = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  const hash = createHash('sha256')
  try {
    for (let left = sizeBytes; left > 0; ) {
      const chunk = await bytes.some(Math.min(left, CHUNK_BYTES))
      if (chunk.length === 0) throw new Fault('bad_backup', 'it ends within a file')
      hash.update(chunk)
      await file.writeFile(chunk)
      left -= chunk.length
    }
    // It is to outlive a power cut right after it took the place of the state.
    await file.sync()
  } finally {
    await file.close()
  }
  return { sizeBytes, sha256: hash.digest('hex') }
}

/** @throws Fault `bad_backup` */
function readManifest(text: string): Manifest {
  let list: unknown
  try {
    list = JSON.parse(text)
  } catch (cause) {
    throw new Fault('bad_backup', `its ${MANIFEST} cannot be read`, { cause })
  }
  if (Value.Check(manifest, list) && isVersion(list.version)) return list
  const form = (list as { format?: unknown } | null)?.format
  if (typeof form === 'number' && form > FORM)
    throw new Fault('bad_backup', 'it was made by a newer version of Plantroom: install that one first')
  throw new Fault('bad_backup', `it was made by another version of Plantroom: its ${MANIFEST} has another shape`)
}

/** @throws Fault `bad_backup` */
function compare(list: Manifest, found: ReadonlyMap<string, Found>): void {
  const named = new Set(list.files.map(({ path }) => path))
  for (const path of found.keys())
    if (!named.has(path)) throw new Fault('bad_backup', `it holds ${path}, which its list does not name`)
  for (const { path, sizeBytes, sha256 } of list.files) {
    const file = found.get(path)
    if (file === undefined) throw new Fault('bad_backup', `it lacks ${path}`)
    if (file.sizeBytes !== sizeBytes || file.sha256 !== sha256)
      throw new Fault('bad_backup', `${path} in it is not what was backed up: its checksum differs`)
  }
}
