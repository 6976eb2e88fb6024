/** What zones do now, of two sources that overtake each other: the list, which is asked for, and changes, which are told. */
import type { ZoneState, ZoneView } from '../core/zone-view.ts'

/** A value steps at most so often: nobody reads faster. */
export const STEP_MS = 250

/** Zones by id, as they are to be drawn; a zone that did not change is the very object of before. */
export type Drawn = ReadonlyMap<number, ZoneView>

/** Lives as long as the page. Times of the browser, epoch ms. */
export interface ToldZones {
  /** The list is asked for from now on: it will hold whatever was told until here. */
  ask(): void
  /** The list came. What was told since it was asked for may be newer than it. */
  list(zones: readonly ZoneView[], nowMs: number): void
  hear(zones: readonly ZoneState[]): void
  /** Draws what is due. @returns the zones, and when something is due next; null where nothing waits */
  draw(nowMs: number): { zones: Drawn; dueAt: number | null }
  /** Forgets everything. */
  clear(): void
}

export function createToldZones(): ToldZones {
  let zones = new Map<number, ZoneView>()
  /** Told and not drawn yet. */
  const waiting = new Map<number, ZoneState>()
  /** Told since the list was asked for. */
  const since = new Map<number, ZoneState>()
  const drawnAt = new Map<number, number>()

  function lay(told: ZoneState, nowMs: number): void {
    const zone = zones.get(told.id)
    if (!zone) return
    zones.set(told.id, { ...zone, ...told })
    drawnAt.set(told.id, nowMs)
  }

  return {
    ask: () => since.clear(),
    list(fresh, nowMs) {
      zones = new Map(fresh.map((zone) => [zone.id, zone]))
      waiting.clear()
      drawnAt.clear()
      for (const told of since.values()) lay(told, nowMs)
      since.clear()
    },
    hear(told) {
      for (const zone of told) {
        waiting.set(zone.id, zone)
        since.set(zone.id, zone)
      }
    },
    draw(nowMs) {
      let dueAt: number | null = null
      for (const [id, told] of waiting) {
        const zoneDueAt = (drawnAt.get(id) ?? Number.NEGATIVE_INFINITY) + STEP_MS
        if (zoneDueAt > nowMs) {
          dueAt = Math.min(dueAt ?? zoneDueAt, zoneDueAt)
          continue
        }
        waiting.delete(id)
        lay(told, nowMs)
      }
      return { zones: new Map(zones), dueAt }
    },
    clear() {
      zones = new Map()
      for (const kept of [waiting, since, drawnAt]) kept.clear()
    },
  }
}
