/** A time that never runs backwards, even where the machine's clock is set back. */
import type { Clock } from '#kit/clock.ts'

export interface TimeFloor {
  /** Epoch milliseconds: at least the latest time that was seen, and what has passed since. */
  now(): number
  /** Takes the present time as the new floor. */
  raise(): void
  /** Sets it to the time of a trusted source, also backwards. */
  reset(at: number): void
  /** How far it would fall back at a restart. */
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
