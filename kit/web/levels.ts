/** Levels of sound as a page was told them, and how a meter moves between two messages: up at once, down slowly, and its peak stands a while. */

// How a meter moves: up at once, down slowly, and its peak stands a while.

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

/** Without a message for so long nothing is known: a meter that stands still would tell a lie. */
const KNOWN_MS = 1500
/** A board has eight; more would be somebody's joke. */
const MOST_CHANNELS = 64

/** What a message says: dBFS, a number for each channel; null is silence. */
export interface ToldLevels {
  peak_db: readonly (number | null)[]
  rms_db: readonly (number | null)[]
}

/** Levels of one place. */
export interface Levels {
  hear(told: ToldLevels, atMs: number): void
  /** Each channel as it is at an instant; null while nothing is known. */
  at(atMs: number): readonly Needle[] | null
}

/** Levels of which nothing is known yet. */
export function createLevels(): Levels {
  let needles: readonly Needle[] = []
  let heardMs = Number.NEGATIVE_INFINITY
  return {
    hear({ peak_db: peaks, rms_db: levels }, atMs) {
      heardMs = atMs
      needles = peaks.slice(0, MOST_CHANNELS).map((peakDb, channel) => {
        const before = needles[channel] ?? restingNeedle(atMs)
        return moved(before, { peakDb, rmsDb: levels[channel] ?? null }, atMs)
      })
    },
    at: (atMs) => (atMs - heardMs > KNOWN_MS ? null : needles.map((needle) => fallen(needle, atMs))),
  }
}
