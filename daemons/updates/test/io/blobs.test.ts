import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openBlobs } from '../../io/blobs.ts'
import { readAll } from '../core/records.ts'
import { sha256 } from '../stage.ts'

const none: ReadonlySet<string> = new Set()
const rules = { freeBytes: 0, orphansBefore: 0, unfinishedBefore: Number.POSITIVE_INFINITY, isForGroup: false }
const text = (bytes: string) => Buffer.from(bytes)

async function read(blobs: Awaited<ReturnType<typeof openBlobs>>['blobs'], file: string, start: number, end: number) {
  const reading = await blobs.read(file, { start, end })
  const text = (await readAll(reading)).toString('latin1')
  await reading.close()
  return text
}

t.test('a file is there once it is kept, with its checksum, and for nobody else to read', async (t) => {
  const folder = join(t.testdir({}), 'files')
  const { blobs } = await openBlobs(folder, none, rules)
  const incoming = await blobs.begin(10)
  for (const part of ['some', ' ', 'bytes']) await incoming.write(text(part))
  t.same(readdirSync(folder), ['incoming'], 'not before')
  const kept = await incoming.keep()
  await incoming.drop()
  t.match(kept, { checksum: sha256(text('some bytes')), sizeBytes: 10 })
  t.equal(statSync(join(folder, kept.file)).mode & 0o777, 0o600)
  t.same(readdirSync(join(folder, 'incoming')), [])
  t.equal(await read(blobs, kept.file, 5, 9), 'bytes')
  await blobs.remove(kept.file)
  await blobs.remove(kept.file)
  await t.rejects(blobs.read(kept.file, { start: 0, end: 1 }), { code: 'file_lost' })
})

t.test('what is dropped, or not what was expected, leaves nothing', async (t) => {
  const folder = t.testdir({})
  const { blobs } = await openBlobs(folder, none, rules)
  const incoming = await blobs.begin(undefined)
  await incoming.write(text('x'))
  await t.rejects(
    incoming.keep(() => {
      throw new Error('not that')
    }),
    /not that/,
  )
  await incoming.drop()
  t.same(readdirSync(folder), ['incoming'])
  t.same(readdirSync(join(folder, 'incoming')), [])
})

t.test(
  'after a kill, unfinished and old unnamed files are gone, all others stay, and missing ones are told',
  async (t) => {
    const folder = t.testdir({})
    const name = (sign: string) => `${sign.repeat(8)}-1111-4111-8111-111111111111`
    mkdirSync(join(folder, 'incoming'))
    for (const path of [`incoming/${name('a')}`, name('b'), name('c'), name('e'), 'lost+found'])
      writeFileSync(join(folder, path), 'x')
    for (const old of ['b', 'c']) utimesSync(join(folder, name(old)), 1000, 1000)
    const { missing } = await openBlobs(folder, new Set([name('b'), name('d')]), { ...rules, orphansBefore: 2_000_000 })
    t.same(readdirSync(folder).sort(), [name('b'), name('e'), 'incoming', 'lost+found'].sort())
    t.same(readdirSync(join(folder, 'incoming')), [])
    t.same(missing, [name('d')])
    for (const [sign, atS] of [
      ['f', 1000],
      ['g', 3000],
    ] as const) {
      writeFileSync(join(folder, 'incoming', name(sign)), 'x')
      utimesSync(join(folder, 'incoming', name(sign)), atS, atS)
    }
    await openBlobs(folder, none, { ...rules, unfinishedBefore: 2_000_000 })
    t.same(readdirSync(join(folder, 'incoming')), [name('g')], 'what others may be writing stays')
  },
)

t.test('a name that is none opens nothing', async (t) => {
  const folder = t.testdir({ files: {}, secret: 'x' })
  const { blobs } = await openBlobs(join(folder, 'files'), none, rules)
  for (const name of ['../secret', 'incoming', '', '..'])
    await t.rejects(blobs.read(name, { start: 0, end: 0 }), { code: 'file_lost' }, name)
  t.throws(() => blobs.remove('../secret'), { code: 'file_lost' })
  t.ok(existsSync(join(folder, 'secret')))
})

t.test('where too little room is left, it says how much is missing', async (t) => {
  const { blobs } = await openBlobs(t.testdir({}), none, { ...rules, freeBytes: 1e15 })
  await t.rejects(blobs.begin(1000), { code: 'no_room', message: /\d+ MB are missing/ })
})
