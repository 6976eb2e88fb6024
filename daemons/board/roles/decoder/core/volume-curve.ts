/** One loudness in its two views: `volume`, as on a fader, and `volume_db`. */

/** Ends of `volume_db`. The lower one is silence. @source Interface 2, B, Limits */
export const SILENT_DB = -80
export const LOUDEST_DB = 12

/** Top of `volume`. */
export const FULL_VOLUME = 100

/**
 * How the fader bends: fine steps where people listen (0.7 dB a step about 0 dB), coarse ones towards silence.
 * @source docs/decisions/playing-sound.md
 */
const BEND = 1.5

/**
 * The curve: `volume_db = 12 - 92 * (1 - volume / 100) ^ 1.5`, to a hundredth of a dB.
 * @param volume 0..100
 * @returns -80 (silence) .. 12
 */
export function dbOfVolume(volume: number): number {
  const range = LOUDEST_DB - SILENT_DB
  return hundredths(LOUDEST_DB - range * (1 - volume / FULL_VOLUME) ** BEND)
}

/**
 * The other way round, as a whole number. Nothing but silence is 0.
 * @param db -80..12
 * @returns 0..100
 */
export function volumeOfDb(db: number): number {
  if (db <= SILENT_DB) return 0
  const range = LOUDEST_DB - SILENT_DB
  const volume = FULL_VOLUME * (1 - ((LOUDEST_DB - db) / range) ** (1 / BEND))
  return Math.max(1, Math.round(volume))
}

/** What samples are multiplied with: exactly 1 at 0 dB, 0 at silence. */
export function gainOfDb(db: number): number {
  return db <= SILENT_DB ? 0 : 10 ** (db / 20)
}

/** To a hundredth, and never minus nothing. */
export function hundredths(value: number): number {
  return Math.round(value * 100) / 100 + 0
}
