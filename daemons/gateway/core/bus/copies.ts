/**
 * Answers said twice, by a repeater or by a unit: the second copy is the answer to nothing, however well it would fit
 * the next request. A copy is its answer byte for byte, so only what equals a recent answer of its unit is doubted.
 * @see docs/decisions/late-replies.md
 */
import type { Clock } from '#kit/clock.ts'
import type { BusProtocol, BusReply, BusRequest, Sent } from './protocol.ts'
import type { BusSettings } from './settings.ts'

type CopySettings = Pick<BusSettings, 'copy_window_ms' | 'copy_answers' | 'copy_trust_after'>

/**
 * What an answer is worth.
 * - `sure` it is no copy
 * - `fence` it holds if nothing more comes before a fence is answered
 * - `again` it may be a copy: asked again once no copy can come
 */
export type Doubt = 'sure' | 'fence' | 'again'

/** Writes of a line, confirmed within the window, against which reads are held; of more the oldest go. */
const WRITES_KEPT = 64

interface Recent {
  unitId: number
  atMs: number
  askedKey: string
}

interface Write<Request> {
  atMs: number
  request: Request
}

interface Unit {
  /** Answers in a row of which no copy came. */
  single: number
  isDoubling: boolean
}

/** What of a protocol counts here. */
type Copied<Request extends BusRequest, Reply extends BusReply> = Pick<
  BusProtocol<Request, Reply>,
  'denies' | 'isBroadcast' | 'isWrite' | 'knownReply'
>

export class BusCopies<Request extends BusRequest, Reply extends BusReply> {
  readonly #protocol: Copied<Request, Reply>
  readonly #clock: Clock
  readonly #settings: CopySettings
  readonly #units = new Map<number, Unit>()
  /** By the answer's bytes, the oldest first; the first of them is the unit. */
  readonly #recent = new Map<string, Recent>()
  /** The last answer to a request, both by their bytes; what was asked last comes last. */
  readonly #last = new Map<string, string>()
  #writes: Write<Request>[] = []

  constructor(protocol: Copied<Request, Reply>, clock: Clock, settings: CopySettings) {
    this.#protocol = protocol
    this.#clock = clock
    this.#settings = settings
  }

  /** What the answer to this request is worth, before it is noted. */
  doubt(sent: Sent<Request>, reply: Reply): Doubt {
    const seen = this.#recentOf(keyOf(reply.frame))
    if (!seen) return 'sure'
    const doubt = this.#grade(sent, reply, seen)
    // A write is not sent twice for the sake of its answer.
    return doubt === 'again' && this.#protocol.isWrite(sent.request) ? 'fence' : doubt
  }

  /** A unit has said this, perhaps in answer to that: a copy may follow. */
  heard(sent: Sent<Request>, frame: Uint8Array): void {
    if (this.#settings.copy_window_ms > 0) this.#hear(sent, keyOf(frame))
  }

  /** It was the answer to that. */
  note(sent: Sent<Request>, reply: Reply): void {
    if (this.#settings.copy_window_ms === 0) return
    const [askedKey, key] = [keyOf(sent.frame), keyOf(reply.frame)]
    this.#hear(sent, key)
    this.#last.delete(askedKey)
    this.#last.set(askedKey, key)
    dropOldest(this.#last, this.#settings.copy_answers)
    if (!reply.refusal) this.wrote(sent)
  }

  /** It is carried out, as far as can be known: what was said of that place before is no answer any more. */
  wrote({ request }: Sent<Request>): void {
    if (!this.#protocol.isWrite(request)) return
    const write = { atMs: this.#clock.monotonicMs(), request }
    this.#writes = [...this.#writes, write].slice(-WRITES_KEPT)
  }

  /** A fence has shown that an answer was no copy. */
  proved(unitId: number): void {
    this.#count(unitId)
  }

  /** Whether this equals a recent answer of its unit. */
  isRecent(frame: Uint8Array): boolean {
    return this.#recentOf(keyOf(frame)) !== undefined
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
  waitMs(sent: Sent<Request>): number {
    if (!this.isDoubling(sent.request.unitId) || this.#recent.size === 0) return 0
    const reply = this.#protocol.knownReply(sent)
    const seen = reply && this.#recentOf(keyOf(reply))
    return seen ? seen.atMs + this.#settings.copy_window_ms - this.#clock.monotonicMs() : 0
  }

  /** The line was opened anew: what was learned is void. */
  forget(): void {
    this.#units.clear()
    this.#recent.clear()
    this.#last.clear()
    this.#writes = []
  }

  #of(unitId: number): Unit {
    const known = this.#units.get(unitId)
    if (known) return known
    const unit = { single: 0, isDoubling: false }
    this.#units.set(unitId, unit)
    return unit
  }

  #hear({ frame, request }: Sent<Request>, key: string): void {
    this.#prune()
    this.#recent.delete(key)
    this.#recent.set(key, { unitId: request.unitId, atMs: this.#clock.monotonicMs(), askedKey: keyOf(frame) })
    dropOldest(this.#recent, this.#settings.copy_answers)
  }

  #recentOf(key: string): Recent | undefined {
    this.#prune()
    return this.#recent.get(key)
  }

  /** Drops what no copy can come of any more. */
  #prune(): void {
    const overMs = this.#clock.monotonicMs() - this.#settings.copy_window_ms
    for (const [key, { atMs, unitId }] of this.#recent) {
      if (atMs > overMs) return
      this.#recent.delete(key)
      this.#count(unitId)
    }
  }

  /** One answer more of which no copy came. */
  #count(unitId: number): void {
    const unit = this.#of(unitId)
    if (++unit.single >= this.#settings.copy_trust_after) unit.isDoubling = false
  }

  /**
   * The same answer to the same question is what most units say most of the time: it is doubted only where copies were
   * seen, or where it denies what was written meanwhile.
   * @param seen the same bytes, said a moment ago
   */
  #grade(sent: Sent<Request>, reply: Reply, seen: Recent): Doubt {
    const unit = this.#of(sent.request.unitId)
    if (unit.isDoubling) return 'again'
    if (unit.single >= this.#settings.copy_trust_after) return 'sure'
    const askedKey = keyOf(sent.frame)
    const isAsBefore = seen.askedKey === askedKey || this.#last.get(askedKey) === keyOf(reply.frame)
    const isDenied = this.#writes.some((write) => write.atMs >= seen.atMs && this.#denies(sent, reply, write))
    return isAsBefore && !isDenied ? 'sure' : 'again'
  }

  #denies(sent: Sent<Request>, reply: Reply, { request }: Write<Request>): boolean {
    const isOfUnit = this.#protocol.isBroadcast(request) || request.unitId === sent.request.unitId
    return isOfUnit && !reply.refusal && this.#protocol.denies(reply, sent, request)
  }
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  if (map.size <= most) return
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}

function keyOf(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes)
}
