/** The map of a ring, made from what is heard and sent: who is there, who passes the token to whom, how long a turn is. */
import type { Clock } from '#kit/clock.ts'
import { BROADCAST, FRAME_TYPES, type MstpFrame } from '../../wire/mstp/frame.ts'

/** One node, as it was heard. Instants are epoch milliseconds. */
export interface RingNode {
  mac: number
  /** It passes the token, or has answered a poll for master. */
  isMaster: boolean
  /** It was heard within `node_gone_ms`. */
  isPresent: boolean
  /** To whom it passed the token last; null if it was not seen passing it. */
  next: number | null
  frames: number
  tokens: number
  lastSeenAt: number
}

/** How the token goes round. */
export interface RingView {
  nodes: RingNode[]
  /** The masters that are present, in the order of the token, from the lowest on. */
  order: number[]
  /** Time from one token to the next of the same node, over the last turns; null while no token goes round. */
  rotationMs: { last: number; median: number; max: number } | null
  /** When the token was lost last; null if it never was. */
  tokenLostAt: number | null
  /** When somebody else last spoke with this node's address. */
  duplicateAt: number | null
}

/** Turns that rotation is told of. */
const TURNS = 64
/** Longer than a token is tried again, shorter than a turn of a ring of two. */
const RETRY_MS = 110

interface Seen {
  isMaster: boolean
  next: number | null
  frames: number
  tokens: number
  lastSeenMs: number
  /** When it was last given the token. */
  tokenMs: number | undefined
}

export class MstpRing {
  readonly #clock: Clock
  /** At most one for each address. */
  readonly #nodes = new Map<number, Seen>()
  readonly #turnsMs: number[] = []
  readonly #isListener: boolean
  readonly #goneMs: number
  /** The node whose turns are measured. */
  #measured: number | undefined
  #lastToken: { from: number; to: number; atMs: number } | undefined
  #lostMs: number | undefined
  #duplicateMs: number | undefined

  /**
   * @param mac our own address: its turns are measured; of a listener those of a node that is there
   * @param goneMs a node that was not heard for so long is not in the ring
   */
  constructor(clock: Clock, mac: number | undefined, goneMs: number) {
    this.#clock = clock
    this.#goneMs = goneMs
    this.#isListener = mac === undefined
    this.#measured = mac
  }

  frame({ destination, frameType, source }: MstpFrame): void {
    // Nobody may send in the name of all.
    if (source === BROADCAST) return
    const nowMs = this.#clock.monotonicMs()
    const node = this.#node(source)
    node.lastSeenMs = nowMs
    node.frames++
    if (frameType === FRAME_TYPES.TOKEN) this.#token({ from: source, to: destination, atMs: nowMs }, node)
    else this.#lastToken = undefined
    if (frameType === FRAME_TYPES.REPLY_TO_POLL_FOR_MASTER || frameType === FRAME_TYPES.POLL_FOR_MASTER)
      node.isMaster = true
  }

  lost(): void {
    this.#lostMs = this.#clock.monotonicMs()
    for (const node of this.#nodes.values()) node.tokenMs = undefined
  }

  duplicate(): void {
    this.#duplicateMs = this.#clock.monotonicMs()
  }

  /** How long ago somebody else spoke with this node's address; infinite if nobody did. */
  duplicateAgoMs(): number {
    return this.#duplicateMs === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonicMs() - this.#duplicateMs
  }

  view(): RingView {
    const nowMs = this.#clock.monotonicMs()
    const epochOf = (ms: number) => Math.round(this.#clock.epochMs() - (nowMs - ms))
    const nodes = [...this.#nodes]
      .sort(([one], [other]) => one - other)
      .map(([mac, { frames, isMaster, lastSeenMs, next, tokens }]) => ({
        ...{ mac, isMaster, isPresent: nowMs - lastSeenMs < this.#goneMs },
        ...{ next, frames, tokens, lastSeenAt: epochOf(lastSeenMs) },
      }))
    return {
      nodes,
      order: orderOf(nodes),
      rotationMs: this.#rotation(nowMs),
      tokenLostAt: this.#lostMs === undefined ? null : epochOf(this.#lostMs),
      duplicateAt: this.#duplicateMs === undefined ? null : epochOf(this.#duplicateMs),
    }
  }

  #node(mac: number): Seen {
    const known = this.#nodes.get(mac)
    if (known) return known
    const made = { isMaster: false, next: null, frames: 0, tokens: 0, lastSeenMs: 0, tokenMs: undefined }
    this.#nodes.set(mac, made)
    return made
  }

  #token(token: { from: number; to: number; atMs: number }, from: Seen): void {
    const { atMs, to } = token
    const last = this.#lastToken
    this.#lastToken = token
    from.isMaster = true
    // A token that nobody took is sent once more, and is no turn.
    if (last?.from === token.from && last.to === to && atMs - last.atMs < RETRY_MS) return
    if (to === BROADCAST) return
    from.next = to
    const node = this.#nodes.get(to)
    if (this.#isListener && this.#tokenAgoMs(atMs) >= this.#goneMs) {
      this.#measured = to
      this.#turnsMs.length = 0
    }
    // One that was never heard may not be there.
    if (!node) return
    node.tokens++
    if (to === this.#measured && node.tokenMs !== undefined) {
      this.#turnsMs.push(atMs - node.tokenMs)
      if (this.#turnsMs.length > TURNS) this.#turnsMs.shift()
    }
    node.tokenMs = atMs
  }

  /** How long ago the node whose turns are measured was given the token; infinite if that is not known. */
  #tokenAgoMs(nowMs: number): number {
    const tokenMs = this.#measured === undefined ? undefined : this.#nodes.get(this.#measured)?.tokenMs
    return tokenMs === undefined ? Number.POSITIVE_INFINITY : nowMs - tokenMs
  }

  #rotation(nowMs: number): RingView['rotationMs'] {
    if (this.#tokenAgoMs(nowMs) >= this.#goneMs) return null
    const sorted = this.#turnsMs.toSorted((one, other) => one - other)
    const last = this.#turnsMs.at(-1)
    if (last === undefined) return null
    const rounded = (ms: number | undefined) => Math.round((ms ?? 0) * 100) / 100
    return { last: rounded(last), median: rounded(sorted[sorted.length >> 1]), max: rounded(sorted.at(-1)) }
  }
}

function orderOf(nodes: readonly RingNode[]): number[] {
  const masters = new Map(
    nodes.filter(({ isMaster, isPresent }) => isMaster && isPresent).map((node) => [node.mac, node]),
  )
  const order: number[] = []
  const [first] = masters.keys()
  for (
    let at = first;
    at !== undefined && masters.has(at) && !order.includes(at);
    at = masters.get(at)?.next ?? undefined
  )
    order.push(at)
  return order
}
