/**
 * `plantroom publish --image`: a firmware image, as `plantroom firmware sign` made it, as a release of its own. What it is
 * for and which version it has stands in its signed head; the record around it says that this publisher gives it out.
 */
import { join } from 'node:path'
import { Fault } from '#kit/pure/fault.ts'
import { compareVersions, releaseFileName } from '#kit/pure/version.ts'
import { sha256OfFile } from '#kit/release/installed.ts'
import { exitCodes } from '#kit/run/arguments.ts'
import type { World } from './command.ts'
import { provePayload, readImage } from './firmware-file.ts'
import {
  progressOf,
  type ReleaseWish,
  refuseClock,
  refuseMinFrom,
  type Signing,
  STALL_MS,
  signRelease,
  type Target,
  withKeys,
} from './publishing.ts'
import { type Push, pushRelease } from './push-release.ts'
import { type Published, savePublished } from './release-keys.ts'
import { dropSealed, type Sealed, sealFile, waitingImageFolder } from './sealed-release.ts'

interface ImageWish extends ReleaseWish {
  image: string
  keys: string
  /** Undefined for a dry run. */
  target: Target | undefined
}

/**
 * Publishes an image.
 * @throws Fault `image_unknown`, `image_damaged` if it is none, or not whole; `version_taken`, and as a publish of an update
 */
export async function publishImage(wish: ImageWish, world: World): Promise<number> {
  return await withKeys(wish.keys, async (signing) => {
    refuseClock(signing)
    const about = await proveImage(wish, signing.state.images ?? [])
    const session = { ...signing, wish, world, about }
    await (wish.target === undefined ? rehearse(session) : sendImage(session, wish.target))
    return exitCodes.fine
  })
}

/** What an image says of itself. */
interface About {
  compatible: string
  version: string
  /** Of the whole image. */
  sha256: string
}

async function proveImage(wish: ImageWish, images: NonNullable<Published['images']>): Promise<About> {
  const { image } = wish
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
  refuseMinFrom(wish, version)
  return { compatible, version, sha256: await sha256OfFile(image) }
}

interface Session extends Signing {
  wish: ImageWish
  world: World
  about: About
}

async function sendImage(session: Session, target: Target): Promise<void> {
  const { about, nowAt, state, wish, world } = session
  const { compatible, version } = about
  const folder = waitingImageFolder(wish.keys, about)
  const push = pushOf(session, await sealImage(session, folder))
  // Before anything is sent: no number is signed twice.
  await savePublished(wish.keys, state)
  await pushRelease(push, { ...target, stallMs: STALL_MS, onSent: progressOf(push, world) })
  const image = { compatible, version, sequence: state.sequence, at: nowAt, sha256: push.sha256 }
  await savePublished(wish.keys, { ...state, images: [image, ...(state.images ?? [])] })
  await dropSealed(folder)
  world.out(`image ${version} for ${compatible} is published, number ${state.sequence}.\n`)
}

/** All of it but to upload and to record; what waits is left alone. */
async function rehearse(session: Session): Promise<void> {
  const { about, wish, world } = session
  const folder = join(wish.keys, 'dry-run')
  try {
    const { sha256 } = pushOf(session, await sealImage(session, folder))
    const name = releaseFileName('image', about.version, about.compatible)
    world.out(`would publish ${name}, SHA-256 ${sha256}\nnothing was uploaded or recorded: a dry run\n`)
  } finally {
    await dropSealed(folder)
  }
}

async function sealImage({ about: { sha256 }, wish, world }: Session, folder: string): Promise<Sealed> {
  const sealed = await sealFile({ file: wish.image, sha256, bundle: sha256 }, folder)
  world.err(`encrypted, and decrypted again: ${sealed.sizeBytes} bytes\n`)
  return sealed
}

function pushOf(session: Session, { bundle, encryptionKey, file, sha256, sizeBytes }: Sealed): Push {
  const { compatible, version } = session.about
  const of = { version, compatible, sizeBytes, sha256, bundle }
  return { kind: 'image', file, ...of, release: signRelease(session, session.wish, 'image', of), encryptionKey }
}
