/** Who watches the board is told how it is: at once, when something changes, and every second. */
import type { Clock, Timer } from '#kit/clock.ts'

/** One that watches. */
export interface Watcher {
  /** @returns false where it did not take the message */
  send(text: string): boolean
  /** Whether everything sent so far has left. */
  readonly hasCaughtUp: boolean
}

/** What a feed needs. */
export interface StatusFeedParts {
  clock: Clock
  status(): unknown
  /** Between two messages at least. */
  leastMs: number
  /** Between two messages at most. */
  mostMs: number
}

export interface StatusFeed {
  /** Tells it at once, and from then on. @returns what ends it */
  watch(watcher: Watcher): () => void
  /** Something is otherwise than before. */
  changed(): void
  close(): void
}

/**
 * Changes are gathered: however many there are, and however many watch, one message is made at most every `leastMs`. One
 * who has not taken the last message gets the next one that comes when he has: it tells the whole state, so nothing is
 * missed.
 */
export function createStatusFeed({ clock, status, leastMs, mostMs }: StatusFeedParts): StatusFeed {
  const watchers = new Set<Watcher>()
  let timer: Timer | undefined
  let toldMs = Number.NEGATIVE_INFINITY
  let isSoon = false

  function tell(): void {
    toldMs = clock.monotonicMs()
    isSoon = false
    timer?.cancel()
    timer = watchers.size > 0 ? clock.after(mostMs, tell) : undefined
    if (watchers.size === 0) return
    const text = textOf(status)
    for (const watcher of watchers) if (watcher.hasCaughtUp) watcher.send(text)
  }
  return {
    watch(watcher) {
      watchers.add(watcher)
      watcher.send(textOf(status))
      toldMs = clock.monotonicMs()
      timer ??= clock.after(mostMs, tell)
      return () => {
        watchers.delete(watcher)
        if (watchers.size > 0) return
        timer?.cancel()
        timer = undefined
        isSoon = false
      }
    },
    changed() {
      if (isSoon || watchers.size === 0) return
      isSoon = true
      timer?.cancel()
      timer = clock.after(Math.max(0, toldMs + leastMs - clock.monotonicMs()), tell)
    },
    close() {
      timer?.cancel()
      watchers.clear()
    },
  }
}

function textOf(status: () => unknown): string {
  return JSON.stringify({ type: 'status', status: status() })
}
