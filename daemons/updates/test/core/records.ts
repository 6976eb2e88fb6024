/** Records of the tests, and places that keep them in memory. */
import { fakeClock } from '#kit/clock-fake.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import {
  type Blobs,
  type DeltaRecord,
  deltaKey,
  type InstallationRecord,
  type InstallerPackage,
  type Outgoing,
  type ReleaseRecord,
  type UpdatePackage,
} from '../../core/ports.ts'
import { Registry, type RegistryBounds } from '../../core/registry/registry.ts'
import { Deltas } from '../../core/releases/deltas.ts'
import { Releases, type RolloutBounds } from '../../core/releases/releases.ts'

export function installation(more: Partial<InstallationRecord> = {}): InstallationRecord {
  return {
    ...{ id: 'a'.repeat(32), state: 'enabled', name: null, channel: null, registeredAt: 1, registeredFrom: '10.0.0.1' },
    ...{
      seenAt: 1,
      address: '10.0.0.1',
      version: '1.0.0',
      build: null,
      arch: null,
      askedChannel: null,
      deliveries: [],
    },
    ...more,
  }
}

export function file(more: Partial<UpdatePackage> = {}): InstallerPackage {
  return {
    ...{
      filename: 'x',
      checksum: 'c'.repeat(64),
      file: 'f',
      sizeBytes: 10,
      bundleHash: null,
      signed: null,
      publishedAt: 1,
    },
    ...more,
  }
}

export function release(version: string, more: Partial<ReleaseRecord> = {}): ReleaseRecord {
  return {
    ...{ version, state: 'offered', channel: 'stable', percent: 100, isHeld: false, countsFrom: 0, minFrom: null },
    ...{ arch: null, update: { ...file(), encryptionKey: 'e'.repeat(64) }, installer: null },
    ...more,
  }
}

export function delta(version: string, from: string, more: Partial<DeltaRecord> = {}): DeltaRecord {
  return {
    ...{ version, from, filename: `plantroom-${version}-from-${from}.delta.enc`, file: 'd', checksum: 'd'.repeat(64) },
    ...{ archive: file().checksum, sizeBytes: 1, publishedAt: 1 },
    ...more,
  }
}

export function registryOf(more: Partial<RegistryBounds> = {}, records: InstallationRecord[] = []) {
  const clock = fakeClock()
  const written: { changed: string[]; removed: readonly string[] }[] = []
  const refused: string[] = []
  const unwritten: unknown[] = []
  const disk = { isFull: false }
  const registry = new Registry({
    ...{ clock, records, shareOf: (address) => (address === 'trusted' ? undefined : address) },
    siteOf: (address) => address.split('.').slice(0, 3).join('.'),
    bounds: {
      ...{ most: 100, pendingMax: 100, perAddressPerHour: 1000, addresses: 1000, pendingMs: 1e9, writeMs: 1000 },
      ...more,
    },
    keeper: {
      inTurn: createSerialTurn(),
      async saveInstallations({ changed, removed }) {
        if (disk.isFull) throw new Error('full')
        written.push({ changed: changed.map(({ id }) => id), removed })
      },
    },
    onRefused: (why) => refused.push(why),
    onUnwritten: (fault) => unwritten.push(fault),
  })
  return { clock, registry, written, refused, unwritten, disk }
}

export function releasesOf(
  records: ReleaseRecord[],
  more: { rollout?: RolloutBounds; installations?: InstallationRecord[]; most?: number } = {},
) {
  const { installations = [], most = 100, rollout = { haltPercent: 0, haltReports: 1 } } = more
  const clock = fakeClock()
  const gone: { version: string; files: readonly string[] }[] = []
  const halted: string[] = []
  const disk = { isFull: false }
  const releases = new Releases({
    ...{ clock, records, most, rollout, installations: () => installations },
    keeper: {
      inTurn: createSerialTurn(),
      async saveReleases() {
        if (disk.isFull) throw new Error('full')
      },
    },
    onGone: (version, files) => gone.push({ version, files }),
    onHalted: (version) => halted.push(version),
    onUnhalted: (version) => halted.push(`not ${version}`),
  })
  return { clock, releases, gone, halted, disk }
}

/** Deltas of releases; `gone` are files that are not needed any more. */
export function deltasOf(
  releases: Releases,
  more: { records?: DeltaRecord[]; most?: number; onGone?: (file: string) => void } = {},
) {
  const { most = 2, records = [] } = more
  const gone: string[] = []
  const saved = new Map(records.map((record) => [deltaKey(record), record]))
  const unwritten: unknown[] = []
  const disk = { isFull: false }
  const deltas = new Deltas({
    ...{ clock: fakeClock(), records, most, releases },
    keeper: {
      inTurn: createSerialTurn(),
      async saveDeltas({ changed, removed }) {
        if (disk.isFull) throw new Error('full')
        for (const key of removed) saved.delete(key)
        for (const record of changed) saved.set(deltaKey(record), record)
      },
    },
    onGone: more.onGone ?? ((file) => gone.push(file)),
    onUnwritten: (fault) => unwritten.push(fault),
  })
  return { deltas, gone, saved, unwritten, disk }
}

/** Files in memory; `kept` by name. */
export function blobsOf() {
  const kept = new Map<string, Uint8Array>()
  let count = 0
  let unfinished = 0
  const blobs: Pick<Blobs, 'newName' | 'begin' | 'remove'> = {
    newName: () => `file ${++count}`,
    async begin(_, file = `file ${++count}`) {
      const pieces: Uint8Array[] = []
      let isOpen = true
      unfinished++
      const end = () => {
        if (isOpen) unfinished--
        isOpen = false
      }
      return {
        async write(bytes) {
          pieces.push(Uint8Array.from(bytes))
        },
        async keep(check) {
          const bytes = Buffer.concat(pieces)
          const found = {
            file,
            checksum: bytes.toString('hex').padStart(64, '0').slice(-64),
            sizeBytes: bytes.length,
          }
          check?.(found)
          kept.set(found.file, bytes)
          end()
          return found
        },
        drop: async () => end(),
      }
    },
    remove: async (name) => void kept.delete(name),
  }
  return { blobs, kept, unfinished: () => unfinished }
}

/** All that is read of a file, in pieces of so many bytes. */
export async function readAll(file: Outgoing, pieceBytes = 3): Promise<Buffer> {
  const [piece, all] = [Buffer.alloc(pieceBytes), [] as Buffer[]]
  for (let bytes = await file.read(piece); bytes > 0; bytes = await file.read(piece))
    all.push(Buffer.from(piece.subarray(0, bytes)))
  await file.close()
  return Buffer.concat(all)
}
