/** The current state of devices and zones, as their drivers reported it: bounded, and passed on to listeners. */

import type { Clock } from '#kit/clock.ts'
import { shortCopy } from '#kit/pure/text.ts'
import { boundedCopy, charsOf, isSameJson, type Json, Plain, putKey } from '../json.ts'

// Live state as readers see it: in memory only.

export type DeviceState = 'online' | 'offline' | 'unknown'

/** The current state of a device. `lastSeenAt` in epoch ms. */
export interface LiveDevice {
  readonly state: DeviceState
  readonly ipAddress: string | null
  readonly lastSeenAt: number | null
  readonly error: string | null
}

/** The current state of a zone: `state` and whatever else its driver reported (level, setpoint, mode, ...). */
export type LiveZone = Readonly<Record<string, Json>> & { readonly state: Json }

/** The live state of a building. A zone whose device is lost is `{ state: 'unknown' }`. */
export interface LiveBook {
  device(id: number): LiveDevice
  zone(id: number): LiveZone
  /** Grows with every change. */
  revision(): number
  /** @param listener called for each zone or device that changed; @returns ends the subscription */
  onChange(listener: (kind: 'device' | 'zone', id: number) => void): () => void
}

// Live state as drivers change it.
interface LiveLimits {
  /** Most values of one zone. */
  fields: number
  /** Most characters of one value, and of its name. */
  fieldChars: number
  /** Most characters of all values of all zones, and of their names. */
  totalChars: number
}

/** What a report is about. */
export type LiveTarget = { readonly zoneId: number } | { readonly deviceId: number }

/** The live state, with the methods by which drivers change it. */
export interface LiveKeeper extends LiveBook {
  /**
   * Merges values into the existing ones. For a device only `ip_address` is kept. A zone that was unknown and whose
   * report has no `state` becomes `ok`.
   * @returns how many values were left out because of a limit
   */
  report(target: LiveTarget, patch: Readonly<Record<string, Json>>): number
  /** Records a sign of life from a device. */
  seen(deviceId: number): void
  /** Marks a device as offline and its zones as unknown. */
  lost(deviceId: number, zoneIds: readonly number[], error: string): void
  /** Removes the state of a device that is no longer driven, and of its zones. */
  forget(deviceId: number, zoneIds: readonly number[]): void
}

const UNKNOWN_DEVICE: LiveDevice = Object.freeze({ state: 'unknown', ipAddress: null, lastSeenAt: null, error: null })
const UNKNOWN_ZONE: LiveZone = Object.freeze(Object.assign(Object.create(null), { state: 'unknown' }))

/** How much newer a time stamp has to be to count as a change. */
const SEEN_STEP_MS = 1000

const LONGEST_ERROR = 512
const LONGEST_ADDRESS = 64

/** Lives as long as the daemon. Has no entry for what is unknown. */
export class LiveState implements LiveKeeper {
  readonly #clock: Clock
  readonly #limits: LiveLimits
  readonly #devices = new Map<number, LiveDevice>()
  readonly #zones = new Map<number, LiveZone>()
  readonly #listeners = new Set<(kind: 'device' | 'zone', id: number) => void>()
  #revision = 0
  /** The size of all reported values, in characters. */
  #chars = 0

  constructor(clock: Clock, limits: LiveLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  device(id: number): LiveDevice {
    return this.#devices.get(id) ?? UNKNOWN_DEVICE
  }

  zone(id: number): LiveZone {
    return this.#zones.get(id) ?? UNKNOWN_ZONE
  }

  revision(): number {
    return this.#revision
  }

  onChange(listener: (kind: 'device' | 'zone', id: number) => void): () => void {
    // Wrapped, so that a function that subscribes twice is called twice and ends each subscription separately.
    const own: typeof listener = (kind, id) => listener(kind, id)
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  report(target: LiveTarget, patch: Readonly<Record<string, Json>>): number {
    return 'zoneId' in target ? this.#reportZone(target.zoneId, patch) : this.#reportDevice(target.deviceId, patch)
  }

  seen(id: number): void {
    const { state, error, lastSeenAt } = this.device(id)
    const now = this.#clock.epochMs()
    if (state !== 'online' || error !== null) {
      this.#setDevice(id, { state: 'online', error: null, lastSeenAt: now })
      this.#tell('device', id)
    }
    // A new time stamp alone does not notify listeners.
    else if (lastSeenAt === null || Math.abs(now - lastSeenAt) >= SEEN_STEP_MS) this.#setDevice(id, { lastSeenAt: now })
  }

  lost(id: number, zoneIds: readonly number[], error: string): void {
    const text = shortCopy(error, LONGEST_ERROR)
    const before = this.device(id)
    if (before.state !== 'offline' || before.error !== text) {
      this.#setDevice(id, { state: 'offline', error: text })
      this.#tell('device', id)
    }
    this.#dropZones(zoneIds)
  }

  forget(id: number, zoneIds: readonly number[]): void {
    if (this.#devices.delete(id)) {
      this.#revision++
      this.#tell('device', id)
    }
    this.#dropZones(zoneIds)
  }

  #reportZone(id: number, patch: Readonly<Record<string, Json>>): number {
    const { fields: most, fieldChars, totalChars } = this.#limits
    const before = this.#zones.get(id)
    const after: Record<string, Json> = new Plain()
    for (const [key, value] of Object.entries(before ?? { state: 'ok' })) putKey(after, key, value as Json)
    let fields = Object.keys(after).length
    let taken = 0
    let changed = before ? 0 : 1
    let chars = before ? 0 : charsOfZone(after)
    const entries = Object.entries(patch)
    for (const [key, value] of entries) {
      const isNew = !(key in after)
      const copy = key.length <= fieldChars ? boundedCopy(value, fieldChars) : undefined
      if (copy === undefined || (isNew && fields >= most)) continue
      const more = charsOf(copy) + (isNew ? key.length : -charsOf(after[key] as Json))
      if (more > 0 && this.#chars + chars + more > totalChars) continue
      chars += more
      taken++
      if (isNew) fields++
      if (isNew || !isSameJson(after[key], copy)) changed++
      putKey(after, key, copy)
    }
    if (changed > 0 && taken > 0) {
      this.#zones.set(id, Object.freeze(after) as LiveZone)
      this.#chars += chars
      this.#revision++
      this.#tell('zone', id)
    }
    return entries.length - taken
  }

  #reportDevice(id: number, patch: Readonly<Record<string, Json>>): number {
    const { ip_address: ip } = patch
    const isKept = ip === null || (typeof ip === 'string' && ip.length <= LONGEST_ADDRESS)
    if (isKept && ip !== this.device(id).ipAddress) {
      this.#setDevice(id, { ipAddress: ip })
      this.#tell('device', id)
    }
    return Object.keys(patch).length - (isKept ? 1 : 0)
  }

  #setDevice(id: number, patch: Partial<LiveDevice>): void {
    this.#devices.set(id, Object.freeze({ ...this.device(id), ...patch }))
    this.#revision++
  }

  #dropZones(ids: readonly number[]): void {
    for (const id of ids) {
      const zone = this.#zones.get(id)
      if (!zone) continue
      this.#zones.delete(id)
      this.#chars -= charsOfZone(zone)
      this.#revision++
      this.#tell('zone', id)
    }
  }

  #tell(kind: 'device' | 'zone', id: number): void {
    for (const listener of this.#listeners) listener(kind, id)
  }
}

function charsOfZone(zone: LiveZone | Record<string, Json>): number {
  return Object.entries(zone).reduce((sum, [key, value]) => sum + key.length + charsOf(value as Json), 0)
}
