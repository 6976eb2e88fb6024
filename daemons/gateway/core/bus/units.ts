/** What is known of each unit of a line, and the sentences that report a change of its state. */

import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import { noiseRemedy, noiseText } from '../../wire/noise-words.ts'
import { type BusFaults, busFaultKind } from './faults.ts'
import type { BusReply, BusRequest } from './protocol.ts'
import type { BusSettings } from './settings.ts'
import type { Asking, BusHooks } from './transactions.ts'
import {
  createUnitLatency,
  type Lately,
  type LatencyView,
  UnitBreaker,
  type UnitLatency,
  type UnitState,
} from './unit-health.ts'

// What the API reports about the units of a line. Instants are epoch milliseconds; unknown is null, never 0.

/** A unit that was asked, or found by a scan, since the adapter was made or since the unit was forgotten. */
export interface UnitView {
  unitId: number
  state: UnitState
  stateSince: number
  requests: number
  replies: number
  exceptions: number
  timeouts: number
  /** Frames with a wrong checksum while a request to this unit was in flight. */
  crcErrors: number
  /** Requests that were followed by bytes, but by no valid reply. */
  badReplies: number
  lateReplies: number
  /** Replies that came a second time. */
  copies: number
  /** How its last exchanges went: the basis for `noisy`. */
  lately: Lately
  lastReplyAt: number | null
  lastError: { code: string; message: string; at: number } | null
  /** From the end of a request to the end of its reply, late replies included. */
  latencyMs: LatencyView | null
  /** Cumulative: the number of replies that took at most `leMs`; null: all replies. */
  histogram: { leMs: number | null; count: number }[]
  /** Until when it is on hold, because it owes a reply. */
  heldUntil: number | null
  /** When polls and background work may try it again. */
  nextTryAt: number | null
}

/** Payload of `unit`: its state changed. */
export interface UnitPayload {
  unitId: number
  state: UnitState
  previous: UnitState
  message: string
  /** Of a unit that is asked. */
  lately?: Lately
}

/** How the units of a line do, by unit number; of those that are asked, and of nodes that are only heard. */
export interface UnitStatesFace {
  list(): Pick<UnitView, 'unitId' | 'state'>[]
  /** How many units are in each state; a state without units is left out. */
  states(): Partial<Record<UnitState, number>>
  /** Drops what is known of one. @throws Fault `unknown_unit` */
  forget(unitId: number): void
}

/** The units that are asked on a line. */
export interface UnitsFace extends UnitStatesFace {
  list(): UnitView[]
  /**
   * Drops its counts and its state. What it owes is still remembered, and the next request to it creates it anew.
   * @throws Fault `unknown_unit`
   */
  forget(unitId: number): void
}

// The sentence for a change of a unit's state.

interface UnitChange {
  state: UnitState
  previous: UnitState
  settings: BusSettings
  /** Requests in a row without a reply. */
  misses: number
  lately: Lately
}

/** The message of a `unit` event. */
function unitSentence(unitId: number, { state, previous, settings, misses, lately }: UnitChange): string {
  const unit = `Unit ${unitId}`
  switch (state) {
    case 'well':
      if (previous === 'silent') return `${unit} answers again.`
      if (previous === 'slow') return `${unit} answered in time for ${durationText(settings.slow_unit_ms)}.`
      return previous === 'noisy' ? `${unit} is well again: ${noiseText(lately)}.` : `${unit} answers.`
    case 'slow':
      return `${unit} answered too late: it takes longer than ${settings.response_timeout_ms} ms, settings.response_timeout_ms.`
    case 'noisy':
      return `${unit} is noisy: ${noiseText(lately)}. ${noiseRemedy(lately)}`
    case 'failing':
      return `${unit} has not answered yet.`
    case 'silent':
      if (settings.mode === 'listen') return `${unit} left ${misses} requests in a row without a valid answer.`
      return `${unit} left ${misses} requests in a row without a valid answer. Polls and background work wait until it answers a probe.`
    default:
      return `${unit} is ${state}.`
  }
}

interface BusUnitsParts<Request extends BusRequest> {
  clock: Clock
  faults: Pick<BusFaults<Request>, 'unitSilent'>
  settings: BusSettings
  publish(event: string, payload: unknown): void
  /** A unit became silent, or a probe of it failed: its queued polls and background work must not wait any longer. */
  onSilent(unitId: number, fault: Fault): void
  isPolled?: BusHooks<Request, BusReply>['isPolled']
}

/** Called with each proven reply, in time or late. @param tookMs null if it is not known which request it answers */
export type ProofListener<Reply extends BusReply> = (unitId: number, reply: Reply, tookMs: number | null) => void

type UnitCounts = Pick<
  UnitView,
  'requests' | 'replies' | 'exceptions' | 'timeouts' | 'crcErrors' | 'badReplies' | 'lateReplies' | 'copies'
>

interface Unit {
  readonly unitId: number
  readonly breaker: UnitBreaker
  readonly latency: UnitLatency
  readonly counts: UnitCounts
  lastReplyEpochMs: number | null
  /** When somebody last wanted to ask it, by the monotonic clock, whether the request was sent or refused. */
  lastWantedMs: number
  lastError: UnitView['lastError']
  /** Since its last request it has sent a whole frame, which may be for an earlier request. */
  hasSpoken: boolean
  /** Since when requests to it have been queued without one being sent, by the monotonic clock. */
  wantedSinceMs: number | undefined
}

/**
 * At most one entry per unit number. Background work makes no entry before the unit has answered. A unit that never
 * answered, and that nobody asks any more, is forgotten.
 */
export class BusUnits<Request extends BusRequest, Reply extends BusReply> {
  readonly #parts: BusUnitsParts<Request>
  readonly #units = new Map<number, Unit>()
  /** Units that left their last request unanswered. */
  readonly #suspects = new Set<number>()
  readonly #proofListeners = new Set<ProofListener<Reply>>()
  /**
   * The unit whose probe is queued. Only one at a time, so that many dead units do not fill the queue with probes that
   * wait for a gap.
   */
  #probed: Unit | undefined

  constructor(parts: BusUnitsParts<Request>) {
    this.#parts = parts
  }

  get hasSuspects(): boolean {
    return this.#suspects.size > 0
  }

  /** It left its last request unanswered, so the next one may cost a whole timeout too. */
  isSuspect(unitId: number): boolean {
    return this.#suspects.has(unitId)
  }

  isSilent(unitId: number): boolean {
    return this.#units.get(unitId)?.breaker.isOpen ?? false
  }

  /** A search asks whoever is there, and background work a number where no unit is known: a missing reply is no fault. */
  isNobody({ how, sent }: Asking<Request>): boolean {
    return how.isWildcard === true || (how.priority === 'background' && !this.#units.has(sent.request.unitId))
  }

  /** Since when requests to it have been queued, by the monotonic clock. */
  wantedSinceMs(unitId: number): number {
    return this.#units.get(unitId)?.wantedSinceMs ?? Number.POSITIVE_INFINITY
  }

  /** How many units are in each state now. */
  states(): Partial<Record<UnitState, number>> {
    this.#forgetUnwanted()
    const found: Partial<Record<UnitState, number>> = {}
    for (const { breaker } of this.#units.values()) found[breaker.state] = (found[breaker.state] ?? 0) + 1
    return found
  }

  /**
   * Decides whether a request may join the queue. While a unit is silent, polls and background work for it are refused;
   * once its next try is due, one of them may go as the probe.
   * @returns why it may not, a Fault of kind `unitSilent`; undefined if it may
   */
  refusal({ how: { evenSilent, priority }, sent }: Asking<Request>): Fault | undefined {
    const unit = this.#units.get(sent.request.unitId)
    if (unit) unit.lastWantedMs = this.#parts.clock.monotonicMs()
    if (!unit || priority === 'operator') return undefined
    const { retryInMs, state } = unit.breaker
    const isRefused = retryInMs !== undefined && (retryInMs > 0 || this.#probed !== undefined || state === 'probing')
    if (isRefused && !evenSilent) return this.#silentFault(unit, retryInMs)
    if (retryInMs !== undefined) this.#probed ??= unit
    if (this.#suspects.has(unit.unitId)) unit.wantedSinceMs ??= this.#parts.clock.monotonicMs()
    return undefined
  }

  /** A queued request to this unit leaves the queue without being sent. */
  left({ how, sent }: Asking<Request>): void {
    const unit = this.#units.get(sent.request.unitId)
    if (unit === this.#probed && how.priority !== 'operator') this.#probed = undefined
  }

  /** A request is sent. Not called for broadcasts, which no unit answers. */
  sent(transaction: Asking<Request>): void {
    if (this.isNobody(transaction)) return
    const unit = this.#of(transaction.sent.request.unitId)
    unit.counts.requests++
    unit.hasSpoken = false
    unit.lastWantedMs = this.#parts.clock.monotonicMs()
    if (unit === this.#probed) this.#probed = undefined
    unit.wantedSinceMs = undefined
    unit.breaker.sent()
  }

  /** @param tookMs from the end of the request to the end of the reply; null if not known */
  replied({ how, sent }: Asking<Request>, reply: Reply, tookMs: number | null): void {
    if (how.isWildcard) return
    const unit = this.#alive(sent.request.unitId)
    unit.counts.replies++
    if (tookMs !== null) unit.latency.add(tookMs)
    if (reply.isRefusal) {
      unit.counts.exceptions++
      if (reply.refusal) this.#blame(unit, reply.refusal)
    }
    unit.breaker.answered()
    this.#prove(unit.unitId, reply, tookMs)
  }

  late(unitId: number, { reply, tookMs }: { reply: Reply; tookMs: number | null }): void {
    const unit = this.#alive(unitId)
    unit.counts.lateReplies++
    if (tookMs !== null) unit.latency.add(tookMs)
    unit.breaker.late()
    this.#prove(unitId, reply, tookMs)
  }

  /** @returns removes the listener */
  onProof(listener: ProofListener<Reply>): () => void {
    this.#proofListeners.add(listener)
    return () => void this.#proofListeners.delete(listener)
  }

  /** No proven reply came. @param fault of kind `noReply` or `badReply` */
  missed(transaction: Asking<Request>, fault: Fault): void {
    const { unitId } = transaction.sent.request
    if (this.isNobody(transaction)) return
    const unit = this.#asked(unitId)
    const isMissing = busFaultKind(fault) === 'noReply'
    unit.counts[isMissing ? 'timeouts' : 'badReplies']++
    this.#blame(unit, fault)
    this.#suspects.add(unit.unitId)
    if (unit.hasSpoken) unit.breaker.unproven()
    else unit.breaker.missed(isMissing ? 'missing' : 'damaged')
    const { retryInMs } = unit.breaker
    if (retryInMs !== undefined) this.#parts.onSilent(unit.unitId, this.#silentFault(unit, retryInMs))
  }

  /** A request did not reach the line. */
  notSent({ sent }: Asking<Request>): void {
    this.#units.get(sent.request.unitId)?.breaker.undecided()
  }

  /** A frame failed its checksum while this unit was asked. */
  damaged(unitId: number): void {
    const unit = this.#units.get(unitId)
    if (unit) unit.counts.crcErrors++
  }

  /** It sent a whole frame that may be the reply to an earlier request. */
  spoke(unitId: number): void {
    const unit = this.#units.get(unitId)
    if (unit) unit.hasSpoken = true
  }

  /** It sent its last reply again. */
  copied(unitId: number): void {
    const unit = this.#units.get(unitId)
    if (!unit) return
    unit.counts.copies++
    unit.breaker.twice()
  }

  /**
   * Holds are kept (core/bus/holds.ts), so that a late reply is not taken for another one after this either.
   * @throws Fault `unknown_unit`
   */
  forget(unitId: number): void {
    if (!this.#units.has(unitId))
      throw new Fault(
        'unknown_unit',
        `Unit ${unitId} is not known on this line: it was never asked, or has been forgotten.`,
      )
    this.#drop(unitId)
  }

  lineClosed(): void {
    this.#suspects.clear()
    this.#probed = undefined
    for (const unit of this.#units.values()) {
      unit.wantedSinceMs = undefined
      unit.breaker.lineClosed()
    }
  }

  /** @param heldForMs how long a unit is still on hold; undefined if it is not */
  list(heldForMs: (unitId: number) => number | undefined): UnitView[] {
    this.#forgetUnwanted()
    const nowMs = this.#parts.clock.epochMs()
    const at = (inMs: number | undefined) => (inMs === undefined ? null : Math.ceil(nowMs + inMs))
    const units = [...this.#units.values()].sort((a, b) => a.unitId - b.unitId)
    return units.map(({ unitId, breaker, counts, latency, lastError, lastReplyEpochMs }) => ({
      unitId,
      state: breaker.state,
      stateSince: breaker.sinceEpochMs,
      ...counts,
      lately: breaker.lately(),
      lastReplyAt: lastReplyEpochMs,
      lastError,
      latencyMs: latency.view(),
      histogram: latency.histogram(),
      heldUntil: at(heldForMs(unitId)),
      nextTryAt: at(breaker.retryInMs),
    }))
  }

  #of(unitId: number): Unit {
    return this.#units.get(unitId) ?? this.#newUnit(unitId)
  }

  /** It sent a proven reply. */
  #alive(unitId: number): Unit {
    const unit = this.#asked(unitId)
    unit.lastReplyEpochMs = this.#parts.clock.epochMs()
    this.#suspects.delete(unitId)
    return unit
  }

  /**
   * A unit gets its entry here if a scan has just found it, or if it was forgotten with a request in flight. That
   * request counts.
   */
  #asked(unitId: number): Unit {
    const known = this.#units.get(unitId)
    if (known) return known
    const unit = this.#newUnit(unitId)
    unit.counts.requests++
    return unit
  }

  /**
   * A number asked by mistake must not be listed as silent for ever. It shows only when the list is read, so no timer
   * is needed.
   */
  #forgetUnwanted(): void {
    const { clock, isPolled, settings } = this.#parts
    const untilMs = clock.monotonicMs() - settings.forget_unit_ms
    for (const { unitId, lastReplyEpochMs, lastWantedMs } of this.#units.values())
      if (lastReplyEpochMs === null && lastWantedMs <= untilMs && !isPolled?.(unitId)) this.#drop(unitId)
  }

  #drop(unitId: number): void {
    if (this.#probed?.unitId === unitId) this.#probed = undefined
    this.#suspects.delete(unitId)
    this.#units.delete(unitId)
  }

  #prove(unitId: number, reply: Reply, tookMs: number | null): void {
    for (const listener of this.#proofListeners) listener(unitId, reply, tookMs)
  }

  #newUnit(unitId: number): Unit {
    const { clock, publish, settings } = this.#parts
    const unit: Unit = {
      unitId,
      breaker: new UnitBreaker({
        clock,
        settings,
        onState(state, previous) {
          const { missesInRow: misses } = unit.breaker
          const lately = unit.breaker.lately()
          const message = unitSentence(unitId, { state, previous, settings, misses, lately })
          publish('unit', { unitId, state, previous, message, lately } satisfies UnitPayload)
        },
      }),
      latency: createUnitLatency(),
      counts: {
        requests: 0,
        replies: 0,
        exceptions: 0,
        timeouts: 0,
        crcErrors: 0,
        badReplies: 0,
        lateReplies: 0,
        copies: 0,
      },
      lastReplyEpochMs: null,
      lastWantedMs: clock.monotonicMs(),
      lastError: null,
      hasSpoken: false,
      wantedSinceMs: undefined,
    }
    this.#units.set(unitId, unit)
    return unit
  }

  #blame(unit: Unit, { code, message }: Fault): void {
    unit.lastError = { code, message, at: this.#parts.clock.epochMs() }
  }

  #silentFault({ unitId, breaker }: Unit, retryInMs: number): Fault {
    const nextTryEpochMs = Math.ceil(this.#parts.clock.epochMs() + retryInMs)
    return this.#parts.faults.unitSilent(unitId, { misses: breaker.missesInRow, retryInMs, nextTryEpochMs })
  }
}
