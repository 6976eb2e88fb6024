import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import type { ClaimRecord } from '../../../core/ports.ts'
import { createClaims } from '../../../core/releases/claims.ts'
import { createPublishing, type PublishWish, type UploadLimits } from '../../../core/releases/publishing.ts'
import { blobsOf, deltasOf, releasesOf } from '../records.ts'

const wish: PublishWish = {
  ...{ kind: 'installer', version: '1.0.0', encryptionKey: undefined, bundleHash: null },
  ...{ checksum: undefined, signed: undefined },
}

function stage(more: Partial<UploadLimits> = {}, records: ClaimRecord[] = []) {
  const clock = fakeClock()
  const { releases } = releasesOf([])
  const files = blobsOf()
  const proven: number[] = []
  const onGone = (file: string) => void files.blobs.remove(file)
  const saved = new Map(records.map((record) => [record.file, record]))
  const claims = createClaims({
    ...{ clock, records, mostMs: 100_000, daemon: 'self' },
    keeper: {
      inTurn: createSerialTurn(),
      async saveClaims({ changed, removed }) {
        for (const record of changed) saved.set(record.file, record)
        for (const key of removed) saved.delete(key)
      },
    },
    onGone(file) {
      gone.push(file)
      onGone(file)
    },
    onUnwritten: () => {},
  })
  const gone: string[] = []
  const { deltas } = deltasOf(releases, { onGone })
  const publishing = createPublishing({
    ...{ clock, releases, deltas, claims, blobs: files.blobs, onGone },
    limits: { atOnce: 2, mostBytes: 100, paceBytes: 10, paceMs: 1000, retryMs: 5000, ...more },
    proofOf: () => ({
      take: (bytes) => void proven.push(bytes.length),
      end() {
        if (proven.length < 2) throw new Fault('container_cut', 'cut')
      },
    }),
  })
  return { claims, deltas, clock, files, gone, proven, publishing, releases, saved }
}

async function* pieces(...all: number[]) {
  for (const length of all) yield new Uint8Array(length).fill(7)
}

t.test('what comes is proven and kept, and filed once all of it is there', async (t) => {
  const { files, proven, publishing, releases } = stage()
  const { isNew, release } = await publishing.receive(pieces(10, 20), 30, {
    ...wish,
    kind: 'update',
    encryptionKey: 'k',
  })
  t.same([isNew, proven, files.kept.size, files.unfinished()], [true, [10, 20], 1, 0])
  t.match(release, { update: { filename: 'plantroom-1.0.0.tar.gz.enc', sizeBytes: 30, encryptionKey: 'k' } })
  t.equal((await publishing.receive(pieces(30), undefined, wish)).release.installer?.filename, 'plantroom-1.0.0.run')
  t.ok(releases.get('1.0.0')?.update)
})

t.test('what is too long, empty, cut, not as announced or not proven leaves nothing', async (t) => {
  const { files, publishing, releases } = stage()
  await t.rejects(publishing.receive(pieces(1), 101, wish), { code: 'body_too_large' })
  await t.rejects(publishing.receive(pieces(60, 41), undefined, wish), { code: 'body_too_large' })
  await t.rejects(publishing.receive(pieces(), 0, wish), { code: 'bad_upload' })
  await t.rejects(publishing.receive(pieces(10), 10, { ...wish, kind: 'update', encryptionKey: 'k' }), {
    code: 'container_cut',
  })
  await t.rejects(publishing.receive(pieces(10), 10, { ...wish, checksum: 'no' }), { code: 'checksum_mismatch' })
  const says = { version: '1.0.0', checksum: 'no', sizeBytes: 10, bundleHash: null, minFrom: null, arch: null }
  await t.rejects(publishing.receive(pieces(10), 10, { ...wish, signed: { text: '', says } }), {
    code: 'checksum_mismatch',
  })
  async function* cut() {
    yield new Uint8Array(10)
    throw new Fault('body_cut', 'cut')
  }
  await t.rejects(publishing.receive(cut(), 20, wish), { code: 'body_cut' })
  t.same([files.kept.size, files.unfinished(), releases.list().length], [0, 0, 0])
})

t.test('the same bytes again keep the first file, other bytes keep none', async (t) => {
  const { files, publishing } = stage()
  await publishing.receive(pieces(10), 10, wish)
  t.equal((await publishing.receive(pieces(5, 5), 10, wish)).isNew, false)
  await t.rejects(publishing.receive(pieces(11), 11, wish), { code: 'release_exists' })
  t.same([...files.kept.keys()], ['file 1'])
})

t.test('progress counts and not the clock: a steady upload may take long, one that trickles is ended', async (t) => {
  const { clock, files, publishing } = stage()
  async function* slow(bytes: number, everyMs: number, times: number) {
    for (let at = 0; at < times; at++) {
      clock.advance(everyMs)
      yield new Uint8Array(bytes)
    }
  }
  await publishing.receive(slow(5, 400, 20), 100, wish)
  await t.rejects(publishing.receive(slow(1, 400, 20), 20, wish), { code: 'request_timeout' })
  t.equal(files.unfinished(), 0)
})

t.test('as many at once as may be; one more is told when to come again', async (t) => {
  const { publishing } = stage()
  const gate = Promise.withResolvers<void>()
  async function* held() {
    yield new Uint8Array(1)
    await gate.promise
  }
  const two = ['1.0.0', '2.0.0'].map((version) => publishing.receive(held(), 1, { ...wish, version }))
  await new Promise(setImmediate)
  t.match(publishing.uploads(), [{ version: '1.0.0', bytes: 1, lengthBytes: 1 }, { version: '2.0.0' }])
  await t.rejects(publishing.receive(pieces(1), 1, wish), { code: 'too_many_uploads', details: { retryAfterMs: 5000 } })
  gate.resolve()
  await Promise.all(two)
  t.same(publishing.uploads(), [])
  await publishing.receive(pieces(1), 1, { ...wish, version: '3.0.0' })
})

t.test(
  'what a daemon that died had begun goes when it starts again, or once it is older than any upload',
  async (t) => {
    const beganAt = fakeClock().epochMs()
    const records = [
      { file: 'a', daemon: 'self', beganAt },
      { file: 'b', daemon: 'other', beganAt },
    ]
    const { claims, clock, gone, publishing, saved } = stage({}, records)
    await claims.start()
    t.same([gone, [...saved.keys()]], [['a'], ['b']])
    await publishing.receive(pieces(30), undefined, wish)
    t.same(gone, ['a'])
    clock.advance(100_001)
    await publishing.receive(pieces(30), undefined, { ...wish, version: '2.0.0' })
    t.same(gone, ['a', 'b'])
    await t.rejects(publishing.receive(pieces(), undefined, { ...wish, version: '3.0.0' }), { code: 'bad_upload' })
    t.notOk(saved.has('file 3'), 'one that failed leaves none')
  },
)

t.test('an upload that others have given up is not filed', async (t) => {
  const { claims, files, publishing, releases } = stage()
  async function* takenAway() {
    yield* pieces(10)
    claims.follow({ changed: [], removed: ['file 1'] })
  }
  await t.rejects(publishing.receive(takenAway(), undefined, wish), { code: 'file_lost' })
  t.same([releases.get('1.0.0'), files.kept.size], [undefined, 0])
})

t.test('a delta is proven by the key of its update, and filed beside it', async (t) => {
  const { deltas, files, gone, proven, publishing } = stage()
  const delta = { version: '1.0.1', from: '1.0.0', checksum: undefined }
  await t.rejects(publishing.receiveDelta(pieces(10, 20), 30, delta), { code: 'unknown_release' })
  await publishing.receive(pieces(10, 20), 30, { ...wish, kind: 'update', version: '1.0.1', encryptionKey: 'k' })
  const { isNew, record } = await publishing.receiveDelta(pieces(5, 6), 11, delta)
  t.match([isNew, record, proven.slice(2)], [true, { filename: 'plantroom-1.0.1-from-1.0.0.delta.enc' }, [5, 6]])
  t.equal(deltas.require('1.0.0', '1.0.1').file, record.file)
  t.equal((await publishing.receiveDelta(pieces(5, 6), 11, delta)).isNew, false)
  t.equal(files.kept.size, 2, 'what was sent twice is kept once')
  await t.rejects(publishing.receiveDelta(pieces(5, 7), undefined, { ...delta, checksum: '0'.repeat(64) }), {
    code: 'checksum_mismatch',
  })
  t.same([files.kept.size, files.unfinished(), gone], [2, 0, []])
})
