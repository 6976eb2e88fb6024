/**
 * Delayed saves of a value that changes often: some time after the last change, at intervals during changes, and at the
 * end.
 */
import type { Clock, Timer } from '#kit/clock.ts'

/** When to save. */
export interface LateSaveTimes {
  /** Delay after the last change, in ms. */
  quietMs: number
  /** Longest delay after the first unsaved change, in ms. */
  mostMs: number
}

interface LateSave {
  /** The value has changed. */
  changed(): void
  /** Saves pending changes, and waits for it. Later changes are ignored: their owner is being shut down. */
  close(): Promise<void>
}

/**
 * A failed save is reported to `failed`, and repeated with the next change or at the end.
 * @param save writes the value as it is at the call
 */
export function createLateSave(
  clock: Clock,
  { quietMs, mostMs }: LateSaveTimes,
  on: { save(): Promise<void>; failed(fault: unknown): void },
): LateSave {
  let timer: Timer | undefined
  let firstMs: number | undefined
  let running: Promise<void> = Promise.resolve()
  let isClosed = false

  function saveNow(): Promise<void> {
    timer?.cancel()
    firstMs = undefined
    running = running.then(on.save).catch((fault) => {
      // Still unsaved: the next change, or the end, tries again.
      firstMs ??= clock.monotonicMs()
      on.failed(fault)
    })
    return running
  }

  return {
    changed() {
      if (isClosed) return
      const nowMs = clock.monotonicMs()
      firstMs ??= nowMs
      timer?.cancel()
      timer = clock.after(Math.max(0, Math.min(nowMs + quietMs, firstMs + mostMs) - nowMs), () => void saveNow())
    },
    async close() {
      isClosed = true
      timer?.cancel()
      await running
      if (firstMs !== undefined) await saveNow()
    },
  }
}
