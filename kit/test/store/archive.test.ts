/** Tests of store/archive.ts: a backup is taken whole or not at all, whatever happened to its bytes. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { type Test, t } from 'tap'
import { type Manifest, readArchive, writeArchive } from '../../store/archive.ts'

const about = { daemon: 'small', version: '1.2.3', at: 1000, secrets: 'all' } as const
const bounds = { unpackedBytes: 10_000_000 }

/** Writes an archive of these files. @returns its path */
async function pack(t: Test, files: Record<string, string>): Promise<string> {
  const folder = t.testdir({})
  const file = join(folder, 'b.tar.gz')
  // Without the folders of its paths: one test has ten thousand, which are slow to make and to remove.
  const from = join(folder, 'from')
  function* sources() {
    for (const [path, text] of Object.entries(files)) {
      writeFileSync(from, text)
      const descriptor = openSync(from, 'r')
      yield { path, descriptor, sizeBytes: Buffer.byteLength(text) }
      closeSync(descriptor)
    }
  }
  const to = openSync(file, 'w')
  await writeArchive(to, sources(), about)
  closeSync(to)
  return file
}

async function read(
  t: Test,
  bytes: Uint8Array,
  mayHold = (_: string) => true,
): Promise<{ list: Manifest; to: string }> {
  const to = mkdtempSync(join(t.testdirName, 'to-'))
  const file = `${to}.tar.gz`
  writeFileSync(file, bytes)
  const from = openSync(file, 'r')
  try {
    return { list: await readArchive(from, to, { bounds, mayHold }), to }
  } finally {
    closeSync(from)
  }
}

const files = {
  'a.json': '{}',
  empty: '',
  'sub/deep/b.db': 'x'.repeat(100_000),
  [`${'long'.repeat(20)}/${'name'.repeat(20)}`]: 'long',
  [`größe ${'é'.repeat(20)}`]: 'letters',
}

t.test('what goes in comes out, and tar reads it too', async (t) => {
  const file = await pack(t, files)
  const { list, to } = await read(t, readFileSync(file))
  t.match(list, { ...about, format: 2 })
  t.same(
    list.files.map(({ path }) => path),
    Object.keys(files),
  )
  for (const [path, text] of Object.entries(files)) t.equal(readFileSync(join(to, path), 'utf8'), text, path)
  const listed = execFileSync('tar', ['-tzf', file], { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C.UTF-8' } })
  t.match(listed, /^a\.json\nempty\nsub\/deep\/b\.db\n/)
  t.match(listed, /plantroom-backup\.json\n$/)
})

t.test('no byte of it can change, and none can be missing or added', async (t) => {
  const bytes = readFileSync(await pack(t, { ...files, 'sub/deep/b.db': 'x'.repeat(2000) }))
  const refused = (changed: Uint8Array, what: string) => t.rejects(read(t, changed), { code: 'bad_backup' }, what)
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8))
    await refused(changed, `byte ${at}`)
  }
  for (let length = 0; length < bytes.length; length += 7)
    await refused(bytes.subarray(0, length), `the first ${length} bytes`)
  await refused(Buffer.concat([bytes, Buffer.from([0])]), 'a byte more')
  await refused(Buffer.concat([bytes, bytes]), 'twice')
})

/** An archive with a right checksum over what somebody else made. */
function sealed(zipped: Uint8Array): Buffer {
  const digest = createHash('sha256').update(zipped).digest('hex')
  const head = Buffer.from([0x1f, 0x8b, 8, 0x10, 0, 0, 0, 0, 0, 3])
  return Buffer.concat([
    zipped,
    head,
    Buffer.from(`plantroom sha256 ${digest}\0`),
    Buffer.from([3, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
  ])
}

/** Made by tar of a folder with these files and this list. */
function forged(t: Test, contents: Record<string, string>, list?: object): Buffer {
  const folder = t.testdir({})
  const place = join(folder, 'forged')
  mkdirSync(place)
  const all = list === undefined ? contents : { ...contents, 'plantroom-backup.json': JSON.stringify(list) }
  for (const [path, text] of Object.entries(all)) writeFileSync(join(place, path), text)
  const names = Object.keys(all)
  return execFileSync('tar', ['-czf', '-', '--format=ustar', '--blocking-factor=1', '-C', place, ...names])
}

const SHA_OF_A = createHash('sha256').update('A').digest('hex')
const listOf = (more: object = {}) => ({ format: 2, ...about, files: [], ...more })
const entry = { path: 'a', sizeBytes: 1, sha256: SHA_OF_A }

for (const [what, sentence, contents, list] of [
  ['has no list', /has no plantroom-backup\.json/, { a: 'A' }, undefined],
  ['is of an older form', /another version/, {}, listOf({ format: 1 })],
  ['is of a newer form', /newer version of Plantroom: install that one first/, {}, listOf({ format: 3 })],
  ['has a list of another shape', /another shape/, {}, { format: 2 }],
  ['holds a file too many', /holds a, which its list does not name/, { a: 'A' }, listOf()],
  ['lacks a file', /lacks a/, {}, listOf({ files: [entry] })],
  ['was changed', /checksum differs/, { a: 'B' }, listOf({ files: [entry] })],
] as const)
  t.test(`refuses one that ${what}, though its checksum is right`, async (t) => {
    await t.rejects(read(t, sealed(forged(t, contents, list))), { code: 'bad_backup', message: sentence })
  })

t.test('refuses what is no backup, and says that of a tar without a checksum too', async (t) => {
  const plain = forged(t, { a: 'A' }, listOf({ files: [entry] }))
  await t.rejects(read(t, plain), { message: /end is missing/ })
  await t.rejects(read(t, Buffer.from('nonsense'.repeat(100))), { message: /no backup of Plantroom/ })
  await t.rejects(read(t, Buffer.alloc(0)), { message: /no backup of Plantroom/ })
  await t.rejects(read(t, sealed(gzipSync('no tar'.repeat(1000)))), { code: 'bad_backup' })
  await t.rejects(read(t, sealed(Buffer.from('no gzip'.repeat(100)))), { code: 'bad_backup' })
})

t.test('nothing is written outside of the folder, and no link is made', async (t) => {
  const bytes = gunzipSync(readFileSync(await pack(t, { 'a/../../b': 'B', c: 'C' })))
  const escapes = sealed(gzipSync(bytes))
  await t.rejects(read(t, escapes), { code: 'bad_backup', message: /"a\/\.\.\/\.\.\/b", which no backup holds/ })
  const absolute = sealed(gzipSync(gunzipSync(readFileSync(await pack(t, { '/etc/x': 'X' })))))
  await t.rejects(read(t, absolute), { code: 'bad_backup' })
  const mine = readFileSync(await pack(t, { lock: 'X' }))
  await t.rejects(
    read(t, mine, (path) => path !== 'lock'),
    { message: /"lock", which no backup holds/ },
  )
  const folder = t.testdir({ links: {} })
  execFileSync('ln', ['-s', '/etc/passwd', join(folder, 'links/link')])
  const link = execFileSync('tar', ['-czf', '-', '-C', join(folder, 'links'), 'link'])
  await t.rejects(read(t, sealed(link)), { code: 'bad_backup', message: /what no backup holds/ })
  t.same(
    readdirSync(folder).filter((name) => name === 'b' || name === 'etc'),
    [],
  )
})

t.test('one that unpacks to more than is taken is refused before it fills the disk', async (t) => {
  const bomb = readFileSync(await pack(t, { zeros: '\0'.repeat(bounds.unpackedBytes + 1) }))
  t.ok(bomb.length < 50_000)
  await t.rejects(read(t, bomb), { code: 'bad_backup', message: /more than 10000000 bytes/ })
})

t.test('one of a few kilobytes does not fill the disk with folders', async (t) => {
  const names = Array.from({ length: 100 }, (_, at) => at.toString(36).padStart(2, 'x'))
  const deep = names.map((name) => [`${name}/${'a/'.repeat(110)}b`, ''])
  const bomb = readFileSync(await pack(t, Object.fromEntries(deep)))
  t.ok(bomb.length < 50_000)
  await t.rejects(read(t, bomb), { code: 'bad_backup', message: /more than 10000 files and folders/ })
})

t.test('a name is a file or a folder, and there once', async (t) => {
  const two = gunzipSync(readFileSync(await pack(t, { abc: 'A', 'd/e': 'B' })))
  for (const [from, to] of [
    ['abc\0', 'd/e\0'],
    ['abc\0', 'd\0\0\0'],
    ['d/e\0\0', 'abc/e'],
  ] as const)
    await t.rejects(read(t, sealed(gzipSync(renamed(two, from, to)))), { code: 'bad_backup' }, `${from} as ${to}`)
})

/** A tar in which one file has another name of the same length. */
function renamed(tar: Uint8Array, from: string, to: string): Buffer {
  const bytes = Buffer.from(tar)
  const at = bytes.indexOf(from)
  bytes.write(to, at, 'latin1')
  const header = bytes.subarray(at, at + 512)
  header.write('        ', 148)
  const sum = header.reduce((all, byte) => all + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return bytes
}

t.test('what a list says is not repeated without a bound', async (t) => {
  for (const more of [{ daemon: 'x'.repeat(10_000) }, { version: `1.2.3${'x'.repeat(10_000)}` }]) {
    const long = sealed(forged(t, {}, listOf(more)))
    await t.rejects(read(t, long), { code: 'bad_backup', message: /another shape/ })
  }
  const path = 'x'.repeat(10_000)
  await t.rejects(read(t, sealed(forged(t, {}, listOf({ files: [{ ...entry, path }] })))), { message: /another shape/ })
})

t.test('random bytes with a right checksum throw nothing but a fault', async (t) => {
  t.testdir({})
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 3000 }), async (bytes) => {
      await read(t, sealed(gzipSync(bytes))).catch((error) => {
        if (error.code !== 'bad_backup') throw error
      })
    }),
    { numRuns: 50 },
  )
})
