/** What devices and zones are doing, as drivers last reported it: in memory only. */
import type { Json } from './row.ts'

export type DeviceState = 'online' | 'offline' | 'unknown'

/** A device as it is now. `lastSeenAt` in epoch ms. */
export interface LiveDevice {
  readonly state: DeviceState
  readonly ipAddress: string | null
  readonly lastSeenAt: number | null
  readonly error: string | null
}

/** A zone as it is now: `state` and whatever its driver reported beside (level, setpoint, mode, ...). */
export type LiveZone = Readonly<Record<string, Json>> & { readonly state: Json }

/** The live state of a building. A zone whose device is lost is `{ state: 'unknown' }`. */
export interface LiveBook {
  device(id: number): LiveDevice
  zone(id: number): LiveZone
  /** Grows with every change of anything. */
  revision(): number
  /** @param listener told of each zone or device that changed; @returns ends it */
  onChange(listener: (kind: 'device' | 'zone', id: number) => void): () => void
}
