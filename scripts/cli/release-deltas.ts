/**
 * Deltas of a release: what turns the last ones that were published into it. Their archives are kept in the folder of keys, so
 * that the server need not open any. Each delta is applied once before it is uploaded, as a machine will.
 */
import { createReadStream, existsSync } from 'node:fs'
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '#kit/pure/fault.ts'
import { compareVersions } from '#kit/pure/version.ts'
import { decryptFile } from '#kit/release/container.ts'
import { applyDelta } from '#kit/release/delta.ts'
import { DELTA_FILE_BYTES, makeDelta } from '#kit/release/delta-making.ts'
import { unpackRelease, usualUnpackBounds } from '#kit/release/unpack.ts'
import { makeFolder, syncFolder, systemDisk } from '#kit/store/store.ts'
import type { DeltaPush } from './push-release.ts'
import type { Published } from './release-keys.ts'
import { encryptWith, type Sealed } from './sealed-release.ts'

const KEPT = 'kept'
/** Archives that are kept: machines with an older release fetch the archive. */
const MOST_KEPT = 3
/** A delta of more than this part of the archive is not worth its place. */
const MOST_PART = 0.5

interface DeltaParts {
  /** The folder of keys. */
  keys: string
  /** Where the release waits. */
  folder: string
  version: string
  sealed: Sealed
  published: Pick<Published, 'releases'>
  /** No older version may take the release. */
  minFrom: string | null
  say(sentence: string): void
}

/** @returns those that are worth it, the newest version first @throws errors of the disk */
export async function makeDeltas(parts: DeltaParts): Promise<DeltaPush[]> {
  const { folder, keys, minFrom, published, sealed, say, version } = parts
  const known = published.releases.filter(
    (one) => compareVersions(one.version, version) < 0 && existsSync(keptArchive(keys, one.version)),
  )
  const from = known.filter((one) => minFrom === null || compareVersions(one.version, minFrom) >= 0).slice(0, MOST_KEPT)
  if (from.length === 0) {
    say(`no delta to ${version}: no archive of a release before is kept in ${join(keys, KEPT)}`)
    return []
  }
  const next = join(folder, 'next')
  try {
    await unpack(sealed.archive, next, sealed.bundle)
    const made: DeltaPush[] = []
    for (const one of from) {
      const delta = await deltaFrom(one, { ...parts, next }).catch((cause) => {
        if (!(cause instanceof Fault)) throw cause
        say(`no delta from ${one.version} to ${version}: ${cause.message}`)
      })
      if (delta) made.push(delta)
    }
    return made
  } finally {
    await rm(next, { recursive: true, force: true })
  }
}

/** Keeps the archive of a release that was published, for the deltas of later ones. */
export async function keepArchive(keys: string, version: string, archive: string): Promise<void> {
  await makeFolder(join(keys, KEPT))
  await rename(archive, keptArchive(keys, version))
  const others = (await readdir(join(keys, KEPT))).flatMap((name) => /^(.+)\.tar\.gz$/.exec(name)?.[1] ?? [])
  for (const old of others.sort(compareVersions).slice(0, -MOST_KEPT)) await rm(keptArchive(keys, old))
  await syncFolder(systemDisk, join(keys, KEPT))
}

function keptArchive(keys: string, version: string): string {
  return join(keys, KEPT, `${version}.tar.gz`)
}

async function unpack(archive: string, to: string, bundle: string): Promise<void> {
  await rm(to, { recursive: true, force: true })
  await unpackRelease(createReadStream(archive), to, { bundle })
}

async function deltaFrom(
  { bundle, version: from }: Published['releases'][number],
  { folder, keys, next, say, sealed, version }: DeltaParts & { next: string },
): Promise<DeltaPush | undefined> {
  const [before, proven, plain] = [join(folder, 'before'), join(folder, 'proven'), join(folder, `from-${from}.delta`)]
  const file = `${plain}.enc`
  const key = Buffer.from(sealed.encryptionKey, 'hex')
  try {
    await unpack(keptArchive(keys, from), before, bundle)
    const { files } = await makeDelta({ before, next }, plain)
    const { sha256, sizeBytes } = await encryptWith(key, plain, file)
    const percent = ((100 * sizeBytes) / sealed.sizeBytes).toFixed(1)
    if (sizeBytes > MOST_PART * sealed.sizeBytes) {
      say(`no delta from ${from} to ${version}: it would have ${percent} % of the archive`)
      return undefined
    }
    const bounds = { unpackedBytes: usualUnpackBounds.unpackedBytes, fileBytes: DELTA_FILE_BYTES }
    await applyDelta(decryptFile(file, key), { before, folder: proven, bundle: sealed.bundle }, bounds)
    say(`delta from ${from}: ${sizeBytes} bytes, ${percent} % of the archive, ${files} files; applied and proven`)
    return { file, sizeBytes, sha256, version, from }
  } finally {
    for (const path of [before, proven, plain]) await rm(path, { recursive: true, force: true })
  }
}
