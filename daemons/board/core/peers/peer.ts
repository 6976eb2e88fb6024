/** One other board: its claim, validated; where it answers, and how long it has not. */
import type { Clock } from '#kit/clock.ts'
import type { HeardService } from '#kit/net/mdns/library.ts'
import { groupFault } from '../../wire/addresses.ts'
import { type RoleName, roleNames } from '../../wire/names.ts'
import type { PeerLimits } from './keys.ts'

// Its claim over the network. Nothing of it is trusted before the board has answered.

/** What a board claims about itself. */
export interface PeerClaim {
  role: RoleName
  /** 1..64 characters, none of them a control character. */
  name: string
  /** `lobby.local`, or empty. */
  host: string
  /** 1..65535 */
  port: number
  /** Addresses, the likeliest first; at least one. */
  reach: readonly string[]
  /** Address that the claim was sent from. */
  from: string
  /** null if it gives no valid one. */
  version: string | null
  /** Path of its pages, always on its own site. */
  path: string
  /** `239.69.1.2:5004`, the group it sends sound to. */
  stream: string | null
}

/**
 * The stream that a board sends, in the form used in announcements.
 * @returns `239.69.1.2:5004`; null in every other role
 * @source Interface 2, B, Peer
 */
export function streamText({ role, mcast, port }: { role: RoleName; mcast: string; port: number }): string | null {
  return role === 'encoder' && mcast !== '' ? `${mcast}:${port}` : null
}

const LONGEST_NAME = 64
const VERSION_PATTERN = /^\d{1,5}\.\d{1,5}\.\d{1,5}(?:[-+][0-9A-Za-z.+-]{1,32})?$/
/** Two leading slashes would lead to another site. */
const PATH_PATTERN = /^\/(?:[\w.~-][\w.~/-]{0,62})?$/

/** @returns undefined if it is not a board: a gateway, another daemon, or invalid */
export function claimOf({ id, host, port, reach, from, text }: HeardService): PeerClaim | undefined {
  const role = roleNames.find((known) => known === text.get('role'))
  if (!role || reach.length === 0) return undefined
  const version = text.get('version') ?? ''
  const path = text.get('path') ?? ''
  return {
    role,
    name: nameOf(text.get('name') ?? '', host, id),
    host,
    port,
    reach,
    from,
    version: VERSION_PATTERN.test(version) ? version : null,
    path: PATH_PATTERN.test(path) ? path : '/',
    stream: streamOf(text.get('stream') ?? ''),
  }
}

/** Sender of boards behind a repeater. */
export const RELAYED = 'relayed'

/** The key that boards are counted by, so that one machine cannot take all the room: its address, or `relayed`. */
export function claimOrigin({ reach, from }: PeerClaim): string {
  return reach.includes(from) ? from : RELAYED
}

/** Whether two claims are the same, wherever they were sent from. */
export function isSameClaim(one: PeerClaim, other: PeerClaim): boolean {
  const { from: _one, reach: reachOne, ...restOne } = one
  const { from: _other, reach: reachOther, ...restOther } = other
  return JSON.stringify(restOne) === JSON.stringify(restOther) && reachOther.every((each) => reachOne.includes(each))
}

function nameOf(name: string, host: string, id: string): string {
  const shown = name || host.replace(/\.local$/, '') || id.split('.', 1)[0] || id
  return [...shown].slice(0, LONGEST_NAME).join('')
}

function streamOf(text: string): string | null {
  const [, group = '', port = ''] = /^([\d.]{7,15}):(\d{1,5})$/.exec(text) ?? []
  const isPort = Number(port) >= 1 && Number(port) <= 65_535
  return group !== '' && isPort && groupFault(group) === undefined ? `${group}:${Number(port)}` : null
}

// Its life as seen by this board: state x event -> next state.

/** `new` and `gone` boards are not listed. `awaited` boards were known before this board's own start. */
export type PeerState = 'new' | 'awaited' | 'alive' | 'unreachable' | 'absent' | 'gone'

/**
 * - `answered` it answered under its own name
 * - `silent` it has not answered for a while, though it is announced
 * - `lost` it neither answers nor is announced, or has not answered for far too long
 * - `dismissed` somebody said that it will not come back, or it makes room for others
 */
export type PeerEvent = 'answered' | 'silent' | 'lost' | 'dismissed'

/** Pairs not listed leave the state as it is: a board that has answered once stays until it is dismissed. */
export const peerStateTable: Readonly<Record<PeerState, Partial<Record<PeerEvent, PeerState>>>> = {
  new: { answered: 'alive', lost: 'gone' },
  awaited: { answered: 'alive', lost: 'absent', dismissed: 'gone' },
  alive: { silent: 'unreachable', lost: 'absent' },
  unreachable: { answered: 'alive', lost: 'absent', dismissed: 'gone' },
  absent: { answered: 'alive', dismissed: 'gone' },
  gone: {},
}

/** @returns the next state; the same if the table has no such pair */
export function nextPeerState(state: PeerState, event: PeerEvent): PeerState {
  return peerStateTable[state][event] ?? state
}

// Where it answers, and how it is polled.

/** Where a board may answer. */
export interface PeerPlace {
  /** An IP address. */
  address: string
  port: number
}

/** Polls other boards. */
export interface PeerAsker {
  /**
   * Polls one, as any client might, with limits on time and size.
   * @param id full name of the board
   * @returns whether that very board answered, whatever it answered; never throws
   */
  ask(place: PeerPlace, id: string): Promise<boolean>
}

/** A board is not polled twice within this, for whatever reason. */
const ASKED_APART_MS = 1000
/** How often a new board is polled at each of its places before it is forgotten. */
const FIRST_TRIES = 2

/** Where a board answered, under its own name. */
export interface ProvenPlace extends PeerPlace {
  /** `lobby.local`, or empty, as it claimed then. */
  host: string
}

/** What a board is watched with. */
interface PeerWorld {
  clock: Clock
  limits: PeerLimits
}

interface Place extends ProvenPlace {
  claim: PeerClaim
}

/** A board that has answered once, as remembered over restarts. */
export interface KeptPeer {
  /** Its full name on the network. */
  id: string
  claim: PeerClaim
  proven: ProvenPlace
  /** Epoch ms. */
  heardAt: number
  /** Epoch ms. */
  answeredAt: number
}

/** One other board. Its claim is shown; its place counts once it has answered there. */
export class Peer {
  /** Its full name on the network. */
  readonly id: string
  readonly #clock: Clock
  readonly #limits: PeerLimits
  #claim: PeerClaim
  /** The latest claim in its name from another sender: not trusted while it answers where it did. */
  #other: PeerClaim | undefined
  #proven: ProvenPlace | undefined
  #state: PeerState = 'new'
  /** Failed polls since its last answer. */
  #tries = 0
  #heardMs: number
  #heardAt: number
  #answeredAt: number | null = null
  #failingMs: number | undefined
  #askedMs = Number.NEGATIVE_INFINITY
  #dueMs: number
  /** An earlier time at which to poll it, if requested. */
  #wantedMs = Number.POSITIVE_INFINITY
  #asked: Place | undefined

  constructor(id: string, claim: PeerClaim, { clock, limits }: PeerWorld) {
    this.id = id
    this.#claim = claim
    this.#clock = clock
    this.#limits = limits
    this.#heardMs = clock.monotonicMs()
    this.#heardAt = clock.epochMs()
    this.#dueMs = this.#heardMs
  }

  /** A board known before this one's start: polled at once, and absent if it does not answer. */
  static remembered({ id, claim, proven, heardAt, answeredAt }: KeptPeer, world: PeerWorld): Peer {
    const peer = new Peer(id, claim, world)
    peer.#state = 'awaited'
    peer.#proven = proven
    peer.#heardMs = Number.NEGATIVE_INFINITY
    peer.#heardAt = heardAt
    peer.#answeredAt = answeredAt
    return peer
  }

  get state(): PeerState {
    return this.#state
  }

  get claim(): PeerClaim {
    return this.#claim
  }

  /** Undefined if it has not answered yet. */
  get proven(): ProvenPlace | undefined {
    return this.#proven
  }

  /** Epoch ms. */
  get heardAt(): number {
    return this.#heardAt
  }

  /** Epoch ms; null if it has not answered yet. */
  get answeredAt(): number | null {
    return this.#answeredAt
  }

  /** When to poll it; Infinity during a poll. */
  get dueMs(): number {
    return this.#asked ? Number.POSITIVE_INFINITY : Math.min(this.#dueMs, this.#wantedMs)
  }

  /** Whether it was announced recently, and so is probably there. */
  get isAnnounced(): boolean {
    return this.#clock.monotonicMs() - this.#heardMs <= this.#limits.lost_ms
  }

  /** What to remember of it; undefined if it has not answered yet. */
  get kept(): KeptPeer | undefined {
    const { id, claim, proven, heardAt, answeredAt } = this
    return proven && answeredAt !== null ? { id, claim, proven, heardAt, answeredAt } : undefined
  }

  /** Whether it has been polled and did not answer. */
  get hasBeenAsked(): boolean {
    return this.#tries > 0
  }

  /**
   * It was announced. A claim from the same sender as before is accepted; one from elsewhere may be anybody's, and
   * counts once the board does not answer where it did.
   * @returns whether what is shown has changed
   */
  hear(claim: PeerClaim): boolean {
    this.#heardMs = this.#clock.monotonicMs()
    this.#heardAt = this.#clock.epochMs()
    if (this.#state === 'awaited' || this.#state === 'absent') this.askSoon(0)
    if (isSameClaim(this.#claim, claim)) return false
    this.askSoon(0)
    if (claim.from !== this.#claim.from) {
      this.#other = claim
      return false
    }
    this.#claim = claim
    return true
  }

  /** Removes it. @returns whether it is removed: a board that answers would be found again at once, so it stays */
  dismiss(): boolean {
    this.#state = nextPeerState(this.#state, 'dismissed')
    return this.#state === 'gone'
  }

  /** Polls it after `delayMs`, if that is sooner than planned. */
  askSoon(delayMs: number): void {
    const soonestMs = Math.max(this.#clock.monotonicMs() + delayMs, this.#askedMs + ASKED_APART_MS)
    this.#wantedMs = Math.min(this.#wantedMs, soonestMs)
  }

  /** Begins a poll; `settle` ends it. */
  ask(): PeerPlace {
    const place = this.#nextPlace()
    this.#asked = place
    this.#wantedMs = Number.POSITIVE_INFINITY
    this.#askedMs = this.#clock.monotonicMs()
    return { address: place.address, port: place.port }
  }

  /**
   * Takes the result of a poll.
   * @param periodMs until the next poll, if it answered
   * @returns whether it did not answer where it has before, so that the network should be queried for it
   */
  settle(hasAnswered: boolean, periodMs: number): boolean {
    const place = this.#asked
    this.#asked = undefined
    const nowMs = this.#clock.monotonicMs()
    if (hasAnswered && place) {
      this.#settleAnswered(place)
      this.#dueMs = nowMs + periodMs
      return false
    }
    this.#failingMs ??= nowMs
    this.#tries++
    const event = this.#eventOfSilence(nowMs - this.#failingMs)
    if (event) this.#state = nextPeerState(this.#state, event)
    this.#dueMs = this.#askedMs + this.#againMs(periodMs)
    return this.#state === 'alive'
  }

  /** Time until a board that did not answer is polled again. */
  #againMs(periodMs: number): number {
    if (this.#state === 'absent') return this.#limits.absent_poll_ms
    return this.#state === 'unreachable' ? Math.max(periodMs, ASKED_APART_MS) : ASKED_APART_MS
  }

  /** Gives up a board that is no longer announced. @returns whether the network should be queried for it */
  expire(): boolean {
    const unheardMs = this.#clock.monotonicMs() - this.#heardMs
    if (this.#state !== 'unreachable') return false
    if (unheardMs > this.#limits.lost_ms) this.#state = nextPeerState(this.#state, 'lost')
    return unheardMs > this.#limits.lost_ms / 2
  }

  #settleAnswered({ claim, address, port, host }: Place): void {
    if (claim === this.#other) {
      this.#claim = claim
      this.#other = undefined
    }
    this.#proven = { address, port, host }
    this.#state = nextPeerState(this.#state, 'answered')
    this.#answeredAt = this.#clock.epochMs()
    this.#failingMs = undefined
    this.#tries = 0
  }

  #eventOfSilence(failingForMs: number): PeerEvent | undefined {
    const { answer_ms: answerMs, doubt_ms: doubtMs, unreachable_ms: unreachableMs } = this.#limits
    if (this.#state === 'new') return this.#tries >= FIRST_TRIES * this.#places().length ? 'lost' : undefined
    if (this.#state === 'unreachable') return failingForMs > unreachableMs ? 'lost' : undefined
    if (failingForMs < doubtMs) return undefined
    if (this.#state === 'awaited') return 'lost'
    // The network was queried when it failed to answer last time: a board that is there has been heard since.
    const unheardMs = this.#clock.monotonicMs() - this.#heardMs
    return unheardMs <= answerMs + ASKED_APART_MS ? 'silent' : 'lost'
  }

  /** Every other time the likeliest place, so that false claims in its name do not cost it an answer. */
  #nextPlace(): Place {
    const places = this.#places()
    const turn = (this.#tries - 1) / 2
    return places[this.#tries % 2 === 0 ? 0 : 1 + (turn % Math.max(1, places.length - 1))] ?? this.#firstPlace()
  }

  /** Where it answered, what it claims, and what others claimed in its name, in this order. */
  #places(): Place[] {
    const claims = this.#other ? [this.#claim, this.#other] : [this.#claim]
    const places = claims.flatMap((claim) => claim.reach.map((address) => ({ ...claim, claim, address })))
    const proven = this.#proven
    const isProven = ({ address, port }: Place) => address === proven?.address && port === proven.port
    return [...places.filter(isProven), ...places.filter((place) => !isProven(place))]
  }

  #firstPlace(): Place {
    const [first] = this.#places()
    return first ?? { ...this.#claim, claim: this.#claim, address: this.#claim.from }
  }
}
