/** The releases: which there are, which of them are offered, and how far a rollout has come. */
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { compareVersions } from '#kit/pure/version.ts'
import {
  type Changed,
  type Channel,
  type InstallationRecord,
  type InstallerPackage,
  type Keeper,
  type ReleaseRecord,
  releaseKey,
  type SignedRelease,
  type UpdatePackage,
} from '../ports.ts'
import { offerTo } from './offer.ts'

export interface RolloutBounds {
  /** Failed of those who reported; 0: nothing is halted. */
  haltPercent: number
  /** Reports before anything is halted. */
  haltReports: number
}

export interface ReleaseChange {
  withdrawn?: boolean
  hold?: boolean
  percent?: number
  channel?: Channel
  halted?: false
}

/** What installations have done with a release. */
export interface ReleaseCounts {
  fetched: number
  applied: number
  failed: number
}

interface ReleaseParts {
  clock: Clock
  keeper: Pick<Keeper, 'inTurn' | 'saveReleases'>
  records: readonly ReleaseRecord[]
  most: number
  rollout: RolloutBounds
  installations(): readonly InstallationRecord[]
  /** Transfers of a release end; these files of it are not needed any more. */
  onGone(key: string, files: readonly string[]): void
  onHalted(key: string, counts: ReleaseCounts): void
  /** One that was halted is not any more, whatever it is now. */
  onUnhalted(key: string): void
}

export interface Published {
  version: string
  /** Of an image, which is published as an update for this kind of board. */
  compatible?: string | undefined
  update?: UpdatePackage
  installer?: InstallerPackage
  signed: SignedRelease | undefined
  /** Of the upload. @returns its key @throws Fault `file_lost` if it was given up meanwhile */
  claim(): string
}

/** All releases, by what names them (`releaseKey`). They are in memory; each change is on the disk before it counts. */
export class Releases {
  readonly #parts: ReleaseParts
  readonly #all: Map<string, ReleaseRecord>
  #sorted: ReleaseRecord[] | undefined
  #byKind: ReadonlyMap<string | undefined, readonly ReleaseRecord[]> | undefined

  constructor(parts: ReleaseParts) {
    this.#parts = parts
    this.#all = new Map(parts.records.map((record) => [releaseKey(record), record]))
  }

  /** Highest version first; deleted ones are left out. */
  list(): ReleaseRecord[] {
    this.#sorted ??= [...this.#all.values()]
      .filter(({ state }) => state !== 'deleted')
      .sort((one, other) => compareVersions(other.version, one.version))
    return this.#sorted
  }

  /** Deleted ones too. */
  get(key: string): ReleaseRecord | undefined {
    return this.#all.get(key)
  }

  /** The release that an installation should have; undefined if there is none for it. */
  latestFor(installation: InstallationRecord): ReleaseRecord | undefined {
    this.#byKind ??= Map.groupBy(this.list(), ({ compatible }) => compatible)
    return offerTo(installation, this.#byKind.get(installation.compatible) ?? [])
  }

  /** The newest installer of the stable channel. */
  latestInstaller(): { version: string; installer: InstallerPackage } | undefined {
    const found = this.list().find(
      ({ channel, installer, state }) => installer !== null && state === 'offered' && channel === 'stable',
    )
    return found?.installer ? { version: found.version, installer: found.installer } : undefined
  }

  /** The update, or the image, of this name, to be sent. @throws Fault `unknown_release`, `release_gone` */
  requireUpdate(key: string): UpdatePackage {
    const update = this.#toSend(key)?.update
    if (!update) throw new Fault('unknown_release', `There is no update ${key}.`)
    return update
  }

  /** The same of an installer. */
  requireInstaller(version: string): InstallerPackage {
    const installer = this.#toSend(version)?.installer
    if (!installer) throw new Fault('unknown_release', `There is no installer ${version}.`)
    return installer
  }

  /**
   * Files what was published.
   * @returns whether it is new: the same bytes may be published again
   * @throws Fault `bad_upload` for a kind of board that differs by case alone, `release_exists` for other bytes, `too_many_releases`, `file_lost`
   */
  publish(published: Published): Promise<boolean> {
    return this.#parts.keeper.inTurn(async () => {
      const claim = published.claim()
      this.#refuseOtherCase(published.compatible)
      const known = this.#all.get(releaseKey(published))
      const before = known && known.state !== 'deleted' ? known : undefined
      const next = filed(before ?? newRelease(published, this.#parts.clock.epochMs()), published)
      if (next === before) return false
      await this.#save([next], known ? [] : this.#forgotten(), claim)
      return true
    })
  }

  /** Boards of `panel` would never see an image for `Panel`. @throws Fault `bad_upload` */
  #refuseOtherCase(compatible: string | undefined): void {
    const isOtherCase = (one: string | undefined) =>
      one !== compatible && one?.toLowerCase() === compatible?.toLowerCase()
    const other = this.list().find((one) => isOtherCase(one.compatible))?.compatible
    if (compatible === undefined || other === undefined) return
    throw new Fault(
      'bad_upload',
      `The image is for boards of the kind ${compatible}, and others are published for ${other}.`,
    )
  }

  /** @throws Fault `unknown_release`, `release_state` */
  change(key: string, wish: ReleaseChange): Promise<ReleaseRecord> {
    return this.#parts.keeper.inTurn(async () => {
      const before = this.#required(key)
      const next = changedBy(before, wish, this.#parts.clock.epochMs())
      const isOther = (one: ReleaseRecord) => one.compatible === before.compatible && one.version !== before.version
      const others = wish.hold ? this.list().filter((one) => one.isHeld && isOther(one)) : []
      await this.#save([next, ...others.map((one) => ({ ...one, isHeld: false }))])
      if (next.state === 'withdrawn' && before.state !== 'withdrawn') this.#parts.onGone(key, [])
      return next
    })
  }

  /** @throws Fault `unknown_release` */
  remove(key: string): Promise<void> {
    return this.#parts.keeper.inTurn(async () => {
      const before = this.#required(key)
      const state = nextState(before.state, 'remove')
      await this.#save([{ ...before, state, isHeld: false, update: null, installer: null }])
      const files = [before.update, before.installer].flatMap((one) => one?.file ?? [])
      this.#parts.onGone(key, files)
    })
  }

  /** What became of every release that an installation remembers. */
  counts(): ReadonlyMap<string, ReleaseCounts> {
    const found = new Map<string, ReleaseCounts>()
    for (const { deliveries } of this.#parts.installations())
      for (const delivery of deliveries) {
        const { fetchedAt, outcome, reportedAt } = delivery
        const key = releaseKey(delivery)
        const one = found.get(key) ?? { fetched: 0, applied: 0, failed: 0 }
        found.set(key, one)
        if (fetchedAt !== null) one.fetched++
        if (outcome === 'applied') one.applied++
        // Failures of before it was offered again do not halt it once more.
        else if (outcome !== null && (reportedAt ?? 0) >= (this.#all.get(key)?.countsFrom ?? 0)) one.failed++
      }
    return found
  }

  /** Halts a release of which too many report a failure. */
  async judge(key: string): Promise<void> {
    if (!this.#tooManyFailed(key)) return
    await this.#parts.keeper.inTurn(async () => {
      const release = this.#all.get(key)
      const those = this.#tooManyFailed(key)
      if (!release || !those) return
      await this.#save([{ ...release, state: nextState(release.state, 'halt') }])
      this.#parts.onHalted(key, those)
    })
  }

  /** Takes over what another daemon wrote. */
  follow({ changed, removed }: Changed<ReleaseRecord>): void {
    for (const record of changed) {
      const key = releaseKey(record)
      if (isGone(record.state) && !isGone(this.#all.get(key)?.state)) this.#parts.onGone(key, [])
    }
    this.#put(changed, removed)
  }

  /** What is reported of it, if it is to be halted for that. */
  #tooManyFailed(key: string): ReleaseCounts | undefined {
    const { haltPercent, haltReports } = this.#parts.rollout
    if (haltPercent === 0 || this.#all.get(key)?.state !== 'offered') return undefined
    const those = this.counts().get(key)
    const reports = those ? those.applied + those.failed : 0
    return those && reports >= haltReports && those.failed * 100 >= reports * haltPercent ? those : undefined
  }

  async #save(changed: readonly ReleaseRecord[], removed: readonly string[] = [], endedClaim?: string): Promise<void> {
    await this.#parts.keeper.saveReleases({ changed, removed }, endedClaim)
    this.#put(changed, removed)
  }

  #put(changed: readonly ReleaseRecord[], removed: readonly string[]): void {
    for (const record of changed) {
      const key = releaseKey(record)
      if (record.state !== 'halted' && this.#all.get(key)?.state === 'halted') this.#parts.onUnhalted(key)
    }
    for (const key of removed) this.#all.delete(key)
    for (const record of changed) this.#all.set(releaseKey(record), record)
    this.#sorted = undefined
    this.#byKind = undefined
  }

  #required(key: string): ReleaseRecord {
    const record = this.#all.get(key)
    if (!record || record.state === 'deleted') throw new Fault('unknown_release', `There is no release ${key}.`)
    return record
  }

  #toSend(key: string): ReleaseRecord | undefined {
    const record = this.#all.get(key)
    if (isGone(record?.state)) throw new Fault('release_gone', `Release ${key} was withdrawn. Check for another one.`)
    return record
  }

  /** Releases that are deleted are remembered as long as there is room. @throws Fault `too_many_releases` */
  #forgotten(): string[] {
    const { most } = this.#parts
    if (this.#all.size < most) return []
    const gone = [...this.#all.values()].find(({ state }) => state === 'deleted')
    if (gone) return [releaseKey(gone)]
    throw new Fault('too_many_releases', `There are ${most} releases; releases.max allows no more. Delete old ones.`)
  }
}

/** Whether nobody is given any of it. */
function isGone(state: State | undefined): boolean {
  return state === 'withdrawn' || state === 'deleted'
}

function newRelease({ compatible, version }: Published, nowAt: number): ReleaseRecord {
  return {
    ...(compatible !== undefined && { compatible }),
    ...{ version, state: 'offered', percent: 100, isHeld: false, countsFrom: nowAt },
    // A prerelease, such as 1.5.0-beta.2.
    channel: version.includes('-') ? 'beta' : 'stable',
    ...{ minFrom: null, arch: null, update: null, installer: null },
  }
}

/** @returns the very release if all of it is filed already @throws Fault `release_exists` */
function filed(release: ReleaseRecord, { installer, signed, update }: Published): ReleaseRecord {
  const kind = update ? 'update' : 'installer'
  const before = release[kind]
  const next = update ?? installer
  if (before !== null && next !== undefined) {
    if (before.checksum !== next.checksum)
      throw new Fault(
        'release_exists',
        `The ${kind} ${release.version} is published with other bytes (SHA-256 ${before.checksum}). Publish the next version.`,
      )
    const isSame = (one: string | null, other: string | null) => other === null || one === other
    if (isSame(before.bundleHash, next.bundleHash) && isSame(before.signed, next.signed)) return release
    if (before.bundleHash !== null && !isSame(before.bundleHash, next.bundleHash))
      throw new Fault('release_exists', `The ${kind} ${release.version} is published with another bundle hash.`)
  }
  // What was not said the first time may be said later; what was said stays.
  const said = before && next ? { ...before, bundleHash: before.bundleHash ?? next.bundleHash } : next
  const whole = said && before ? { ...said, signed: before.signed ?? next?.signed ?? null } : said
  const rules = kind === 'update' && signed ? { minFrom: signed.minFrom, arch: signed.arch } : {}
  return { ...release, ...rules, [kind]: whole ?? null }
}

/** @throws Fault `release_state` */
function changedBy(release: ReleaseRecord, wish: ReleaseChange, nowAt: number): ReleaseRecord {
  const { channel, halted, hold, percent, withdrawn } = wish
  const next = { ...release, ...(channel && { channel }), ...(percent !== undefined && { percent }) }
  if (withdrawn === true && next.state !== 'withdrawn') next.state = nextState(next.state, 'withdraw')
  if (withdrawn === false && next.state === 'withdrawn') next.state = nextState(next.state, 'restore')
  if (halted === false && next.state === 'halted') next.state = nextState(next.state, 'resume')
  if (next.state === 'offered' && release.state !== 'offered') next.countsFrom = nowAt
  if (hold !== undefined) next.isHeld = hold
  if (next.isHeld && next.state === 'withdrawn') {
    if (hold) throw new Fault('release_state', 'A withdrawn release cannot be held. Offer it again first.')
    next.isHeld = false
  }
  return next
}

// States.

type State = ReleaseRecord['state']
type Event = 'publish' | 'halt' | 'resume' | 'withdraw' | 'restore' | 'remove'

/** `halted`: too many installations reported a failure. A deleted one is remembered, so that nobody asks for it for ever. */
export const releaseTable: Readonly<Record<State, Readonly<Partial<Record<Event, State>>>>> = {
  offered: { publish: 'offered', halt: 'halted', withdraw: 'withdrawn', remove: 'deleted' },
  halted: { publish: 'halted', resume: 'offered', withdraw: 'withdrawn', remove: 'deleted' },
  withdrawn: { publish: 'withdrawn', restore: 'offered', remove: 'deleted' },
  deleted: { publish: 'offered' },
}

/** @throws Fault `release_state` */
export function nextState(state: State, event: Event): State {
  const next = releaseTable[state][event]
  if (next === undefined)
    throw new Fault('release_state', `The release is ${state}: ${EVENTS[event]} is not possible now.`)
  return next
}

const EVENTS: Readonly<Record<Event, string>> = {
  publish: 'publishing it',
  halt: 'halting it',
  resume: 'offering it again after failures',
  withdraw: 'withdrawing it',
  restore: 'offering it again',
  remove: 'deleting it',
}
