/** What the update server needs of the world: a place for its records, one for its files, and proofs of what is published. */
import { type Static, Type } from 'typebox'
import { Fault } from '#kit/pure/fault.ts'
import type { InTurn } from '#kit/pure/pace.ts'

const strict = { additionalProperties: false }
const orNull = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()])
const text = Type.String()
const instant = Type.Integer()

export const channels = ['stable', 'beta'] as const
export type Channel = (typeof channels)[number]
const channel = Type.Enum([...channels])

/** What became of a version at an installation; `null`: nothing was reported. */
export const outcomes = ['applied', 'rolled_back', 'failed'] as const
export type Outcome = (typeof outcomes)[number]

/** One release at one installation. */
const delivery = Type.Object(
  {
    version: text,
    /** Of an image: the kind of board that it is for. */
    compatible: Type.Optional(text),
    fetchedAt: orNull(instant),
    outcome: orNull(Type.Enum([...outcomes])),
    reportedAt: orNull(instant),
    step: orNull(text),
    reason: orNull(text),
  },
  strict,
)
export type Delivery = Static<typeof delivery>

/** `pending` until somebody has decided. */
export const installationStates = ['pending', 'enabled', 'disabled'] as const

/** As it is kept. Instants are epoch milliseconds. */
export const installationRecord = Type.Object(
  {
    id: text,
    state: Type.Enum([...installationStates]),
    name: orNull(text),
    /** Set by an administrator: goes before the one that it asks for. */
    channel: orNull(channel),
    registeredAt: instant,
    /** Network that registered it. */
    registeredFrom: text,
    seenAt: instant,
    address: text,
    version: orNull(text),
    build: orNull(text),
    arch: orNull(text),
    askedChannel: orNull(channel),
    /** Of a board that takes images: which kind of board it is. */
    compatible: Type.Optional(text),
    /** The newest last. */
    deliveries: Type.Array(delivery),
  },
  strict,
)
export type InstallationRecord = Static<typeof installationRecord>

/** A published file. */
const packageRecord = {
  filename: text,
  /** SHA-256 of the file as it is stored, 64 hex digits. */
  checksum: text,
  /** Its name among the stored files, its own alone. */
  file: text,
  sizeBytes: Type.Integer(),
  bundleHash: orNull(text),
  /** The signed release record, base64 as it was published. */
  signed: orNull(text),
  publishedAt: instant,
}
const installerRecord = Type.Object(packageRecord, strict)
const updateRecord = Type.Object({ ...packageRecord, encryptionKey: text }, strict)
export type InstallerPackage = Static<typeof installerRecord>
export type UpdatePackage = Static<typeof updateRecord>

export const releaseStates = ['offered', 'halted', 'withdrawn', 'deleted'] as const

export const releaseRecord = Type.Object(
  {
    version: text,
    /** Of an image: the kind of board that it is for. Nobody else is offered it. */
    compatible: Type.Optional(text),
    state: Type.Enum([...releaseStates]),
    channel,
    /** Of the installations that are offered it. */
    percent: Type.Integer({ minimum: 0, maximum: 100 }),
    /** Nobody is offered a higher version. */
    isHeld: Type.Boolean(),
    /** Failures reported before do not count for a halt. */
    countsFrom: instant,
    minFrom: orNull(text),
    arch: orNull(text),
    /** What installations fetch: the archive, or the image. */
    update: orNull(updateRecord),
    installer: orNull(installerRecord),
  },
  strict,
)
export type ReleaseRecord = Static<typeof releaseRecord>

/** What turns one version into another; beside releases, so that an older server that reads them leaves it alone. */
export const deltaRecord = Type.Object(
  {
    ...{ version: text, from: text, filename: text, file: text },
    /** SHA-256 of the delta as it is stored. */
    checksum: text,
    /** SHA-256 of the archive of the version, as it is stored. */
    archive: text,
    sizeBytes: Type.Integer(),
    publishedAt: instant,
  },
  strict,
)
export type DeltaRecord = Static<typeof deltaRecord>

/** No version has a blank. */
export function deltaKey({ from, version }: Pick<DeltaRecord, 'from' | 'version'>): string {
  return `${version} ${from}`
}

/**
 * What names a release: its version, of an image with the kind of board behind it, since each kind has versions of its
 * own. Neither may have an `@` in it.
 */
export function releaseKey({ compatible, version }: { version: string; compatible?: string | undefined }): string {
  return compatible === undefined ? version : `${version}@${compatible}`
}

export const artifactTypes = ['command_set', 'web_service', 'database_artifact'] as const
export type ArtifactType = (typeof artifactTypes)[number]

export const artifactRecord = Type.Object(
  {
    type: Type.Enum([...artifactTypes]),
    ...{ filename: text, name: text, description: text, version: text, user: text, file: text, checksum: text },
    tags: Type.Array(text),
    rating: orNull(Type.Number()),
    sizeBytes: Type.Integer(),
    modifiedAt: instant,
  },
  strict,
)
export type ArtifactRecord = Static<typeof artifactRecord>

/** A session of the panel. */
export const sessionRecord = Type.Object(
  {
    /** SHA-256 of its token. */
    hash: text,
    username: text,
    /** SHA-256 of the hash of the password that it began with: with another password it is over. */
    password: text,
    beganAt: instant,
  },
  strict,
)
export type SessionRecord = Static<typeof sessionRecord>

/** An upload under way. */
export const claimRecord = Type.Object(
  {
    /** The file that is written. */
    file: text,
    /** The daemon that writes it. */
    daemon: text,
    beganAt: instant,
  },
  strict,
)
export type ClaimRecord = Static<typeof claimRecord>

/** What has been written, or what another daemon on the same store has written. */
export interface Changed<Record> {
  changed: readonly Record[]
  /** Their keys. */
  removed: readonly string[]
}

/**
 * Keeps records. Methods are called within `inTurn`, at most one of them in each turn; what it was given is on the disk
 * when it resolves. @throws Fault `store_write_failed`, `store_unreachable`; `store_unsure` if it may have been written
 */
export interface Keeper {
  /**
   * Runs a change after all earlier ones, and while no other daemon on the same store runs one. What others have written
   * is known here before it begins.
   */
  inTurn: InTurn
  saveInstallations(installations: Changed<InstallationRecord>): Promise<void>
  /** @param endedClaim file of the claim under which a release was uploaded: it ends with it */
  saveReleases(releases: Changed<ReleaseRecord>, endedClaim?: string): Promise<void>
  /** @param endedClaim as of a release */
  saveDeltas(deltas: Changed<DeltaRecord>, endedClaim?: string): Promise<void>
  saveArtifact(record: ArtifactRecord): Promise<void>
  removeArtifact(record: Pick<ArtifactRecord, 'type' | 'filename'>): Promise<void>
  saveSessions(sessions: Changed<SessionRecord>): Promise<void>
  saveClaims(claims: Changed<ClaimRecord>): Promise<void>
}

/** Whether a change may have been written though it failed: the connection broke at its very end. */
export function isUnsure(fault: unknown): boolean {
  return fault instanceof Fault && fault.code === 'store_unsure'
}

export function artifactKey({ filename, type }: Pick<ArtifactRecord, 'filename' | 'type'>): string {
  return `${type}/${filename}`
}

/** A file that is being taken in; nothing of it is left unless it is kept. */
export interface Incoming {
  /** The bytes stay as they are until the file is kept or dropped. @throws Fault `no_room` */
  write(bytes: Uint8Array): Promise<void>
  /**
   * All of it is on the disk when it resolves.
   * @param check throws if it is not what was expected: it is not kept then
   */
  keep(check?: (kept: KeptFile) => void): Promise<KeptFile>
  /** Does nothing once it is kept. */
  drop(): Promise<void>
}

export interface KeptFile {
  file: string
  checksum: string
  sizeBytes: number
}

/** A stored file that is being read. */
export interface Outgoing {
  /** Fills the buffer with the bytes that follow, or a part of it. @returns how many; 0 after the last */
  read(into: Uint8Array): Promise<number>
  /** May be called twice. */
  close(): Promise<void>
}

/** Keeps files. */
export interface Blobs {
  /** A name that no other file has or had. */
  newName(): string
  /**
   * @param expectedBytes undefined if it is not known
   * @param file its name, a new one by default
   * @throws Fault `no_room` if there is no room for so many
   */
  begin(expectedBytes: number | undefined, file?: string): Promise<Incoming>
  /** Whole or unfinished; does nothing if it is gone. */
  remove(file: string): Promise<void>
  /** Bytes of a file from `start` to `end`, both included. @throws Fault `file_lost` */
  read(file: string, range: { start: number; end: number }): Promise<Outgoing>
}

/** Proves an encrypted archive while it comes. */
export interface ArchiveProof {
  /** @throws Fault of the container */
  take(bytes: Uint8Array): void
  /** @throws Fault of the container, if it is not whole */
  end(): void
}

/** What a signed release record says. */
export interface SignedRelease {
  version: string
  checksum: string
  sizeBytes: number
  bundleHash: string | null
  minFrom: string | null
  arch: string | null
  /** Of an image. */
  compatible?: string | undefined
}

/** A signature as a shell script can prove it with openssl; all of it base64. */
export interface SignatureProof {
  /** Ed25519, SubjectPublicKeyInfo. */
  publicKey: string
  /** What the signature is over; names the SHA-256 of the file as `"sha256":"..."`. */
  signed: string
  signature: string
}
