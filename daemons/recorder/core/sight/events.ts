/** Events: what was seen from its first picture to its last, as it is told and kept. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Recognised, WhoWish } from '../recognition/recognised.ts'
import type { Box } from './boxes.ts'
import { groupOf, type LabelGroup } from './labels.ts'
import type { Track } from './tracker.ts'

/** Who saw it: the built-in detector, an external one, or the camera itself. */
export type EventSource = 'motion' | 'external' | 'camera'

/** One thing that was seen. Instants are epoch milliseconds on the clock of the recording. */
export interface SightEvent {
  id: string
  cameraId: string
  label: string
  group: LabelGroup
  /** Of its best sighting. */
  score: number
  beganAt: number
  /** When it was seen last. */
  lastAt: number
  /** Null while it goes on. */
  endedAt: number | null
  /** The moment that shows it best, and where; null for what a camera claims. */
  bestAt: number
  box: Box | null
  source: EventSource
  /** Who or what it was; undefined where nobody has looked. */
  recognised?: Recognised | undefined
}

/** One picture of a track. */
export interface Sighting {
  at: number
  score: number
  box: Box
}

/** Some seconds of a track. */
export interface TrackPiece {
  cameraId: string
  trackId: number
  label: string
  sightings: readonly Sighting[]
}

/** What is asked of events. */
export interface EventWish {
  /** Of these cameras alone. */
  cameras: readonly string[]
  /** A label, or the name of a group. */
  label?: string | undefined
  /** Any moment of it lies in this span. */
  since?: number | undefined
  until?: number | undefined
  /** Of those that were recognised. */
  who?: WhoWish | undefined
  /** All or part of a plate, folded. */
  plate?: string | undefined
  limit: number
}

/** How many events of each group began in a slice of time. */
export interface Slice extends Record<LabelGroup, number> {
  bucket: number
  total: number
  /** When the first of them began. */
  firstAt: number
}

export interface DensityWish {
  camera: string
  from: number
  to: number
  bucketMs: number
}

/** By which boxes are moved against the footage. */
export interface MeasuredOffset {
  offsetMs: number
  /** When what it was measured by was seen. */
  at: number
}

/** Where events are kept. Each call throws Fault `store_read_failed` or `store_write_failed`. */
export interface EventStore {
  /** An event that is there already is replaced. */
  put(events: readonly SightEvent[], pieces: readonly TrackPiece[]): Promise<void>
  /** The newest first. */
  find(wish: EventWish): Promise<SightEvent[]>
  one(id: string): Promise<SightEvent | undefined>
  /** Those of these events that were recognised as is asked, whenever they were, in no order. */
  among(ids: readonly string[], wish: Pick<EventWish, 'plate' | 'who'>): Promise<SightEvent[]>
  /** Slices without an event are left out. */
  density(wish: DensityWish): Promise<Slice[]>
  /** In order of time; sightings outside of the span may come with them. */
  pieces(camera: string, from: number, to: number): Promise<TrackPiece[]>
  /** By which boxes of a camera have to be moved against its footage, as it was measured by what was seen at a moment. */
  putOffset(camera: string, at: number, offsetMs: number): Promise<void>
  /** Measured nearest to a span; undefined: never. */
  offsetNear(camera: string, from: number, to: number): Promise<MeasuredOffset | undefined>
  /** All of which there is something. */
  cameras(): Promise<string[]>
  /** Footage is gone: so is what began in it. */
  forget(camera: string, from: number, to: number): Promise<void>
  close(): Promise<void>
}

/** Begins or goes on; or is over. A `begin` may come again with another label, where more pictures said better what it is. */
export type EventPhase = 'begin' | 'end'

export type EventListener = (event: SightEvent, phase: EventPhase) => void

interface BookParts {
  clock: Clock
  store: Pick<EventStore, 'put'>
  limits: {
    /** Key `events.write_ms`. */
    writeMs: number
    /** Key `events.queue`. */
    queue: number
  }
  onEvent: EventListener
  /** What could not be written; undefined once it can. */
  onFault(fault: Error | undefined): void
}

/** Takes what a tracker says, and keeps what follows from it. */
export interface EventBook {
  begin(camera: string, track: Track, before: readonly Sighting[], source: EventSource): void
  seen(camera: string, at: number, tracks: readonly Track[]): void
  end(camera: string, track: Pick<Track, 'trackId'>): void
  claim(claim: Claim): void
  /** All of a camera: it is removed, or nobody looks at it any more. */
  endAll(camera: string): void
  /** What cameras have claimed, but for these cameras. */
  endClaims(but: readonly string[]): void
  /** An event as it is now; undefined for one that is over, or was never there. */
  present(id: string): SightEvent | undefined
  /** Those of a camera that go on, as they are now. */
  goingOn(camera: string): SightEvent[]
  /** Changes of events of a camera that are not on the disk yet, each event as it was last. */
  unwritten(camera: string): SightEvent[]
  /** Sightings that are not written yet. */
  waiting(camera: string): TrackPiece[]
  /** Changes that found no room in the queue. */
  lost(): number
  /** Writes what waits. */
  close(): Promise<void>
}

/** What a camera says of itself; pulse: it happened once. */
export interface Claim {
  cameraId: string
  label: string
  at: number
  phase: 'begin' | 'end' | 'pulse'
}

/** A piece of a track is written once it is so long; key-frame cameras have some sightings in it. */
const PIECE_MS = 5000
export const MOST_SIGHTINGS = 256

/** Claims of one camera that may be open at once. */
const MOST_CLAIMS = 32
/** Claims are numbered behind all tracks. */
const CLAIM_NUMBERS = 100_000_000

interface OpenEvent {
  event: SightEvent
  piece: Sighting[]
}

/** What waits to be written. */
function createQueue({ clock, limits, onFault, store }: Omit<BookParts, 'onEvent'>) {
  let events = new Map<string, SightEvent>()
  let pieces: TrackPiece[] = []
  /** With those that are being written. */
  const unwritten = new Map<string, SightEvent>()
  let lost = 0
  let writing: Promise<void> = Promise.resolve()
  let due: Timer | undefined

  /** @returns whether there is room for one more */
  function makeRoom(): boolean {
    due ??= clock.after(limits.writeMs, () => void write())
    const isThere = events.size + pieces.length < limits.queue
    if (!isThere) lost++
    return isThere
  }

  async function put(taken: readonly SightEvent[], parts: readonly TrackPiece[]): Promise<void> {
    try {
      await store.put(taken, parts)
      onFault(undefined)
    } catch (fault) {
      lost += taken.length + parts.length
      onFault(fault as Error)
    }
    for (const event of taken) if (unwritten.get(event.id) === event) unwritten.delete(event.id)
  }

  function write(): Promise<void> {
    due?.cancel()
    due = undefined
    const [taken, parts] = [[...events.values()], pieces]
    events = new Map()
    pieces = []
    writing = writing.then(() => put(taken, parts))
    return writing
  }

  return {
    add(event: SightEvent): void {
      if (!events.has(event.id) && !makeRoom()) return
      events.set(event.id, event)
      unwritten.set(event.id, event)
    },
    addPiece(piece: TrackPiece): void {
      if (makeRoom()) pieces.push(piece)
    },
    pieces: () => pieces,
    unwritten: () => unwritten.values(),
    lost: () => lost,
    write,
  }
}

export function createEventBook(parts: BookParts): EventBook {
  return new Book(parts)
}

type Key = number | string

class Book implements EventBook {
  readonly #queue: ReturnType<typeof createQueue>
  readonly #onEvent: EventListener
  /** By camera, and by the number of a track or a claimed label. */
  readonly #open = new Map<string, Map<Key, OpenEvent>>()
  #claims = 0

  constructor({ onEvent, ...parts }: BookParts) {
    this.#queue = createQueue(parts)
    this.#onEvent = onEvent
  }

  begin(camera: string, track: Track, before: readonly Sighting[], source: EventSource): void {
    const { best, firstAt, group, label, lastAt, trackId } = track
    const event: SightEvent = {
      ...{ id: `${camera}-${firstAt}-${trackId}`, cameraId: camera, label, group, source, score: best.score },
      ...{ beganAt: firstAt, lastAt, endedAt: null, bestAt: best.at, box: best.box },
    }
    // The last of them comes again as seen.
    this.#add(trackId, { event, piece: before.filter(({ at }) => at < lastAt) })
  }

  seen(camera: string, at: number, tracks: readonly Track[]): void {
    for (const track of tracks) this.#saw(camera, at, track)
  }

  end(camera: string, { trackId }: Pick<Track, 'trackId'>): void {
    this.#end(camera, trackId)
  }

  claim({ at, cameraId, label, phase }: Claim): void {
    if (phase === 'end') {
      this.#end(cameraId, label, at)
      return
    }
    const claimed = [...this.#ofCamera(cameraId).keys()].filter((key) => typeof key === 'string')
    if (!claimed.includes(label) && claimed.length < MOST_CLAIMS) {
      this.#claims = (this.#claims + 1) % CLAIM_NUMBERS
      const event: SightEvent = {
        ...{ id: `${cameraId}-${at}-${CLAIM_NUMBERS + this.#claims}`, cameraId, label, group: groupOf(label) },
        ...{ score: 1, beganAt: at, lastAt: at, endedAt: null, bestAt: at, box: null, source: 'camera' },
      }
      this.#add(label, { event, piece: [] })
    }
    if (phase === 'pulse') this.#end(cameraId, label, at)
  }

  endAll(camera: string): void {
    for (const key of [...this.#ofCamera(camera).keys()]) this.#end(camera, key)
    this.#open.delete(camera)
  }

  endClaims(but: readonly string[]): void {
    for (const [camera, open] of this.#open)
      if (!but.includes(camera))
        for (const key of [...open.keys()].filter((one) => typeof one === 'string')) this.#end(camera, key)
  }

  present(id: string): SightEvent | undefined {
    const events = this.#open.get(id.slice(0, id.indexOf('-')))
    return events && [...events.values()].find(({ event }) => event.id === id)?.event
  }

  goingOn(camera: string): SightEvent[] {
    return [...this.#ofCamera(camera).values()].map(({ event }) => event)
  }

  unwritten(camera: string): SightEvent[] {
    return [...this.#queue.unwritten().filter(({ cameraId }) => cameraId === camera)]
  }

  waiting(camera: string): TrackPiece[] {
    const tracks = [...this.#ofCamera(camera)].flatMap(([key, { event, piece }]) =>
      typeof key === 'number' && piece.length > 0
        ? [{ cameraId: camera, trackId: key, label: event.label, sightings: [...piece] }]
        : [],
    )
    return [...this.#queue.pieces().filter(({ cameraId }) => cameraId === camera), ...tracks]
  }

  lost(): number {
    return this.#queue.lost()
  }

  async close(): Promise<void> {
    for (const camera of [...this.#open.keys()]) this.endAll(camera)
    await this.#queue.write()
  }

  #ofCamera(camera: string): Map<Key, OpenEvent> {
    return this.#open.get(camera) ?? new Map<Key, OpenEvent>()
  }

  #add(key: Key, opened: OpenEvent): void {
    const { cameraId } = opened.event
    this.#open.set(cameraId, this.#ofCamera(cameraId).set(key, opened))
    this.#queue.add(opened.event)
    this.#onEvent(opened.event, 'begin')
  }

  #end(camera: string, key: Key, at = 0): void {
    const one = this.#ofCamera(camera).get(key)
    if (!one) return
    this.#open.get(camera)?.delete(key)
    this.#cutPiece(key, one)
    const endedAt = Math.max(one.event.lastAt, at)
    one.event = { ...one.event, lastAt: endedAt, endedAt }
    this.#queue.add(one.event)
    this.#onEvent(one.event, 'end')
  }

  #saw(camera: string, at: number, track: Track): void {
    const one = this.#ofCamera(camera).get(track.trackId)
    if (!one) return
    const { best, box, group, label, score, trackId } = track
    const isRenamed = one.event.label !== label
    // A piece has one label.
    if (isRenamed) this.#cutPiece(trackId, one)
    one.event = { ...one.event, label, group, lastAt: at, score: best.score, bestAt: best.at, box: best.box }
    one.piece.push({ at, score, box })
    if (at - (one.piece[0]?.at ?? at) >= PIECE_MS || one.piece.length >= MOST_SIGHTINGS) {
      this.#cutPiece(trackId, one)
      // When it was seen last is known after a kill, but for some seconds.
      this.#queue.add(one.event)
    }
    if (!isRenamed) return
    this.#queue.add(one.event)
    this.#onEvent(one.event, 'begin')
  }

  #cutPiece(key: Key, { event: { cameraId, label }, piece }: OpenEvent): void {
    if (typeof key !== 'number' || piece.length === 0) return
    this.#queue.addPiece({ cameraId, trackId: key, label, sightings: piece.splice(0) })
  }
}
