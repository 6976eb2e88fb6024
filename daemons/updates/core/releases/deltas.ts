/**
 * Deltas of updates: what turns one version into another, made by the publisher. Each belongs to one archive; once that is
 * deleted or replaced, the delta is no longer sent, and is removed.
 */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { compareVersions } from '#kit/pure/version.ts'
import { type Changed, type DeltaRecord, deltaKey, type Keeper, type KeptFile, type UpdatePackage } from '../ports.ts'
import type { Releases } from './releases.ts'

interface DeltasParts {
  clock: Clock
  keeper: Pick<Keeper, 'inTurn' | 'saveDeltas'>
  records: readonly DeltaRecord[]
  /** Of one update. */
  most: number
  releases: Pick<Releases, 'get' | 'requireUpdate'>
  /** This file is not needed any more. */
  onGone(file: string): void
  /** Records that are of no use could not be removed: they go at the next start. */
  onUnwritten(fault: unknown): void
}

interface NewDelta {
  version: string
  from: string
  filename: string
  kept: KeptFile
  /** Of the upload. @returns its key @throws Fault `file_lost` if it was given up meanwhile */
  claim(): string
}

/** All deltas. They are in memory; each change is on the disk before it counts. */
export class Deltas {
  readonly #parts: DeltasParts
  /** By version, then by the version that it is from. */
  readonly #all = new Map<string, Map<string, DeltaRecord>>()

  constructor(parts: DeltasParts) {
    this.#parts = parts
    for (const record of parts.records) this.#put(record)
  }

  /** What turns a version into an update; undefined if there is nothing. */
  from(from: string, { version, update }: { version: string; update: UpdatePackage }): DeltaRecord | undefined {
    const found = this.#all.get(version)?.get(from)
    return found?.archive === update.checksum ? found : undefined
  }

  /** The same, to be sent. @throws Fault `unknown_release`, `release_gone` */
  require(from: string, version: string): DeltaRecord {
    const found = this.from(from, { version, update: this.#parts.releases.requireUpdate(version) })
    if (!found) throw new Fault('unknown_release', `There is no delta from ${from} to ${version}: fetch the archive.`)
    return found
  }

  /** All that lead to an update, the highest version that they are from first. */
  of(version: string, update: UpdatePackage): DeltaRecord[] {
    const all = [...(this.#all.get(version)?.values() ?? [])].filter(({ archive }) => archive === update.checksum)
    return all.sort((one, other) => compareVersions(other.from, one.from))
  }

  /**
   * Refuses one that has no place, before its first byte.
   * @returns the update that it belongs to
   * @throws Fault `unknown_release`, `release_gone`, `too_many_deltas`
   */
  requirePlace(from: string, version: string): UpdatePackage {
    const update = this.#parts.releases.requireUpdate(version)
    if (compareVersions(from, version) >= 0)
      throw new Fault('bad_version', `A delta leads to a higher version, and ${from} is not below ${version}.`)
    const others = [...(this.#all.get(version)?.keys() ?? [])].filter((one) => one !== from)
    if (others.length >= this.#parts.most)
      throw new Fault(
        'too_many_deltas',
        `There are ${others.length} deltas to ${version}; releases.deltas allows no more.`,
      )
    return update
  }

  /**
   * Files what was published, in the place of an earlier one from the same version.
   * @returns the record, and whether it is new
   * @throws Fault as `requirePlace`, and `file_lost`
   */
  publish({ claim, filename, from, kept, version }: NewDelta): Promise<{ record: DeltaRecord; isNew: boolean }> {
    const { clock, keeper, onGone } = this.#parts
    return keeper.inTurn(async () => {
      const endedClaim = claim()
      const { checksum: archive } = this.requirePlace(from, version)
      const before = this.#all.get(version)?.get(from)
      if (before?.archive === archive && before.checksum === kept.checksum) return { record: before, isNew: false }
      const record = { version, from, filename, archive, ...kept, publishedAt: clock.epochMs() }
      await keeper.saveDeltas({ changed: [record], removed: [] }, endedClaim)
      this.#put(record)
      if (before) onGone(before.file)
      return { record, isNew: true }
    })
  }

  /** Removes those whose update is gone. */
  async prune(): Promise<void> {
    const { keeper, onGone, onUnwritten } = this.#parts
    if (this.#useless().length === 0) return
    await keeper
      .inTurn(async () => {
        const gone = this.#useless()
        if (gone.length === 0) return
        await keeper.saveDeltas({ changed: [], removed: gone.map(deltaKey) })
        for (const record of gone) {
          this.#forget(deltaKey(record))
          onGone(record.file)
        }
      })
      .catch(onUnwritten)
  }

  /** Takes over what another daemon wrote. */
  follow({ changed, removed }: Changed<DeltaRecord>): void {
    for (const key of removed) this.#forget(key)
    for (const record of changed) this.#put(record)
  }

  #useless(): DeltaRecord[] {
    const all = [...this.#all.values()].flatMap((byFrom) => [...byFrom.values()])
    return all.filter(({ archive, version }) => this.#parts.releases.get(version)?.update?.checksum !== archive)
  }

  #put(record: DeltaRecord): void {
    const { from, version } = record
    const byFrom = this.#all.get(version) ?? new Map<string, DeltaRecord>()
    this.#all.set(version, byFrom.set(from, record))
  }

  #forget(key: string): void {
    const [version = '', from = ''] = key.split(' ')
    const byFrom = this.#all.get(version)
    byFrom?.delete(from)
    if (byFrom?.size === 0) this.#all.delete(version)
  }
}
