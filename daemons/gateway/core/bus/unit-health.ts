/** How a unit does: states, the window that a verdict is made from, when it is asked no more, how long it takes. */

import type { Clock } from '#kit/clock.ts'
import { createBackoff } from '#kit/pure/pace.ts'
import type { Noise } from '../../wire/noise-words.ts'
import type { BusSettings } from './settings.ts'

// The life of a unit on a line, as its answers show it: state x event -> next state.

/**
 * - `unknown` not asked since the line was opened, or not to the end
 * - `well` answers in time; what is lost now and then changes nothing
 * - `slow` answers, but late replies were seen not long ago
 * - `noisy` answers, but of its last exchanges too many came to nothing, or to two answers
 * - `failing` has not answered since the line was opened
 * - `silent` left so many in a row without an answer that polls and background work are held back
 * - `probing` was silent, and is being asked whether it is back
 */
export type UnitState = 'unknown' | 'well' | 'slow' | 'noisy' | 'failing' | 'silent' | 'probing'

/**
 * - `answered` a proven reply in time; a refusal is one
 * - `late` a proven reply after its request was given up
 * - `calmed` a proven reply in time, and none late for `slow_unit_ms`
 * - `noise` an exchange is over, and the last ones are noisy, as bus/unit-health.ts judges them; `quiet` they are not
 * - `missed` no proven reply; `gaveUp` for the last time that is borne
 * - `probed` a request goes out to it
 * - `undecided` that request never reached the line
 * - `lineClosed` nothing is known any more
 */
export type UnitEvent =
  | 'answered'
  | 'late'
  | 'calmed'
  | 'noise'
  | 'quiet'
  | 'missed'
  | 'gaveUp'
  | 'probed'
  | 'undecided'
  | 'lineClosed'

/** A pair that is not listed does not change the state. */
export const unitStateTable: Readonly<Record<UnitState, Partial<Record<UnitEvent, UnitState>>>> = {
  unknown: { answered: 'well', late: 'slow', missed: 'failing', gaveUp: 'silent' },
  well: { late: 'slow', noise: 'noisy', gaveUp: 'silent', lineClosed: 'unknown' },
  // One that is often too late misses often: that it is slow says so already.
  slow: { calmed: 'well', gaveUp: 'silent', lineClosed: 'unknown' },
  noisy: { quiet: 'well', late: 'slow', gaveUp: 'silent', lineClosed: 'unknown' },
  failing: { answered: 'well', late: 'slow', gaveUp: 'silent', lineClosed: 'unknown' },
  silent: { probed: 'probing', late: 'slow', lineClosed: 'unknown' },
  probing: { answered: 'well', late: 'slow', missed: 'silent', undecided: 'silent', lineClosed: 'unknown' },
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextUnitState(state: UnitState, event: UnitEvent): UnitState {
  return unitStateTable[state][event] ?? state
}

// How the last exchanges with a unit went, and whether they make it noisy. Judged over many of them, with one share to
// become so and a lower one to leave: noise comes by chance, and single answers would change the state with each.

/**
 * - `damaged` bytes came that are no answer
 * - `missing` nothing came
 */
type Lost = 'damaged' | 'missing'

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
  readonly #settings: BusSettings
  /** The oldest first. */
  #exchanges: number[] = []
  #isNoisy = false
  #lastBadEpochMs: number | null = null

  constructor(settings: BusSettings) {
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

// Whether a unit may be asked again and again. One that left several requests in a row unanswered is silent: each
// further request would cost its line a whole timeout. It is tried again after waits that double.

interface UnitBreakerParts {
  clock: Clock
  settings: BusSettings
  /** Not told of a probe: it is over within one timeout, and what comes of it is told. */
  onState(state: UnitState, previous: UnitState): void
}

export class UnitBreaker {
  readonly #parts: UnitBreakerParts
  readonly #backoff: ReturnType<typeof createBackoff>
  #state: UnitState = 'unknown'
  #sinceEpochMs: number
  /** A probe that fails leaves the unit silent since it became so. */
  #silentSinceEpochMs = 0
  /** The last state that was told. */
  #told: UnitState = 'unknown'
  #missesInRow = 0
  readonly #window: UnitWindow
  #lateMs = Number.NEGATIVE_INFINITY
  #nextTryMs = 0

  constructor(parts: UnitBreakerParts) {
    const { breaker_retry_ms: firstMs, breaker_retry_max_ms: maxMs } = parts.settings
    this.#parts = parts
    this.#backoff = createBackoff({ firstMs, maxMs: Math.max(firstMs, maxMs) })
    this.#sinceEpochMs = parts.clock.epochMs()
    this.#window = new UnitWindow(parts.settings)
  }

  get state(): UnitState {
    return this.#state
  }

  /** Since when it is in its state, epoch milliseconds; a probe that fails does not count. */
  get sinceEpochMs(): number {
    return this.#sinceEpochMs
  }

  get missesInRow(): number {
    return this.#missesInRow
  }

  /** How its last exchanges went. */
  lately(): Lately {
    return this.#window.lately()
  }

  get isOpen(): boolean {
    return this.#state === 'silent' || this.#state === 'probing'
  }

  /** Milliseconds until polls and background work may try it again; undefined where nothing is held back. */
  get retryInMs(): number | undefined {
    return this.isOpen ? Math.max(0, this.#nextTryMs - this.#parts.clock.monotonicMs()) : undefined
  }

  /** A request goes out to it. */
  sent(): void {
    this.#move('probed')
  }

  answered(): void {
    const isCalm = this.#parts.clock.monotonicMs() - this.#lateMs >= this.#parts.settings.slow_unit_ms
    this.#window.answered()
    this.#heal()
    this.#move('answered', ...(isCalm ? (['calmed'] as const) : []), this.#judged())
  }

  late(): void {
    this.#lateMs = this.#parts.clock.monotonicMs()
    if (!this.isOpen) this.#window.late()
    this.#heal()
    this.#move('late')
  }

  /** Its last answer came again. */
  twice(): void {
    this.#window.twice(this.#parts.clock.epochMs())
    this.#move(this.#judged())
  }

  missed(how: Lost): void {
    const { clock } = this.#parts
    const wasOpen = this.isOpen
    const isDue = !wasOpen || clock.monotonicMs() >= this.#nextTryMs
    this.#missesInRow++
    if (!wasOpen) this.#window.missed(how, clock.epochMs())
    if (wasOpen || !this.#window.isSilence(this.#missesInRow)) this.#move('missed', this.#judged())
    else {
      this.#window.forgetRun(this.#missesInRow)
      this.#move('gaveUp')
    }
    // An operator who tries in between does not put off the next try.
    if (this.isOpen && isDue) this.#nextTryMs = clock.monotonicMs() + this.#backoff.next()
  }

  /** It said something, which may be for an earlier request: it is there, and yet this one has no answer. */
  unproven(): void {
    this.#window.missed('missing', this.#parts.clock.epochMs())
    this.#move('undecided', this.#judged())
  }

  /** The request never reached the line, so it says nothing of the unit. */
  undecided(): void {
    this.#move('undecided')
  }

  lineClosed(): void {
    this.#heal()
    this.#window.forget()
    this.#lateMs = Number.NEGATIVE_INFINITY
    this.#move('lineClosed')
    // That the line was closed is an event of the port.
    this.#told = this.#state
  }

  #heal(): void {
    if (this.#missesInRow === 0) return
    this.#missesInRow = 0
    this.#backoff.reset()
  }

  #judged(): UnitEvent {
    return this.#window.isNoisy ? 'noise' : 'quiet'
  }

  /** Through several at once: only where that leads is told. */
  #move(...events: UnitEvent[]): void {
    const next = events.reduce(nextUnitState, this.#state)
    if (next === this.#state) return
    if (this.#state === 'silent') this.#silentSinceEpochMs = this.#sinceEpochMs
    const isStillSilent = this.#state === 'probing' && next === 'silent'
    this.#sinceEpochMs = isStillSilent ? this.#silentSinceEpochMs : this.#parts.clock.epochMs()
    this.#state = next
    if (next === 'unknown' || next === 'probing' || next === this.#told) return
    const previous = this.#told
    this.#told = next
    this.#parts.onState(next, previous)
  }
}

/** Upper bounds of the buckets, ms; one more takes what is above. Narrow where a line's units differ. */
const BOUNDS_MS = [2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000, 2000, 5000, 10_000] as const

/** Milliseconds. `p50`, `p95`: half of the replies, 95 of 100, took at most so long; bucket bounds, never above `max`. */
export interface LatencyView {
  last: number
  p50: number
  p95: number
  max: number
}

export interface UnitLatency {
  add(tookMs: number): void
  /** Null before the first reply. */
  view(): LatencyView | null
  /** Replies that took at most `leMs`, those of the bounds before it too; null: all. */
  histogram(): { leMs: number | null; count: number }[]
}

export function createUnitLatency(): UnitLatency {
  const counts = new Uint32Array(BOUNDS_MS.length + 1)
  let total = 0
  let last = 0
  let max = 0

  function bound(share: number): number {
    const rank = Math.ceil(share * total)
    let seen = 0
    for (const [at, leMs] of BOUNDS_MS.entries()) {
      seen += counts[at] ?? 0
      if (seen >= rank) return Math.min(leMs, max)
    }
    return max
  }

  return {
    add(tookMs) {
      let at = 0
      while (at < BOUNDS_MS.length && tookMs > (BOUNDS_MS[at] as number)) at++
      counts[at] = (counts[at] ?? 0) + 1
      total++
      last = Math.round(tookMs * 10) / 10
      max = Math.max(max, last)
    },
    view: () => (total === 0 ? null : { last, p50: bound(0.5), p95: bound(0.95), max }),
    histogram() {
      let seen = 0
      return [...counts].map((count, at) => {
        seen += count
        return { leMs: BOUNDS_MS[at] ?? null, count: seen }
      })
    },
  }
}
