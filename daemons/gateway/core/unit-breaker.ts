/**
 * Whether a unit may be asked again and again. One that left several requests in a row unanswered is silent: each
 * further request would cost its line a whole timeout. It is tried again after waits that double.
 */

import { createBackoff } from '#kit/backoff.ts'
import type { Clock } from '#kit/clock.ts'
import type { ModbusSettings } from './modbus-settings.ts'
import { nextUnitState, type UnitEvent, type UnitState } from './unit-state-table.ts'
import { type Lately, type Lost, UnitWindow } from './unit-window.ts'

export interface UnitBreakerParts {
  clock: Clock
  settings: ModbusSettings
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
