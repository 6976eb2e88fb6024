/** The artifacts: files of JSON that installations take over, by type, found by their tags and words. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import {
  type ArtifactRecord,
  type ArtifactType,
  artifactTypes,
  type Blobs,
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
  keeper: Pick<Keeper, 'saveArtifact' | 'removeArtifact'>
  blobs: Pick<Blobs, 'begin' | 'remove'>
  records: readonly ArtifactRecord[]
  most: number
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
  const all = new Map(parts.records.map((record) => [keyOf(record), record]))
  const inTurn = createSerialTurn()

  function required(type: ArtifactType, filename: string): ArtifactRecord {
    checkFilename(filename)
    const record = all.get(keyOf({ type, filename }))
    if (!record) throw new Fault('unknown_artifact', `There is no ${type} of this file name.`)
    return record
  }

  function refuseTaken({ filename, type }: ArtifactFacts, mayOverwrite: boolean): void {
    const isThere = all.has(keyOf({ type, filename }))
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
    put: (facts, bytes, mayOverwrite) =>
      inTurn(async () => {
        checkFilename(facts.filename)
        refuseTaken(facts, mayOverwrite)
        const before = all.get(keyOf(facts))
        const { checksum, file } = await keep(blobs, bytes)
        const record: ArtifactRecord = {
          ...{ ...facts, file, checksum, rating: before?.rating ?? null },
          ...{ sizeBytes: bytes.length, modifiedAt: parts.clock.epochMs() },
        }
        try {
          await keeper.saveArtifact(record)
        } catch (fault) {
          await blobs.remove(file)
          throw fault
        }
        all.set(keyOf(record), record)
        if (before) await blobs.remove(before.file)
        return record
      }),
    remove: (type, filename) =>
      inTurn(async () => {
        const record = required(type, filename)
        await keeper.removeArtifact(record)
        all.delete(keyOf(record))
        await blobs.remove(record.file)
      }),
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

function keyOf({ filename, type }: Pick<ArtifactRecord, 'filename' | 'type'>): string {
  return `${type}/${filename}`
}

function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}
