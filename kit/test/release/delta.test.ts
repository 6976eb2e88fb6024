/** Tests of release/delta.ts and delta-making.ts: what has changed makes the new release of the one before, or nothing. */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { type Test, t } from 'tap'
import { Fault } from '../../pure/fault.ts'
import { applyDelta, type DeltaBounds } from '../../release/delta.ts'
import { DELTA_FILE_BYTES } from '../../release/delta-making.ts'
import { MANIFEST_FILE } from '../../release/manifest.ts'
import type { ArchiveFile } from './archives.ts'
import { deltaOf } from './deltas.ts'

const bounds: DeltaBounds = { unpackedBytes: 100_000_000, fileBytes: DELTA_FILE_BYTES }
const file = (path: string, bytes: Buffer | string, mode = 0o644): ArchiveFile => ({
  path,
  bytes: Buffer.from(bytes),
  mode,
})

async function* inPieces(bytes: Buffer, size = 700): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

function sameFiles(t: Test, folder: string, files: readonly ArchiveFile[]) {
  for (const { bytes, mode, path } of files) {
    t.ok(readFileSync(join(folder, path)).equals(bytes), path)
    t.equal(statSync(join(folder, path)).mode & 0o777, mode, path)
  }
}

const large = randomBytes(300_000)
const page = 'let a = 1;'.repeat(3000)
const before = [
  file('bin/run', '#!/bin/sh\n', 0o755),
  file('data/large.bin', large),
  file('web/part-AAAAAAAA.js', page),
  file('web/part-AAAAAAAA.js.gz', gzipSync(page, { level: 9 })),
  file('web/part-BBBBBBBB.js', randomBytes(9000)),
  file('gone.txt', 'gone'),
]
const nextLarge = Buffer.concat([large.subarray(0, 150_000), Buffer.from('changed'), large.subarray(150_001)])
const nextPage = `${page}let b;`
const next = [
  file('bin/run', '#!/bin/sh\n', 0o644),
  file('data/large.bin', nextLarge),
  file('data/moved.sh', '#!/bin/sh\n', 0o755),
  file('web/part-CCCCCCCC.js', nextPage),
  file('web/part-CCCCCCCC.js.gz', gzipSync(nextPage, { level: 9 })),
  file('new.txt', 'new'),
  file('empty', ''),
]

t.test('a release is made of the one before and of what has changed, and of nothing else', async (t) => {
  const made = await deltaOf(t.testdir(), before, next)
  t.equal(made.files, 5)
  t.ok(made.sizeBytes < 1500, `${made.sizeBytes} bytes`)
  const folder = join(t.testdirName, 'made')
  const { entries } = await applyDelta(inPieces(made.bytes), { ...made, folder }, bounds)
  t.equal(entries.length, next.length)
  sameFiles(t, folder, next)
  t.notOk(existsSync(join(folder, 'gone.txt')))
})

t.test('a release is made of any other, whatever is in them', async (t) => {
  const path = fc.constantFrom('a', 'b/c', 'b/d.js', 'b/d.js.gz', 'e-AAAAAAAA.js', 'e-BBBBBBBB.js', 'f/g/h')
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((one) => Buffer.from(one)),
    fc.constantFrom(...before.map((one) => one.bytes)),
    fc.integer({ min: 0, max: 250_000 }).map((at) => Buffer.concat([large.subarray(at), large.subarray(0, at)])),
  )
  const files = fc.uniqueArray(fc.record({ path, bytes, mode: fc.constantFrom(0o644, 0o755) }), {
    ...{ minLength: 1, maxLength: 7, selector: (one) => one.path },
  })
  const work = t.testdir()
  await fc.assert(
    fc.asyncProperty(files, files, async (one, other) => {
      const made = await deltaOf(work, one, other)
      const folder = join(work, 'made')
      await applyDelta(inPieces(made.bytes, 999), { ...made, folder }, bounds)
      for (const { bytes: content, path: name } of other)
        if (!readFileSync(join(folder, name)).equals(content)) throw new Error(`${name} differs`)
      rmSync(folder, { recursive: true })
    }),
    { numRuns: 30 },
  )
})

t.test('a delta of which a byte is changed, or that is cut, is refused and leaves nothing', async (t) => {
  const made = await deltaOf(t.testdir(), before, next)
  const folder = join(t.testdirName, 'made')
  // What of it is not looked at: checksums that zstd could have, and does not.
  const isRefused = async (bytes: Buffer) => {
    const outcome = await applyDelta(inPieces(bytes), { ...made, folder }, bounds).catch((fault) => fault)
    if (!(outcome instanceof Fault)) {
      sameFiles(t, folder, next)
      rmSync(folder, { recursive: true })
      return true
    }
    return !existsSync(folder) && /^(delta_|bad_manifest|archive_)/.test(outcome.code)
  }
  await fc.assert(
    fc.asyncProperty(fc.nat(made.bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
      const bytes = Buffer.from(made.bytes)
      bytes.writeUInt8(bytes.readUInt8(at) ^ flip, at)
      return await isRefused(bytes)
    }),
    { numRuns: 200 },
  )
  for (let cut = 0; cut < made.bytes.length; cut += 37) t.ok(await isRefused(made.bytes.subarray(0, cut)), `cut ${cut}`)
  t.ok(await isRefused(Buffer.concat([made.bytes, Buffer.from('x')])), 'more')
})

/** A delta that lists one file more than the release before has, with any part for it. */
async function odd(
  work: string,
  part: { how: number; which?: number; contentBytes?: number; bytes?: Buffer },
): Promise<Awaited<ReturnType<typeof deltaOf>>> {
  const made = await deltaOf(work, [file('a', 'a')], [file('a', 'a'), file('z', Buffer.alloc(100_000))])
  const manifestEnd = 44 + 11 + made.bytes.readUInt32BE(44 + 7)
  const { bytes = Buffer.alloc(0), contentBytes = 100_000, how, which = 0 } = part
  const head = Buffer.alloc(11)
  head.writeUInt8(how, 0)
  head.writeUInt16BE(which, 1)
  head.writeUInt32BE(contentBytes, 3)
  head.writeUInt32BE(bytes.length, 7)
  return { ...made, bytes: Buffer.concat([made.bytes.subarray(0, manifestEnd), head, bytes]) }
}

const zeros = zstdCompressSync(Buffer.alloc(100_000))
const odds: [what: string, part: Parameters<typeof odd>[1], code: string][] = [
  ['unpacks to more than it says', { how: 0, contentBytes: 10, bytes: zeros }, 'delta_damaged'],
  ['unpacks to less than it says', { how: 0, contentBytes: 200_000, bytes: zeros }, 'delta_damaged'],
  [
    'unpacks to more than it says by far',
    { how: 0, bytes: zstdCompressSync(Buffer.alloc(90_000_000)) },
    'delta_damaged',
  ],
  ['is of an unknown kind', { how: 9, bytes: zeros }, 'delta_damaged'],
  ['names a file that the release before has not', { how: 1, which: 1, bytes: zeros }, 'delta_damaged'],
  ['names a file that is not made yet', { how: 2, which: 1 }, 'delta_damaged'],
  ['is another file than the manifest says', { how: 2, which: 0 }, 'delta_damaged'],
  ['ends within a part', { how: 0, bytes: zeros.subarray(0, 9) }, 'delta_damaged'],
]
for (const [what, part, code] of odds)
  t.test(`a delta that ${what} is refused`, async (t) => {
    const made = await odd(t.testdir(), part)
    const folder = join(t.testdirName, 'made')
    await t.rejects(applyDelta(inPieces(made.bytes), { ...made, folder }, bounds), { code })
    t.notOk(existsSync(folder))
  })

t.test('a delta is for one release alone, each file of which is whole', async (t) => {
  const folder = join(t.testdir(), 'made')
  const damages: [what: string, damage: (path: string) => void][] = [
    ['another manifest', (path) => truncateSync(join(path, MANIFEST_FILE), 50)],
    ['a damaged file that stays', (path) => writeFileSync(join(path, 'bin/run'), '#!/bin/bash\n')],
    ['a damaged file that changes', (path) => writeFileSync(join(path, 'data/large.bin'), large.subarray(1))],
  ]
  for (const [what, damage] of damages) {
    const made = await deltaOf(t.testdirName, before, next)
    damage(made.before)
    await t.rejects(applyDelta(inPieces(made.bytes), { ...made, folder }, bounds), { code: 'delta_other_base' }, what)
    t.notOk(existsSync(folder), what)
  }
  const made = await deltaOf(t.testdirName, before, next)
  rmSync(join(made.before, 'bin/run'))
  symlinkSync('/etc/passwd', join(made.before, 'bin/run'))
  await t.rejects(applyDelta(inPieces(made.bytes), { ...made, folder }, bounds), { code: 'ELOOP' }, 'a link')
  await t.rejects(
    applyDelta(inPieces(made.bytes), { ...made, bundle: '0'.repeat(64), folder }, bounds),
    { code: 'delta_damaged' },
    'what is made is held to the bundle hash',
  )
  t.notOk(existsSync(folder))
})

t.test('a delta takes no more memory and room than is allowed', async (t) => {
  const made = await deltaOf(t.testdir(), before, next)
  const folder = join(t.testdirName, 'made')
  for (const more of [{ fileBytes: 100_000 }, { unpackedBytes: 200_000 }])
    await t.rejects(applyDelta(inPieces(made.bytes), { ...made, folder }, { ...bounds, ...more }), {
      code: 'delta_too_large',
    })
  t.notOk(existsSync(folder))
  // A frame that asks to be looked back on over more than is allowed.
  const wide = zstdCompressSync(randomBytes(3_000_000))
  const odder = await odd(t.testdirName, { how: 0, contentBytes: 3_000_000, bytes: wide })
  await t.rejects(applyDelta(inPieces(odder.bytes), { ...odder, folder }, { ...bounds, fileBytes: 1_048_576 }), {
    code: 'delta_too_large',
  })
})
