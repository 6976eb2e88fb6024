/** The current state of devices and zones, as their drivers reported it: bounded, and passed on to listeners. */

import type { Clock } from '#kit/clock.ts'
import { shortCopy } from '#kit/pure/text.ts'
import { boundedCopy, charsOf, isSameJson, type Json, objectOf, Plain, putKey } from '../json.ts'

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

/** What has values of its own: a zone, or a device as a whole. */
export type LiveKind = 'device' | 'zone'

/** The live state of a building. A zone whose device is lost is `{ state: 'unknown' }`. */
export interface LiveBook {
  device(id: number): LiveDevice
  zone(id: number): LiveZone
  /** Grows with every change. */
  revision(): number
  /** @param listener called for each zone or device that changed; @returns ends the subscription */
  onChange(listener: (kind: LiveKind, id: number) => void): () => void
}

/** One value that a device said, or that is known by itself, such as the state of a lost one. Values are frozen. */
interface SaidValue {
  readonly kind: LiveKind
  readonly id: number
  readonly name: string
  readonly value: Json
  /** Undefined if nobody has said it since the device was lost or the daemon started. */
  readonly before: Json | undefined
}

/** Keeps values beyond the loss of their device. */
interface ValueKeeper {
  /** Called for each changed value, before any listener hears that its zone or device has changed. */
  said(said: SaidValue): void
  last(zoneId: number, name: string): Json | undefined
}

const KEEPS_NOTHING: ValueKeeper = { said() {}, last: () => undefined }

// Live state as drivers change it.
export interface LiveLimits {
  /** Most values of one zone, and of one device as a whole. */
  fields: number
  /** Most characters of one value, and of its name. */
  fieldChars: number
  /** Most characters of all values of all zones and devices, and of their names. */
  totalChars: number
}

/** What a report is about. */
export type LiveTarget = { readonly zoneId: number } | { readonly deviceId: number }

/** The live state, with the methods by which drivers change it. */
export interface LiveKeeper extends LiveBook {
  /**
   * One value as it is known now: what a driver reported, and `state`, `error` and `ip_address` of a device. Undefined
   * if it was not said since its device was lost or the daemon started.
   */
  value(kind: LiveKind, id: number, name: string): Json | undefined
  /**
   * Merges values into the existing ones. A zone that was unknown and whose report has no `state` becomes `ok`. Of a
   * device, `state`, `error` and `last_seen` are known by themselves: a driver cannot report them.
   * @returns how many values were left out because of a limit
   */
  report(target: LiveTarget, patch: Readonly<Record<string, Json>>): number
  /** The last value of a zone that is known, from before the start too; undefined if none is. */
  last(zoneId: number, name: string): Json | undefined
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

/** What is known of a device by itself. `last_seen` is not told: it changes every second. */
const OWN_OF_DEVICE: ReadonlySet<string> = new Set(['state', 'error', 'last_seen'])

/** Lives as long as the daemon. Has no entry for what is unknown. */
export class LiveState implements LiveKeeper {
  readonly #clock: Clock
  readonly #limits: LiveLimits
  readonly #devices = new Map<number, LiveDevice>()
  /** What drivers reported, by kind. */
  readonly #values = { zone: new Map<number, LiveZone>(), device: new Map<number, Readonly<Record<string, Json>>>() }
  readonly #listeners = new Set<(kind: LiveKind, id: number) => void>()
  readonly #keeper: ValueKeeper
  #revision = 0
  /** The size of all reported values, in characters. */
  #chars = 0

  constructor(clock: Clock, limits: LiveLimits, keeper: ValueKeeper = KEEPS_NOTHING) {
    this.#clock = clock
    this.#limits = limits
    this.#keeper = keeper
  }

  device(id: number): LiveDevice {
    return this.#devices.get(id) ?? UNKNOWN_DEVICE
  }

  zone(id: number): LiveZone {
    return this.#values.zone.get(id) ?? UNKNOWN_ZONE
  }

  value(kind: LiveKind, id: number, name: string): Json | undefined {
    const device = kind === 'device' ? this.#devices.get(id) : undefined
    if (device) for (const [own, key] of TOLD_OF_DEVICE) if (own === name) return device[key] ?? undefined
    return ownOf(this.#values[kind].get(id) ?? {}, name)
  }

  last(zoneId: number, name: string): Json | undefined {
    return this.value('zone', zoneId, name) ?? this.#keeper.last(zoneId, name)
  }

  revision(): number {
    return this.#revision
  }

  onChange(listener: (kind: LiveKind, id: number) => void): () => void {
    // Wrapped, so that a function that subscribes twice is called twice and ends each subscription separately.
    const own: typeof listener = (kind, id) => listener(kind, id)
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  report(target: LiveTarget, patch: Readonly<Record<string, Json>>): number {
    return 'zoneId' in target ? this.#merge('zone', target.zoneId, patch) : this.#reportDevice(target.deviceId, patch)
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
      this.#drop('device', id)
      this.#tell('device', id)
    }
    for (const zoneId of zoneIds) {
      const zone = this.#values.zone.get(zoneId)
      if (zone === undefined) continue
      this.#drop('zone', zoneId)
      this.#keeper.said({ kind: 'zone', id: zoneId, name: 'state', value: UNKNOWN_ZONE.state, before: zone.state })
      this.#tell('zone', zoneId)
    }
  }

  forget(id: number, zoneIds: readonly number[]): void {
    const isDropped = this.#drop('device', id)
    if (this.#devices.delete(id) || isDropped) {
      this.#revision++
      this.#tell('device', id)
    }
    for (const zoneId of zoneIds) if (this.#drop('zone', zoneId)) this.#tell('zone', zoneId)
  }

  #reportDevice(id: number, { ip_address: ip, ...patch }: Readonly<Record<string, Json>>): number {
    const others = Object.entries(patch).filter(([name]) => !OWN_OF_DEVICE.has(name))
    let left = Object.keys(patch).length - others.length
    if (ip === null || (typeof ip === 'string' && ip.length <= LONGEST_ADDRESS)) {
      if (ip !== this.device(id).ipAddress) {
        this.#setDevice(id, { ipAddress: ip })
        this.#tell('device', id)
      }
    } else if (ip !== undefined) left++
    return others.length === 0 ? left : left + this.#merge('device', id, objectOf(others))
  }

  #merge(kind: LiveKind, id: number, patch: Readonly<Record<string, Json>>): number {
    const { fields: most, fieldChars, totalChars } = this.#limits
    const before = this.#values[kind].get(id)
    const after: Record<string, Json> = new Plain()
    for (const [key, value] of Object.entries(before ?? FIRST[kind])) putKey(after, key, value as Json)
    let fields = Object.keys(after).length
    let taken = 0
    const changed = new Set(before ? [] : Object.keys(after))
    let chars = before ? 0 : charsOfValues(after)
    const entries = Object.entries(patch)
    for (const [key, value] of entries) {
      const isNew = !Object.hasOwn(after, key)
      const copy = key.length <= fieldChars ? boundedCopy(value, fieldChars) : undefined
      if (copy === undefined || (isNew && fields >= most)) continue
      const more = charsOf(copy) + (isNew ? key.length : -charsOf(after[key] as Json))
      if (more > 0 && this.#chars + chars + more > totalChars) continue
      chars += more
      taken++
      if (isNew) fields++
      if (isNew || !isSameJson(after[key], copy)) changed.add(key)
      putKey(after, key, copy)
    }
    if (changed.size > 0 && taken > 0) {
      this.#values[kind].set(id, Object.freeze(after) as LiveZone)
      this.#chars += chars
      this.#revision++
      for (const name of changed)
        this.#keeper.said({ kind, id, name, value: after[name] as Json, before: before && ownOf(before, name) })
      this.#tell(kind, id)
    }
    return entries.length - taken
  }

  /** Tells the values that changed; the caller tells that the device has changed. */
  #setDevice(id: number, patch: Partial<LiveDevice>): void {
    const before = this.device(id)
    this.#devices.set(id, Object.freeze({ ...before, ...patch }))
    this.#revision++
    for (const [name, key] of TOLD_OF_DEVICE) {
      const value = patch[key]
      if (value !== undefined && value !== before[key])
        this.#keeper.said({ kind: 'device', id, name, value, before: before[key] })
    }
  }

  #drop(kind: LiveKind, id: number): boolean {
    const values = this.#values[kind].get(id)
    if (!values) return false
    this.#values[kind].delete(id)
    this.#chars -= charsOfValues(values)
    this.#revision++
    return true
  }

  #tell(kind: LiveKind, id: number): void {
    for (const listener of this.#listeners) listener(kind, id)
  }
}

/** A zone of which something is known is not unknown. */
const FIRST: Readonly<Record<LiveKind, Readonly<Record<string, Json>>>> = { zone: { state: 'ok' }, device: {} }

const TOLD_OF_DEVICE = [
  ['state', 'state'],
  ['error', 'error'],
  ['ip_address', 'ipAddress'],
] as const

function ownOf(values: Readonly<Record<string, Json>>, name: string): Json | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}

function charsOfValues(values: Readonly<Record<string, Json>>): number {
  return Object.entries(values).reduce((sum, [key, value]) => sum + key.length + charsOf(value), 0)
}
