/** Levels of sound as a page was told them, for meters that move by themselves between two messages. */
import { fallen, moved, type Needle, restingNeedle } from './needle.ts'

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
