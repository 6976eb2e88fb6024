/** Files that are kept in a bucket of an S3 server, written in parts while they come. */
import { createHash, randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { Fault } from '#kit/pure/fault.ts'
import type { Incoming, KeptFile, Outgoing } from '../core/ports.ts'
import { type BlobRules, checkedName, isName, type OpenedBlobs } from './blobs.ts'
import { createS3, type S3, type S3Parts } from './s3.ts'

/** @source Amazon S3, Multipart upload limits */
const MOST_PARTS = 10_000

interface BucketRules extends Omit<BlobRules, 'freeBytes' | 'isForGroup'> {
  /** Of what is sent at once. */
  partBytes: number
  /** Largest file. */
  mostBytes: number
}

/**
 * Removes old uploads that nobody has finished, and old files that nobody names.
 * @param prefix what the names of these files begin with in the bucket
 * @throws Fault `files_unreachable`, `files_unusable`
 */
export async function openBucket(
  parts: S3Parts,
  prefix: string,
  named: ReadonlySet<string>,
  rules: BucketRules,
): Promise<OpenedBlobs> {
  if (rules.mostBytes > MOST_PARTS * rules.partBytes)
    throw new Fault(
      'files_unusable',
      `uploads.max_bytes is more than the ${MOST_PARTS} parts that S3 takes of one file: raise blobs.part_bytes to ${Math.ceil(rules.mostBytes / MOST_PARTS)}`,
    )
  const s3 = createS3(parts)
  const keyOf = (file: string) => prefix + checkedName(file)
  const there = new Set<string>()
  for (const { name, writtenAt } of await s3.list(prefix)) {
    if (!isName(name)) continue
    there.add(name)
    if (!named.has(name) && writtenAt < rules.orphansBefore) await s3.remove(prefix + name)
  }
  for (const upload of await s3.uploads(prefix))
    if (upload.beganAt < rules.unfinishedBefore) await s3.dropUpload(upload)
  return {
    missing: [...named].filter((name) => !there.has(name)),
    blobs: {
      newName: randomUUID,
      async begin(_, file = randomUUID()) {
        return beginObject(s3, { file, key: keyOf(file), partBytes: rules.partBytes })
      },
      async remove(file) {
        const key = keyOf(file)
        await s3.remove(key)
        for (const upload of await s3.uploads(key)) await s3.dropUpload(upload)
      },
      read: async (file, range) => outgoing(await s3.read(keyOf(file), range)),
    },
  }
}

function outgoing(stream: Readable): Outgoing {
  const pieces: AsyncIterator<Uint8Array> = stream[Symbol.asyncIterator]()
  let left: Uint8Array = new Uint8Array(0)
  return {
    async read(into) {
      while (left.length === 0) {
        const { done, value } = await pieces.next()
        if (done) return 0
        left = value
      }
      const bytes = Math.min(into.length, left.length)
      into.set(left.subarray(0, bytes))
      left = left.subarray(bytes)
      return bytes
    },
    close: async () => void stream.destroy(),
  }
}

function beginObject(s3: S3, { file, key, partBytes }: { file: string; key: string; partBytes: number }): Incoming {
  const hash = createHash('sha256')
  const etags: string[] = []
  let sizeBytes = 0
  let gathered: Uint8Array[] = []
  let gatheredBytes = 0
  let id: string | undefined
  let state: 'open' | 'kept' | 'dropped' = 'open'

  async function sendPart(): Promise<void> {
    id ??= await s3.beginUpload(key)
    etags.push(await s3.putPart({ key, id }, etags.length + 1, gathered))
    gathered = []
    gatheredBytes = 0
  }

  return {
    async write(bytes) {
      hash.update(bytes)
      sizeBytes += bytes.length
      gathered.push(bytes)
      gatheredBytes += bytes.length
      if (gatheredBytes >= partBytes) await sendPart()
    },
    async keep(check = () => {}): Promise<KeptFile> {
      const kept = { file, checksum: hash.digest('hex'), sizeBytes }
      check(kept)
      if (id === undefined) await s3.put(key, gathered)
      else {
        if (gatheredBytes > 0) await sendPart()
        await s3.finishUpload({ key, id }, etags)
      }
      state = 'kept'
      return kept
    },
    async drop() {
      if (state !== 'open') return
      state = 'dropped'
      gathered = []
      // What cannot be removed now is removed at a start, when it is old.
      if (id !== undefined) await s3.dropUpload({ key, id }).catch(() => {})
      if (sizeBytes > 0) await s3.remove(key).catch(() => {})
    },
  }
}
