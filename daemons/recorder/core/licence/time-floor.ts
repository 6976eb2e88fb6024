/** A time that a clock that is set back does not set back. */
import type { Clock } from '#kit/clock.ts'

export interface TimeFloor {
  /** Epoch milliseconds: at least the latest time that was seen, and what has passed since. */
  now(): number
  /** What is seen now is the floor from now on. */
  raise(): void
  /** It was this time, as somebody says who knows. */
  reset(at: number): void
  /** How much of it would be lost by a restart. */
  unsavedMs(): number
  saved(): void
}

/** @param latestAt the latest time that an earlier run has kept */
export function createTimeFloor(clock: Clock, latestAt: number): TimeFloor {
  let floorAt = latestAt
  let seenMs = clock.monotonicMs()
  let savedAt = latestAt

  const now = () => Math.max(clock.epochMs(), Math.floor(floorAt + clock.monotonicMs() - seenMs))

  function set(at: number): void {
    floorAt = at
    seenMs = clock.monotonicMs()
  }

  return {
    now,
    raise: () => set(now()),
    reset: (at) => set(at),
    unsavedMs: () => now() - savedAt,
    saved() {
      savedAt = now()
    },
  }
}
