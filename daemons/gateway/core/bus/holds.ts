/**
 * The replies that units still owe. A unit that owes one is on hold for a while, and then gets only requests whose
 * replies cannot be confused with it.
 */

import type { Clock, Timer } from '#kit/clock.ts'
import { isSameBytes } from '#kit/pure/bytes.ts'
import type { BusCopies } from './copies.ts'
import type { BusCounts } from './faults.ts'
import type { BusProtocol, BusReply, BusRequest, Outstanding, Sent } from './protocol.ts'
import { type BusSettings, quarantineMs } from './settings.ts'

// Fences: harmless reads whose replies cannot be confused with any reply that a unit owes. A unit replies in order, so
// once it has answered a fence, no reply to an earlier request is to come.
// @see docs/decisions/late-replies.md

/** How many reads that a unit is known to answer are kept for it, the last of each function and length. */
const KNOWN_KEPT = 6

/** How many replies a unit may owe at once; before the next request it is held until the oldest is over. */
const OWED_KEPT = 48

/** How many replies the units of one line may owe at once. Beyond, a unit that owes one is held until that is over. */
export const LINE_OWED = 512

/** This many fences refused in a row count as one that was answered, as a unit may have nothing to read. */
const REFUSED_FENCES = 6

/** After this many refusals in a row that no values followed, a refusal counts as the reply, as it should. */
const PLAIN_REFUSALS = 8

/** Multiples of the longest lateness seen: how long a hold is, and when a late reply is no longer expected. */
const HOLD_MARGIN = 1.25
const OVER_MARGIN = 2

/** A request that may still be answered. Of its values only the frame is kept: those of a whole write take 16 KB. */
interface Owed<Request extends BusRequest> extends Outstanding<Request> {
  /** When its last bit was out; undefined if not known. */
  sentAtMs: number | undefined
  /** Since when it is owed, by the monotonic clock. */
  sinceMs: number
  /** Something came that may have been its reply, or a copy of another one. */
  isDoubted: boolean
}

interface Unit<Request extends BusRequest> {
  readonly unitId: number
  /** The oldest first. When each was sent, its reply could not be confused with those owed before it. */
  owed: readonly Owed<Request>[]
  timer: Timer | undefined
  /** Until when it is held, by the monotonic clock. */
  untilMs: number
  /** Longest time from a request that was given up to its late reply. */
  longestLateMs: number
  /** Reads it has answered, the latest first. */
  known: readonly Sent<Request>[]
  /** How many fences in a row were refused. */
  refusedFences: number
  /** How many refusals in a row no values followed. */
  plainRefusals: number
}

/** The replies that a unit owes, for the next adapter of its line. */
export interface UnitDebts<Request extends BusRequest> {
  unitId: number
  owed: readonly Owed<Request>[]
  longestLateMs: number
  known: readonly Sent<Request>[]
  /** Until when it is held, and until when a reply that it owes may come. By the monotonic clock. */
  untilMs: number
  overMs: number
}

/** A late reply. */
export interface LateReply<Request extends BusRequest, Reply extends BusReply> {
  sent: Sent<Request>
  reply: Reply
  /** Time since the end of the request; null if it cannot be known. */
  tookMs: number | null
  /** What had become of the request: no reply in time, a reply that was doubted, or a refusal. */
  was: 'missed' | 'doubted' | 'refused'
}

/** How a request was given up. `sentAtMs` left out: unknown, or its reply was not waited for; the hold is longer. */
interface GivenUp {
  sentAtMs?: number
  isFence?: boolean
}

interface HoldParts<Request extends BusRequest, Reply extends BusReply> {
  clock: Clock
  counts: Pick<BusCounts, 'holds'>
  settings: BusSettings
  protocol: BusProtocol<Request, Reply>
  copies: Pick<BusCopies<Request, Reply>, 'isDoubling' | 'waitMs'>
  /** A unit is no longer held. */
  onFree(): void
}

export class BusHolds<Request extends BusRequest, Reply extends BusReply> {
  readonly #parts: HoldParts<Request, Reply>
  readonly #units = new Map<number, Unit<Request>>()

  constructor(parts: HoldParts<Request, Reply>) {
    this.#parts = parts
  }

  /** How many units are held now. */
  get size(): number {
    return [...this.#units.values()].filter((unit) => unit.timer).length
  }

  /** The unit did not answer: its hold starts now, or starts anew. Nothing is owed for a broadcast. */
  owe(sent: Sent<Request>, { isFence = false, sentAtMs }: GivenUp = {}): void {
    if (this.#parts.protocol.isBroadcast(sent.request)) return
    const unit = this.#of(sent.request.unitId)
    this.#add(unit, sent, { sentAtMs, isFence })
    if (isFence) unit.refusedFences = 0
    this.#hold(unit, this.#holdMs(unit) + (sentAtMs === undefined ? this.#parts.settings.response_timeout_ms : 0))
  }

  /** A frame came that may be its reply. @param holdMs how long to hold the unit */
  doubt(sent: Sent<Request>, holdMs: number): void {
    const unit = this.#of(sent.request.unitId)
    this.#add(unit, sent, { isDoubted: true })
    if (holdMs > 0) this.#hold(unit, holdMs)
  }

  /** The unit sent another reply to this, unasked: it is held, as the next reply could belong to an earlier request. */
  suspect(sent: Sent<Request>): void {
    const unit = this.#of(sent.request.unitId)
    this.#add(unit, sent, { mayRefuse: false })
    this.#hold(unit, this.#holdMs(unit))
  }

  /** The unit has certainly answered this request. Unless the reply is a refusal, no older reply is to come. */
  answered(sent: Sent<Request>, reply: Reply, isFence: boolean): void {
    const { unitId } = sent.request
    const unit = this.#of(unitId)
    if (reply.isRefusal) {
      this.#refused(unit, sent, { isFence, isOwn: this.#parts.protocol.isOwnRefusal(reply.frame) })
      return
    }
    this.#know(unit, sent)
    const retriedAt = unit.owed.length === 0 ? -1 : this.#answeredBy(unit, reply.frame)
    if (retriedAt < 0) {
      this.#settle(unit)
      return
    }
    unit.owed = unit.owed.slice(retriedAt + 1)
    this.#add(unit, sent, {})
  }

  /**
   * Takes a late reply. A unit that owes no more replies is free.
   * @param isAsked the unit has a request in flight, so a refusal may be the reply to that
   * @returns the reply with the request that it answers; undefined where it answers none
   */
  late(frame: Uint8Array, isAsked: boolean): LateReply<Request, Reply> | undefined {
    const { clock, protocol } = this.#parts
    const unit = this.#units.get(protocol.unitOf(frame))
    const at = unit ? this.#answeredBy(unit, frame) : -1
    const one = unit?.owed[at]
    if (!unit || !one) return undefined
    const lateMs = one.sentAtMs === undefined ? null : clock.monotonicMs() - one.sentAtMs
    const isCertain = unit.owed.filter((other) => !protocol.replyFlaw(other, frame)).length === 1
    const isRefusal = protocol.isRefusal(frame)
    if (isRefusal) unit.owed = unit.owed.map((other) => (other === one ? { ...one, mayRefuse: false } : other))
    else {
      if (!one.mayRefuse) unit.plainRefusals = 0
      unit.owed = unit.owed.slice(at + 1)
      this.#know(unit, one)
    }
    const was = one.isDoubted ? 'doubted' : one.mayRefuse && !(isRefusal && isAsked) ? 'missed' : 'refused'
    if (was === 'missed' && isCertain) unit.longestLateMs = Math.max(unit.longestLateMs, lateMs ?? 0)
    if (!unit.owed.some(({ mayRefuse }) => mayRefuse)) this.#free(unit)
    const sent = { frame: one.frame, request: protocol.reopen(one) }
    return { sent, reply: protocol.openReply(sent, frame), tookMs: isCertain ? lateMs : null, was }
  }

  /** Whether a frame that is valid as the reply to this request may be the reply to an earlier one. */
  mayBeOwed(sent: Sent<Request>, frame: Uint8Array): boolean {
    const unit = this.#units.get(sent.request.unitId)
    const at = unit ? this.#answeredBy(unit, frame) : -1
    const one = unit?.owed[at]
    if (!unit || !one || this.#parts.protocol.isRepeat?.(one, sent)) return false
    return this.#parts.protocol.isRefusal(frame) || !this.#isRetry(unit, sent)
  }

  /** Whether the request may be sent now; `fence`: only once the fence that `fenceFor` returns was answered. */
  standing(sent: Sent<Request>): 'free' | 'held' | 'fence' {
    const { clock, copies, protocol } = this.#parts
    const unit = this.#units.get(sent.request.unitId)
    if (!unit) return 'free'
    if (unit.timer) return 'held'
    const copyMs = copies.waitMs(sent)
    if (copyMs > 0) return this.#rest(unit, copyMs)
    const owed = this.#owedBy(unit)
    const [oldest] = owed
    if (!oldest) return 'free'
    const isFull = owed.length >= OWED_KEPT || this.#owedInAll() >= LINE_OWED
    if (!isFull) {
      if (!owed.some((one) => protocol.isMistakable(one, sent)) || this.#isRetry(unit, sent)) return 'free'
      if (protocol.fenceFor(sent, owed, unit.known)) return 'fence'
    }
    return this.#rest(unit, oldest.sinceMs + this.#overMs(unit) - clock.monotonicMs())
  }

  fenceFor(sent: Sent<Request>): Sent<Request> | undefined {
    const unit = this.#units.get(sent.request.unitId)
    return unit && this.#parts.protocol.fenceFor(sent, this.#owedBy(unit), unit.known)
  }

  isHeld(unitId: number): boolean {
    return this.#units.get(unitId)?.timer !== undefined
  }

  /** How much longer the unit is held, milliseconds; undefined where it is not. */
  heldForMs(unitId: number): number | undefined {
    const unit = this.#units.get(unitId)
    return unit?.timer && Math.max(0, unit.untilMs - this.#parts.clock.monotonicMs())
  }

  /** The longest time that the unit took to answer a request that was given up; 0: it answered none. */
  longestLateMs(unitId: number): number {
    return this.#units.get(unitId)?.longestLateMs ?? 0
  }

  /** The requests that the unit may still answer. */
  owed(unitId: number): readonly Sent<Request>[] {
    const unit = this.#units.get(unitId)
    return unit ? this.#owedBy(unit) : []
  }

  /** The replies that units owe now, and the holds on them. */
  debts(): UnitDebts<Request>[] {
    return [...this.#units].flatMap(([unitId, unit]) => {
      const { known, longestLateMs, untilMs } = unit
      const owed = this.#owedBy(unit)
      const latest = owed.at(-1)
      if (!latest && !unit.timer) return []
      const overMs = Math.max(untilMs, latest ? latest.sinceMs + this.#overMs(unit) : 0)
      return [{ unitId, owed, known, longestLateMs, untilMs, overMs }]
    })
  }

  /** Takes over the replies that units still owe to another adapter of this line. */
  adopt(debts: readonly UnitDebts<Request>[]): void {
    for (const { unitId, owed, known, longestLateMs, untilMs } of debts) {
      const unit = this.#of(unitId)
      unit.owed = [...new Set([...owed, ...unit.owed])].slice(-OWED_KEPT)
      unit.known = unit.known.length > 0 ? unit.known : known
      unit.longestLateMs = Math.max(unit.longestLateMs, longestLateMs)
      const heldMs = Math.max(unit.timer ? unit.untilMs : 0, untilMs) - this.#parts.clock.monotonicMs()
      if (heldMs > 0) this.#hold(unit, heldMs)
    }
  }

  /** The line is closed: stops the timers of the holds. */
  stop(): void {
    for (const unit of this.#units.values()) {
      unit.timer?.cancel()
      unit.timer = undefined
    }
  }

  /** The line is back: restarts the holds for the time they have left. */
  resume(): void {
    for (const unit of this.#units.values()) {
      const leftMs = unit.untilMs - this.#parts.clock.monotonicMs()
      if (leftMs > 0) this.#hold(unit, leftMs)
    }
  }

  #of(unitId: number): Unit<Request> {
    const known = this.#units.get(unitId)
    if (known) return known
    const unit: Unit<Request> = {
      unitId,
      owed: [],
      timer: undefined,
      untilMs: 0,
      longestLateMs: 0,
      known: [],
      refusedFences: 0,
      plainRefusals: 0,
    }
    this.#units.set(unitId, unit)
    return unit
  }

  #hold(unit: Unit<Request>, forMs: number): void {
    const { clock, counts, onFree } = this.#parts
    counts.holds++
    unit.timer?.cancel()
    unit.untilMs = clock.monotonicMs() + forMs
    unit.timer = clock.after(forMs, () => {
      unit.timer = undefined
      onFree()
    })
  }

  /** Holds a unit that owes too much, or whose next reply could be confused with an owed one or a copy. */
  #rest(unit: Unit<Request>, forMs: number): 'held' {
    this.#hold(unit, Math.max(1, forMs))
    return 'held'
  }

  #free(unit: Unit<Request>): void {
    unit.timer?.cancel()
    unit.timer = undefined
    unit.untilMs = 0
    this.#parts.onFree()
  }

  /** The age of a request after which its reply is no longer expected. */
  #overMs(unit: Unit<Request>): number {
    return Math.max(this.#parts.settings.late_limit_ms, OVER_MARGIN * unit.longestLateMs)
  }

  /** The longest lateness seen plus a margin, so that a reply on its way comes before the next request is sent. */
  #holdMs(unit: Unit<Request>): number {
    const { settings } = this.#parts
    const learnedMs = HOLD_MARGIN * unit.longestLateMs - settings.response_timeout_ms
    return Math.max(quarantineMs(settings), Math.min(settings.late_limit_ms, learnedMs))
  }

  #owedBy(unit: Unit<Request>): readonly Owed<Request>[] {
    const [oldest] = unit.owed
    if (!oldest) return []
    const overMs = this.#parts.clock.monotonicMs() - this.#overMs(unit)
    if (oldest.sinceMs <= overMs) unit.owed = unit.owed.filter(({ sinceMs }) => sinceMs > overMs)
    return unit.owed
  }

  #owedInAll(): number {
    let owed = 0
    for (const unit of this.#units.values()) owed += unit.owed.length
    return owed
  }

  #add(unit: Unit<Request>, sent: Sent<Request>, how: Partial<Owed<Request>>): void {
    const sinceMs = this.#parts.clock.monotonicMs()
    // For all units: one that is never asked again would otherwise keep requests that are over.
    for (const other of this.#units.values())
      if (this.#owedBy(other).length === 0 && other !== unit && !other.timer && isBlank(other))
        this.#units.delete(other.unitId)
    const one = {
      frame: sent.frame,
      request: this.#parts.protocol.withoutValues(sent.request),
      sentAtMs: undefined,
      isFence: false,
      isDoubted: false,
      mayRefuse: true,
      ...how,
      sinceMs,
    }
    unit.owed = [...this.#owedBy(unit), one].slice(-OWED_KEPT)
  }

  /** Every earlier request has been answered or never will be. Copies of replies that were not heard may still come. */
  #settle(unit: Unit<Request>): void {
    const { clock, copies, settings } = this.#parts
    const { owed } = unit
    unit.refusedFences = 0
    if (owed.length === 0) return
    unit.plainRefusals += owed.filter(({ mayRefuse }) => !mayRefuse).length
    if (!copies.isDoubling(unit.unitId)) unit.owed = []
    else {
      const lastMs = clock.monotonicMs() - this.#overMs(unit) + settings.copy_window_ms
      unit.owed = owed.map((one) => ({ ...one, sinceMs: Math.min(one.sinceMs, lastMs) }))
      this.#hold(unit, settings.copy_window_ms)
    }
  }

  /** @returns the index of the request it answers, -1: none; refusals look alike: the oldest that one can be for */
  #answeredBy(unit: Unit<Request>, frame: Uint8Array): number {
    const { protocol } = this.#parts
    const isRefusal = protocol.isRefusal(frame)
    return this.#owedBy(unit).findIndex((one) => (one.mayRefuse || !isRefusal) && !protocol.replyFlaw(one, frame))
  }

  /** A refusal need not be for this request: until a fence was answered, its values may still follow. */
  #refused(unit: Unit<Request>, sent: Sent<Request>, { isFence, isOwn }: { isFence: boolean; isOwn: boolean }): void {
    const isTold = isFence && (++unit.refusedFences >= REFUSED_FENCES || isOwn)
    if (isTold || unit.plainRefusals >= PLAIN_REFUSALS) this.#settle(unit)
    else this.#add(unit, sent, { isFence, mayRefuse: false })
  }

  /** Records that the unit answers this read. */
  #know(unit: Unit<Request>, sent: Sent<Request>): void {
    const { protocol } = this.#parts
    const { known } = unit
    if (!protocol.isFence(sent.request) || known[0]?.frame === sent.frame) return
    unit.known = [sent, ...known.filter((one) => !protocol.isMistakable(one, sent))].slice(0, KNOWN_KEPT)
  }

  /** Whether it repeats the write that is owed, to no further effect: a reply to either confirms what was asked for. */
  #isRetry(unit: Unit<Request>, sent: Sent<Request>): boolean {
    const { protocol } = this.#parts
    if (!protocol.isRepeatable(sent.request)) return false
    const writes = unit.owed.filter(({ request }) => protocol.isWrite(request))
    return writes.length > 0 && writes.every(({ frame }) => isSameBytes(frame, sent.frame))
  }
}

/** Nothing was learned of it, such as of a number that was asked by mistake. */
function isBlank({ known, longestLateMs, plainRefusals, refusedFences }: Unit<BusRequest>): boolean {
  return known.length === 0 && longestLateMs === 0 && plainRefusals === 0 && refusedFences === 0
}
