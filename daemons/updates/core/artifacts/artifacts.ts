/** The artifacts: files of JSON that installations take over, by type, found by their tags and words. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  type ArtifactRecord,
  type ArtifactType,
  artifactKey,
  artifactTypes,
  type Blobs,
  type Changed,
  isUnsure,
  type Keeper,
  type KeptFile,
} from '../ports.ts'

/** What is said of an artifact that is uploaded. */
export type ArtifactFacts = Pick<
  ArtifactRecord,
  'type' | 'filename' | 'name' | 'description' | 'version' | 'tags' | 'user'
>

export interface ArtifactSearch {
  /** One of them is enough. */
  tags?: readonly string[] | undefined
  /** A part of name, description or file name, whatever its case. */
  text?: string | undefined
}

interface ArtifactParts {
  clock: Clock
  keeper: Pick<Keeper, 'inTurn' | 'saveArtifact' | 'removeArtifact'>
  blobs: Pick<Blobs, 'newName' | 'begin' | 'remove'>
  records: readonly ArtifactRecord[]
  most: number
  /** This file is not needed any more. */
  onGone(file: string): void
}

export interface Artifacts {
  /** Of one type, or all; by name. */
  list(type?: ArtifactType): ArtifactRecord[]
  search(type: ArtifactType, wish: ArtifactSearch): ArtifactRecord[]
  /** @throws Fault `bad_filename`, `unknown_artifact` */
  require(type: ArtifactType, filename: string): ArtifactRecord
  /**
   * @param bytes checked by the schema of its type
   * @throws Fault `bad_filename`, `artifact_exists`, `too_many_artifacts`, `no_room`
   */
  put(facts: ArtifactFacts, bytes: Uint8Array, mayOverwrite: boolean): Promise<ArtifactRecord>
  /** @throws Fault `unknown_artifact` */
  remove(type: ArtifactType, filename: string): Promise<void>
  /** Takes over what another daemon wrote. */
  follow(artifacts: Changed<ArtifactRecord>): void
}

/** @throws Fault `unknown_type` */
export function artifactType(text: string): ArtifactType {
  const type = artifactTypes.find((one) => one === text)
  if (!type) throw new Fault('unknown_type', `There are no artifacts of this type, only ${artifactTypes.join(', ')}.`)
  return type
}

const FILENAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/

/** @throws Fault `bad_filename` */
export function checkFilename(filename: string): void {
  if (!FILENAME.test(filename))
    throw new Fault(
      'bad_filename',
      'A file name has 1 to 128 letters, digits, dots, _ or -, and no dot at its beginning.',
    )
}

export function createArtifacts(parts: ArtifactParts): Artifacts {
  const { blobs, keeper, most } = parts
  const all = new Map(parts.records.map((record) => [artifactKey(record), record]))

  function required(type: ArtifactType, filename: string): ArtifactRecord {
    checkFilename(filename)
    const record = all.get(artifactKey({ type, filename }))
    if (!record) throw new Fault('unknown_artifact', `There is no ${type} of this file name.`)
    return record
  }

  function refuseTaken({ filename, type }: ArtifactFacts, mayOverwrite: boolean): void {
    const isThere = all.has(artifactKey({ type, filename }))
    if (isThere && !mayOverwrite)
      throw new Fault('artifact_exists', `There is a ${type} ${filename} already. Say overwrite to replace it.`)
    if (!isThere && all.size >= most)
      throw new Fault('too_many_artifacts', `There are ${all.size} artifacts; artifacts.max allows ${most}.`)
  }

  const list = (type?: ArtifactType) =>
    [...all.values()]
      .filter((record) => type === undefined || record.type === type)
      .sort((one, other) => one.filename.localeCompare(other.filename, 'en'))

  return {
    list,
    require: required,
    search(type, { tags, text }) {
      const wanted = tags && new Set(tags.map(folded))
      const part = text === undefined ? undefined : folded(text)
      return list(type).filter(
        (record) =>
          (wanted === undefined || record.tags.some((tag) => wanted.has(folded(tag)))) &&
          (part === undefined ||
            [record.name, record.description, record.filename].some((words) => folded(words).includes(part))),
      )
    },
    async put(facts, bytes, mayOverwrite) {
      checkFilename(facts.filename)
      refuseTaken(facts, mayOverwrite)
      // Before its turn comes: it may take a while.
      const { checksum, file } = await keep(blobs, bytes)
      try {
        return await keeper.inTurn(async () => {
          refuseTaken(facts, mayOverwrite)
          const before = all.get(artifactKey(facts))
          const record: ArtifactRecord = {
            ...{ ...facts, file, checksum, rating: before?.rating ?? null },
            ...{ sizeBytes: bytes.length, modifiedAt: parts.clock.epochMs() },
          }
          await keeper.saveArtifact(record)
          all.set(artifactKey(record), record)
          if (before) parts.onGone(before.file)
          return record
        })
      } catch (fault) {
        if (!isUnsure(fault)) parts.onGone(file)
        throw fault
      }
    },
    remove: (type, filename) =>
      keeper.inTurn(async () => {
        const record = required(type, filename)
        await keeper.removeArtifact(record)
        all.delete(artifactKey(record))
        parts.onGone(record.file)
      }),
    follow({ changed, removed }) {
      for (const key of removed) all.delete(key)
      for (const record of changed) all.set(artifactKey(record), record)
    },
  }
}

async function keep(blobs: Pick<Blobs, 'begin'>, bytes: Uint8Array): Promise<KeptFile> {
  const incoming = await blobs.begin(bytes.length)
  try {
    await incoming.write(bytes)
    return await incoming.keep()
  } finally {
    await incoming.drop()
  }
}

function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}
