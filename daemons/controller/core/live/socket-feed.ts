/** Sends live changes to one socket: coalesced, bounded, and only what its user may see at the time of sending. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Cells } from '../data/views.ts'
import { type Book, zonesByDevice } from '../site/book.ts'
import type { DeviceState, LiveBook } from './live-book.ts'
import { type SoundsOf, soundsByZone, type ZoneState, zoneState } from './zones.ts'

// What a feed sends, and to whom.

/** The current state of a device as a whole. */
interface DeviceSeen {
  id: number
  state: DeviceState
  lastSeenAt: number | null
}

/**
 * `reload`: zones, rooms or rights have changed; read everything again. `summary`: so many changes were left out,
 * because the client did not keep up; read everything again.
 */
export type FeedMessage =
  | { type: 'zones'; zones: readonly ZoneState[] }
  | { type: 'devices'; devices: readonly DeviceSeen[] }
  | { type: 'attributes'; attributes: readonly Cells[] }
  | { type: 'reload' }
  | { type: 'summary'; dropped: number }
  | { type: 'beat'; now: number; pending: number | null }
  | { type: 'update'; update: object }

/** How a feed sends. */
interface FeedSink {
  /** @returns false if the message was dropped */
  send(message: FeedMessage): boolean
  /** Whether everything sent so far has left; until then, changes wait and only the last of each counts. */
  readonly hasCaughtUp: boolean
}

/** Bounds of a feed. */
export interface FeedLimits {
  /** Time over which changes are gathered. */
  coalesceMs: number
  /** Time between two beats, by which a client knows that the connection is alive. */
  beatMs: number
  /** Most zones, devices or attributes in one message. */
  zonesPerMessage: number
  /** Most zones, devices and attributes that wait to be told; beyond, the client gets a summary. */
  waitingZones: number
  /** How long a client may be behind before what waits for it is dropped, and it gets a summary. */
  behindMs: number
  /** How long until it is disconnected. */
  endMs: number
}

/** What the user of a feed may see now. */
export interface Sight {
  zone(id: number): boolean
  device(id: number): boolean
  /** The columns of an attribute that this user may read; undefined if it is hidden. */
  attribute(id: number): Cells | undefined
  /** Whether the last change of an attribute shows in them: one of a secret does not. */
  attributeChange(id: number): boolean
}

/** The kinds of things a client can subscribe to. */
export const FEED_KINDS = ['zones', 'devices', 'attributes'] as const
type Kind = (typeof FEED_KINDS)[number]

/** What a client wants to hear about: everything it may see, or these ids. */
export type FeedWish = Readonly<Partial<Record<Kind, true | ReadonlySet<number>>>>

/** What a feed depends on. */
interface FeedParts {
  book: Book
  live: LiveBook
  /** Tells which attributes have changed. */
  attributes: { onChange(listener: (id: number) => void): () => void }
  clock: Clock
  limits: FeedLimits
  /** Undefined when the user may hear nothing any more; whoever owns the feed ends it then. */
  sight(): Sight | undefined
  /** The number of changes that wait for Apply All; null if the user may not know it. */
  pending(): number | null
  /** Tells what an update of Plantroom does, as it is answered to a page. */
  updates: { onChange(listener: (update: object) => void): () => void }
  /** Whether the user may hear of updates. */
  isElevated(): boolean
  /** The client was too slow for too long. */
  onTooSlow(): void
}

/** Tables that determine what the client may see, and where it stands. */
const SHAPE = [
  'zone',
  'zone_group',
  'device',
  'command',
  'av_source',
  'macro',
  'ui',
  'ui_zone',
  'ui_zone_group_ui',
  'ui_macro',
  'ui_page_ui',
  'ui_page_widget',
  'ui_widget',
  'auth_role',
  'auth_user_role',
]

// How far a client is behind: state x event -> next state.

/**
 * - `current` everything told so far has left
 * - `behind` it has not; of each thing the last change waits
 * - `dropped` too much waited, or for too long: changes are only counted, and told as a summary
 * - `over` it was disconnected
 */
export type FeedState = 'current' | 'behind' | 'dropped' | 'over'

/**
 * - `blocked` something sent before has not left yet
 * - `left` everything has left
 * - `full` more waits than is allowed, or the socket took no more
 * - `late` it has been behind for `behindMs`
 * - `too_late` it has been behind for `endMs`
 */
export type FeedEvent = 'blocked' | 'left' | 'full' | 'late' | 'too_late'

/** A pair that is not listed does not change the state. */
export const feedStateTable: Readonly<Record<FeedState, Partial<Record<FeedEvent, FeedState>>>> = {
  current: { blocked: 'behind', full: 'dropped' },
  behind: { left: 'current', full: 'dropped', late: 'dropped', too_late: 'over' },
  dropped: { left: 'current', too_late: 'over' },
  over: {},
}

// The feed.

/** Listens to the building until its owner ends it; sends a first beat at once. */
export class SocketFeed {
  readonly #parts: FeedParts
  readonly #wish: FeedWish
  readonly #sink: FeedSink
  readonly #waiting: Waiting
  readonly #sounds: SoundsOf
  readonly #ends: (() => void)[]
  /** By which changes are taken or left until the next look: judging each anew would cost more than telling it. */
  #seen: Sight | undefined
  #shape: string
  #state: FeedState = 'current'
  #behindSinceMs: number | undefined
  #timer: Timer | undefined

  constructor(parts: FeedParts, wish: FeedWish, sink: FeedSink) {
    const { book, live, clock, limits } = parts
    this.#parts = parts
    this.#wish = wish
    this.#sink = sink
    this.#waiting = createWaiting()
    this.#sounds = soundsByZone(book)
    this.#shape = shapeOf(book)
    const zonesOf = zonesByDevice(book)
    const beats = clock.every(limits.beatMs, () => this.#beat())
    this.#ends = [
      () => beats.cancel(),
      live.onChange((kind, id) => {
        if (kind === 'device') this.#hear('devices', [id])
        this.#hear('zones', kind === 'zone' ? [id] : zonesOf(id).map((zone) => zone.id))
      }),
      parts.attributes.onChange((id) => this.#hear('attributes', [id])),
      // Some dozens for an update, and each has all that those before had: one that is dropped is no loss.
      parts.updates.onChange((update) => void (parts.isElevated() && sink.send({ type: 'update', update }))),
    ]
    this.#beat()
  }

  /** Tells the present state of everything that was subscribed to and may be seen, as if it had just changed. */
  tellAll(): void {
    const { book, sight } = this.#parts
    const seen = sight()
    if (seen === undefined) return
    const isSeen = {
      zones: seen.zone,
      devices: seen.device,
      attributes: (id: number) => seen.attribute(id) !== undefined,
    }
    for (const [kind, table] of TABLES) {
      const ids = this.#wanted(
        kind,
        book.rows(table).map(({ id }) => id),
      )
      this.#take(kind, ids.filter(isSeen[kind]))
    }
  }

  /** Looks at once whether rows have changed that decide what may be seen; else the next beat would. */
  look(): void {
    if (shapeOf(this.#parts.book) !== this.#shape) this.#wake()
  }

  end(): void {
    this.#state = 'over'
    this.#timer?.cancel()
    for (const end of this.#ends.splice(0)) end()
  }

  #came(event: FeedEvent): void {
    const next = feedStateTable[this.#state][event] ?? this.#state
    if (next === 'dropped' && this.#state !== 'dropped') this.#waiting.drop()
    this.#state = next
  }

  #wake(): void {
    if (this.#state !== 'over')
      this.#timer ??= this.#parts.clock.after(this.#parts.limits.coalesceMs, () => this.#flush())
  }

  /** What this user may not see is not even counted: neither its number nor its time is told. */
  #hear(kind: Kind, ids: readonly number[]): void {
    const own = this.#wanted(kind, ids)
    if (own.length === 0) return
    this.#seen ??= this.#parts.sight()
    const { zone, device, attributeChange } = this.#seen ?? NOTHING
    const isSeen = { zones: zone, devices: device, attributes: attributeChange }[kind]
    this.#take(kind, own.filter(isSeen))
  }

  #wanted(kind: Kind, ids: readonly number[]): readonly number[] {
    const wanted = this.#wish[kind]
    return wanted === true ? ids : ids.filter((id) => wanted?.has(id))
  }

  #take(kind: Kind, ids: readonly number[]): void {
    if (ids.length === 0) return
    const size = this.#waiting.add(kind, ids, this.#state === 'dropped')
    if (size > this.#parts.limits.waitingZones) this.#came('full')
    this.#wake()
  }

  #beat(): void {
    const { clock, pending, sight } = this.#parts
    this.#seen = undefined
    if (sight() === undefined || this.#state === 'over') return
    if (!this.#hasLeft()) {
      this.#wake()
      return
    }
    this.#sink.send({ type: 'beat', now: clock.epochMs(), pending: pending() })
    this.look()
  }

  #flush(): void {
    this.#timer = undefined
    this.#seen = undefined
    const sight = this.#parts.sight()
    if (sight === undefined || this.#state === 'over') return
    if (!this.#hasLeft()) {
      this.#wake()
      return
    }
    const isDropped = this.#state === 'dropped'
    this.#came('left')
    const { ids, dropped } = this.#waiting.take()
    if (isDropped ? this.#sink.send({ type: 'summary', dropped }) : this.#tell(ids, sight)) return
    this.#came('full')
    this.#waiting.lost(dropped + sizeOf(ids))
    this.#wake()
  }

  /** Changes the state by how much has left. @returns whether there is room to send */
  #hasLeft(): boolean {
    const { clock, limits, onTooSlow } = this.#parts
    if (this.#sink.hasCaughtUp) {
      this.#behindSinceMs = undefined
      return true
    }
    this.#behindSinceMs ??= clock.monotonicMs()
    const behindMs = clock.monotonicMs() - this.#behindSinceMs
    this.#came('blocked')
    if (behindMs >= limits.behindMs) this.#came('late')
    if (behindMs >= limits.endMs) this.#came('too_late')
    if (this.#state !== 'over') return false
    this.end()
    onTooSlow()
    return false
  }

  #tell(ids: Ids, sight: Sight): boolean {
    const { book, live } = this.#parts
    const shape = shapeOf(book)
    if (shape !== this.#shape) {
      this.#shape = shape
      return this.#sink.send({ type: 'reload' })
    }
    const zones = [...ids.zones].filter((id) => sight.zone(id)).flatMap((id) => book.row('zone', id) ?? [])
    const devices = [...ids.devices].filter((id) => sight.device(id) && book.row('device', id) !== undefined)
    const attributes = [...ids.attributes].map((id) => sight.attribute(id)).filter((cells) => cells !== undefined)
    return (
      this.#inPieces(zones, (some) => ({
        type: 'zones',
        zones: some.map((zone) => zoneState(zone, live, this.#sounds)),
      })) &&
      this.#inPieces(devices, (some) => ({ type: 'devices', devices: some.map((id) => deviceState(id, live)) })) &&
      this.#inPieces(attributes, (some) => ({ type: 'attributes', attributes: some }))
    )
  }

  #inPieces<Item>(items: readonly Item[], message: (some: readonly Item[]) => FeedMessage): boolean {
    const most = this.#parts.limits.zonesPerMessage
    for (let at = 0; at < items.length; at += most)
      if (!this.#sink.send(message(items.slice(at, at + most)))) return false
    return true
  }
}

function deviceState(id: number, live: LiveBook): DeviceSeen {
  const { state, lastSeenAt } = live.device(id)
  return { id, state, lastSeenAt }
}

const NOTHING: Sight = {
  zone: () => false,
  device: () => false,
  attribute: () => undefined,
  attributeChange: () => false,
}

const TABLES: readonly (readonly [Kind, string])[] = [
  ['zones', 'zone'],
  ['devices', 'device'],
  ['attributes', 'attribute'],
]

type Ids = Readonly<Record<Kind, Set<number>>>

function sizeOf({ zones, devices, attributes }: Ids): number {
  return zones.size + devices.size + attributes.size
}

/** Things with a pending update, each once; or only how many changes there were, once they are dropped. */
interface Waiting {
  /** @param isCounted whether they are only counted; @returns how many wait now */
  add(kind: Kind, more: readonly number[], isCounted: boolean): number
  drop(): void
  /** Counts changes that were taken and could not be told. */
  lost(count: number): void
  take(): { ids: Ids; dropped: number }
}

function createWaiting(): Waiting {
  const empty = (): Ids => ({ zones: new Set(), devices: new Set(), attributes: new Set() })
  let ids = empty()
  let dropped = 0
  return {
    drop() {
      dropped += sizeOf(ids)
      ids = empty()
    },
    lost(count) {
      dropped += count
    },
    add(kind, more, isCounted) {
      if (isCounted) dropped += more.length
      else for (const id of more) ids[kind].add(id)
      return sizeOf(ids)
    },
    take() {
      const taken = { ids, dropped }
      ids = empty()
      dropped = 0
      return taken
    },
  }
}

function shapeOf(book: Book): string {
  return SHAPE.map((table) => book.revision(table)).join()
}
