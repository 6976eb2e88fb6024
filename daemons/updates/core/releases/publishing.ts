/** Takes in what is published: hashed and proven while it comes, and kept whole or not at all. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { counted, durationText } from '#kit/pure/text.ts'
import { deltaFileName, releaseFileName } from '#kit/pure/version.ts'
import {
  type ArchiveProof,
  type Blobs,
  type DeltaRecord,
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
import type { Deltas } from './deltas.ts'
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

/** What is said of a delta before its first byte. */
export interface DeltaWish {
  version: string
  /** The version that it is applied to. */
  from: string
  checksum: string | undefined
}

interface PublishingParts {
  clock: Clock
  blobs: Pick<Blobs, 'newName' | 'begin' | 'remove'>
  claims: Pick<Claims, 'begin'>
  releases: Releases
  deltas: Pick<Deltas, 'publish' | 'requirePlace'>
  limits: UploadLimits
  /** @param key 64 hex digits */
  proofOf(key: string): ArchiveProof
  /** This file is not needed any more. */
  onGone(file: string): void
}

/** An upload under way. */
export interface Upload {
  kind: PublishWish['kind'] | 'delta'
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
  /** The same of a delta, which opens with the key of its update. @throws Fault as `receive`, and those of `Deltas.publish` */
  receiveDelta(
    bytes: AsyncIterable<Uint8Array>,
    lengthBytes: number | undefined,
    wish: DeltaWish,
  ): Promise<{ record: DeltaRecord; isNew: boolean }>
}

/** How a file is proven while it comes, and filed then. */
interface Filing<Filed extends { isNew: boolean }> {
  encryptionKey: string | undefined
  check(kept: KeptFile): void
  file(kept: KeptFile, claim: Claim): Promise<Filed>
}

export function createPublishing(parts: PublishingParts): Publishing {
  const { deltas, limits } = parts
  const running = new Set<Upload>()

  async function receive<Filed extends { isNew: boolean }>(
    bytes: AsyncIterable<Uint8Array>,
    upload: Upload,
    filing: Filing<Filed>,
  ): Promise<Filed> {
    if (upload.lengthBytes !== undefined && upload.lengthBytes > limits.mostBytes) throw tooLarge(limits.mostBytes)
    if (running.size >= limits.atOnce)
      throw new Fault(
        'too_many_uploads',
        `${counted(running.size, 'upload')} are under way, as many as are allowed. Try again soon.`,
        { details: { retryAfterMs: limits.retryMs } },
      )
    running.add(upload)
    // Its place is free when all of it has come: the store may take its time.
    const onTaken = () => void running.delete(upload)
    try {
      return await receiveFile(parts, bytes, { upload, filing, onTaken })
    } finally {
      onTaken()
    }
  }

  const begun = (lengthBytes: number | undefined) => ({ bytes: 0, lengthBytes, startedAt: parts.clock.epochMs() })

  return {
    uploads: () => [...running],
    async receive(bytes, lengthBytes, wish) {
      const { compatible, encryptionKey, kind, version } = wish
      const upload: Upload = { kind, version, compatible, ...begun(lengthBytes) }
      return await receive(bytes, upload, {
        encryptionKey,
        check: (kept) => checkExpected(kept, wish),
        file: (kept, claim) => publish(parts, wish, { kept, claim }),
      })
    },
    async receiveDelta(bytes, lengthBytes, wish) {
      const { from, version } = wish
      const upload: Upload = { kind: 'delta', version, compatible: undefined, ...begun(lengthBytes) }
      const update = deltas.requirePlace(from, version)
      return await receive(bytes, upload, {
        encryptionKey: update.encryptionKey,
        check(kept) {
          checkAnnounced(kept, wish)
          if (kept.sizeBytes < update.sizeBytes) return
          throw new Fault('bad_upload', 'The delta is not smaller than its update: nobody would fetch it.')
        },
        file: (kept, claim) => publishDelta(parts, wish, { kept, claim }),
      })
    },
  }
}

interface Receiving<Filed extends { isNew: boolean }> {
  upload: Upload
  filing: Filing<Filed>
  /** Called when its release is filed, or is not going to be. */
  onTaken(): void
}

async function receiveFile<Filed extends { isNew: boolean }>(
  parts: PublishingParts,
  bytes: AsyncIterable<Uint8Array>,
  { filing, onTaken, upload }: Receiving<Filed>,
): Promise<Filed> {
  const { blobs, claims } = parts
  // Before anything of it is written: who dies then leaves nothing that nobody knows of.
  const file = blobs.newName()
  const claim = await claims.begin(file)
  let isFiled = false
  try {
    const incoming = await blobs.begin(upload.lengthBytes, file)
    try {
      await store(parts, bytes, { upload, encryptionKey: filing.encryptionKey, incoming })
      const kept = await incoming.keep(filing.check)
      const filed = await filing.file(kept, claim)
      isFiled = filed.isNew
      return filed
    } finally {
      await incoming.drop()
    }
  } finally {
    onTaken()
    await claim.leave(isFiled)
  }
}

async function store(
  parts: PublishingParts,
  bytes: AsyncIterable<Uint8Array>,
  { encryptionKey, incoming, upload }: { upload: Upload; encryptionKey: string | undefined; incoming: Incoming },
): Promise<void> {
  const { mostBytes } = parts.limits
  const proof = encryptionKey === undefined ? undefined : parts.proofOf(encryptionKey)
  for await (const piece of paced(bytes, parts)) {
    upload.bytes += piece.length
    if (upload.bytes > mostBytes) throw tooLarge(mostBytes)
    proof?.take(piece)
    await incoming.write(piece)
  }
  if (upload.bytes === 0) throw new Fault('bad_upload', 'the upload is empty')
  proof?.end()
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
  return await keptOnly(kept, onGone, async () => {
    const isNew = await releases.publish({ version, compatible, ...one, signed: signed?.says, claim: claim.prove })
    const release = releases.get(releaseKey(wish))
    if (!release) throw new TypeError('a release is gone while it is published')
    return { file: packageOf(release, kind)?.file, filed: { release, isNew } }
  })
}

async function publishDelta(
  { deltas, onGone }: PublishingParts,
  { from, version }: DeltaWish,
  { claim, kept }: { kept: KeptFile; claim: Claim },
) {
  return await keptOnly(kept, onGone, async () => {
    const filename = deltaFileName(from, version)
    const filed = await deltas.publish({ version, from, filename, kept, claim: claim.prove })
    return { file: filed.record.file, filed }
  })
}

/** Files an upload, and removes the bytes that were kept for it unless they are what was filed. */
async function keptOnly<Filed>(
  kept: KeptFile,
  onGone: (file: string) => void,
  file: () => Promise<{ file: string | undefined; filed: Filed }>,
): Promise<Filed> {
  let isUsed = false
  try {
    const done = await file()
    isUsed = done.file === kept.file
    return done.filed
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
function checkAnnounced({ checksum }: KeptFile, wish: Pick<PublishWish, 'checksum'>): void {
  if (wish.checksum !== undefined && wish.checksum !== checksum)
    throw new Fault('checksum_mismatch', `The file has the SHA-256 ${checksum}, and ${wish.checksum} was announced.`)
}

/** @throws Fault `checksum_mismatch` */
function checkExpected(kept: KeptFile, wish: PublishWish): void {
  const { checksum, sizeBytes } = kept
  const { signed } = wish
  checkAnnounced(kept, wish)
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
