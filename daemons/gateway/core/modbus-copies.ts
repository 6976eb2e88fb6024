/**
 * Answers said twice, by a repeater or by a unit: the second copy is the answer to nothing, however well it would fit
 * the next request. A copy is its answer byte for byte, so only what equals a recent answer of its unit is doubted.
 * @see docs/decisions/041-late-replies.md
 */
import type { Clock } from '#kit/clock.ts'
import { modbusFunctions } from '../wire/modbus-functions.ts'
import { knownReply, type SentRequest } from '../wire/modbus-reply.ts'

/**
 * What an answer is worth.
 * - `sure` it is no copy
 * - `fence` it holds if nothing more comes before a fence is answered
 * - `again` it may be a copy: asked again once no copy can come
 */
export type Doubt = 'sure' | 'fence' | 'again'

/** After so many answers without a copy, none is doubted any more until a copy is seen. */
const MANY = 50

/** Answers of one unit held against what comes next; more are said within the time only by what is no serial line. */
const RECENT_KEPT = 1024

/** Requests of one unit whose last answer is remembered. */
const LAST_KEPT = 64

interface Recent {
  atMs: number
  askedKey: string
}

interface Unit {
  /** By the answer's bytes, the oldest first. */
  recent: Map<string, Recent>
  /** The last answer to a request, both by their bytes; what was asked last comes last. */
  last: Map<string, string>
  /** Answers in a row of which no copy came. */
  single: number
  isDoubling: boolean
}

export class ModbusCopies {
  readonly #clock: Clock
  /** How long after an answer its copy may come; 0: there are none. */
  readonly #windowMs: number
  readonly #units = new Map<number, Unit>()

  constructor(clock: Clock, windowMs: number) {
    this.#clock = clock
    this.#windowMs = windowMs
  }

  /** What the answer to this request is worth, before it is noted. */
  doubt(sent: SentRequest, frame: Uint8Array): Doubt {
    const unit = this.#units.get(sent.request.unitId)
    const key = keyOf(frame)
    const seen = unit && this.#recentOf(unit, key)
    if (!seen) return 'sure'
    const doubt = grade(unit, keyOf(sent.frame), seen, key)
    // A write is not sent twice for the sake of its answer.
    return doubt === 'again' && modbusFunctions.get(sent.request.fc)?.isWrite ? 'fence' : doubt
  }

  /** A unit has said this, perhaps in answer to that: a copy may follow. */
  heard(sent: SentRequest, frame: Uint8Array): void {
    if (this.#windowMs > 0) this.#hear(this.#of(sent.request.unitId), keyOf(sent.frame), keyOf(frame))
  }

  /** It was the answer to that. */
  note(sent: SentRequest, frame: Uint8Array): void {
    if (this.#windowMs === 0) return
    const unit = this.#of(sent.request.unitId)
    const [askedKey, key] = [keyOf(sent.frame), keyOf(frame)]
    this.#hear(unit, askedKey, key)
    unit.last.delete(askedKey)
    unit.last.set(askedKey, key)
    if (unit.last.size <= LAST_KEPT) return
    const [oldest] = unit.last.keys()
    if (oldest !== undefined) unit.last.delete(oldest)
  }

  /** A fence has shown that an answer was no copy. */
  proved(unitId: number): void {
    count(this.#of(unitId))
  }

  /** Whether this equals a recent answer of its unit. */
  isRecent(frame: Uint8Array): boolean {
    const unit = this.#units.get(frame[0] ?? 0)
    return unit !== undefined && this.#recentOf(unit, keyOf(frame)) !== undefined
  }

  /** A copy was seen for certain. */
  doubled(unitId: number): void {
    const unit = this.#of(unitId)
    unit.single = 0
    unit.isDoubling = true
  }

  /** Whether copies were seen of this unit, and not enough answers without one since. */
  isDoubling(unitId: number): boolean {
    return this.#units.get(unitId)?.isDoubling ?? false
  }

  /** How long a write waits, as its answer could be a copy of one before; 0: not at all. */
  waitMs(sent: SentRequest): number {
    const unit = this.#units.get(sent.request.unitId)
    if (!unit?.isDoubling || unit.recent.size === 0) return 0
    const reply = knownReply(sent)
    const seen = reply && this.#recentOf(unit, keyOf(reply))
    return seen ? seen.atMs + this.#windowMs - this.#clock.monotonicMs() : 0
  }

  /** The line was opened anew: what was learned is void. */
  forget(): void {
    this.#units.clear()
  }

  #of(unitId: number): Unit {
    const known = this.#units.get(unitId)
    if (known) return known
    const unit = { recent: new Map(), last: new Map(), single: 0, isDoubling: false }
    this.#units.set(unitId, unit)
    return unit
  }

  #hear(unit: Unit, askedKey: string, key: string): void {
    this.#prune(unit)
    unit.recent.delete(key)
    unit.recent.set(key, { atMs: this.#clock.monotonicMs(), askedKey })
  }

  #recentOf(unit: Unit, key: string): Recent | undefined {
    this.#prune(unit)
    return unit.recent.get(key)
  }

  /** Drops what no copy can come of any more. */
  #prune(unit: Unit): void {
    const overMs = this.#clock.monotonicMs() - this.#windowMs
    for (const [key, { atMs }] of unit.recent) {
      if (atMs > overMs && unit.recent.size <= RECENT_KEPT) return
      unit.recent.delete(key)
      if (atMs <= overMs) count(unit)
    }
  }
}

/** One answer more of which no copy came. */
function count(unit: Unit): void {
  if (++unit.single >= MANY) unit.isDoubling = false
}

/**
 * The same answer to the same question is what most units say most of the time: it is doubted only where copies were seen.
 * @param seen the same bytes, said a moment ago
 */
function grade(unit: Unit, askedKey: string, seen: Recent, key: string): Doubt {
  if (unit.isDoubling) return 'again'
  const isAsBefore = seen.askedKey === askedKey || unit.last.get(askedKey) === key
  return isAsBefore || unit.single >= MANY ? 'sure' : 'again'
}

function keyOf(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes)
}
