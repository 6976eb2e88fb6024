/** What units owe: which of them is asked nothing for a while, and which only what cannot be mistaken. */

import type { Clock, Timer } from '#kit/clock.ts'
import type { BusCopies } from './copies.ts'
import type { BusCounts } from './faults.ts'
import type { BusProtocol, BusReply, BusRequest, Outstanding, Sent } from './protocol.ts'
import { type BusSettings, quarantineMs } from './settings.ts'

// Fences: harmless reads whose answers cannot be taken for anything that a unit owes. A unit answers in order, so once
// it has answered a fence nothing asked before is to come.
// @see docs/decisions/late-replies.md

/** Reads kept of each unit that it is known to answer, the last of each function and length. */
const KNOWN_KEPT = 6

/** Requests a unit may owe at once; before the next it is held until the oldest is over. */
const OWED_KEPT = 48

/** Requests that units of one line may owe at once. Beyond, who owes one is held until that is over. */
export const LINE_OWED = 512

/** Fences in a row refused by other refusals that together do for one that was answered: a unit may have nothing to read. */
const REFUSED_FENCES = 6

/** Refusals in a row behind which nothing came, after which a refusal ends what was asked, as it should. */
const PLAIN_REFUSALS = 8

/** Of the longest lateness seen: how long the hold is, and after how long nothing is reckoned with. */
const HOLD_MARGIN = 1.25
const OVER_MARGIN = 2

/** A request that may still be answered. Of what it writes only the frame is kept: values of a whole write take 16 KB. */
interface Owed<Request extends BusRequest> extends Outstanding<Request> {
  /** When its last bit was out; undefined where that is not known. */
  sentAtMs: number | undefined
  /** Since when it is owed, by the monotonic clock. */
  sinceMs: number
  /** Something came that may have been its answer, or a copy of another. */
  isDoubted: boolean
}

interface Unit<Request extends BusRequest> {
  readonly unitId: number
  /** The oldest first. Each was told apart from those before it when it was sent. */
  owed: readonly Owed<Request>[]
  timer: Timer | undefined
  /** By the monotonic clock. */
  untilMs: number
  /** Longest time from a request that was given up to its answer. */
  longestLateMs: number
  /** Reads it has answered, the latest first. */
  known: readonly Sent<Request>[]
  /** Fences in a row that were refused by refusals. */
  refusedFences: number
  /** Refusals in a row behind which nothing came. */
  plainRefusals: number
}

/** What a unit owes, for whoever has its line next. */
export interface UnitDebts<Request extends BusRequest> {
  unitId: number
  owed: readonly Owed<Request>[]
  longestLateMs: number
  known: readonly Sent<Request>[]
  /** Until when it is asked nothing, and until when anything it owes may come. By the monotonic clock. */
  untilMs: number
  overMs: number
}

/** A late answer. */
export interface LateReply<Request extends BusRequest, Reply extends BusReply> {
  sent: Sent<Request>
  reply: Reply
  /** From the end of the request; null where that cannot be known. */
  tookMs: number | null
  /** What became of the request: no answer in time, one that was doubted, or a refusal before this. */
  was: 'missed' | 'doubted' | 'refused'
}

/** How a request is given up. `sentAtMs` left out: not known, or its answer was not waited for and may take that time too. */
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
  /** A unit may be asked again. */
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

  /** The unit did not answer: it is held from now, anew where it was held. Of a broadcast nobody owes an answer. */
  owe(sent: Sent<Request>, { isFence = false, sentAtMs }: GivenUp = {}): void {
    if (this.#parts.protocol.isBroadcast(sent.request)) return
    const unit = this.#of(sent.request.unitId)
    this.#add(unit, sent, { sentAtMs, isFence })
    if (isFence) unit.refusedFences = 0
    this.#hold(unit, this.#holdMs(unit) + (sentAtMs === undefined ? this.#parts.settings.response_timeout_ms : 0))
  }

  /** Something came that may be its answer. @param holdMs the unit is held for so long */
  doubt(sent: Sent<Request>, holdMs: number): void {
    const unit = this.#of(sent.request.unitId)
    this.#add(unit, sent, { isDoubted: true })
    if (holdMs > 0) this.#hold(unit, holdMs)
  }

  /** The unit said something unasked that answers this: it is held, as the next answer could be the one before. */
  suspect(sent: Sent<Request>): void {
    const unit = this.#of(sent.request.unitId)
    this.#add(unit, sent, { mayRefuse: false })
    this.#hold(unit, this.#holdMs(unit))
  }

  /** The unit answered what it was asked, for certain: nothing older is to come. */
  answered(sent: Sent<Request>, reply: Reply, isFence: boolean): void {
    const { unitId } = sent.request
    const unit = this.#of(unitId)
    if (reply.refusal) {
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
   * A late answer was seen. A unit that owes no more answers is free.
   * @param isAsked the unit is being asked, so that a refusal may be for that
   * @returns the request it answers
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
    const sent = { frame: one.frame, request: protocol.reopen(one.frame) }
    return { sent, reply: protocol.openReply(sent, frame), tookMs: isCertain ? lateMs : null, was }
  }

  /** What would do as the reply to this may be owed to an earlier request. */
  mayBeOwed(sent: Sent<Request>, frame: Uint8Array): boolean {
    const unit = this.#units.get(sent.request.unitId)
    if (!unit || unit.owed.length === 0 || this.#answeredBy(unit, frame) < 0) return false
    return this.#parts.protocol.isRefusal(frame) || !this.#isRetry(unit, sent)
  }

  /** Whether it may go; `fence`: once a fence was answered, which `fenceFor` gives. */
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

  /** How long the unit is held yet, milliseconds; undefined where it is not. */
  heldForMs(unitId: number): number | undefined {
    const unit = this.#units.get(unitId)
    return unit?.timer && Math.max(0, unit.untilMs - this.#parts.clock.monotonicMs())
  }

  /** The longest time that it has taken to answer a request that was given up; 0: none was answered. */
  longestLateMs(unitId: number): number {
    return this.#units.get(unitId)?.longestLateMs ?? 0
  }

  /** What the unit may still answer. */
  owed(unitId: number): readonly Sent<Request>[] {
    const unit = this.#units.get(unitId)
    return unit ? this.#owedBy(unit) : []
  }

  /** What units owe now. */
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

  /** What units owe that another adapter of this line has asked. */
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

  /** The line is closed: nobody waits for a unit to be free. */
  stop(): void {
    for (const unit of this.#units.values()) {
      unit.timer?.cancel()
      unit.timer = undefined
    }
  }

  /** The line is back: who was held is held to the end of that. */
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

  /** Where it owes too much, or what it says next could be a copy, it is let rest. */
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

  /** After which time nothing is reckoned with that was not seen. */
  #overMs(unit: Unit<Request>): number {
    return Math.max(this.#parts.settings.late_limit_ms, OVER_MARGIN * unit.longestLateMs)
  }

  /** As late as it ever was, and some more, so that what is on its way comes before the next request goes. */
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
    // Of the others too: who is never asked again would keep what is over.
    for (const other of this.#units.values()) this.#owedBy(other)
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

  /** All that was asked before has been answered, or never will be. Copies of what was not heard may still come. */
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

  /** @returns the one it answers; of refusals, which look alike, the oldest they can be for */
  #answeredBy(unit: Unit<Request>, frame: Uint8Array): number {
    const { protocol } = this.#parts
    const isRefusal = protocol.isRefusal(frame)
    return this.#owedBy(unit).findIndex((one) => (one.mayRefuse || !isRefusal) && !protocol.replyFlaw(one, frame))
  }

  /** A refusal need not be for what was asked: until a fence was answered, values may follow it. */
  #refused(unit: Unit<Request>, sent: Sent<Request>, { isFence, isOwn }: { isFence: boolean; isOwn: boolean }): void {
    const isTold = isFence && (++unit.refusedFences >= REFUSED_FENCES || isOwn)
    if (isTold || unit.plainRefusals >= PLAIN_REFUSALS) this.#settle(unit)
    else this.#add(unit, sent, { isFence, mayRefuse: false })
  }

  /** It is known to answer this read. */
  #know(unit: Unit<Request>, sent: Sent<Request>): void {
    const { protocol } = this.#parts
    const { known } = unit
    if (!protocol.isFence(sent.request) || known[0]?.frame === sent.frame) return
    unit.known = [sent, ...known.filter((one) => !protocol.isMistakable(one, sent))].slice(0, KNOWN_KEPT)
  }

  /** Sent anew, it does nothing that the first did not; whichever is confirmed, what was asked for is so. */
  #isRetry(unit: Unit<Request>, sent: Sent<Request>): boolean {
    const { protocol } = this.#parts
    if (!protocol.isRepeatable(sent.request)) return false
    const writes = unit.owed.filter(({ request }) => protocol.isWrite(request))
    return writes.length > 0 && writes.every(({ frame }) => isSameFrame(frame, sent.frame))
  }
}

function isSameFrame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at])
}
