/**
 * Sound levels as received by a page, and how a meter moves between two messages: up at once, down slowly, with the
 * peak held for a while.
 */

// Movement of a meter: up at once, down slowly, with the peak held for a while.

/** Left end of the scale, dBFS. */
export const FLOOR_DB = -60
/** Inaudible below this; shown as silent. */
const SILENT_DB = -90
/** The highest possible sample, allowing for rounding: the sound was clipped, or nearly. */
const CLIP_DB = -0.01
const FALL_DB_PER_MS = 20 / 1000
const HELD_MS = 1500

/** One channel of a meter at an instant of the page's clock. */
export interface Needle {
  atMs: number
  /** End of the bar, dBFS. */
  levelDb: number
  /** The peak mark, dBFS, and since when. */
  peakDb: number
  peakAtMs: number
}

/** A needle that has seen nothing yet. */
export function restingNeedle(atMs: number): Needle {
  return { atMs, levelDb: SILENT_DB, peakDb: SILENT_DB, peakAtMs: atMs }
}

/** A needle that has fallen since, without a new level. */
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

/** A needle after a new level; null is silence. */
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

/** Whether the sound reached full scale while the peak mark is held. */
export function isClipped({ peakDb }: Needle): boolean {
  return peakDb >= CLIP_DB
}

/** Whether there was only silence while the peak mark is held. */
export function isSilent({ peakDb }: Needle): boolean {
  return peakDb <= SILENT_DB
}

/** After this long without a message nothing is known: a frozen meter would mislead. */
const KNOWN_MS = 1500
/** A board has eight; a message with more is bogus. */
const MOST_CHANNELS = 64

/** A message: dBFS, a number for each channel; null is silence. */
export interface ToldLevels {
  peak_db: readonly (number | null)[]
  rms_db: readonly (number | null)[]
}

/** Levels of one source or output. */
export interface Levels {
  hear(told: ToldLevels, atMs: number): void
  /** Each channel at an instant; null if nothing is known. */
  at(atMs: number): readonly Needle[] | null
}

/** Levels without any message yet. */
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
