/**
 * A release ready to be uploaded: packed, encrypted, proven by its own key, and signed. It waits in the folder of keys
 * until it is published, so that a publish that failed sends the same bytes again.
 */
import { createHash, randomBytes } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { open, readdir, readFile, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { Fault } from '#kit/pure/fault.ts'
import { CONTAINER_KEY_BYTES, containerBytes, createContainerReader, writeContainer } from '#kit/release/container.ts'
import { makeFolder, replaceFile } from '#kit/store/store.ts'
import { packRelease, type ReleaseFile } from './release-archive.ts'

const hex = Type.String({ pattern: '^[0-9a-f]{64}$' })

const sealed = Type.Object(
  {
    /** SHA-256 of the archive before it was encrypted. */
    plainSha256: hex,
    /** The bundle hash. */
    bundle: hex,
    /** As it is published. */
    encryptionKey: hex,
    sizeBytes: Type.Integer({ minimum: 1 }),
    /** SHA-256 of the container. */
    sha256: hex,
  },
  { additionalProperties: false },
)
/** An encrypted archive. */
export type Sealed = Static<typeof sealed> & {
  file: string
  /** What it was before it was encrypted. */
  archive: string
}

const WAITING = 'waiting-'

/** The folder where a version waits. */
export function waitingFolder(keys: string, version: string): string {
  return join(keys, `${WAITING}${version}`)
}

/** The folder where an image waits: no update that is published removes it. */
export function waitingImageFolder(keys: string, { compatible, version }: { compatible: string; version: string }) {
  return join(keys, `image-${WAITING}${compatible}-${version}`)
}

/**
 * Packs and encrypts, unless the same archive waits already from a publish that failed.
 * @throws Fault `bad_manifest`, and as `sealFile`
 */
export async function sealRelease(files: readonly ReleaseFile[], folder: string): Promise<Sealed> {
  await makeFolder(folder)
  const archive = join(folder, 'archive.tar.gz')
  return await sealFile({ file: archive, ...(await packRelease(files, archive)) }, folder)
}

/**
 * Encrypts a file as it is, unless it waits already from a publish that failed, and proves what came of it; if that is
 * wrong nothing of it stays.
 * @param plain `sha256` as it was when it was packed, or proven
 * @throws Fault `publish_damaged`, also if the file has changed since; those of the container; errors of the disk
 */
export async function sealFile(
  { bundle, file: archive, sha256 }: { file: string; sha256: string; bundle: string },
  folder: string,
): Promise<Sealed> {
  await makeFolder(folder)
  const file = join(folder, `${basename(archive)}.enc`)
  const waiting = await readFacts(folder)
  const isThere = waiting?.plainSha256 === sha256 && existsSync(file)
  const facts = isThere ? waiting : { ...(await encrypt(archive, file)), bundle }
  if (facts.plainSha256 !== sha256)
    throw new Fault('publish_damaged', `${archive} changed while it was published: publish it again`)
  if (!isThere) await replaceFile(join(folder, 'sealed.json'), JSON.stringify(facts))
  const made = { ...facts, file, archive }
  await proveSealed(made).catch(async (error) => {
    await dropSealed(folder)
    throw error
  })
  return made
}

async function encrypt(archive: string, to: string): Promise<Omit<Static<typeof sealed>, 'bundle'>> {
  const key = randomBytes(CONTAINER_KEY_BYTES)
  return { ...(await encryptWith(key, archive, to)), encryptionKey: key.toString('hex') }
}

/** @param to replaced; synced */
export async function encryptWith(key: Uint8Array, archive: string, to: string) {
  const [from, into] = [await open(archive, 'r'), await open(to, 'w', 0o600)]
  try {
    const facts = await writeContainer(from, into, key)
    await into.sync()
    return facts
  } finally {
    await from.close()
    await into.close()
  }
}

/** What waits; undefined if nothing does, or nothing that can be used. */
async function readFacts(folder: string): Promise<Static<typeof sealed> | undefined> {
  const text = await readFile(join(folder, 'sealed.json'), 'utf8').catch(() => undefined)
  try {
    const value: unknown = JSON.parse(text ?? '')
    return Value.Check(sealed, value) ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * Decrypts a container as it lies on the disk, by its key as it will be published: what a machine will do.
 * @throws Fault of the container; `publish_damaged` if the archive that comes out is not the one that went in
 */
async function proveSealed({ file, ...expected }: Sealed): Promise<void> {
  const reader = createContainerReader(Buffer.from(expected.encryptionKey, 'hex'))
  const [whole, plain] = [createHash('sha256'), createHash('sha256')]
  let sizeBytes = 0
  let plainBytes = 0
  const decrypted = (parts: readonly Uint8Array[]) => {
    for (const part of parts) {
      plain.update(part)
      plainBytes += part.length
    }
  }
  for await (const piece of createReadStream(file, { highWaterMark: 262_144 }) as AsyncIterable<Buffer>) {
    whole.update(piece)
    sizeBytes += piece.length
    decrypted(reader.take(piece))
  }
  decrypted(reader.end())
  const isSame =
    sizeBytes === expected.sizeBytes &&
    sizeBytes === containerBytes(plainBytes) &&
    whole.digest('hex') === expected.sha256 &&
    plain.digest('hex') === expected.plainSha256
  if (!isSame)
    throw new Fault('publish_damaged', `${file} is not what was encrypted: look at the disk, and publish again`)
}

/** Removes a release that waits in a folder. */
export async function dropSealed(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
}

/** Removes all that wait: one of them, or a later one, was published. */
export async function dropWaiting(keys: string): Promise<void> {
  for (const name of await readdir(keys)) if (name.startsWith(WAITING)) await dropSealed(join(keys, name))
}
