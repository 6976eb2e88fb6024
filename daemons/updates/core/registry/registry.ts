/** The installations: who is known, who is enabled, when each was seen, and what came of its updates. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import {
  type Changed,
  type Channel,
  type Delivery,
  type InstallationRecord,
  type Keeper,
  type Outcome,
  releaseKey,
} from '../ports.ts'

export interface RegistryBounds {
  /** New ids that an address may bring. */
  perAddressPerHour: number
  /** Addresses that are counted so. */
  addresses: number
  /** Enabled and disabled ones. */
  most: number
  pendingMax: number
  /** One that nobody enabled and that was not seen for so long is forgotten. */
  pendingMs: number
  /** How often what was seen is written. */
  writeMs: number
}

/** What an installation says of itself. */
export interface Sighting {
  version?: string | undefined
  build?: string | undefined
  arch?: string | undefined
  channel?: Channel | undefined
  /** Of a board that takes images: which kind of board it is. */
  compatible?: string | undefined
}

/** An update, or an image for a kind of board. */
export type ReleaseName = Pick<Delivery, 'version' | 'compatible'>

/** What came of a release. */
export interface Report extends ReleaseName {
  outcome: Outcome
  step: string | null
  reason: string | null
}

export interface InstallationChange {
  enabled?: boolean
  name?: string | null
  channel?: Channel | null
  /** Versions that it rolled back from may be offered to it again. */
  retry?: boolean
}

interface RegistryParts {
  clock: Clock
  keeper: Pick<Keeper, 'inTurn' | 'saveInstallations'>
  records: readonly InstallationRecord[]
  bounds: RegistryBounds
  /** Who an address counts as; undefined: it is not bounded by itself. */
  shareOf(address: string): string | undefined
  /** The site that an address belongs to: one site has many addresses. */
  siteOf(address: string): string
  /** New ids that were not taken in. */
  onRefused(why: 'address' | 'full'): void
  /** What was seen could not be written: it is tried again. */
  onUnwritten(fault: unknown): void
}

/** Versions remembered of one installation. */
const MOST_DELIVERIES = 8

/** What was noted of releases at an installation and is not written yet, by their keys. */
type Notes = ReadonlyMap<string, Note>
type Note = ReleaseName & Partial<Delivery>

/** All installations. They are in memory; what changes is written together. */
export class Registry {
  readonly #parts: RegistryParts
  readonly #all: Map<string, InstallationRecord>
  /** Those of them that wait to be enabled. */
  readonly #waiting: Map<string, InstallationRecord>
  readonly #registrations: ReturnType<typeof createRegistrations>
  /** What is not written yet, by installation. */
  #changed = new Map<string, Notes>()
  #queued: Promise<void> | undefined
  #timer: Timer | undefined

  constructor(parts: RegistryParts) {
    this.#parts = parts
    this.#all = new Map(parts.records.map((record) => [record.id, record]))
    this.#waiting = new Map(parts.records.filter(({ state }) => state === 'pending').map((one) => [one.id, one]))
    this.#registrations = createRegistrations(parts.clock, parts.bounds)
  }

  /**
   * The enabled installation of this id. An unknown one is registered, within the bounds, and not enabled.
   * @param id undefined if none was sent
   * @throws Fault `unauthorized`, the same whatever is the matter
   */
  require(id: string | undefined, address: string, says: Sighting = {}): InstallationRecord {
    if (id === undefined) throw notEnabled()
    const known = this.#all.get(id) ?? this.#register(id, address)
    const record = known && this.#saw(known, address, says)
    if (record?.state === 'enabled') return record
    throw notEnabled()
  }

  /**
   * Notes what was reported, and resolves when it is written; of one that reports again and again it is written with what
   * else was seen.
   * @returns false if that was known
   */
  async report(id: string, { outcome, reason, step, ...name }: Report): Promise<boolean> {
    const { deliveries = [] } = this.#all.get(id) ?? {}
    const last = deliveries.find((one) => releaseKey(one) === releaseKey(name))
    if (last?.outcome === outcome && last.step === step && last.reason === reason) return false
    const nowAt = this.#parts.clock.epochMs()
    const isOften = deliveries.some(
      ({ reportedAt }) => reportedAt !== null && nowAt - reportedAt < this.#parts.bounds.writeMs,
    )
    this.#note(id, { ...name, outcome, step, reason, reportedAt: nowAt })
    if (!isOften) await this.#writeInTurn()
    return true
  }

  /** All of a release was sent to it. */
  fetched(id: string, name: ReleaseName): void {
    this.#note(id, { ...name, fetchedAt: this.#parts.clock.epochMs() })
  }

  /** Registered last first. */
  list(): InstallationRecord[] {
    return [...this.#all.values()].reverse()
  }

  get(id: string): InstallationRecord | undefined {
    return this.#all.get(id)
  }

  counts(): { pending: number; enabled: number; disabled: number } {
    const many = { pending: 0, enabled: 0, disabled: 0 }
    for (const { state } of this.#all.values()) many[state]++
    return many
  }

  /** Changes all of them or none. @throws Fault `unknown_installation`, `too_many_installations` */
  change(ids: readonly string[], wish: InstallationChange): Promise<InstallationRecord[]> {
    return this.#parts.keeper.inTurn(async () => {
      const before = ids.map((id) => this.#required(id))
      if (wish.enabled !== undefined) this.#refuseMore(before)
      await this.#save(
        before.map((record) => changedBy(record, wish)),
        [],
      )
      // What was seen meanwhile stays.
      return ids.map((id) => this.#put(changedBy(this.#required(id), wish)))
    })
  }

  /** Takes over what another daemon wrote; what was seen here since stays. */
  follow({ changed, removed }: Changed<InstallationRecord>): void {
    for (const record of changed) {
      const [own, notes] = [this.#all.get(record.id), this.#changed.get(record.id)]
      // It was forgotten here, and decided on there.
      if (!own && notes && record.state === 'pending') continue
      this.#set(own && notes ? merged(record, own, notes) : record)
    }
    // One that was seen here since is written again.
    for (const id of removed) if (!this.#changed.has(id)) this.#drop(id)
  }

  start(): void {
    this.#timer = this.#parts.clock.every(this.#parts.bounds.writeMs, () => this.#look())
  }

  /** Writes what was seen. */
  async stop(): Promise<void> {
    this.#timer?.cancel()
    await this.#writeInTurn()
  }

  /** Most say what they said before: a new record for each would outlive the young generation of V8, and fill the old one. */
  #saw(record: InstallationRecord, address: string, says: Sighting): InstallationRecord {
    const nowAt = this.#parts.clock.epochMs()
    if (record.address !== address || !saysAgain(record, says)) return this.#put(seen(record, { address, says, nowAt }))
    record.seenAt = nowAt
    if (!this.#changed.has(record.id)) this.#changed.set(record.id, NO_NOTES)
    return record
  }

  #put(record: InstallationRecord, note?: Note): InstallationRecord {
    this.#set(record)
    const notes = this.#changed.get(record.id) ?? NO_NOTES
    this.#changed.set(record.id, note ? withNote(notes, note) : notes)
    return record
  }

  #set(record: InstallationRecord): void {
    this.#all.set(record.id, record)
    if (record.state === 'pending') this.#waiting.set(record.id, record)
    else if (this.#waiting.size > 0) this.#waiting.delete(record.id)
  }

  #forget(id: string): void {
    this.#drop(id)
    this.#changed.set(id, NO_NOTES)
  }

  #drop(id: string): void {
    this.#all.delete(id)
    this.#waiting.delete(id)
  }

  #required(id: string): InstallationRecord {
    const record = this.#all.get(id)
    if (!record) throw new Fault('unknown_installation', 'There is no installation of this id.')
    return record
  }

  #register(id: string, address: string): InstallationRecord | undefined {
    const share = this.#parts.shareOf(address)
    if (share !== undefined && !this.#registrations.take(share, this.#parts.siteOf(address))) {
      this.#parts.onRefused('address')
      return undefined
    }
    this.#makeRoom(1)
    const nowAt = this.#parts.clock.epochMs()
    return this.#put({
      ...{ id, state: 'pending', name: null, channel: null, registeredAt: nowAt, registeredFrom: share ?? 'trusted' },
      ...{ seenAt: nowAt, address, version: null, build: null, arch: null, askedChannel: null, deliveries: [] },
    })
  }

  /**
   * When the waiting list is full, the site with the most entries loses its oldest.
   * @param places that have to be free
   */
  #makeRoom(places: number): void {
    const { bounds, onRefused, siteOf } = this.#parts
    while (this.#waiting.size > 0 && this.#waiting.size + places > bounds.pendingMax) {
      onRefused('full')
      const [most = []] = [...Map.groupBy(this.#waiting.values(), ({ address }) => siteOf(address)).values()].toSorted(
        (one, other) => other.length - one.length,
      )
      const [oldest] = most.toSorted((one, other) => one.registeredAt - other.registeredAt)
      if (oldest) this.#forget(oldest.id)
    }
  }

  /** @throws Fault `too_many_installations` */
  #refuseMore(those: readonly InstallationRecord[]): void {
    const { disabled, enabled } = this.counts()
    const more = those.filter(({ state }) => state === 'pending').length
    if (more === 0 || enabled + disabled + more <= this.#parts.bounds.most) return
    throw new Fault(
      'too_many_installations',
      `There are ${enabled + disabled} installations; registration.max allows ${this.#parts.bounds.most}.`,
    )
  }

  #note(id: string, note: Note): void {
    const record = this.#all.get(id)
    if (record) this.#put({ ...record, deliveries: noted(record.deliveries, note) }, note)
  }

  #look(): void {
    const { bounds, clock, onUnwritten } = this.#parts
    const since = clock.epochMs() - bounds.pendingMs
    for (const { id, seenAt, state } of this.#all.values()) if (state === 'pending' && seenAt < since) this.#forget(id)
    void this.#writeInTurn().catch(onUnwritten)
  }

  /** Whoever comes while a write waits for its turn shares it. */
  #writeInTurn(): Promise<void> {
    if (this.#queued !== undefined) return this.#queued
    const queued = this.#parts.keeper
      .inTurn(() => {
        this.#queued = undefined
        return this.#write()
      })
      .finally(() => {
        if (this.#queued === queued) this.#queued = undefined
      })
    this.#queued = queued
    return queued
  }

  async #write(): Promise<void> {
    // Other daemons registered some too.
    this.#makeRoom(0)
    const ids = [...this.#changed.keys()]
    if (ids.length === 0) return
    await this.#save(
      ids.flatMap((id) => this.#all.get(id) ?? []),
      ids.filter((id) => !this.#all.has(id)),
    )
  }

  async #save(changed: readonly InstallationRecord[], removed: readonly string[]): Promise<void> {
    const ids = [...changed.map(({ id }) => id), ...removed]
    const taken = ids.map((id) => [id, this.#changed.get(id) ?? NO_NOTES] as const)
    for (const id of ids) this.#changed.delete(id)
    try {
      await this.#parts.keeper.saveInstallations({ changed, removed })
    } catch (fault) {
      for (const [id, notes] of taken)
        this.#changed.set(id, [...(this.#changed.get(id) ?? NO_NOTES).values()].reduce(withNote, notes))
      throw fault
    }
  }
}

const NO_NOTES: Notes = new Map()

function withNote(notes: Notes, note: Note): Notes {
  const key = releaseKey(note)
  return new Map(notes).set(key, { ...notes.get(key), ...note })
}

/** What is known of releases, and one thing more; the oldest that nobody has to remember makes room. */
function noted(deliveries: readonly Delivery[], note: Note): Delivery[] {
  const known = deliveries.find((one) => releaseKey(one) === releaseKey(note))
  const others = deliveries.filter((one) => one !== known)
  if (others.length >= MOST_DELIVERIES) {
    const spare = others.findIndex(({ outcome }) => outcome !== 'rolled_back')
    others.splice(Math.max(0, spare), 1)
  }
  return [...others, { ...(known ?? NOTHING_YET), ...note }]
}

/** What was decided is as the store has it, what was seen as the later one has it, and what was noted here is added. */
function merged(stored: InstallationRecord, own: InstallationRecord, notes: Notes): InstallationRecord {
  const { address, arch, askedChannel, build, compatible, seenAt, version } = own.seenAt > stored.seenAt ? own : stored
  const { compatible: _, ...others } = stored
  return {
    ...others,
    ...{ address, arch, askedChannel, build, seenAt, version, ...(compatible !== undefined && { compatible }) },
    deliveries: [...notes.values()].reduce<readonly Delivery[]>(noted, stored.deliveries).slice(),
  }
}

function notEnabled(): Fault {
  return new Fault(
    'unauthorized',
    'This installation gets no updates here: it is not registered and enabled. An administrator of the update server enables it.',
  )
}

function saysAgain(record: InstallationRecord, says: Sighting): boolean {
  const { arch = null, build = null, channel = null, compatible, version } = says
  if (version === undefined) return true
  const isSame = arch === record.arch && build === record.build && channel === record.askedChannel
  return isSame && version === record.version && compatible === record.compatible
}

function seen(
  record: InstallationRecord,
  { address, nowAt, says }: { address: string; nowAt: number; says: Sighting },
): InstallationRecord {
  const { arch, build, channel, compatible, version } = says
  if (version === undefined) return { ...record, seenAt: nowAt, address }
  const { compatible: _, ...others } = record
  return {
    ...others,
    ...{ seenAt: nowAt, address, version, build: build ?? null, arch: arch ?? null, askedChannel: channel ?? null },
    ...(compatible !== undefined && { compatible }),
  }
}

function changedBy(record: InstallationRecord, wish: InstallationChange): InstallationRecord {
  const { channel, enabled, name, retry } = wish
  return {
    ...record,
    ...(enabled !== undefined && { state: enabled ? ('enabled' as const) : ('disabled' as const) }),
    ...(name !== undefined && { name }),
    ...(channel !== undefined && { channel }),
    ...(retry && { deliveries: record.deliveries.filter(({ outcome }) => outcome !== 'rolled_back') }),
  }
}

const NOTHING_YET = { fetchedAt: null, outcome: null, reportedAt: null, step: null, reason: null }

const HOUR_MS = 3_600_000

/** How many new ids an address may bring: without a bound one client would fill the list of those that wait. */
function createRegistrations(clock: Pick<Clock, 'monotonicMs'>, bounds: RegistryBounds) {
  const counted = new Map<string, { site: string; sinceMs: number; many: number }>()

  /** Whoever has many addresses must not keep the others from registering: the site with the most is forgotten first. */
  function makeRoom(nowMs: number): void {
    if (counted.size < bounds.addresses) return
    for (const [share, { sinceMs }] of counted) if (nowMs - sinceMs >= HOUR_MS) counted.delete(share)
    if (counted.size < bounds.addresses) return
    const [most = []] = [...Map.groupBy(counted, ([, { site }]) => site).values()].toSorted(
      (one, other) => other.length - one.length,
    )
    const [oldest] = most
    if (oldest) counted.delete(oldest[0])
  }

  return {
    /** @param share who the address counts as @returns whether it may bring one more */
    take(share: string, site: string): boolean {
      const nowMs = clock.monotonicMs()
      const known = counted.get(share)
      if (known && nowMs - known.sinceMs < HOUR_MS) return known.many++ < bounds.perAddressPerHour
      counted.delete(share)
      makeRoom(nowMs)
      counted.set(share, { site, sinceMs: nowMs, many: 1 })
      return true
    },
  }
}
