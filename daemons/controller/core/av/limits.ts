/** How loud zones and devices may be: the column `max_volume` of av_zone. */
import { type Book, derived, type Row } from '../site/book.ts'

/** Undefined where there is no limit. */
export interface VolumeLimits {
  /** The lowest limit of its output, which other zones may share. */
  ofZone(zone: Row): number | undefined
  /** Of the rows that name the device; its zones may have further ones. */
  ofDevice(deviceId: number): number | undefined
}

export function createVolumeLimits(book: Book): VolumeLimits {
  const limits = derived(book, ['av_zone', 'zone'], () => limitsIn(book))
  return {
    ofZone(zone) {
      const { zones, outputs } = limits()
      const own = zones.get(zone.id)
      const shared = outputs.get(outputOf(zone))
      return own === undefined || (shared !== undefined && shared < own) ? shared : own
    },
    ofDevice: (id) => limits().devices.get(id),
  }
}

function limitsIn(book: Book) {
  const zones = new Map<number, number>()
  const devices = new Map<number, number>()
  const outputs = new Map<string | undefined, number>()
  for (const { zone_id: zoneId, device_id: deviceId, max_volume: most } of book.rows('av_zone')) {
    if (typeof most !== 'number') continue
    if (typeof deviceId === 'number') lower(devices, deviceId, most)
    if (typeof zoneId !== 'number') continue
    lower(zones, zoneId, most)
    const zone = book.row('zone', zoneId)
    if (zone && outputOf(zone) !== undefined) lower(outputs, outputOf(zone), most)
  }
  return { zones, devices, outputs }
}

function lower<Key>(limits: Map<Key, number>, key: Key, most: number): void {
  limits.set(key, Math.min(most, limits.get(key) ?? most))
}

/** Zones with the same device and address are one output: what one is told, the other sounds with. */
function outputOf({ device_id: device, address = null }: Row): string | undefined {
  return typeof device === 'number' ? `${device} ${String(address ?? '').trim()}` : undefined
}
