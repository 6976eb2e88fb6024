/** The health of a unit: its states, the window that `noisy` is judged by, the circuit breaker, and the latency. */

import type { Clock } from '#kit/clock.ts'
import { Backoff } from '#kit/pure/pace.ts'
import type { Noise } from '../../wire/noise-words.ts'
import type { BusSettings } from './settings.ts'

// The life of a unit on a line, judged by its replies: state x event -> next state.

/**
 * - `unknown` not asked since the line was opened, or the request was not completed
 * - `well` answers in time; a reply lost now and then changes nothing
 * - `slow` answers, but late replies were seen not long ago
 * - `noisy` answers, but too many of its last exchanges brought no valid reply, or brought two
 * - `failing` has not answered since the line was opened
 * - `silent` left so many requests in a row unanswered that polls and background work are refused
 * - `probing` was silent, and a request is in flight that shows whether it is back
 */
export type UnitState = 'unknown' | 'well' | 'slow' | 'noisy' | 'failing' | 'silent' | 'probing'

/**
 * - `answered` a proven reply came in time; a refusal counts as one
 * - `late` a proven reply came after its request had timed out
 * - `calmed` a proven reply came in time, and none was late for `slow_unit_ms`
 * - `noise` an exchange is over, and the window is noisy (see `UnitWindow`); `quiet`: it is not
 * - `missed` no proven reply came; `gaveUp`: so often in a row that the unit counts as silent
 * - `probed` a request to it is sent
 * - `undecided` that request did not reach the line, or its reply is in doubt
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
  // There is no way to `noisy` from here: a unit that is often late misses often, and `slow` already says so.
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

// How the last exchanges with a unit went, and whether they make it noisy. Noise comes by chance, so many exchanges are
// judged, and the share to become noisy is higher than the one to recover: otherwise single replies would flip the
// state.

/**
 * - `damaged` bytes came, but no valid reply
 * - `missing` nothing came
 */
type Lost = 'damaged' | 'missing'

/** Counts of the last exchanges since the line was opened, at most `settings.noisy_window`. */
export interface Lately extends Noise {
  /** When the last bad exchange was, epoch milliseconds; null if there was none. */
  lastBadAt: number | null
}

/**
 * A unit becomes silent when chance alone would leave so many requests in a row unanswered only once in so many times.
 */
const ONCE_IN = 1e6

/** After so many misses in a row a unit is silent, however noisy the line is: each costs it a whole timeout. */
const LONGEST_RUN = 20

/**
 * One exchange as bits: small numbers, because there may be 1000 of each of 247 units. `LATE`: the reply came too late.
 */
const [LATE, DAMAGED, MISSING, TWICE] = [1, 2, 4, 8]
const LOST = DAMAGED | MISSING
const BAD = LOST | TWICE

export class UnitWindow {
  readonly #settings: BusSettings
  /** Oldest first. */
  #exchanges: number[] = []
  /** How many of them are lost, and how many are bad: counted as they come and go, since each reply is judged by them. */
  #lost = 0
  #bad = 0
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

  /** The missing reply came after all. The unit is slow, which is not counted as noise. */
  late(): void {
    const at = this.#exchanges.lastIndexOf(MISSING)
    if (at >= 0) this.#replace(at, LATE)
    this.#judge()
  }

  /** The last reply came a second time. */
  twice(atEpochMs: number): void {
    const at = this.#exchanges.length - 1
    if (at < 0) return
    this.#replace(at, (this.#exchanges[at] ?? 0) | TWICE)
    this.#lastBadEpochMs = atEpochMs
    this.#judge()
  }

  /**
   * Whether `run` misses in a row mean more than the noise before them: where a third of all replies is lost, three
   * misses in a row are nothing new.
   */
  isSilence(run: number): boolean {
    const before = this.#exchanges.length - run
    const share = (this.#lost - run) / Math.max(1, before)
    const byChance = share > 0 && share < 1 ? Math.ceil(Math.log(ONCE_IN) / -Math.log(share)) : 0
    return run >= Math.max(this.#settings.breaker_failures, Math.min(LONGEST_RUN, byChance))
  }

  /** Drops the last `run` misses: they made the unit silent, which already says all there is to say of them. */
  forgetRun(run: number): void {
    for (let left = run; left > 0 && this.#exchanges.length > 0; left--) this.#tally(this.#exchanges.pop(), -1)
  }

  forget(): void {
    this.#exchanges = []
    this.#lost = 0
    this.#bad = 0
    this.#isNoisy = false
  }

  lately(): Lately {
    return {
      exchanges: this.#exchanges.length,
      damaged: this.#count(DAMAGED),
      missing: this.#count(MISSING),
      twice: this.#count(TWICE),
      lastBadAt: this.#bad > 0 ? this.#lastBadEpochMs : null,
    }
  }

  #add(exchange: number): void {
    this.#exchanges.push(exchange)
    this.#tally(exchange, 1)
    if (this.#exchanges.length > this.#settings.noisy_window) this.#tally(this.#exchanges.shift(), -1)
    this.#judge()
  }

  #replace(at: number, exchange: number): void {
    this.#tally(this.#exchanges[at], -1)
    this.#exchanges[at] = exchange
    this.#tally(exchange, 1)
  }

  #tally(exchange = 0, by: 1 | -1): void {
    if ((exchange & LOST) !== 0) this.#lost += by
    if ((exchange & BAD) !== 0) this.#bad += by
  }

  #judge(): void {
    const { noisy_from_percent: from, noisy_until_percent: until, noisy_least: least } = this.#settings
    const [bad, total] = [this.#bad, this.#exchanges.length]
    const percent = (100 * bad) / Math.max(1, total)
    // A unit that never answered is not noisy.
    const isHeard = this.#lost < total
    this.#isNoisy = this.#isNoisy ? percent > Math.min(until, from - 1) : isHeard && bad >= least && percent >= from
  }

  #count(of: number): number {
    let count = 0
    for (const exchange of this.#exchanges) if ((exchange & of) !== 0) count++
    return count
  }
}

// The circuit breaker of a unit. A unit that left several requests in a row unanswered is silent: each further request
// would cost its line a whole timeout. It is tried again after waits that double.

interface UnitBreakerParts {
  clock: Clock
  settings: BusSettings
  /** Not called for `probing`: a probe is over within one timeout, and its outcome is reported. */
  onState(state: UnitState, previous: UnitState): void
}

export class UnitBreaker {
  readonly #parts: UnitBreakerParts
  readonly #backoff: Backoff
  #state: UnitState = 'unknown'
  #sinceEpochMs: number
  /** Since when it was silent before the probe: a probe that fails does not change that. */
  #silentSinceEpochMs = 0
  /** The last state reported by `onState`. */
  #told: UnitState = 'unknown'
  #missesInRow = 0
  readonly #window: UnitWindow
  #lateMs = Number.NEGATIVE_INFINITY
  #nextTryMs = 0

  constructor(parts: UnitBreakerParts) {
    const { breaker_retry_ms: firstMs, breaker_retry_max_ms: maxMs } = parts.settings
    this.#parts = parts
    this.#backoff = new Backoff({ firstMs, maxMs: Math.max(firstMs, maxMs) })
    this.#sinceEpochMs = parts.clock.epochMs()
    this.#window = new UnitWindow(parts.settings)
  }

  get state(): UnitState {
    return this.#state
  }

  /** Since when it has been in its state, epoch milliseconds; a probe that fails does not restart it. */
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

  /** Milliseconds until polls and background work may try it again; undefined if the breaker is closed. */
  get retryInMs(): number | undefined {
    return this.isOpen ? Math.max(0, this.#nextTryMs - this.#parts.clock.monotonicMs()) : undefined
  }

  /** A request to it is sent. */
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

  /** Its last reply came a second time. */
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
    // A try by an operator before the next try is due does not postpone it.
    if (this.isOpen && isDue) this.#nextTryMs = clock.monotonicMs() + this.#backoff.next()
  }

  /** It sent a frame that may be for an earlier request: it is alive, yet this request has no reply. */
  unproven(): void {
    this.#window.missed('missing', this.#parts.clock.epochMs())
    this.#move('undecided', this.#judged())
  }

  /** The request never reached the line, so it says nothing about the unit. */
  undecided(): void {
    this.#move('undecided')
  }

  lineClosed(): void {
    this.#heal()
    this.#window.forget()
    this.#lateMs = Number.NEGATIVE_INFINITY
    this.#move('lineClosed')
    // Not reported per unit: the closed line is an event of the port.
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

  /** Applies several events at once and reports only the final state. */
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

/**
 * Upper bounds of the buckets, ms; one more bucket takes what is above. They are close together where the units of a
 * line differ.
 */
const BOUNDS_MS = [2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000, 2000, 5000, 10_000] as const

/**
 * Milliseconds. `p50` and `p95`: half of the replies, and 95 of 100, took at most so long. They are bucket bounds, but
 * never above `max`.
 */
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
  /** Cumulative: the number of replies that took at most `leMs`; null: all replies. */
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
