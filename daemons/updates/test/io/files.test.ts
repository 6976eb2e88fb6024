/** The contract of a place for files: one suite for a folder, and for a bucket of an S3 server. */
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { fakeClock } from '#kit/clock-fake.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { type OpenedBlobs, openBlobs } from '../../io/blobs.ts'
import { openBucket } from '../../io/bucket.ts'
import { readAll } from '../core/records.ts'
import { ACCOUNT, type S3Server, startS3 } from '../peer/s3-server.ts'
import { sha256 } from '../stage.ts'

const MIB = 1_048_576
const PART = 5 * MIB
const rules = {
  orphansBefore: 0,
  unfinishedBefore: 0,
  freeBytes: 0,
  isForGroup: false,
  partBytes: PART,
  mostBytes: 1e9,
}

interface Place {
  open(named?: readonly string[], more?: Partial<typeof rules>): Promise<OpenedBlobs>
  /** Names of all that is there, unfinished files too. */
  names(): string[]
  server?: S3Server
}

function secretFile(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'secret-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'secret'), `${ACCOUNT.secret}\n`)
  return join(folder, 'secret')
}

async function bucketOf(t: Test, more: object = {}): Promise<Place & { server: S3Server }> {
  const server = await startS3(t, 'updates')
  const parts = {
    ...{ clock: systemClock, endpoint: server.endpoint, region: ACCOUNT.region, bucket: 'updates', caFile: '' },
    ...{ accessKey: ACCOUNT.accessKey, secretFile: secretFile(t), answerMs: 5000 },
    ...{ tries: 3, retryFirstMs: 1, retryMaxMs: 5, ...more },
  }
  return {
    server,
    open: (named = [], ruled = {}) => openBucket(parts, 'some/releases/', new Set(named), { ...rules, ...ruled }),
    names: () => [...server.objects.keys(), ...[...server.uploads.values()].map(({ key }) => `unfinished ${key}`)],
  }
}

async function folderOf(t: Test): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'files-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return {
    open: (named = [], more = {}) => openBlobs(folder, new Set(named), { ...rules, ...more }),
    names: () => [
      ...readdirSync(folder).filter((name) => name !== 'incoming'),
      ...readdirSync(join(folder, 'incoming')).map((name) => `unfinished ${name}`),
    ],
  }
}

async function kept({ blobs }: OpenedBlobs, ...pieces: Uint8Array[]) {
  const incoming = await blobs.begin(undefined)
  for (const piece of pieces) await incoming.write(piece)
  const file = await incoming.keep()
  await incoming.drop()
  return file
}

async function bytesOf({ blobs }: OpenedBlobs, file: string, start: number, end: number): Promise<Buffer> {
  return await readAll(await blobs.read(file, { start, end }), 65_536)
}

const [small, large] = [randomBytes(1000), randomBytes(2 * PART + 123_456)]
const pieces = (bytes: Buffer) =>
  Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, at) => bytes.subarray(at * 65_536, (at + 1) * 65_536))

for (const [kind, placeOf] of [
  ['folder', folderOf],
  ['bucket', bucketOf],
] as const) {
  t.test(`${kind}: a file is there once it is kept, whole, and any part of it is read`, async (t) => {
    const place = await placeOf(t)
    const opened = await place.open()
    for (const bytes of [small, large]) {
      const file = await kept(opened, ...pieces(bytes))
      t.match(file, { checksum: sha256(bytes), sizeBytes: bytes.length })
      const { length } = bytes
      for (const [start, end] of [
        [0, length - 1],
        [0, 0],
        [length - 1, length - 1],
        [7, 600],
      ] as const)
        t.equal(Buffer.compare(await bytesOf(opened, file.file, start, end), bytes.subarray(start, end + 1)), 0)
    }
    t.equal(place.names().length, 2)
  })

  t.test(`${kind}: what is dropped, refused or removed leaves nothing, whenever it is`, async (t) => {
    const place = await placeOf(t)
    const { blobs } = await place.open()
    for (const bytes of [small, large])
      for (const end of ['drop', 'refuse', 'remove'] as const) {
        const file = blobs.newName()
        const incoming = await blobs.begin(bytes.length, file)
        for (const piece of pieces(bytes)) await incoming.write(piece)
        const refuse = () => {
          throw new Error('not that')
        }
        if (end === 'refuse') await t.rejects(incoming.keep(refuse), /not that/)
        if (end === 'remove') {
          await blobs.remove(file)
          t.same(place.names(), [], 'unfinished')
        }
        await incoming.drop()
        await incoming.drop()
      }
    const incoming = await blobs.begin(undefined)
    await incoming.write(small)
    const { file } = await incoming.keep()
    await incoming.drop()
    t.equal(place.names().length, 1)
    await blobs.remove(file)
    await blobs.remove(file)
    t.same(place.names(), [])
    await t.rejects(blobs.read(file, { start: 0, end: 1 }), { code: 'file_lost' })
  })

  t.test(
    `${kind}: at a start, old files that nobody names and old unfinished ones go, and missing ones are told`,
    async (t) => {
      const place = await placeOf(t)
      const opened = await place.open()
      const named = (await kept(opened, small)).file
      for (let many = 0; many < 8; many++) await kept(opened, small)
      const incoming = await opened.blobs.begin(undefined)
      for (const piece of pieces(large)) await incoming.write(piece)
      const missing = randomUUID()
      t.same((await place.open([named, missing])).missing, [missing])
      t.equal(place.names().length, 10, 'all of them are young')
      const later = Date.now() + 60_000
      await place.open([named], { orphansBefore: later, unfinishedBefore: later })
      t.match(place.names(), [new RegExp(named)])
      await incoming.drop()
    },
  )

  t.test(`${kind}: a name that is none opens nothing`, async (t) => {
    const { blobs } = await (await placeOf(t)).open()
    for (const name of ['../secret', 'incoming', '', '..', 'a?x=y', `${randomUUID()}/../x`]) {
      await t.rejects(async () => blobs.read(name, { start: 0, end: 0 }), { code: 'file_lost' }, name)
      await t.rejects(async () => blobs.remove(name), { code: 'file_lost' }, name)
    }
  })
}

// What a server on the network does.

t.test('a file of the bucket that somebody has cut is lost, wherever it is read', async (t) => {
  const place = await bucketOf(t)
  const opened = await place.open()
  const { file } = await kept(opened, small)
  for (const object of place.server.objects.values()) object.bytes = object.bytes.subarray(0, 500)
  for (const [start, end] of [
    [0, 999],
    [400, 999],
    [500, 999],
    [700, 999],
  ] as const)
    await t.rejects(opened.blobs.read(file, { start, end }), { code: 'file_lost', message: /another size/ }, `${start}`)
})

t.test('errors that pass are tried again, also where the answer to what was done is lost', async (t) => {
  for (const fault of [503, 500, 429, 'cut', 'answer, then cut'] as const) {
    const place = await bucketOf(t)
    const opened = await place.open()
    const failed = new Set<string>()
    place.server.faults.before = (asked) => {
      // Ids and names differ each time.
      const what = asked.replace(/ .*?(?= |$)/, '').replace(/uploadId=\S*/, 'uploadId')
      if (failed.has(what)) return undefined
      failed.add(what)
      return fault
    }
    const { file } = await kept(opened, ...pieces(large))
    t.equal(Buffer.compare(await bytesOf(opened, file, 0, large.length - 1), large), 0, String(fault))
    t.ok(failed.size >= 5)
  }
})

t.test('a server that refuses, is silent or gone is told with a sentence, and no secret', async (t) => {
  for (const fault of [403, 503, 'cut', 'silent'] as const) {
    const place = await bucketOf(t, { answerMs: 200, tries: 2 })
    const { blobs } = await place.open()
    place.server.faults.before = () => fault
    const incoming = await blobs.begin(undefined)
    await incoming.write(small)
    const refused = await incoming.keep().then(
      () => undefined,
      (error: Fault) => error,
    )
    await incoming.drop()
    t.match(refused, { code: 'files_unreachable', message: /cannot be reached now; nothing was changed/ })
    t.notMatch(`${refused?.stack} ${refused?.cause}`, ACCOUNT.secret)
    await t.rejects(blobs.read(randomUUID(), { start: 0, end: 1 }), { code: 'files_unreachable' })
  }
})

t.test('a wrong account, bucket or file of the secret ends the start', async (t) => {
  for (const [more, code] of [
    [{ accessKey: 'other' }, 'files_unreachable'],
    [{ bucket: 'nowhere' }, 'files_unreachable'],
    [{ region: 'elsewhere' }, 'files_unreachable'],
    [{ secretFile: '/nowhere' }, 'secret_file_unreadable'],
  ] as const)
    await t.rejects((await bucketOf(t, more)).open(), { code }, JSON.stringify(more))
  await t.rejects((await bucketOf(t)).open([], { mostBytes: 1e11 }), { code: 'files_unusable', message: /10000000/ })
})

t.test('what stands still while it is read is ended, and who reads slowly may take their time', async (t) => {
  const clock = fakeClock()
  const { after, every } = clock
  const place = await bucketOf(t, { answerMs: 100, clock: { ...systemClock, after, every } })
  const opened = await place.open()
  const { file } = await kept(opened, ...pieces(large))
  const slow = await opened.blobs.read(file, { start: 0, end: large.length - 1 })
  for (let times = 0; times < 5; times++) clock.advance(100)
  t.equal(Buffer.compare(await readAll(slow, 65_536), large), 0)
  place.server.faults.before = () => 'half'
  const stuck = await opened.blobs.read(file, { start: 0, end: large.length - 1 })
  const piece = Buffer.alloc(65_536)
  for (let came = 0; came < large.length / 2; ) came += await stuck.read(piece)
  const ended = stuck.read(piece)
  for (let times = 0; times < 2; times++) clock.advance(100)
  await t.rejects(ended, /nothing came for 100 ms/)
})

t.test('an upload holds one part in memory, and its parts are as large as S3 wants them', async (t) => {
  const place = await bucketOf(t)
  await kept(await place.open(), ...pieces(large))
  t.equal(place.server.asked.filter((line) => /^PUT .*partNumber/.test(line)).length, 3)
})
