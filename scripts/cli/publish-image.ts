/**
 * `plantroom publish --image`: a firmware image, as `plantroom firmware sign` made it, as a release of its own. What it is
 * for and which version it has stands in its signed head; the record around it says that this publisher gives it out.
 */
import type { KeyObject } from 'node:crypto'
import { join } from 'node:path'
import { systemClock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { compareVersions, releaseFileName } from '#kit/pure/version.ts'
import { sha256OfFile } from '#kit/release/installed.ts'
import { type ReleaseRecord, writeRelease } from '#kit/release/record.ts'
import type { SignedRoot } from '#kit/release/root.ts'
import { exitCodes } from '#kit/run/arguments.ts'
import type { World } from './command.ts'
import { provePayload, readImage } from './firmware-file.ts'
import { progressOf, proveAsMachine, refuseClock, STALL_MS, type Target } from './publishing.ts'
import { type Push, pushRelease } from './push-release.ts'
import type { Arch } from './release-archive.ts'
import {
  lockKeys,
  newestRoots,
  type Published,
  readPublished,
  readReleaseKey,
  readRoots,
  refuseTree,
  savePublished,
} from './release-keys.ts'
import { dropSealed, proveSealed, type Sealed, sealFile, waitingImageFolder } from './sealed-release.ts'

interface ImageWish {
  image: string
  keys: string
  minFrom: string | null
  arch: Arch | null
  isSecurityFix: boolean
  validMs: number
  /** Undefined for a dry run. */
  target: Target | undefined
}

/**
 * Publishes an image.
 * @throws Fault `image_unknown`, `image_damaged` if it is none, or not whole; `version_taken`, and as a publish of an update
 */
export async function publishImage(wish: ImageWish, world: World): Promise<number> {
  refuseTree(wish.keys)
  const lock = lockKeys(wish.keys)
  try {
    const roots = newestRoots(await readRoots(wish.keys))
    const key = await readReleaseKey(wish.keys, roots.newest.signed)
    const state = await readPublished(wish.keys)
    const { images = [], releases } = state
    const nowAt = systemClock.epochMs()
    const madeAt = [...images, ...releases].map(({ at }) => at)
    refuseClock(nowAt, roots.newest, madeAt)
    const about = await proveImage(wish, images)
    state.sequence = Math.max(state.sequence + 1, roots.newest.signed.min_sequence)
    await sendImage({ wish, world, state, about, key, roots, nowAt })
    return exitCodes.fine
  } finally {
    lock.release()
  }
}

/** What an image says of itself. */
interface About {
  compatible: string
  version: string
  /** Of the whole image. */
  sha256: string
}

async function proveImage({ image, minFrom }: ImageWish, images: NonNullable<Published['images']>): Promise<About> {
  const read = await readImage(image, [])
  await provePayload(image, read)
  const { compatible, version } = read.manifest
  const highest = images
    .filter((one) => one.compatible === compatible)
    .map((one) => one.version)
    .sort(compareVersions)
    .at(-1)
  if (highest !== undefined && compareVersions(version, highest) <= 0)
    throw new Fault(
      'version_taken',
      `image ${version} for ${compatible} cannot be published: ${highest} is already. Make one of a version above it.`,
    )
  if (minFrom !== null && compareVersions(minFrom, version) > 0)
    throw new Fault('bad_usage', `--min-from is ${minFrom}, above the ${version} that is published`)
  return { compatible, version, sha256: await sha256OfFile(image) }
}

interface Session {
  wish: ImageWish
  world: World
  state: Published
  about: About
  roots: { newest: SignedRoot; carried: SignedRoot[] }
  key: KeyObject
  nowAt: number
}

async function sendImage(session: Session): Promise<void> {
  const { about, nowAt, state, wish, world } = session
  const { compatible, version } = about
  // A dry run leaves what waits alone.
  const folder = wish.target ? waitingImageFolder(wish.keys, about) : join(wish.keys, 'dry-run')
  const sealed = await sealFile({ file: wish.image, sha256: about.sha256 }, folder)
  await proveSealed(sealed).catch(async (error) => {
    await dropSealed(folder)
    throw error
  })
  world.err(`encrypted, and decrypted again: ${sealed.sizeBytes} bytes\n`)
  const push = pushOf(session, sealed)
  if (wish.target === undefined) {
    await dropSealed(folder)
    const name = releaseFileName('image', version, compatible)
    world.out(`would publish ${name}, SHA-256 ${sealed.sha256}\nnothing was uploaded or recorded: a dry run\n`)
    return
  }
  // Before anything is sent: no number is signed twice.
  await savePublished(wish.keys, state)
  await pushRelease(push, { ...wish.target, stallMs: STALL_MS, onSent: progressOf(push, world) })
  const image = { compatible, version, sequence: state.sequence, at: nowAt, sha256: sealed.sha256 }
  await savePublished(wish.keys, { ...state, images: [image, ...(state.images ?? [])] })
  await dropSealed(folder)
  world.out(`image ${version} for ${compatible} is published, number ${state.sequence}.\n`)
}

function pushOf({ about, key, nowAt, roots, state, wish }: Session, sealed: Sealed): Push {
  const { bundle, encryptionKey, file, sha256, sizeBytes } = sealed
  const { compatible, version } = about
  const record: ReleaseRecord = {
    ...{ version, compatible, sequence: state.sequence, min_from: wish.minFrom, arch: wish.arch },
    ...{ size: sizeBytes, sha256, bundle, security_fix: wish.isSecurityFix },
    ...{ issued_at: nowAt, expires: nowAt + wish.validMs },
  }
  const release = writeRelease('image', record, { keys: [key], roots: roots.carried })
  proveAsMachine('image', release, roots.carried, nowAt)
  return { kind: 'image', file, sizeBytes, sha256, version, compatible, bundle, release, encryptionKey }
}
