/**
 * How the last exchanges with a unit went, and whether they make it noisy. Judged over many of them, with one share to
 * become so and a lower one to leave: noise comes by chance, and single answers would change the state with each.
 */
import type { Noise } from '../wire/noise-words.ts'
import type { ModbusSettings } from './modbus-settings.ts'

/**
 * - `damaged` bytes came that are no answer
 * - `missing` nothing came
 */
export type Lost = 'damaged' | 'missing'

/** Counts of the last exchanges since the line was opened, at most `settings.noisy_window`. */
export interface Lately extends Noise {
  /** When the last of these three happened, epoch milliseconds; null where none did. */
  lastBadAt: number | null
}

/** However seldom: once in so many, chance alone lets a unit leave so many in a row without an answer that it is silent. */
const ONCE_IN = 1e6

/** However much is lost, a unit that leaves so many in a row is silent: each costs its line a whole timeout. */
const LONGEST_RUN = 20

/** One exchange, as bits: a small number each, as there may be 1000 of each of 247 units. `LATE` came after its time. */
const [LATE, DAMAGED, MISSING, TWICE] = [1, 2, 4, 8]
const LOST = DAMAGED | MISSING
const BAD = LOST | TWICE

export class UnitWindow {
  readonly #settings: ModbusSettings
  /** The oldest first. */
  #exchanges: number[] = []
  #isNoisy = false
  #lastBadEpochMs: number | null = null

  constructor(settings: ModbusSettings) {
    this.#settings = settings
  }

  get isNoisy(): boolean {
    return this.#isNoisy
  }

  answered(): void {
    this.#add(0)
  }

  missed(how: Lost, atEpochMs: number): void {
    this.#lastBadEpochMs = atEpochMs
    this.#add(how === 'damaged' ? DAMAGED : MISSING)
  }

  /** The answer that was missed came after all: the unit is slow, which is another matter. */
  late(): void {
    const at = this.#exchanges.lastIndexOf(MISSING)
    if (at >= 0) this.#exchanges[at] = LATE
    this.#judge()
  }

  /** The last answer came again. */
  twice(atEpochMs: number): void {
    const at = this.#exchanges.length - 1
    if (at < 0) return
    this.#exchanges[at] = (this.#exchanges[at] ?? 0) | TWICE
    this.#lastBadEpochMs = atEpochMs
    this.#judge()
  }

  /**
   * Whether the last `run` without an answer mean more than the noise known before them: where a third of all is lost,
   * three in a row are nothing new.
   */
  isSilence(run: number): boolean {
    const before = this.#exchanges.length - run
    const share = (this.#count(LOST) - run) / Math.max(1, before)
    const byChance = share > 0 && share < 1 ? Math.ceil(Math.log(ONCE_IN) / -Math.log(share)) : 0
    return run >= Math.max(this.#settings.breaker_failures, Math.min(LONGEST_RUN, byChance))
  }

  /** The last `run` made the unit silent, which says what there is to say of them. */
  forgetRun(run: number): void {
    this.#exchanges.length = Math.max(0, this.#exchanges.length - run)
  }

  forget(): void {
    this.#exchanges = []
    this.#isNoisy = false
  }

  lately(): Lately {
    return {
      exchanges: this.#exchanges.length,
      damaged: this.#count(DAMAGED),
      missing: this.#count(MISSING),
      twice: this.#count(TWICE),
      lastBadAt: this.#count(BAD) > 0 ? this.#lastBadEpochMs : null,
    }
  }

  #add(exchange: number): void {
    this.#exchanges.push(exchange)
    if (this.#exchanges.length > this.#settings.noisy_window) this.#exchanges.shift()
    this.#judge()
  }

  #judge(): void {
    const { noisy_from_percent: from, noisy_until_percent: until, noisy_least: least } = this.#settings
    const [bad, total] = [this.#count(BAD), this.#exchanges.length]
    const percent = (100 * bad) / Math.max(1, total)
    // One that never answered is not noisy.
    const isHeard = this.#count(LOST) < total
    this.#isNoisy = this.#isNoisy ? percent > Math.min(until, from - 1) : isHeard && bad >= least && percent >= from
  }

  #count(of: number): number {
    let count = 0
    for (const exchange of this.#exchanges) if ((exchange & of) !== 0) count++
    return count
  }
}
