/** Records as a store keeps them: JSON by kind and key, in which the keys of archives are sealed. */
import type { Static, TSchema } from 'typebox'
import { createReader } from '#kit/http/check.ts'
import type { InTurn } from '#kit/pure/pace.ts'
import type { Seal } from '#kit/store/sealing.ts'
import {
  artifactKey,
  artifactRecord,
  type Changed,
  claimRecord,
  deltaKey,
  deltaRecord,
  installationRecord,
  type Keeper,
  type ReleaseRecord,
  releaseKey,
  releaseRecord,
  sessionRecord,
} from '../core/ports.ts'

/** What is asked of records is answered from memory. */
const SCHEMAS = {
  installation: installationRecord,
  release: releaseRecord,
  delta: deltaRecord,
  artifact: artifactRecord,
  session: sessionRecord,
  claim: claimRecord,
} as const

type Kind = keyof typeof SCHEMAS
export type RecordOf<Of extends Kind> = Static<(typeof SCHEMAS)[Of]>

export const kinds = Object.keys(SCHEMAS) as readonly Kind[]

/** A record to be written; null: it is removed. */
export interface Row {
  kind: string
  key: string
  record: string | null
  /** Of what was read: grows with each change. */
  revision?: unknown
}

/** Where records are written. */
export interface RecordStore {
  /** As that of a keeper. */
  inTurn: InTurn
  /** Writes all of them or none, within a turn and at its end. @throws as a keeper */
  put(rows: readonly Row[]): Promise<void>
}

export type Stored = { [Of in Kind]: RecordOf<Of>[] }
/** Records that are already there, by kind. */
export const nothingStored = (): Stored => ({
  ...{ installation: [], release: [], delta: [], artifact: [], session: [], claim: [] },
})

/** Reads records of a store. */
export interface RecordReader {
  /** Adds it to the others of its kind; one of a kind that is not known here is left out. @throws what is wrong with it */
  add(to: Stored, kind: string, text: string): void
}

export function recordReader(seal: Seal): RecordReader {
  const checks = new Map<string, (value: unknown) => unknown>(
    Object.entries(SCHEMAS).map(([kind, schema]) => [kind, createReader(schema as TSchema)]),
  )
  return {
    add(to, kind, text) {
      const record = checks.get(kind)?.(JSON.parse(text))
      if (record === undefined) return
      const all = to[kind as Kind] as unknown[]
      all.push(kind === 'release' ? opened(record as ReleaseRecord, seal) : record)
    },
  }
}

/** Keeps records in a store. */
export function keeperOf(store: RecordStore, seal: Seal): Keeper {
  const put = (rows: readonly Row[]) => store.put(rows)
  return {
    inTurn: (change) => store.inTurn(change),
    saveInstallations: (installations) => put(rowsOf('installation', installations, ({ id }) => id)),
    saveReleases: ({ changed, removed }, endedClaim) =>
      put([
        ...rowsOf('release', { changed: changed.map((record) => sealed(record, seal)), removed }, releaseKey),
        ...endOf(endedClaim),
      ]),
    saveDeltas: (deltas, endedClaim) => put([...rowsOf('delta', deltas, deltaKey), ...endOf(endedClaim)]),
    saveArtifact: (record) => put(rowsOf('artifact', { changed: [record], removed: [] }, artifactKey)),
    removeArtifact: (record) => put([{ kind: 'artifact', key: artifactKey(record), record: null }]),
    saveSessions: (sessions) => put(rowsOf('session', sessions, ({ hash }) => hash)),
    saveClaims: (claims) => put(rowsOf('claim', claims, ({ file }) => file)),
  }
}

function endOf(claim: string | undefined): Row[] {
  return claim === undefined ? [] : [{ kind: 'claim', key: claim, record: null }]
}

function rowsOf<Of extends Kind>(
  kind: Of,
  { changed, removed }: Changed<RecordOf<Of>>,
  keyOf: (record: RecordOf<Of>) => string,
): Row[] {
  return [
    ...changed.map((record) => ({ kind, key: keyOf(record), record: JSON.stringify(record) })),
    ...removed.map((key) => ({ kind, key, record: null })),
  ]
}

/** Bound to its release: the key of one does not open as that of another. */
const boundTo = (record: ReleaseRecord) => `release ${releaseKey(record)}`

function sealed(record: ReleaseRecord, seal: Seal): ReleaseRecord {
  const { update } = record
  if (update === null) return record
  return { ...record, update: { ...update, encryptionKey: seal.close(update.encryptionKey, boundTo(record)) } }
}

function opened(record: ReleaseRecord, seal: Seal): ReleaseRecord {
  const { update } = record
  if (update === null) return record
  return { ...record, update: { ...update, encryptionKey: seal.open(update.encryptionKey, boundTo(record)) } }
}
