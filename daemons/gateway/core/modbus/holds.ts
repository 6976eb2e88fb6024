/** What units owe: which of them is asked nothing for a while, and which only what cannot be mistaken. */

import type { Clock, Timer } from '#kit/clock.ts'
import { exceptionCode, isMistakable, replyFlaw, type SentRequest } from '../../wire/modbus-reply.ts'
import { modbusFunctions, openRequest, sealed } from '../../wire/modbus-request.ts'
import type { ModbusCopies } from './copies.ts'
import type { ModbusCounts } from './faults.ts'
import { type ModbusSettings, quarantineMs } from './settings.ts'

// Fences: harmless reads whose answers cannot be taken for anything that a unit owes. A unit answers in order, so once
// it has answered a fence nothing asked before is to come.
// @see docs/decisions/late-replies.md

/** A request that may still be answered. */
interface Outstanding extends SentRequest {
  /** Its exception may still come; where not, its values may: an exception is not always the answer to what was asked. */
  mayRefuse: boolean
  isFence: boolean
}

/** Reads kept of each unit that it is known to answer, the last of each function and length. */
const KNOWN_KEPT = 6

/** Reads of another function, where those of the function asked came to nothing: a unit refuses what it does not have. */
const READS = [3, 4, 1, 2] as const

/** Which read looks at what a function asks about. */
const readBehind: Readonly<Record<number, number>> = { 1: 1, 2: 2, 4: 4, 5: 1, 15: 1 }

/** What of a unit is known to be answered. @returns the list, the latest first */
function withKnown(known: readonly SentRequest[], sent: SentRequest): readonly SentRequest[] {
  if (modbusFunctions.get(sent.request.fc)?.isWrite !== false || sent.request.fc === 43) return known
  if (known[0]?.frame === sent.frame) return known
  return [sent, ...known.filter((one) => !isMistakable(one, sent))].slice(0, KNOWN_KEPT)
}

/**
 * Chooses the read that clears what a unit owes, on behalf of a request that could be mistaken for it: one that the unit
 * has answered before; else a part of one, which it has too; else another length at such a place; else another function there. Never a write.
 * @returns undefined where each could be taken for something owed
 */
function fenceFor(
  asked: SentRequest,
  owed: readonly Outstanding[],
  known: readonly SentRequest[],
): SentRequest | undefined {
  const isClear = (one: SentRequest) => !owed.some((other) => isMistakable(one, other))
  const isRefusable = ({ request }: SentRequest) => !owed.some((one) => one.mayRefuse && one.request.fc === request.fc)
  const clear = known.filter(isClear)
  const best = clear.find(isRefusable) ?? clear[0]
  if (best) return best
  for (const one of known) for (const part of partsOf(one)) if (isClear(part)) return part
  const place = known.find(({ request }) => request.fc === asked.request.fc) ?? known[0] ?? asked
  const { unitId, address } = place.request
  const fc = readAt(place)
  const isOf = (code: number) => (one: Outstanding) => one.request.fc === code
  const triedOf = (code: number) => owed.filter((one) => one.isFence && isOf(code)(one)).length
  // A function is tried last of which an exception could be one to what is owed: it would settle nothing.
  const isDimOf = (code: number) => Number(owed.some((one) => one.mayRefuse && isOf(code)(one)))
  const codes = [fc, ...READS.filter((one) => one !== fc)].sort(
    (one, other) => isDimOf(one) - isDimOf(other) || triedOf(one) - triedOf(other),
  )
  for (const code of codes)
    for (const quantity of quantitiesOf(code, place)) {
      if (address + quantity > 65_536) continue
      const fence = readFrame(unitId, code, address, quantity)
      if (isClear(fence)) return fence
    }
  return undefined
}

/** Which read looks at the place a request is about. */
export function readAt({ request: { fc } }: SentRequest): number {
  return readBehind[fc] ?? 3
}

/** A read, as it goes out. */
export function readFrame(unitId: number, fc: number, address: number, quantity: number): SentRequest {
  const frame = sealed([unitId, fc, address >> 8, address & 0xff, quantity >> 8, quantity & 0xff])
  return { frame, request: openRequest(frame) }
}

/** Shorter reads of what was answered: a unit that has the whole has its beginning too. */
function* partsOf(one: SentRequest): Iterable<SentRequest> {
  const { unitId, fc, address, quantity } = one.request
  const shape = modbusFunctions.get(fc)?.shape
  if (shape !== 'readBits' && shape !== 'readWords') return
  const step = shape === 'readBits' ? 8 : 1
  for (let fewer = quantity - step; fewer > 0; fewer -= step) yield readFrame(unitId, fc, address, fewer)
}

/** Lengths of reads: of registers half of what is answered, then one after the other; of bits one byte more each time. */
function* quantitiesOf(code: number, { request }: SentRequest): Iterable<number> {
  const isBits = modbusFunctions.get(code)?.shape === 'readBits'
  const most = modbusFunctions.get(code)?.maxQuantity ?? 1
  if (!isBits && request.fc === code && request.quantity > 3) yield request.quantity >> 1
  for (let quantity = 1; quantity <= most; quantity += isBits ? 8 : 1) yield quantity
}

/** Requests a unit may owe at once; before the next it is held until the oldest is over. */
const OWED_KEPT = 48

/** Requests that units of one line may owe at once. Beyond, who owes one is held until that is over. */
export const LINE_OWED = 512

/** Fences in a row refused by other exceptions that together do for one that was answered: a unit may have nothing to read. */
const REFUSED_FENCES = 6

/**
 * Exceptions up to this code say that the unit itself has read the request and will not do it: it answers in order. What is
 * said beyond, 0B above all, a gateway before the unit may say while the answer is still on its way.
 * @source MODBUS Application Protocol Specification V1.1b3, 7
 */
const OWN_REFUSAL = 3

/** Exceptions in a row behind which nothing came, after which an exception ends what was asked, as it should. */
const PLAIN_REFUSALS = 8

/** Of the longest lateness seen: how long the hold is, and after how long nothing is reckoned with. */
const HOLD_MARGIN = 1.25
const OVER_MARGIN = 2

/** A request that may still be answered. Of what it writes only the frame is kept: 1968 coils take 16 KB as values. */
interface Owed extends Outstanding {
  /** When its last bit was out; undefined where that is not known. */
  sentAtMs: number | undefined
  /** Since when it is owed, by the monotonic clock. */
  sinceMs: number
  /** Something came that may have been its answer, or a copy of another. */
  isDoubted: boolean
}

interface Unit {
  readonly unitId: number
  /** The oldest first. Each was told apart from those before it when it was sent. */
  owed: readonly Owed[]
  timer: Timer | undefined
  /** By the monotonic clock. */
  untilMs: number
  /** Longest time from a request that was given up to its answer. */
  longestLateMs: number
  /** Reads it has answered, the latest first. */
  known: readonly SentRequest[]
  /** Fences in a row that were refused by exceptions. */
  refusedFences: number
  /** Exceptions in a row behind which nothing came. */
  plainRefusals: number
}

/** What a unit owes, for whoever has its line next. */
export interface UnitDebts {
  unitId: number
  owed: readonly Owed[]
  longestLateMs: number
  known: readonly SentRequest[]
  /** Until when it is asked nothing, and until when anything it owes may come. By the monotonic clock. */
  untilMs: number
  overMs: number
}

/** A late answer. */
export interface LateReply {
  sent: SentRequest
  frame: Uint8Array
  /** From the end of the request; null where that cannot be known. */
  tookMs: number | null
  /** What became of the request: no answer in time, one that was doubted, or an exception before this. */
  was: 'missed' | 'doubted' | 'refused'
}

/** How a request is given up. `sentAtMs` left out: not known, or its answer was not waited for and may take that time too. */
interface GivenUp {
  sentAtMs?: number
  isFence?: boolean
}

interface HoldParts {
  clock: Clock
  counts: ModbusCounts
  settings: ModbusSettings
  copies: ModbusCopies
  /** A unit may be asked again. */
  onFree(): void
}

const nothing: readonly Owed[] = []

export class ModbusHolds {
  readonly #parts: HoldParts
  readonly #units = new Map<number, Unit>()

  constructor(parts: HoldParts) {
    this.#parts = parts
  }

  /** How many units are held now. */
  get size(): number {
    return [...this.#units.values()].filter((unit) => unit.timer).length
  }

  /** The unit did not answer: it is held from now, anew where it was held. Of a broadcast nobody owes an answer. */
  owe(sent: SentRequest, { isFence = false, sentAtMs }: GivenUp = {}): void {
    if (sent.request.unitId === 0) return
    const unit = this.#of(sent.request.unitId)
    this.#add(unit, sent, { sentAtMs, isFence })
    if (isFence) unit.refusedFences = 0
    this.#hold(unit, this.#holdMs(unit) + (sentAtMs === undefined ? this.#parts.settings.response_timeout_ms : 0))
  }

  /** Something came that may be its answer. @param holdMs the unit is held for so long */
  doubt(sent: SentRequest, holdMs: number): void {
    const unit = this.#of(sent.request.unitId)
    this.#add(unit, sent, { isDoubted: true })
    if (holdMs > 0) this.#hold(unit, holdMs)
  }

  /** The unit said something unasked that answers this: it is held, as the next answer could be the one before. */
  suspect(sent: SentRequest): void {
    const unit = this.#of(sent.request.unitId)
    this.#add(unit, sent, { mayRefuse: false })
    this.#hold(unit, this.#holdMs(unit))
  }

  /** The unit answered what it was asked, for certain: nothing older is to come. */
  answered(sent: SentRequest, reply: Uint8Array, isFence: boolean): void {
    const { unitId } = sent.request
    const unit = this.#of(unitId)
    if (exceptionCode(reply) !== null) {
      this.#refused(unit, sent, isFence ? exceptionCode(reply) : null)
      return
    }
    unit.known = withKnown(unit.known, sent)
    const retriedAt = unit.owed.length === 0 ? -1 : this.#answeredBy(unit, reply)
    if (retriedAt < 0) {
      this.#settle(unit)
      return
    }
    unit.owed = unit.owed.slice(retriedAt + 1)
    this.#add(unit, sent, {})
  }

  /**
   * A late answer was seen. A unit that owes no more answers is free.
   * @param isAsked the unit is being asked, so that an exception may be for that
   * @returns the request it answers
   */
  late(frame: Uint8Array, isAsked: boolean): LateReply | undefined {
    const unit = this.#units.get(frame[0] ?? 0)
    const at = unit ? this.#answeredBy(unit, frame) : -1
    const one = unit?.owed[at]
    if (!unit || !one) return undefined
    const lateMs = one.sentAtMs === undefined ? null : this.#parts.clock.monotonicMs() - one.sentAtMs
    const isCertain = unit.owed.filter((other) => !replyFlaw(other, frame)).length === 1
    const isRefusal = exceptionCode(frame) !== null
    if (isRefusal) unit.owed = unit.owed.map((other) => (other === one ? { ...one, mayRefuse: false } : other))
    else {
      if (!one.mayRefuse) unit.plainRefusals = 0
      unit.owed = unit.owed.slice(at + 1)
      unit.known = withKnown(unit.known, one)
    }
    const was = one.isDoubted ? 'doubted' : one.mayRefuse && !(isRefusal && isAsked) ? 'missed' : 'refused'
    if (was === 'missed' && isCertain) unit.longestLateMs = Math.max(unit.longestLateMs, lateMs ?? 0)
    if (!unit.owed.some(({ mayRefuse }) => mayRefuse)) this.#free(unit)
    const sent = { frame: one.frame, request: openRequest(one.frame) }
    return { sent, frame, tookMs: isCertain ? lateMs : null, was }
  }

  /** What would do as the reply to this may be owed to an earlier request. */
  mayBeOwed(sent: SentRequest, frame: Uint8Array): boolean {
    const unit = this.#units.get(sent.request.unitId)
    if (!unit || unit.owed.length === 0 || this.#answeredBy(unit, frame) < 0) return false
    return exceptionCode(frame) !== null || !isRetry(unit, sent)
  }

  /** Whether it may go; `fence`: once a fence was answered, which `fenceFor` gives. */
  standing(sent: SentRequest): 'free' | 'held' | 'fence' {
    const { clock, copies } = this.#parts
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
      if (!owed.some((one) => isMistakable(one, sent)) || isRetry(unit, sent)) return 'free'
      if (fenceFor(sent, owed, unit.known)) return 'fence'
    }
    return this.#rest(unit, oldest.sinceMs + this.#overMs(unit) - clock.monotonicMs())
  }

  fenceFor(sent: SentRequest): SentRequest | undefined {
    const unit = this.#units.get(sent.request.unitId)
    return unit && fenceFor(sent, this.#owedBy(unit), unit.known)
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
  owed(unitId: number): readonly SentRequest[] {
    const unit = this.#units.get(unitId)
    return unit ? this.#owedBy(unit) : nothing
  }

  /** What units owe now. */
  debts(): UnitDebts[] {
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
  adopt(debts: readonly UnitDebts[]): void {
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

  #of(unitId: number): Unit {
    const known = this.#units.get(unitId)
    if (known) return known
    const unit: Unit = {
      unitId,
      owed: nothing,
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

  #hold(unit: Unit, forMs: number): void {
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
  #rest(unit: Unit, forMs: number): 'held' {
    this.#hold(unit, Math.max(1, forMs))
    return 'held'
  }

  #free(unit: Unit): void {
    unit.timer?.cancel()
    unit.timer = undefined
    unit.untilMs = 0
    this.#parts.onFree()
  }

  /** After which time nothing is reckoned with that was not seen. */
  #overMs(unit: Unit): number {
    return Math.max(this.#parts.settings.late_limit_ms, OVER_MARGIN * unit.longestLateMs)
  }

  /** As late as it ever was, and some more, so that what is on its way comes before the next request goes. */
  #holdMs(unit: Unit): number {
    const { settings } = this.#parts
    const learnedMs = HOLD_MARGIN * unit.longestLateMs - settings.response_timeout_ms
    return Math.max(quarantineMs(settings), Math.min(settings.late_limit_ms, learnedMs))
  }

  #owedBy(unit: Unit): readonly Owed[] {
    const [oldest] = unit.owed
    if (!oldest) return nothing
    const overMs = this.#parts.clock.monotonicMs() - this.#overMs(unit)
    if (oldest.sinceMs <= overMs) unit.owed = unit.owed.filter(({ sinceMs }) => sinceMs > overMs)
    return unit.owed
  }

  #owedInAll(): number {
    let owed = 0
    for (const unit of this.#units.values()) owed += unit.owed.length
    return owed
  }

  #add(unit: Unit, sent: SentRequest, how: Partial<Owed>): void {
    const sinceMs = this.#parts.clock.monotonicMs()
    // Of the others too: who is never asked again would keep what is over.
    for (const other of this.#units.values()) this.#owedBy(other)
    const { values: _, ...request } = sent.request
    const one = {
      frame: sent.frame,
      request,
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
  #settle(unit: Unit): void {
    const { clock, copies, settings } = this.#parts
    const { owed } = unit
    unit.refusedFences = 0
    if (owed.length === 0) return
    unit.plainRefusals += owed.filter(({ mayRefuse }) => !mayRefuse).length
    if (!copies.isDoubling(unit.unitId)) unit.owed = nothing
    else {
      const lastMs = clock.monotonicMs() - this.#overMs(unit) + settings.copy_window_ms
      unit.owed = owed.map((one) => ({ ...one, sinceMs: Math.min(one.sinceMs, lastMs) }))
      this.#hold(unit, settings.copy_window_ms)
    }
  }

  /** @returns the one it answers; of exceptions, which have one length for all, the oldest they can be for */
  #answeredBy(unit: Unit, frame: Uint8Array): number {
    const isRefusal = exceptionCode(frame) !== null
    return this.#owedBy(unit).findIndex((one) => (one.mayRefuse || !isRefusal) && !replyFlaw(one, frame))
  }

  /**
   * An exception need not be for what was asked: until a fence was answered, values may follow it.
   * @param ofFence its code where a fence was refused, else null
   */
  #refused(unit: Unit, sent: SentRequest, ofFence: number | null): void {
    const isFence = ofFence !== null
    const isTold = isFence && (++unit.refusedFences >= REFUSED_FENCES || ofFence <= OWN_REFUSAL)
    if (isTold || unit.plainRefusals >= PLAIN_REFUSALS) this.#settle(unit)
    else this.#add(unit, sent, { isFence, mayRefuse: false })
  }
}

/** Sent anew, it does nothing that the first did not; whichever is confirmed, what was asked for is so. */
function isRetry(unit: Unit, sent: SentRequest): boolean {
  if (![5, 6, 15, 16].includes(sent.request.fc)) return false
  const writes = unit.owed.filter(({ request }) => modbusFunctions.get(request.fc)?.isWrite)
  return writes.length > 0 && writes.every(({ frame }) => isSameFrame(frame, sent.frame))
}

function isSameFrame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at])
}
