/**
 * Replies sent twice, by a repeater or by a unit. The second copy answers nothing, however well it would fit the next
 * request. A copy equals its reply byte for byte, so only a reply that equals a recent one of its unit is doubted.
 * @see docs/decisions/late-replies.md
 */
import type { Clock } from '#kit/clock.ts'
import type { BusProtocol, BusReply, BusRequest, Sent } from './protocol.ts'
import type { BusSettings } from './settings.ts'

type CopySettings = Pick<BusSettings, 'copy_window_ms' | 'copy_answers' | 'copy_trust_after'>

/**
 * How far a reply can be trusted.
 * - `sure` it is no copy
 * - `fence` it counts if no second reply comes before a fence is answered
 * - `again` it may be a copy: the request is sent again once no copy can come
 */
export type Doubt = 'sure' | 'fence' | 'again'

/** How many recent confirmed writes of a line are kept to compare reads with; beyond that the oldest are dropped. */
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
  /** How many replies in a row came without a copy. */
  single: number
  isDoubling: boolean
}

/** The part of a protocol that is used here. */
type Copied<Request extends BusRequest, Reply extends BusReply> = Pick<
  BusProtocol<Request, Reply>,
  'denies' | 'isBroadcast' | 'isWrite' | 'knownReply'
>

export class BusCopies<Request extends BusRequest, Reply extends BusReply> {
  readonly #protocol: Copied<Request, Reply>
  readonly #clock: Clock
  readonly #settings: CopySettings
  readonly #units = new Map<number, Unit>()
  /** Recent replies by their bytes, the oldest first; the first byte is the unit. */
  readonly #recent = new Map<string, Recent>()
  /** The last reply to each request, both by their bytes; the request answered last comes last. */
  readonly #last = new Map<string, string>()
  #writes: Write<Request>[] = []

  constructor(protocol: Copied<Request, Reply>, clock: Clock, settings: CopySettings) {
    this.#protocol = protocol
    this.#clock = clock
    this.#settings = settings
  }

  /** How far the reply to this request can be trusted. To be called before `note`. */
  doubt(sent: Sent<Request>, reply: Reply): Doubt {
    const key = keyOf(reply.frame)
    const seen = this.#recentOf(key)
    if (!seen) return 'sure'
    const doubt = this.#grade(sent, reply, { ...seen, key })
    // A write is not sent twice just to get its reply.
    return doubt === 'again' && this.#protocol.isWrite(sent.request) ? 'fence' : doubt
  }

  /** A unit has sent this frame, perhaps as the reply to that request: a copy may follow. */
  heard(sent: Sent<Request>, frame: Uint8Array): void {
    if (this.#settings.copy_window_ms > 0) this.#hear(sent.request.unitId, keyOf(sent.frame), keyOf(frame))
  }

  /** Records a reply as the one to that request. */
  note(sent: Sent<Request>, reply: Reply): void {
    if (this.#settings.copy_window_ms === 0) return
    const [askedKey, key] = [keyOf(sent.frame), keyOf(reply.frame)]
    this.#hear(sent.request.unitId, askedKey, key)
    this.#last.delete(askedKey)
    this.#last.set(askedKey, key)
    dropOldest(this.#last, this.#settings.copy_answers)
    if (!reply.isRefusal) this.wrote(sent)
  }

  /** Records a write as carried out, as far as can be known: earlier replies about that place no longer hold. */
  wrote({ request }: Sent<Request>): void {
    if (!this.#protocol.isWrite(request)) return
    const write = { atMs: this.#clock.monotonicMs(), request }
    this.#writes = [...this.#writes, write].slice(-WRITES_KEPT)
  }

  /** A fence has shown that a reply was no copy. */
  proved(unitId: number): void {
    this.#count(unitId)
  }

  /** Whether this frame equals a recent reply of its unit. */
  isRecent(frame: Uint8Array): boolean {
    return this.#recentOf(keyOf(frame)) !== undefined
  }

  /** A copy was seen for certain. */
  doubled(unitId: number): void {
    const unit = this.#of(unitId)
    unit.single = 0
    unit.isDoubling = true
  }

  /** Whether copies of this unit's replies were seen, and not enough replies without a copy since. */
  isDoubling(unitId: number): boolean {
    return this.#units.get(unitId)?.isDoubling ?? false
  }

  /** Whether no reply of this unit is doubted, whatever it says. */
  isTrusted(unitId: number): boolean {
    const { copy_trust_after: after, copy_window_ms: windowMs } = this.#settings
    const unit = this.#units.get(unitId)
    return windowMs === 0 || (unit !== undefined && !unit.isDoubling && unit.single >= after)
  }

  /** How long a write must wait, ms, because its reply could be a copy of an earlier one; 0: not at all. */
  waitMs(sent: Sent<Request>): number {
    if (!this.isDoubling(sent.request.unitId) || this.#recent.size === 0) return 0
    const reply = this.#protocol.knownReply(sent)
    const seen = reply && this.#recentOf(keyOf(reply))
    return seen ? seen.atMs + this.#settings.copy_window_ms - this.#clock.monotonicMs() : 0
  }

  /** The line was opened anew: discards all that was learned. */
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

  #hear(unitId: number, askedKey: string, key: string): void {
    this.#prune()
    this.#recent.delete(key)
    this.#recent.set(key, { unitId, atMs: this.#clock.monotonicMs(), askedKey })
    dropOldest(this.#recent, this.#settings.copy_answers)
  }

  #recentOf(key: string): Recent | undefined {
    this.#prune()
    return this.#recent.get(key)
  }

  /** Drops the replies of which no copy can come any more. */
  #prune(): void {
    const overMs = this.#clock.monotonicMs() - this.#settings.copy_window_ms
    for (const [key, { atMs, unitId }] of this.#recent) {
      if (atMs > overMs) return
      this.#recent.delete(key)
      this.#count(unitId)
    }
  }

  /** Counts a reply of which no copy came. */
  #count(unitId: number): void {
    const unit = this.#of(unitId)
    if (++unit.single >= this.#settings.copy_trust_after) unit.isDoubling = false
  }

  /**
   * Most units give the same reply to the same request most of the time. Such a reply is doubted only where copies were
   * seen, or where it contradicts a write made in the meantime.
   * @param seen the recent reply with the same bytes, which are `key`
   */
  #grade(sent: Sent<Request>, reply: Reply, seen: Recent & { key: string }): Doubt {
    const unit = this.#of(sent.request.unitId)
    if (unit.isDoubling) return 'again'
    if (unit.single >= this.#settings.copy_trust_after) return 'sure'
    const askedKey = keyOf(sent.frame)
    const isAsBefore = seen.askedKey === askedKey || this.#last.get(askedKey) === seen.key
    const isDenied = this.#writes.some((write) => write.atMs >= seen.atMs && this.#denies(sent, reply, write))
    return isAsBefore && !isDenied ? 'sure' : 'again'
  }

  #denies(sent: Sent<Request>, reply: Reply, { request }: Write<Request>): boolean {
    const isOfUnit = this.#protocol.isBroadcast(request) || request.unitId === sent.request.unitId
    return isOfUnit && !reply.isRefusal && this.#protocol.denies(reply, sent, request)
  }
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  if (map.size <= most) return
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}

/** Several are made for each request, and a spread would take six times as long. */
function keyOf(bytes: Uint8Array): string {
  return String.fromCharCode.apply(null, bytes as unknown as number[])
}
