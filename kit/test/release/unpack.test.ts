/** Tests of release/unpack.ts: what a publisher packs arrives as it was, and nothing else arrives at all. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { Fault } from '../../pure/fault.ts'
import { bundleHash, MANIFEST_FILE } from '../../release/manifest.ts'
import { unpackRelease } from '../../release/unpack.ts'
import { TAR_END } from '../../store/tar.ts'
import { type ArchiveFile, archiveOf, entriesOf, manifestOf, packed, tarEntry } from './archives.ts'

const program = { path: 'bin/run', bytes: Buffer.from('#!/bin/sh\n'), mode: 0o755 }
const page = { path: 'web/page.html', bytes: Buffer.from('<p>') }
const zeros = { path: 'web/zeros.bin', bytes: Buffer.alloc(3000) }
const files: ArchiveFile[] = [program, page, zeros]
const { bundle } = archiveOf(files)
const [manifestEntry = Buffer.alloc(0), ...fileEntries] = entriesOf(files)

async function* inPieces(bytes: Buffer, size = 700): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

t.test('an archive is unpacked whole: contents, modes, manifest', async (t) => {
  const umask = process.umask(0o077)
  t.teardown(() => process.umask(umask))
  const folder = join(t.testdir(), 'release')
  const { archive } = archiveOf(files)
  const unpacked = await unpackRelease(inPieces(archive), folder, { bundle })
  t.equal(unpacked.bundle, bundle)
  t.equal(unpacked.entries.length, 3)
  for (const { path, bytes, mode = 0o644 } of files) {
    t.ok(readFileSync(join(folder, path)).equals(bytes), path)
    t.equal(statSync(join(folder, path)).mode & 0o7777, mode, `${path}, whatever the umask`)
  }
  t.equal(bundleHash(readFileSync(join(folder, MANIFEST_FILE))), bundle)
  for (const one of ['', 'bin']) t.equal(statSync(join(folder, one)).mode & 0o777, 0o755)
})

t.test('an archive without a bundle hash is held to its own manifest', async (t) => {
  const folder = join(t.testdir(), 'release')
  const { archive } = archiveOf([zeros, { path: 'empty', bytes: Buffer.alloc(0) }])
  await unpackRelease(inPieces(archive), folder, { bundle: undefined })
  t.same(readdirSync(folder).sort(), [MANIFEST_FILE, 'empty', 'web'])
})

/** The archive with another entry in the place of one file's. */
function instead(path: string, entry: Buffer): Buffer {
  const sorted = [...files].sort((one, other) => (one.path < other.path ? -1 : 1))
  const at = sorted.findIndex((file) => file.path === path)
  return packed([manifestEntry, ...fileEntries.map((own, place) => (place === at ? entry : own))])
}

/** The archive with an entry before those of the files. */
function withEntry(entry: Buffer): Buffer {
  return packed([manifestEntry, entry, ...fileEntries])
}

const named = (path: string, mode = 0o644) => tarEntry({ path, bytes: Buffer.from('x'), mode })
const ofType = (type: string, target = '/etc/passwd') =>
  tarEntry({ ...program, bytes: Buffer.alloc(0) }, (header) => {
    header.write(type, 156)
    header.write(target, 157)
  })

/** Archives whose own manifest asks for it. */
function asking(text: string, ...entries: Buffer[]): Buffer {
  return packed([tarEntry({ path: MANIFEST_FILE, bytes: Buffer.from(text) }), ...entries])
}

const whole = packed([manifestEntry, ...fileEntries])
const sum = 'a'.repeat(64)
const longName = Buffer.concat([
  tarEntry({ path: '././@LongLink', bytes: Buffer.from('../../etc/cron.d/x\0') }, (header) => header.write('L', 156)),
  tarEntry(program),
])
const pax = Buffer.concat([
  tarEntry({ path: 'pax', bytes: Buffer.from('27 path=../../etc/cron.d/x\n') }, (header) => header.write('x', 156)),
  tarEntry(program),
])

interface Hostile {
  what: string
  archive: Buffer
  code: string
  /** Undefined: no hash was announced, so that the archive alone is judged. */
  bundle?: string | undefined
}

const foreign = 'archive_foreign_entry'
const hostile: Hostile[] = [
  { what: 'a symbolic link in the place of a file', archive: instead('bin/run', ofType('2')), code: foreign },
  { what: 'a hard link', archive: instead('bin/run', ofType('1')), code: foreign },
  { what: 'a character device', archive: instead('bin/run', ofType('3')), code: foreign },
  { what: 'a block device', archive: instead('bin/run', ofType('4')), code: foreign },
  { what: 'a pipe', archive: instead('bin/run', ofType('6')), code: foreign },
  { what: 'a folder', archive: withEntry(ofType('5')), code: foreign },
  { what: 'a file with holes', archive: instead('bin/run', ofType('S')), code: foreign },
  { what: 'an unknown type', archive: instead('bin/run', ofType('Z')), code: foreign },
  { what: 'a long name of GNU tar', archive: instead('bin/run', longName), code: foreign },
  { what: 'an extended header that renames', archive: instead('bin/run', pax), code: foreign },
  { what: 'a program with setuid', archive: instead('bin/run', tarEntry({ ...program, mode: 0o4755 })), code: foreign },
  {
    what: 'a file that all may write',
    archive: instead('web/page.html', named('web/page.html', 0o666)),
    code: foreign,
  },
  {
    what: 'a program that the manifest calls none',
    archive: instead('web/page.html', named('web/page.html', 0o755)),
    code: foreign,
  },
  { what: 'an absolute path', archive: withEntry(named('/etc/cron.d/x')), code: foreign },
  { what: 'a path that leads out', archive: withEntry(named('../x')), code: foreign },
  { what: 'a path that leads out further in', archive: withEntry(named('bin/../../x')), code: foreign },
  { what: 'a file named .npmrc', archive: withEntry(named('.npmrc')), code: foreign },
  { what: 'a name with a line break', archive: withEntry(named('bin/a\nb')), code: foreign },
  { what: 'a name with an escape sequence', archive: withEntry(named('bin/\x1b[2J')), code: foreign },
  {
    what: 'a name that ends early',
    archive: instead(
      'bin/run',
      tarEntry(program, (header) => header.write('bin/run\0x', 0)),
    ),
    code: foreign,
  },
  {
    what: 'a file of somebody else',
    archive: instead(
      'bin/run',
      tarEntry(program, (header) => header.write('0001750', 108)),
    ),
    code: foreign,
  },
  {
    what: 'a file that is there twice',
    archive: packed([manifestEntry, ...fileEntries, ...fileEntries]),
    code: foreign,
  },
  { what: 'a file that the manifest does not list', archive: withEntry(named('bin/more')), code: foreign },
  { what: 'files in another order', archive: packed([manifestEntry, ...[...fileEntries].reverse()]), code: foreign },
  { what: 'no manifest', archive: packed(fileEntries), code: foreign },
  { what: 'the manifest behind the files', archive: packed([...fileEntries, manifestEntry]), code: foreign },
  { what: 'a file too few', archive: packed([manifestEntry, ...fileEntries.slice(0, 2)]), code: 'archive_incomplete' },
  { what: 'nothing', archive: packed([]), code: 'archive_incomplete' },
  { what: 'another content', archive: instead('web/page.html', named('web/page.html')), code: 'archive_wrong_content' },
  { what: 'the manifest of something else', archive: archiveOf([page]).archive, code: 'archive_wrong_manifest' },
  {
    what: 'names that differ in case',
    archive: archiveOf([page, { ...page, path: 'web/Page.html' }]).archive,
    code: 'archive_ambiguous',
    bundle: undefined,
  },
  {
    what: 'folders that differ in case',
    archive: archiveOf([page, { ...page, path: 'WEB/other.html' }]).archive,
    code: 'archive_ambiguous',
    bundle: undefined,
  },
  {
    what: 'a manifest within itself by another case',
    archive: archiveOf([{ ...page, path: 'manifest' }]).archive,
    code: 'archive_ambiguous',
    bundle: undefined,
  },
  {
    what: 'a manifest that leads out',
    archive: asking(`../x 644 ${sum}\n`, named('../x')),
    code: 'bad_manifest',
    bundle: undefined,
  },
  {
    what: 'a manifest with .npmrc',
    archive: asking(`.npmrc 644 ${sum}\n`, named('.npmrc')),
    code: 'bad_manifest',
    bundle: undefined,
  },
  {
    what: 'a manifest with letters of two normal forms',
    archive: asking(`caf\u00e9 644 ${sum}\n`, named('cafe\u0301')),
    code: 'bad_manifest',
    bundle: undefined,
  },
  {
    what: 'a manifest with setuid',
    archive: asking(`bin/run 4755 ${sum}\n`, tarEntry({ ...program, mode: 0o4755 })),
    code: 'bad_manifest',
    bundle: undefined,
  },
  {
    what: 'a header whose checksum is wrong',
    archive: gzipSync(Buffer.concat([manifestEntry, Buffer.alloc(512, 1), TAR_END])),
    code: foreign,
  },
  {
    what: 'bytes between files',
    archive: packed([
      manifestEntry,
      Buffer.concat([fileEntries[0] ?? Buffer.alloc(0)]).fill(1, 600, 700),
      ...fileEntries.slice(1),
    ]),
    code: 'archive_damaged',
  },
  {
    what: 'bytes behind its end',
    archive: gzipSync(Buffer.concat([manifestEntry, ...fileEntries, TAR_END, Buffer.alloc(512)])),
    code: 'archive_damaged',
  },
  { what: 'bytes behind the gzip', archive: Buffer.concat([whole, Buffer.from('more')]), code: 'archive_damaged' },
  {
    what: 'a second gzip behind the first',
    archive: Buffer.concat([whole, gzipSync('more')]),
    code: 'archive_damaged',
  },
  { what: 'no gzip', archive: Buffer.concat([manifestEntry, ...fileEntries, TAR_END]), code: 'archive_damaged' },
  {
    what: 'a byte that flipped',
    archive: Buffer.from(whole).fill(whole.readUInt8(60) ^ 1, 60, 61),
    code: 'archive_damaged',
  },
  { what: 'half of it', archive: whole.subarray(0, whole.length / 2), code: 'archive_cut' },
  { what: 'no end', archive: gzipSync(Buffer.concat([manifestEntry, ...fileEntries])), code: 'archive_cut' },
  { what: 'no bytes at all', archive: Buffer.alloc(0), code: 'archive_cut' },
  {
    what: 'a bomb',
    archive: archiveOf([{ path: 'bomb', bytes: Buffer.alloc(8_000_000) }]).archive,
    code: 'archive_too_large',
    bundle: undefined,
  },
]

for (const { what, archive, code, ...given } of hostile)
  t.test(`an archive with ${what} is refused, and nothing is left of it`, async (t) => {
    const outside = t.testdir({ work: {}, 'keep.txt': 'mine' })
    const folder = join(outside, 'work/release')
    const announced = 'bundle' in given ? given.bundle : bundle
    await t.rejects(unpackRelease(inPieces(archive), folder, { bundle: announced }), { code })
    t.notOk(existsSync(folder))
    t.same(readdirSync(outside).sort(), ['keep.txt', 'work'], 'and nothing was put elsewhere')
  })

t.test('an archive that unpacks to more than is allowed is refused while it is unpacked', async (t) => {
  const folder = join(t.testdir(), 'release')
  const { archive } = archiveOf([{ path: 'large', bytes: Buffer.alloc(100_000, 'abcdefg') }])
  await t.rejects(
    unpackRelease(inPieces(archive), folder, { bundle: undefined, bounds: { unpackedBytes: 50_000, ratio: 1000 } }),
    { code: 'archive_too_large' },
  )
  t.notOk(existsSync(folder))
})

t.test('nothing is written over what is there already', async (t) => {
  const folder = join(t.testdir({ release: {} }), 'release')
  writeFileSync(join(folder, 'theirs'), '')
  await t.rejects(unpackRelease(inPieces(whole), folder, { bundle }), { code: 'EEXIST' })
  t.same(readdirSync(folder), ['theirs'])
})

t.test('a fault of the source comes through, and the source is ended', async (t) => {
  const folder = join(t.testdir(), 'release')
  let isEnded = false
  async function* failing(): AsyncGenerator<Buffer> {
    try {
      yield whole.subarray(0, 100)
      throw new Fault('container_damaged', 'chunk 2 of the container is damaged')
    } finally {
      isEnded = true
    }
  }
  await t.rejects(unpackRelease(failing(), folder, { bundle }), { code: 'container_damaged' })
  t.ok(isEnded)
  t.notOk(existsSync(folder))
})

t.test('a sentence names the place, and carries no control character of the archive', async (t) => {
  const folder = join(t.testdir(), 'release')
  const archive = withEntry(named('bin/\x1b[2J'))
  await t.rejects(unpackRelease(inPieces(archive), folder, { bundle }), {
    message:
      /^the archive holds a file named "bin\/\\+u001b\[2J" with mode 644 where the file bin\/run with mode 755 belongs$/,
  })
  t.equal(manifestOf(files).split('\n').length, 4)
})
