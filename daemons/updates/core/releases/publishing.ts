/** Takes in what is published: hashed and proven while it comes, and kept whole or not at all. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { counted, durationText } from '#kit/pure/text.ts'
import { releaseFileName } from '#kit/pure/version.ts'
import {
  type ArchiveProof,
  type Blobs,
  type Incoming,
  type InstallerPackage,
  isUnsure,
  type KeptFile,
  type ReleaseRecord,
  releaseKey,
  type SignedRelease,
  type UpdatePackage,
} from '../ports.ts'
import type { Claim, Claims } from './claims.ts'
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
  kind: 'update' | 'installer' | 'image'
  version: string
  /** Of an image: the kind of board that it is for. */
  compatible?: string | undefined
  /** 64 hex digits, of an update or an image. */
  encryptionKey: string | undefined
  bundleHash: string | null
  /** What the publisher expects. */
  checksum: string | undefined
  /** As sent, and what it says. */
  signed: { text: string; says: SignedRelease } | undefined
}

interface PublishingParts {
  clock: Clock
  blobs: Pick<Blobs, 'newName' | 'begin' | 'remove'>
  claims: Pick<Claims, 'begin'>
  releases: Releases
  limits: UploadLimits
  /** @param key 64 hex digits */
  proofOf(key: string): ArchiveProof
  /** This file is not needed any more. */
  onGone(file: string): void
}

/** An upload under way. */
export interface Upload {
  kind: PublishWish['kind']
  version: string
  compatible: string | undefined
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
   * `release_exists`, `file_lost`, those of the container, and what the bytes throw; nothing is left then
   */
  receive(
    bytes: AsyncIterable<Uint8Array>,
    lengthBytes: number | undefined,
    wish: PublishWish,
  ): Promise<{ release: ReleaseRecord; isNew: boolean }>
}

export function createPublishing(parts: PublishingParts): Publishing {
  const { blobs, claims, limits } = parts
  const running = new Set<Upload>()

  async function receiveFile(bytes: AsyncIterable<Uint8Array>, upload: Upload, wish: PublishWish) {
    // Before anything of it is written: who dies then leaves nothing that nobody knows of.
    const file = blobs.newName()
    const claim = await claims.begin(file)
    let isFiled = false
    try {
      const incoming = await blobs.begin(upload.lengthBytes, file)
      try {
        await store(bytes, { upload, wish, incoming })
        const kept = await incoming.keep((one) => checkExpected(one, wish))
        const published = await publish(parts, wish, { kept, claim })
        isFiled = published.isNew
        return published
      } finally {
        await incoming.drop()
      }
    } finally {
      // Its place is free: the store may take its time.
      running.delete(upload)
      await claim.leave(isFiled)
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
      const { compatible, kind, version } = wish
      const upload: Upload = { kind, version, compatible, bytes: 0, lengthBytes, startedAt: parts.clock.epochMs() }
      running.add(upload)
      try {
        return await receiveFile(bytes, upload, wish)
      } finally {
        running.delete(upload)
      }
    },
  }

  async function store(
    bytes: AsyncIterable<Uint8Array>,
    { incoming, upload, wish }: { upload: Upload; wish: PublishWish; incoming: Incoming },
  ): Promise<void> {
    const proof = wish.encryptionKey === undefined ? undefined : parts.proofOf(wish.encryptionKey)
    for await (const piece of paced(bytes, parts)) {
      upload.bytes += piece.length
      if (upload.bytes > limits.mostBytes) throw tooLarge(limits.mostBytes)
      proof?.take(piece)
      await incoming.write(piece)
    }
    if (upload.bytes === 0) throw new Fault('bad_upload', 'the upload is empty')
    proof?.end()
  }
}

/** Files what is kept. @returns as `receive` */
async function publish(
  { clock, onGone, releases }: PublishingParts,
  wish: PublishWish,
  { claim, kept }: { kept: KeptFile; claim: Claim },
) {
  const { bundleHash, compatible, encryptionKey, kind, signed, version } = wish
  const filename = releaseFileName(kind, version, compatible)
  const common = { ...kept, filename, bundleHash, signed: signed?.text ?? null }
  const made = { ...common, publishedAt: clock.epochMs() }
  const one = encryptionKey === undefined ? { installer: made } : { update: { ...made, encryptionKey } }
  let isUsed = false
  try {
    const isNew = await releases.publish({ version, compatible, ...one, signed: signed?.says, claim: claim.prove })
    const release = releases.get(releaseKey(wish))
    if (!release) throw new TypeError('a release is gone while it is published')
    isUsed = packageOf(release, kind)?.file === kept.file
    return { release, isNew }
  } catch (fault) {
    // If it was filed after all, the file is needed; else it goes when it is old.
    isUsed = isUnsure(fault)
    throw fault
  } finally {
    if (!isUsed) onGone(kept.file)
  }
}

/** What was published of a kind. */
export function packageOf(
  { installer, update }: ReleaseRecord,
  kind: PublishWish['kind'],
): InstallerPackage | UpdatePackage | null {
  return kind === 'installer' ? installer : update
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
