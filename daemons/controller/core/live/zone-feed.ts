/** Sends live changes to one page: coalesced, bounded, and only for zones its user may see. */
import type { Clock, Timer } from '#kit/clock.ts'
import { type Book, zonesByDevice } from '../site/book.ts'
import type { LiveBook } from './live-book.ts'
import { type ZoneState, zoneState } from './zones.ts'

/** A message to a page. `reload`: zones, rooms or rights have changed; request the list again. */
export type ZoneMessage =
  | { type: 'zones'; zones: readonly ZoneState[] }
  | { type: 'reload' }
  | { type: 'beat'; now: number; pending: number | null }

/** How a feed sends. */
interface ZoneSink {
  /** @returns false if the message was dropped */
  send(message: ZoneMessage): boolean
  /** Whether everything sent so far has left; until then, changes wait and only the last of each zone counts. */
  readonly hasCaughtUp: boolean
}

/** Bounds of a feed. */
export interface FeedLimits {
  /** Time over which changes are gathered. */
  coalesceMs: number
  /** Time between two beats, by which a page knows that the connection is alive. */
  beatMs: number
  /** Most zones in one message. */
  zonesPerMessage: number
  /** Most zones with a pending update; beyond that, the page is told to reload everything. */
  waitingZones: number
}

/** What a feed depends on. */
interface FeedParts {
  book: Book
  live: LiveBook
  clock: Clock
  limits: FeedLimits
  /** What its user may see now; undefined when the session is over. */
  scope(): ReadonlySet<number> | 'all' | undefined
  /** The number of changes that wait for Apply All; null if the user may not know it. */
  pending(): number | null
  /** Called when the session is over: closes the socket. */
  onOver(): void
}

/** Tables that determine which zones the page shows, and where. */
const SHAPE = [
  'zone',
  'zone_group',
  'device',
  'command',
  'macro',
  'ui',
  'ui_zone',
  'ui_zone_group_ui',
  'ui_macro',
  'auth_role',
  'auth_user_role',
]

export interface ZoneFeed {
  end(): void
  /** Checks at once whether the session is still valid. */
  check(): void
}

/** Listens to the building until its owner ends it or the session is over; sends a first beat at once. */
export function openZoneFeed(parts: FeedParts, sink: ZoneSink): ZoneFeed {
  const { book, live, clock, limits } = parts
  const waiting = createWaiting(limits.waitingZones)
  const zonesOf = zonesByDevice(book)
  let shape = shapeOf(book)
  let timer: Timer | undefined
  let isEnded = false

  function wake(): void {
    timer ??= clock.after(limits.coalesceMs, flush)
  }

  function end(): void {
    isEnded = true
    timer?.cancel()
    beats.cancel()
    stopHearing()
  }

  function scopeNow(): ReadonlySet<number> | 'all' | undefined {
    if (isEnded) return undefined
    const scope = parts.scope()
    if (scope !== undefined) return scope
    end()
    parts.onOver()
    return undefined
  }

  function flush(): void {
    timer = undefined
    const scope = scopeNow()
    if (scope === undefined) return
    if (sink.hasCaughtUp) tellWhatWaits(scope)
    else wake()
  }

  function tellWhatWaits(scope: ReadonlySet<number> | 'all'): void {
    if (shapeOf(book) !== shape) waiting.overflow()
    shape = shapeOf(book)
    const ids = waiting.take()
    const isTold = ids === 'too many' ? sink.send({ type: 'reload' }) : tell(ids, scope)
    if (isTold) return
    waiting.overflow()
    wake()
  }

  function tell(ids: readonly number[], scope: ReadonlySet<number> | 'all'): boolean {
    const seen = ids.filter((id) => scope === 'all' || scope.has(id))
    const zones = seen.flatMap((id) => book.row('zone', id) ?? []).map((zone) => zoneState(zone, live))
    for (let at = 0; at < zones.length; at += limits.zonesPerMessage)
      if (!sink.send({ type: 'zones', zones: zones.slice(at, at + limits.zonesPerMessage) })) return false
    return true
  }

  const stopHearing = live.onChange((kind, id) => {
    waiting.add(kind === 'zone' ? [id] : zonesOf(id).map((zone) => zone.id))
    wake()
  })
  const beat = () => {
    if (scopeNow() === undefined || !sink.hasCaughtUp) return
    sink.send({ type: 'beat', now: clock.epochMs(), pending: parts.pending() })
    if (shapeOf(book) !== shape) wake()
  }
  const beats = clock.every(limits.beatMs, beat)
  beat()
  return { end, check: () => void scopeNow() }
}

/** Zones with a pending update, each once; above `most` it only remembers that there were too many. */
function createWaiting(most: number) {
  const ids = new Set<number>()
  let isOver = false
  function overflow(): void {
    ids.clear()
    isOver = true
  }
  return {
    overflow,
    add(more: readonly number[]) {
      if (isOver) return
      for (const id of more) ids.add(id)
      if (ids.size > most) overflow()
    },
    take(): readonly number[] | 'too many' {
      const taken = isOver ? 'too many' : [...ids]
      ids.clear()
      isOver = false
      return taken
    },
  }
}

function shapeOf(book: Book): string {
  return SHAPE.map((table) => book.revision(table)).join()
}
