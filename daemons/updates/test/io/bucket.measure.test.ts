/**
 * A real S3 server keeps files as the one of the suite does. It is named by S3_ENDPOINT, S3_BUCKET, S3_REGION, S3_ACCESS_KEY
 * and S3_SECRET_FILE; the bucket is there, and what the test writes below `plantroom-test/` is removed.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import t from 'tap'
import { systemClock } from '#kit/clock.ts'
import { openBucket } from '../../io/bucket.ts'
import { readAll } from '../core/records.ts'
import { sha256 } from '../stage.ts'

const { S3_ACCESS_KEY, S3_BUCKET, S3_ENDPOINT, S3_REGION = 'us-east-1', S3_SECRET_FILE } = process.env
const skip = S3_ENDPOINT === undefined && 'no S3 server is named: S3_ENDPOINT'
const PART = 5_242_880

const open = (named: readonly string[] = [], old = 0) =>
  openBucket(
    {
      ...{ clock: systemClock, endpoint: S3_ENDPOINT ?? '', region: S3_REGION, bucket: S3_BUCKET ?? '', caFile: '' },
      ...{ accessKey: S3_ACCESS_KEY ?? '', secretFile: S3_SECRET_FILE ?? '', answerMs: 30_000 },
      ...{ tries: 3, retryFirstMs: 100, retryMaxMs: 1000 },
    },
    'plantroom-test/',
    new Set(named),
    { orphansBefore: old, unfinishedBefore: old, partBytes: PART, mostBytes: 1e9 },
  )

t.test(
  'a real S3 server keeps, gives, lists and removes what is kept in its bucket',
  { skip, timeout: 120_000 },
  async (t) => {
    const { blobs } = await open()
    const kept: string[] = []
    for (const bytes of [randomBytes(1000), randomBytes(2 * PART + 12_345)]) {
      const incoming = await blobs.begin(bytes.length)
      for (let at = 0; at < bytes.length; at += 65_536) await incoming.write(bytes.subarray(at, at + 65_536))
      const { checksum, file } = await incoming.keep()
      t.equal(checksum, sha256(bytes))
      kept.push(file)
      for (const [start, end] of [
        [0, bytes.length - 1],
        [7, 600],
      ] as const) {
        const read = await readAll(await blobs.read(file, { start, end }), 65_536)
        t.equal(Buffer.compare(read, bytes.subarray(start, end + 1)), 0)
      }
    }
    const [droppedFile, unfinishedFile] = [blobs.newName(), blobs.newName()]
    const dropped = await blobs.begin(undefined, droppedFile)
    await dropped.write(randomBytes(PART + 1))
    await dropped.drop()
    const unfinished = await blobs.begin(undefined, unfinishedFile)
    await unfinished.write(randomBytes(PART + 1))
    const missing = randomUUID()
    t.same(
      (await open([...kept, missing, droppedFile, unfinishedFile])).missing.sort(),
      [missing, droppedFile, unfinishedFile].sort(),
    )
    await blobs.remove(unfinishedFile)
    await t.rejects(unfinished.keep(), { code: 'files_unreachable' }, 'nothing of it is left to be finished')
    await t.rejects(blobs.read(missing, { start: 0, end: 1 }), { code: 'file_lost' })
    await open([], Date.now() + 60_000)
    t.same((await open(kept)).missing.sort(), kept.sort())
  },
)
