/** Who watches a board with sound sees its levels move: often, and never at the cost of anything else. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Meters } from './role.ts'
import type { Watcher } from './status-feed.ts'

/** What a feed needs. */
export interface MeterFeedParts {
  clock: Clock
  /** Where the levels come from, as `onMeters` of a role. */
  listen(hear: (meters: Meters) => void): () => void
  /** Between two messages at least. */
  leastMs: number
}

export interface MeterFeed {
  /** Tells it the next levels, and all from then on. @returns what ends it */
  watch(watcher: Watcher): () => void
  close(): void
}

/**
 * Levels are listened to while somebody watches. What comes between two messages is gathered: the highest peak of each
 * channel, so that no clip is missed, and the last of what is told of loudness. One who has not taken the last message
 * gets none.
 */
export function createMeterFeed({ clock, listen, leastMs }: MeterFeedParts): MeterFeed {
  const watchers = new Set<Watcher>()
  let gathered: Meters | undefined
  let toldMs = Number.NEGATIVE_INFINITY
  let timer: Timer | undefined
  let end: (() => void) | undefined

  function tell(): void {
    timer = undefined
    if (gathered === undefined) return
    const text = JSON.stringify({ type: 'meters', meters: gathered })
    gathered = undefined
    toldMs = clock.monotonicMs()
    for (const watcher of watchers) if (watcher.hasCaughtUp) watcher.send(text)
  }
  function hear(meters: Meters): void {
    gathered = gathered === undefined ? meters : together(gathered, meters)
    const waitMs = toldMs + leastMs - clock.monotonicMs()
    if (waitMs <= 0) tell()
    else timer ??= clock.after(waitMs, tell)
  }
  function rest(): void {
    end?.()
    end = undefined
    timer?.cancel()
    timer = undefined
    gathered = undefined
  }
  return {
    watch(watcher) {
      watchers.add(watcher)
      end ??= listen(hear)
      return () => {
        watchers.delete(watcher)
        if (watchers.size === 0) rest()
      }
    },
    close() {
      watchers.clear()
      rest()
    },
  }
}

/** The loudest of both as far as peaks go; another number of channels is another sound. */
function together(before: Meters, { peak_db, rms_db }: Meters): Meters {
  if (before.peak_db.length !== peak_db.length) return { peak_db, rms_db }
  return { peak_db: peak_db.map((peak, at) => louder(peak, before.peak_db[at] ?? null)), rms_db }
}

function louder(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other
  return Math.max(one, other)
}
