/** How loud the source is, and for how long it has been silent. */
import type { Clock } from '#kit/clock.ts'
import type { Meters } from '../../../core/role.ts'

/** What the level of digital silence comes to: nothing that was ever measured is as low. */
const NOTHING_DB = -200

export class Loudness {
  readonly #clock: Clock
  readonly #silenceDb: number
  readonly #listeners = new Set<(meters: Meters) => void>()
  #meters: Meters | null = null
  #loudMs: number | null = null
  #loudestDb: number | null = null

  /** @param silenceDb peak below which it is silent */
  constructor(clock: Clock, silenceDb: number) {
    this.#clock = clock
    this.#silenceDb = silenceDb
  }

  get meters(): Meters | null {
    return this.#meters
  }

  /** For how long it has been silent, 0 while it is not; null where nothing was ever measured. */
  get silenceS(): number | null {
    return this.#loudMs === null ? null : Math.floor((this.#clock.monotonicMs() - this.#loudMs) / 1000)
  }

  hear(peakDb: readonly number[], rmsDb: readonly number[]): void {
    const nowMs = this.#clock.monotonicMs()
    this.#loudMs ??= nowMs
    const loudest = Math.max(...peakDb)
    if (loudest >= this.#silenceDb) this.#loudMs = nowMs
    if (loudest > NOTHING_DB) this.#loudestDb = Math.max(loudest, this.#loudestDb ?? loudest)
    this.#meters = { peak_db: peakDb.map(told), rms_db: rmsDb.map(told) }
    for (const listener of this.#listeners) listener(this.#meters)
  }

  /** Nothing comes any more. */
  rest(): void {
    this.#meters = null
    this.#loudMs = null
  }

  /** The loudest peak since it was asked for last; null where there was none. */
  takeLoudestDb(): number | null {
    const loudest = this.#loudestDb
    this.#loudestDb = null
    return loudest
  }

  /** @returns what ends it */
  onMeters(hear: (meters: Meters) => void): () => void {
    this.#listeners.add(hear)
    return () => void this.#listeners.delete(hear)
  }
}

/** To a hundredth: what JSON carries twenty times a second is short. */
function told(db: number): number | null {
  return db > NOTHING_DB ? Math.round(db * 100) / 100 : null
}
