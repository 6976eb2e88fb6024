/** The other boards of the network: heard of, asked whether they are there, forgotten when they are not. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { HeardService } from '#kit/net/mdns/heard-service.ts'
import { Peer, type ProvenPlace } from './peer.ts'
import { claimOf, type PeerClaim, RELAYED, senderOf } from './peer-claim.ts'
import type { PeerLimits } from './peer-keys.ts'
import type { PeerState } from './peer-state-table.ts'
import type { PeerAsker } from './ports.ts'

/** A board as it is shown. */
export interface FoundPeer extends PeerClaim {
  id: string
  address: string
  state: 'alive' | 'unreachable'
  /** Epoch ms. */
  heardAt: number
  /** Epoch ms. */
  answeredAt: number
}

/** What happened since the start, and how many there are. */
export interface PeerCounts {
  states: Readonly<Record<Exclude<PeerState, 'gone'>, number>>
  /** Boards that were heard of and not taken in, because there are too many. */
  refused: number
  /** Times that a board was asked and did not answer. */
  unanswered: number
}

/** What the table needs. */
export interface PeerTableOptions {
  clock: Clock
  limits: PeerLimits
  asker: PeerAsker
  /** Asks the network who is there. */
  askNetwork(): void
  /** What `list` gives is otherwise. */
  onChange(): void
}

const TICK_MS = 200
/** Until one that says farewell is asked whether it is gone. */
const FAREWELL_MS = 1000
/** With many boards each is asked less often: a network of 256 has 20 questions a second from each of them at most. */
const LEAST_BETWEEN_POLLS_MS = 50

/** All other boards. Which of them there are is known from what they say, whether they are there only from asking. */
export class PeerTable {
  readonly #options: PeerTableOptions
  readonly #peers = new Map<string, Peer>()
  /** Questions under way: to boards that have answered before, and to others, which cannot hold up the first. */
  readonly #asking = { known: 0, new: 0 }
  #timer: Timer | undefined
  #refused = 0
  #unanswered = 0

  constructor(options: PeerTableOptions) {
    this.#options = options
  }

  start(): void {
    this.#timer = this.#options.clock.every(TICK_MS, () => this.#tick())
  }

  stop(): void {
    this.#timer?.cancel()
    this.#peers.clear()
  }

  /** A daemon was announced; those that are no boards are passed over. */
  hear(service: HeardService): void {
    const claim = claimOf(service)
    if (!claim) return
    const known = this.#peers.get(service.id)
    if (known) {
      const hasChanged = known.hear(claim)
      if (hasChanged && known.answeredAt !== null) this.#options.onChange()
    } else if (this.#hasRoomFor(claim)) this.#peers.set(service.id, new Peer(service.id, claim, this.#options))
    else this.#refused++
  }

  /** Somebody says that it leaves, or somebody else does: it is asked when it has had the time to. */
  bidFarewell(id: string): void {
    this.#peers.get(id)?.askSoon(FAREWELL_MS)
  }

  /** Boards that have answered, by name. */
  list(): FoundPeer[] {
    const found = [...this.#peers.values()].map(foundPeerOf).filter((peer) => peer !== undefined)
    return found.sort((one, other) => one.name.localeCompare(other.name, 'en') || (one.id < other.id ? -1 : 1))
  }

  /**
   * Whether a page of this origin was served by a board that was found, and is there: under the address and port at which
   * it answers, or the `.local` name it had then; by nothing else that it says.
   * @param origin as browsers write it
   * @source Interface 2, B, Authentication 2
   */
  isFoundOrigin(origin: string): boolean {
    return [...this.#peers.values()].some(
      ({ state, proven }) => state === 'alive' && proven && originsOf(proven).includes(origin),
    )
  }

  counts(): PeerCounts {
    const states = { new: 0, alive: 0, unreachable: 0 }
    for (const { state } of this.#peers.values()) if (state !== 'gone') states[state]++
    return { states, refused: this.#refused, unanswered: this.#unanswered }
  }

  /** Nobody takes the room of others: not by many names of one machine, nor by such as nobody answers for. */
  #hasRoomFor(claim: PeerClaim): boolean {
    const { max, per_sender: perSender } = this.#options.limits
    const sender = senderOf(claim)
    const ofSender = [...this.#peers.values()].filter((peer) => senderOf(peer.claim) === sender).length
    if (ofSender >= (sender === RELAYED ? Math.ceil(max / 2) : perSender)) return false
    return this.#peers.size < max || this.#makeRoom(sender)
  }

  /** Of boards that have never answered one goes: of whoever has most of them, else one that was asked at least. */
  #makeRoom(sender: string): boolean {
    const unknown = [...this.#peers.values()].filter(({ state }) => state === 'new')
    const counts = this.#unknownBySender()
    const [most = '', count = 0] = [...counts].reduce((one, other) => (other[1] > one[1] ? other : one), ['', 0])
    const isFair = count > (counts.get(sender) ?? 0) + 1
    const goes = unknown.find((peer) => (isFair ? senderOf(peer.claim) === most : peer.hasBeenAsked))
    return goes !== undefined && this.#peers.delete(goes.id)
  }

  /** How many boards that have not answered yet each sender has named. */
  #unknownBySender(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const { state, claim } of this.#peers.values())
      if (state === 'new') counts.set(senderOf(claim), (counts.get(senderOf(claim)) ?? 0) + 1)
    return counts
  }

  #tick(): void {
    const nowMs = this.#options.clock.monotonicMs()
    for (const peer of this.#peers.values()) {
      if (peer.expire()) this.#options.askNetwork()
      if (peer.state === 'gone') this.#forget(peer)
    }
    const unknown = this.#unknownBySender()
    const rank = ({ claim, state, hasBeenAsked }: Peer) =>
      state === 'new' ? (unknown.get(senderOf(claim)) ?? 0) + (hasBeenAsked ? 0.5 : 0) : 0
    const due = [...this.#peers.values()].filter(({ dueMs }) => dueMs <= nowMs)
    // Of new ones, whose sender has named fewest is asked first, and the first time before the second.
    due.sort((one, other) => rank(one) - rank(other) || one.dueMs - other.dueMs)
    for (const peer of due) {
      const lane = peer.state === 'new' ? 'new' : 'known'
      if (this.#asking[lane] < this.#options.limits.polls) void this.#ask(peer, lane)
    }
  }

  async #ask(peer: Peer, lane: 'known' | 'new'): Promise<void> {
    const before = peer.state
    const claimed = peer.claim
    this.#asking[lane]++
    const hasAnswered = await this.#options.asker.ask(peer.ask(), peer.id)
    this.#asking[lane]--
    if (!hasAnswered) this.#unanswered++
    if (peer.settle(hasAnswered, this.#periodMs())) this.#options.askNetwork()
    if (peer.state === 'gone') this.#forget(peer)
    else if (peer.answeredAt !== null && (peer.state !== before || peer.claim !== claimed)) this.#options.onChange()
  }

  #forget(peer: Peer): void {
    if (this.#peers.get(peer.id) !== peer) return
    this.#peers.delete(peer.id)
    if (peer.answeredAt !== null) this.#options.onChange()
  }

  #periodMs(): number {
    return Math.max(this.#options.limits.poll_ms, this.#peers.size * LEAST_BETWEEN_POLLS_MS)
  }
}

/** Where a board is opened: `http://10.0.0.7:8080`. */
export function urlOf(address: string, port: number): string {
  const host = address.includes(':') ? `[${address}]` : address
  return `http://${host}${port === 80 ? '' : `:${port}`}`
}

function originsOf({ address, host, port }: ProvenPlace): string[] {
  return host === '' ? [urlOf(address, port)] : [urlOf(address, port), urlOf(host, port)]
}

function foundPeerOf({ id, claim, state, proven, heardAt, answeredAt }: Peer): FoundPeer | undefined {
  if ((state !== 'alive' && state !== 'unreachable') || !proven || answeredAt === null) return undefined
  return { ...claim, ...proven, id, state, heardAt, answeredAt }
}
