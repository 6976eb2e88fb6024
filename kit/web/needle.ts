/** How a meter moves: up at once, down slowly, and its peak stands a while. */

/** Where a scale ends at the left, dBFS. */
export const FLOOR_DB = -60
/** Nobody hears what is below; it is called silent. */
const SILENT_DB = -90
/** The highest sample there is, but for what rounding takes away: it was cut, or nearly. */
const CLIP_DB = -0.01
const FALL_DB_PER_MS = 20 / 1000
const HELD_MS = 1500

/** One channel of a meter at an instant of the page's clock. */
export interface Needle {
  atMs: number
  /** Where the bar ends, dBFS. */
  levelDb: number
  /** Where the mark stands, dBFS, and since when. */
  peakDb: number
  peakAtMs: number
}

/** A needle that has seen nothing. */
export function restingNeedle(atMs: number): Needle {
  return { atMs, levelDb: SILENT_DB, peakDb: SILENT_DB, peakAtMs: atMs }
}

/** A needle that was left alone until now. */
export function fallen({ atMs: beforeMs, levelDb, peakDb, peakAtMs }: Needle, atMs: number): Needle {
  const heldUntilMs = peakAtMs + HELD_MS
  const fallenMs = Math.max(0, atMs - Math.max(heldUntilMs, beforeMs))
  return {
    atMs,
    levelDb: Math.max(SILENT_DB, levelDb - (atMs - beforeMs) * FALL_DB_PER_MS),
    peakDb: Math.max(SILENT_DB, peakDb - fallenMs * FALL_DB_PER_MS),
    peakAtMs,
  }
}

/** A needle that is told a level; null is silence. */
export function moved(before: Needle, told: { rmsDb: number | null; peakDb: number | null }, atMs: number): Needle {
  const now = fallen(before, atMs)
  const peakDb = told.peakDb ?? SILENT_DB
  const isHigher = peakDb >= now.peakDb
  return {
    atMs,
    levelDb: Math.max(now.levelDb, told.rmsDb ?? SILENT_DB),
    peakDb: isHigher ? Math.max(SILENT_DB, peakDb) : now.peakDb,
    peakAtMs: isHigher ? atMs : now.peakAtMs,
  }
}

/** Whether the sound was as loud as can be while the mark stands. */
export function isClipped({ peakDb }: Needle): boolean {
  return peakDb >= CLIP_DB
}

/** Whether there was nothing to hear while the mark stands. */
export function isSilent({ peakDb }: Needle): boolean {
  return peakDb <= SILENT_DB
}
