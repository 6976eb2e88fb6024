/**
 * The licence of this recorder: what it allows, and when it was asked for last. It refuses growth alone: nothing here is
 * asked on the way of a picture, and what is on stays on in every state.
 */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { Backoff, type BackoffLimits, createSerialTurn } from '#kit/pure/pace.ts'
import { counted } from '#kit/pure/text.ts'
import type { Conditions } from '#kit/records/ledger-entry.ts'
import { type Lease, type LicenceFeature, licenceFeatures, type Proven, requireOurs, termOf } from './lease.ts'
import type {
  Installation,
  LicenceAct,
  LicenceAnswer,
  LicenceFile,
  LicenceProof,
  LicenceRecord,
  LicenceServer,
} from './ports.ts'
import { type LicenceEvent, type LicenceState, licenceStateTable } from './states.ts'
import { createTimeFloor, type TimeFloor } from './time-floor.ts'

const DAY_MS = 86_400_000

/** How long a new installation has all features without the server. @source interface document 3, A, Limits */
export const PENDING_MS = 14 * DAY_MS

/** How long features go on once a lease has run out. */
export const GRACE_MS = 14 * DAY_MS

/** How often is looked whether something has ended. */
const LOOK_MS = 60_000

/** In these states the lease counts. */
const LEASED: ReadonlySet<LicenceState> = new Set(['trial', 'licensed', 'grace'])

const NOTICED = { suspended: 'suspendedThere', revoked: 'revokedThere', withdrawn: 'withdrawn' } as const

/** What everybody who is signed in may know. */
export interface LicenceView {
  state: LicenceState
  features: LicenceFeature[]
  /** Null: no limit. */
  cameras: number | null
}

/** What administrators are told beside that. Instants are epoch milliseconds. */
export interface LicenceDetails {
  lease: Lease | undefined
  termEnd: number | null
  pendingUntil: number | undefined
  graceUntil: number | undefined
  reason: string | null
  isOffline: boolean
  installationId: string
  keyId: string
}

/** What asks before it grows. */
export interface LicenceGate {
  /** Whether a feature is included now. */
  allows(feature: LicenceFeature): boolean
  /**
   * For a route, or for switching a feature on. Saving what is on already, and switching off, are never asked for.
   * @throws Fault `license_feature`
   */
  requireFeature(feature: LicenceFeature): void
  /** How many cameras there may be before one more is refused; null: any number. */
  cameraLimit(): number | null
}

/** Bounds, by the names of their settings. */
export interface LicenceLimits {
  renewMs: number
  retry: BackoffLimits
  clockSaveMs: number
}

interface LicenceParts {
  clock: Clock
  /** 0 <= n < 1 */
  chance(): number
  file: LicenceFile
  installation: Installation
  proof: LicenceProof
  /** Undefined where none is set: then a lease comes as a file. */
  server: LicenceServer | undefined
  limits: LicenceLimits
  conditions: Conditions
  /** How many cameras are there. */
  cameras(): number
  version: string
  /** The state is another, or what it allows. */
  onChange(state: LicenceState): void
}

/** Lives as long as the daemon. */
export class Licence implements LicenceGate {
  readonly #parts: LicenceParts
  readonly #floor: TimeFloor
  readonly #inTurn = createSerialTurn()
  readonly #renewal: Renewal
  #record: LicenceRecord
  #lease: Lease | undefined
  #looking: Timer | undefined

  constructor(parts: LicenceParts) {
    const { chance, clock, file, limits, server } = parts
    this.#parts = parts
    this.#record = file.record
    this.#lease = this.#storedLease()
    this.#floor = createTimeFloor(clock, file.record.latestAt)
    this.#renewal = createRenewal({
      ...{ chance, clock, limits },
      isDue: () => server !== undefined && !this.#record.isOffline && !this.#record.isGivenUp,
      leftMs: () => (this.#lease ? this.#lease.expiresAt - this.#floor.now() : Number.POSITIVE_INFINITY),
      renew: () => this.refresh(),
    })
  }

  start(): void {
    void this.#look().then(() => this.#tell())
    this.#looking = this.#parts.clock.every(LOOK_MS, () => void this.#look())
    this.#renewal.start()
  }

  async stop(): Promise<void> {
    this.#looking?.cancel()
    this.#renewal.stop()
    await this.#inTurn(async () => {})
  }

  view(): LicenceView {
    const { state } = this.#record
    const ids = licenceFeatures.map(({ id }) => id)
    if (state === 'pending') return { state, features: ids, cameras: null }
    if (!this.#lease || !LEASED.has(state)) return { state, features: [], cameras: 0 }
    const { features, limits } = this.#lease
    return { state, features: ids.filter((id) => features.includes(id)), cameras: limits.cameras }
  }

  details(): LicenceDetails {
    return detailsOf(this.#parts.installation, this.#record, this.#lease)
  }

  allows(feature: LicenceFeature): boolean {
    return this.view().features.includes(feature)
  }

  requireFeature(feature: LicenceFeature): void {
    if (!this.allows(feature)) throw featureFault(feature)
  }

  cameraLimit(): number | null {
    return this.view().cameras
  }

  /** @throws Fault `license_no_server`, `license_bad_lease`, `store_write_failed`, and as `LicenceServer.ask` */
  async activate(licenseKey: string, move: boolean): Promise<void> {
    await this.#ask('activate', { licenseKey, move })
  }

  /** @throws Fault, as `activate` */
  async refresh(): Promise<void> {
    await this.#ask('refresh')
  }

  /** Gives it up here, also where the server does not answer. @throws Fault `store_write_failed` */
  async deactivate(): Promise<void> {
    const { server } = this.#parts
    const heard = await server?.ask('deactivate', this.#signed('deactivate')).catch(() => undefined)
    const reason = heard ? null : 'The licence server was not told: the seat there stays taken until the key is moved.'
    const nothing = { lease: null, said: null, isOffline: false, isGivenUp: true, reason }
    await this.#inTurn(() => this.#turn('givenUp', nothing))
  }

  /** @param value a lease file. @throws Fault `license_bad_lease`, `store_write_failed` */
  async importLease(value: unknown): Promise<void> {
    await this.#inTurn(() => this.#takeLease(this.#parts.proof.lease(value), true))
  }

  /** For a licence without the server: signed by this installation. */
  request(): object {
    return this.#signed('offline')
  }

  /** One that was damaged, or is of another vendor's key, is as good as none. */
  #storedLease(): Lease | undefined {
    try {
      return this.#record.lease === null ? undefined : this.#parts.proof.lease(JSON.parse(this.#record.lease)).content
    } catch {
      return undefined
    }
  }

  async #put(change: Partial<LicenceRecord>): Promise<void> {
    const next = { ...this.#record, ...change, latestAt: this.#floor.now() }
    await this.#parts.file.save(next)
    this.#record = next
    this.#floor.saved()
  }

  /** Nothing of a change counts before it is on the disk. */
  async #turn(event: LicenceEvent, change: Partial<LicenceRecord> = {}): Promise<void> {
    const before = JSON.stringify(this.view())
    const state = licenceStateTable[this.#record.state][event] ?? this.#record.state
    await this.#put({ ...change, state })
    this.#lease = this.#storedLease()
    this.#tell()
    if (JSON.stringify(this.view()) !== before) this.#parts.onChange(state)
  }

  #tell(): void {
    const { conditions } = this.#parts
    const sentence = troubleOf(this.#record, this.#lease)
    if (sentence === undefined) conditions.clear('license_lacking', 'license')
    else conditions.raise({ what: 'license_lacking', where: 'license', severity: 'warning', sentence })
  }

  /** A disk that takes nothing changes no state, and is tried at the next look. */
  async #look(): Promise<void> {
    await this.#inTurn(() => this.#lookNow()).catch(() => {})
  }

  async #lookNow(): Promise<void> {
    this.#floor.raise()
    // The machine may have been off for long: a lease runs out, and then its grace.
    for (let before: LicenceState | undefined; before !== this.#record.state; ) {
      before = this.#record.state
      const event = endedBy(this.#floor.now(), this.#record, this.#lease)
      if (event !== undefined) await this.#turn(event)
    }
    if (this.#floor.unsavedMs() >= this.#parts.limits.clockSaveMs) await this.#put({})
  }

  async #takeLease({ content, text }: Proven<Lease>, isOffline: boolean): Promise<void> {
    const { installation } = this.#parts
    const { said, serial } = this.#record
    requireOurs({ content, text }, installation, { serial, text: said })
    // It says what time it was, so a clock that was ahead for a while shuts nobody out for good.
    if (text !== said) this.#floor.reset(content.issuedAt)
    const change = { lease: text, said: text, serial: content.serial, isOffline, isGivenUp: false, reason: null }
    await this.#turn(content.kind === 'trial' ? 'trialTaken' : 'leaseTaken', change)
    await this.#lookNow()
  }

  async #takeAnswer({ lease, notice }: LicenceAnswer): Promise<void> {
    const { installation, proof } = this.#parts
    if (lease !== undefined) return await this.#takeLease(proof.lease(lease), false)
    if (notice === undefined)
      throw new Fault('license_server_failed', 'The licence server gave neither a lease nor a reason why not.')
    const { content, text } = proof.notice(notice)
    requireOurs({ content, text }, installation, { serial: this.#record.serial, text: this.#record.said })
    const { reason, serial, state } = content
    await this.#turn(NOTICED[state], { lease: null, said: text, serial, isOffline: false, reason })
  }

  #signed(action: string, more: object = {}): object {
    const { cameras, clock, installation, version } = this.#parts
    const { installationId, keyId, publicKey } = installation
    return installation.sign({
      ...{ action, at: clock.epochMs(), cameras: cameras(), serial: this.#record.serial, version },
      ...{ installationId, keyId, publicKey, ...more },
    })
  }

  async #ask(act: LicenceAct, more: object = {}): Promise<void> {
    const { server } = this.#parts
    if (!server)
      throw new Fault(
        'license_no_server',
        'No licence server is set (license.server_url). Download a request, and import the lease file that you get for it.',
      )
    // Not in turn: a server that does not answer holds up no look, and no lease file.
    const answer = await server.ask(act, this.#signed(act, more))
    await this.#inTurn(() => this.#takeAnswer(answer))
    this.#renewal.succeeded()
  }
}

/** What has ended by now. */
function endedBy(now: number, { firstAt, state }: LicenceRecord, lease: Lease | undefined): LicenceEvent | undefined {
  if (state === 'pending') return now >= firstAt + PENDING_MS ? 'pendingRanOut' : undefined
  if (!LEASED.has(state)) return undefined
  // A lease that does not open any more is one that could not be renewed.
  if (!lease) return 'withdrawn'
  const term = termOf(lease)
  if (term !== null && now >= term) return lease.kind === 'trial' ? 'trialEnded' : 'termEnded'
  if (state === 'grace') return now >= lease.expiresAt + GRACE_MS ? 'graceRanOut' : undefined
  return now >= lease.expiresAt ? 'leaseRanOut' : undefined
}

function detailsOf(
  { installationId, keyId }: Installation,
  { firstAt, isOffline, reason, state }: LicenceRecord,
  lease: Lease | undefined,
): LicenceDetails {
  return {
    ...{ lease, installationId, keyId, reason, isOffline },
    termEnd: lease ? termOf(lease) : null,
    pendingUntil: state === 'pending' ? firstAt + PENDING_MS : undefined,
    graceUntil: state === 'grace' && lease ? lease.expiresAt + GRACE_MS : undefined,
  }
}

/** @returns undefined where all is well */
function troubleOf({ reason, state }: LicenceRecord, lease: Lease | undefined): string | undefined {
  const stays = 'Recording, cameras and features that are on go on; nothing new is added.'
  const why = reason === null ? '' : ` ${reason}`
  switch (state) {
    case 'grace': {
      const until = lease ? ` until ${new Date(lease.expiresAt + GRACE_MS).toISOString().slice(0, 10)}` : ''
      return `The lease has run out, and the licence server was not reached. Everything goes on${until}: look at the network, or import a lease file.`
    }
    case 'expired':
      return `The licence has ended. ${stays} Renew it, then refresh it.`
    case 'unlicensed':
      return `There is no licence.${why} ${stays} Activate a licence key.`
    case 'suspended':
    case 'revoked':
      return `The licence was ${state} by the vendor.${why} ${stays} Ask the vendor.`
    default:
      return undefined
  }
}

function featureFault(feature: LicenceFeature): Fault {
  const name = licenceFeatures.find(({ id }) => id === feature)?.name ?? feature
  const sentence = `The licence does not include this: ${name}. What is on stays on. The page Licence says what to do.`
  return new Fault('license_feature', sentence, { details: { code: 'license_feature', feature } })
}

/** For adding one more camera than the licence has. @param most how many it has */
export function cameraLimitFault(most: number): Fault {
  const has = most === 0 ? 'There is no licence for further cameras' : `The licence is for ${counted(most, 'camera')}`
  const sentence = `${has}. Those that are added go on. The page Licence says what to do.`
  return new Fault('license_camera_limit', sentence, { details: { code: 'license_camera_limit' } })
}

// When the server is asked by itself.

interface RenewalParts {
  clock: Clock
  chance(): number
  limits: LicenceLimits
  /** Whether it is to be asked at all. */
  isDue(): boolean
  /** How much is left of the lease. */
  leftMs(): number
  renew(): Promise<void>
}

interface Renewal {
  start(): void
  stop(): void
  succeeded(): void
}

/**
 * A lease is renewed once half of it is over, or sooner. Each wait is shortened by chance, so that machines that lost the
 * server together do not come back together.
 */
function createRenewal({ chance, clock, isDue, leftMs, limits, renew }: RenewalParts): Renewal {
  const { renewMs, retry } = limits
  const backoff = new Backoff(retry)
  let timer: Timer | undefined
  let isStopped = false

  function next(ms: number): void {
    timer?.cancel()
    if (!isStopped) timer = clock.after(ms * (0.5 + chance() / 2), () => void tryNow())
  }

  async function tryNow(): Promise<void> {
    if (!isDue()) return next(renewMs)
    try {
      await renew()
    } catch {
      // It is told by the state once the lease runs out; until then nothing is lost.
      next(backoff.next())
    }
  }

  return {
    start: () => next(retry.firstMs),
    stop() {
      isStopped = true
      timer?.cancel()
    },
    succeeded() {
      backoff.reset()
      next(Math.max(retry.firstMs, Math.min(renewMs, leftMs() / 2)))
    },
  }
}
