/** The other boards of the network: discovered, polled, and remembered when they are gone. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import type { HeardService } from '#kit/net/mdns/library.ts'
import { Fault } from '#kit/pure/fault.ts'
import { dropGreediest } from '#kit/pure/pace.ts'
import { createLateSave } from '../late-save.ts'
import type { Kept } from '../machine/ports.ts'
import type { PeerLimits } from './keys.ts'
import {
  claimOf,
  claimOrigin,
  type KeptPeer,
  Peer,
  type PeerAsker,
  type PeerClaim,
  type PeerState,
  type ProvenPlace,
  RELAYED,
} from './peer.ts'

/** States in which a board is listed: all in which it has answered before. */
type Listed = Exclude<PeerState, 'new' | 'gone'>

/** A board as it is shown. */
export interface FoundPeer extends PeerClaim {
  id: string
  address: string
  state: Listed
  /** Epoch ms. */
  heardAt: number
  /** Epoch ms. */
  answeredAt: number
}

/** Counts since the start, and of boards by state. */
export interface PeerCounts {
  states: Readonly<Record<Exclude<PeerState, 'gone'>, number>>
  /** Boards heard of but not added, because there are too many. */
  refused: number
  /** Polls that got no answer. */
  unanswered: number
}

/** Dependencies. */
interface PeerTableOptions {
  clock: Clock
  limits: PeerLimits
  asker: PeerAsker
  /** Queries the network for boards. */
  askNetwork(): void
  /** The result of `list` has changed. */
  onChange(): void
}

const TICK_MS = 200
/** Delay before polling a board that said goodbye. */
const FAREWELL_MS = 1000
/** With many boards each is polled less often: with 256, each sends 20 polls a second at most. */
const LEAST_BETWEEN_POLLS_MS = 50

/** All other boards. Announcements tell which ones exist; only polling tells whether they are there. */
export class PeerTable {
  readonly #options: PeerTableOptions
  readonly #peers = new Map<string, Peer>()
  /** Running polls: of present boards, of missed ones, and of new ones; no kind delays another. */
  readonly #asking = { known: 0, missed: 0, new: 0 }
  #timer: Timer | undefined
  #refused = 0
  #unanswered = 0

  constructor(options: PeerTableOptions) {
    this.#options = options
  }

  /** @param kept boards known from before */
  start(kept: readonly KeptPeer[] = []): void {
    for (const each of kept) this.#peers.set(each.id, Peer.remembered(each, this.#options))
    this.#timer = this.#options.clock.every(TICK_MS, () => this.#tick())
  }

  stop(): void {
    this.#timer?.cancel()
    this.#peers.clear()
  }

  /** A daemon was announced; other daemons than boards are ignored. */
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

  /** A goodbye was sent, perhaps by somebody else in its name: poll the board once it has had time to leave. */
  bidFarewell(id: string): void {
    this.#peers.get(id)?.askSoon(FAREWELL_MS)
  }

  /**
   * Removes a board that does not answer. It is found again when it does.
   * @returns what it was
   * @throws Fault `unknown_peer`; `peer_answers` if it is there
   */
  dismiss(id: string): FoundPeer {
    const peer = this.#peers.get(id)
    const found = peer && foundPeerOf(peer)
    if (!found)
      throw new Fault('unknown_peer', `No board with the id ${id} is listed. GET /api/peers has the ids of all.`)
    if (!peer.dismiss())
      throw new Fault(
        'peer_answers',
        `${found.name} answers at ${found.address}, so it would be found again at once. Switch it off before it is dismissed.`,
      )
    this.#forget(peer)
    return found
  }

  /** What to remember of every board that has ever answered. */
  kept(): KeptPeer[] {
    return [...this.#peers.values()].map(({ kept }) => kept).filter((kept) => kept !== undefined)
  }

  /** Boards that have answered, by name. */
  list(): FoundPeer[] {
    const found = [...this.#peers.values()].map(foundPeerOf).filter((peer) => peer !== undefined)
    return found.sort((one, other) => one.name.localeCompare(other.name, 'en') || (one.id < other.id ? -1 : 1))
  }

  /**
   * Whether a page of this origin was served by a found board that is there: by the address and port at which it
   * answers, or the `.local` name it had then; nothing else it claims counts.
   * @param origin as browsers write it
   * @source Interface 2, B, Authentication 2
   */
  isFoundOrigin(origin: string): boolean {
    return [...this.#peers.values()].some(
      ({ state, proven }) => state === 'alive' && proven && originsOf(proven).includes(origin),
    )
  }

  counts(): PeerCounts {
    const states = { new: 0, awaited: 0, alive: 0, unreachable: 0, absent: 0 }
    for (const { state } of this.#peers.values()) if (state !== 'gone') states[state]++
    return { states, refused: this.#refused, unanswered: this.#unanswered }
  }

  /** Makes sure nobody takes all the room: neither many names from one machine, nor boards that never answer. */
  #hasRoomFor(claim: PeerClaim): boolean {
    const { max, per_sender: perSender } = this.#options.limits
    const sender = claimOrigin(claim)
    // Absent ones have room of their own.
    const present = [...this.#peers.values()].filter(({ state }) => state !== 'absent')
    const ofSender = present.filter((peer) => claimOrigin(peer.claim) === sender).length
    if (ofSender >= (sender === RELAYED ? Math.ceil(max / 2) : perSender)) return false
    return present.length < max || this.#makeRoom(sender)
  }

  /**
   * Limits absent boards: of too many from one machine the oldest is dropped; of too many in all, the oldest of the
   * machine with the most.
   */
  #boundAbsent(): void {
    const { absent_max: max, per_sender: perSender } = this.#options.limits
    const absent = [...this.#peers.values()].filter(({ state }) => state === 'absent')
    const byAge = absent.toSorted((one, other) => (one.answeredAt ?? 0) - (other.answeredAt ?? 0))
    const left = new Map<string, Peer>()
    for (const peer of byAge) {
      const sender = claimOrigin(peer.claim)
      const most = sender === RELAYED ? Math.ceil(max / 2) : perSender
      const same = [...left.values()].filter(({ claim }) => claimOrigin(claim) === sender)
      if (same.length >= most && same[0]) left.delete(same[0].id)
      left.set(peer.id, peer)
    }
    dropGreediest(left, max + 1, ({ claim }) => claimOrigin(claim))
    for (const peer of absent) if (!left.has(peer.id)) this.#peers.delete(peer.id)
  }

  /**
   * Drops one board that has never answered: of the sender with the most of them, else one that was polled at least
   * once.
   */
  #makeRoom(sender: string): boolean {
    const unknown = [...this.#peers.values()].filter(({ state }) => state === 'new')
    const counts = this.#unknownBySender()
    const [most = '', count = 0] = [...counts].reduce((one, other) => (other[1] > one[1] ? other : one), ['', 0])
    const isFair = count > (counts.get(sender) ?? 0) + 1
    const goes = unknown.find((peer) => (isFair ? claimOrigin(peer.claim) === most : peer.hasBeenAsked))
    return goes !== undefined && this.#peers.delete(goes.id)
  }

  /** Number of boards that have not answered yet, by sender. */
  #unknownBySender(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const { state, claim } of this.#peers.values())
      if (state === 'new') counts.set(claimOrigin(claim), (counts.get(claimOrigin(claim)) ?? 0) + 1)
    return counts
  }

  #tick(): void {
    const nowMs = this.#options.clock.monotonicMs()
    for (const peer of this.#peers.values()) {
      const before = peer.state
      if (peer.expire()) this.#options.askNetwork()
      if (peer.state !== before) this.#becomes(peer)
    }
    const unknown = this.#unknownBySender()
    function rank({ claim, state, hasBeenAsked, isAnnounced }: Peer): number {
      if (state === 'new') return (unknown.get(claimOrigin(claim)) ?? 0) + (hasBeenAsked ? 0.5 : 0)
      return laneOf(state) === 'missed' && !isAnnounced ? 1 : 0
    }
    const due = [...this.#peers.values()].filter(({ dueMs }) => dueMs <= nowMs)
    // Order of new ones: the sender with the fewest first, and first polls before second ones; of missed ones, recently
    // announced ones first.
    due.sort((one, other) => rank(one) - rank(other) || one.dueMs - other.dueMs)
    for (const peer of due) {
      const lane = laneOf(peer.state)
      if (this.#asking[lane] < this.#options.limits.polls) void this.#ask(peer, lane)
    }
  }

  async #ask(peer: Peer, lane: Lane): Promise<void> {
    const before = peer.state
    const claimed = peer.claim
    this.#asking[lane]++
    const hasAnswered = await this.#options.asker.ask(peer.ask(), peer.id)
    this.#asking[lane]--
    if (!hasAnswered) this.#unanswered++
    if (peer.settle(hasAnswered, this.#periodMs())) this.#options.askNetwork()
    if (peer.state !== before) this.#becomes(peer)
    else if (peer.answeredAt !== null && peer.claim !== claimed) this.#options.onChange()
  }

  /** Its state has changed. */
  #becomes(peer: Peer): void {
    if (peer.state === 'absent') this.#boundAbsent()
    if (peer.state === 'gone') this.#forget(peer)
    else this.#options.onChange()
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

type Lane = 'known' | 'missed' | 'new'

function laneOf(state: PeerState): Lane {
  if (state === 'new') return 'new'
  return state === 'awaited' || state === 'absent' ? 'missed' : 'known'
}

/** URL of a board: `http://10.0.0.7:8080`. */
export function urlOf(address: string, port: number): string {
  const host = address.includes(':') ? `[${address}]` : address
  return `http://${host}${port === 80 ? '' : `:${port}`}`
}

function originsOf({ address, host, port }: ProvenPlace): string[] {
  return host === '' ? [urlOf(address, port)] : [urlOf(address, port), urlOf(host, port)]
}

function foundPeerOf({ id, claim, state, proven, heardAt, answeredAt }: Peer): FoundPeer | undefined {
  if (state === 'new' || state === 'gone' || !proven || answeredAt === null) return undefined
  return { ...claim, ...proven, id, state, heardAt, answeredAt }
}

// Boards ever found, kept over restarts: one that is gone is listed as absent until dismissed.

/** Dependencies. */
interface PeerBookParts {
  clock: Clock
  log: Log
  file: Kept<readonly KeptPeer[]>
  /** Time between two saves in which only times have changed, ms: each save wears the card. */
  saveMs: number
  /** What to save now. */
  kept(): readonly KeptPeer[]
}

/** The memory of boards. */
interface PeerBook {
  /** Reads the file. If it cannot be read, that is logged, and no boards are known from before. */
  open(): Promise<readonly KeptPeer[]>
  /** Something has changed: saved soon, unless only times have. */
  changed(): void
  /** Saves what is not saved yet, including times. */
  close(): Promise<void>
}

/** Boards appear by the dozen when a site is switched on. */
const SAVE_TIMES = { quietMs: 2000, mostMs: 60_000 }

export function createPeerBook({ clock, log, file, saveMs, kept }: PeerBookParts): PeerBook {
  let saved: readonly KeptPeer[] = []
  let timer: Timer | undefined
  const late = createLateSave(clock, SAVE_TIMES, {
    async save() {
      const now = kept()
      await file.save(now)
      saved = now
    },
    failed: (fault) => log.warning('boards not saved', { fault }),
  })
  function saveWhere(textOf: (kept: readonly KeptPeer[]) => string): void {
    if (textOf(kept()) !== textOf(saved)) late.changed()
  }
  return {
    async open() {
      saved = await loadOr(log, file)
      timer = clock.every(saveMs, () => saveWhere(JSON.stringify))
      return saved
    },
    changed: () => saveWhere(withoutTimes),
    async close() {
      timer?.cancel()
      saveWhere(JSON.stringify)
      await late.close()
    },
  }
}

/** A board without this memory is still useful, and finds those that are there again. */
async function loadOr(log: Log, file: PeerBookParts['file']): Promise<readonly KeptPeer[]> {
  try {
    return await file.load()
  } catch (fault) {
    log.error('boards that were found before are not known', { fault })
    return []
  }
}

function withoutTimes(kept: readonly KeptPeer[]): string {
  return JSON.stringify(kept.map(({ heardAt: _heard, answeredAt: _answered, ...rest }) => rest))
}
