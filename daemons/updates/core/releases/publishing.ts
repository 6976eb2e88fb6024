/** Takes in what is published: hashed and proven while it comes, and kept whole or not at all. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { counted, durationText } from '#kit/pure/text.ts'
import { releaseFileName } from '#kit/pure/version.ts'
import type { ArchiveProof, Blobs, KeptFile, ReleaseRecord, SignedRelease } from '../ports.ts'
import type { Releases } from './releases.ts'

export interface UploadLimits {
  atOnce: number
  /** Largest file. */
  mostBytes: number
  /** At least so many bytes have to come in so long: progress counts, and not the clock. */
  paceBytes: number
  paceMs: number
  /** When one that found no place may be tried again. */
  retryMs: number
}

/** What is said of a file before its first byte. */
export interface PublishWish {
  kind: 'update' | 'installer'
  version: string
  /** 64 hex digits, of an update. */
  encryptionKey: string | undefined
  bundleHash: string | null
  /** What the publisher expects. */
  checksum: string | undefined
  /** As sent, and what it says. */
  signed: { text: string; says: SignedRelease } | undefined
}

interface PublishingParts {
  clock: Clock
  blobs: Pick<Blobs, 'begin' | 'remove'>
  releases: Releases
  limits: UploadLimits
  /** @param key 64 hex digits */
  proofOf(key: string): ArchiveProof
}

/** An upload under way. */
export interface Upload {
  kind: PublishWish['kind']
  version: string
  /** What has come of the file. */
  bytes: number
  /** Undefined if nobody said it. */
  lengthBytes: number | undefined
  startedAt: number
}

export interface Publishing {
  uploads(): readonly Upload[]
  /**
   * @param lengthBytes of the file, if it is known
   * @returns its release, and whether anything is new
   * @throws Fault `too_many_uploads`, `body_too_large`, `request_timeout`, `no_room`, `checksum_mismatch`,
   * `release_exists`, those of the container, and what the bytes throw; nothing is left then
   */
  receive(
    bytes: AsyncIterable<Uint8Array>,
    lengthBytes: number | undefined,
    wish: PublishWish,
  ): Promise<{ release: ReleaseRecord; isNew: boolean }>
}

export function createPublishing(parts: PublishingParts): Publishing {
  const { blobs, limits, releases } = parts
  const running = new Set<Upload>()

  async function store(bytes: AsyncIterable<Uint8Array>, upload: Upload, wish: PublishWish) {
    const proof = wish.encryptionKey === undefined ? undefined : parts.proofOf(wish.encryptionKey)
    const incoming = await blobs.begin(upload.lengthBytes)
    try {
      for await (const piece of paced(bytes, parts)) {
        upload.bytes += piece.length
        if (upload.bytes > limits.mostBytes) throw tooLarge(limits.mostBytes)
        proof?.take(piece)
        await incoming.write(piece)
      }
      if (upload.bytes === 0) throw new Fault('bad_upload', 'the upload is empty')
      proof?.end()
      return await incoming.keep((kept) => checkExpected(kept, wish))
    } finally {
      await incoming.drop()
    }
  }

  return {
    uploads: () => [...running],
    async receive(bytes, lengthBytes, wish) {
      if (lengthBytes !== undefined && lengthBytes > limits.mostBytes) throw tooLarge(limits.mostBytes)
      if (running.size >= limits.atOnce)
        throw new Fault(
          'too_many_uploads',
          `${counted(running.size, 'upload')} are under way, as many as are allowed. Try again soon.`,
          {
            details: { retryAfterMs: limits.retryMs },
          },
        )
      const { kind, version } = wish
      const upload: Upload = { kind, version, bytes: 0, lengthBytes, startedAt: parts.clock.epochMs() }
      running.add(upload)
      try {
        const kept = await store(bytes, upload, wish)
        try {
          return await publish(wish, kept)
        } finally {
          const release = releases.get(wish.version)
          if (release?.[wish.kind]?.file !== kept.file) await blobs.remove(kept.file)
        }
      } finally {
        running.delete(upload)
      }
    },
  }

  async function publish(wish: PublishWish, kept: KeptFile) {
    const { bundleHash, encryptionKey, kind, signed, version } = wish
    const filename = releaseFileName(kind, version)
    const common = { ...kept, filename, bundleHash, signed: signed?.text ?? null }
    const made = { ...common, publishedAt: parts.clock.epochMs() }
    const one = encryptionKey === undefined ? { installer: made } : { update: { ...made, encryptionKey } }
    const isNew = await releases.publish({ version, ...one, signed: signed?.says })
    const release = releases.get(version)
    if (!release) throw new TypeError('a release is gone while it is published')
    return { release, isNew }
  }
}

/** @throws Fault `checksum_mismatch` */
function checkExpected({ checksum, sizeBytes }: KeptFile, wish: PublishWish): void {
  const { signed } = wish
  if (wish.checksum !== undefined && wish.checksum !== checksum)
    throw new Fault('checksum_mismatch', `The file has the SHA-256 ${checksum}, and ${wish.checksum} was announced.`)
  if (signed && (signed.says.checksum !== checksum || signed.says.sizeBytes !== sizeBytes))
    throw new Fault('checksum_mismatch', 'The signed record is of another file: its size or its SHA-256 differs.')
}

function tooLarge(mostBytes: number): Fault {
  return new Fault('body_too_large', `the file is larger than the ${mostBytes} bytes that are taken`)
}

/** Ends with a fault if too few bytes come in too long a time. @throws Fault `request_timeout` */
async function* paced(
  bytes: AsyncIterable<Uint8Array>,
  { clock, limits }: Pick<PublishingParts, 'clock' | 'limits'>,
): AsyncGenerator<Uint8Array> {
  let sinceMs = clock.monotonicMs()
  let came = 0
  for await (const piece of bytes) {
    came += piece.length
    const tookMs = clock.monotonicMs() - sinceMs
    if (tookMs >= limits.paceMs) {
      if (came < limits.paceBytes)
        throw new Fault(
          'request_timeout',
          `the upload is too slow: ${came} bytes in ${durationText(tookMs)}, expected at least ${limits.paceBytes}`,
        )
      sinceMs += tookMs
      came = 0
    }
    yield piece
  }
}
