/** Saves a value that changes often: a while after the last change, now and then while changes go on, and at the end. */
import type { Clock, Timer } from '#kit/clock.ts'

/** When to save. */
export interface LateSaveTimes {
  /** After the last change, in ms. */
  quietMs: number
  /** After the first change that is not saved, at most, in ms. */
  mostMs: number
}

interface LateSave {
  /** The value is otherwise than it was saved. */
  changed(): void
  /** Saves what is not saved yet, and waits for it. */
  close(): Promise<void>
}

/**
 * A save that fails is told to `failed`, and made up for with the next change or at the end.
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

  function saveNow(): Promise<void> {
    timer?.cancel()
    firstMs = undefined
    running = running.then(on.save).catch((fault) => {
      // Not saved, so not forgotten: the next change, or the end, tries again.
      firstMs ??= clock.monotonicMs()
      on.failed(fault)
    })
    return running
  }

  return {
    changed() {
      const nowMs = clock.monotonicMs()
      firstMs ??= nowMs
      timer?.cancel()
      timer = clock.after(Math.max(0, Math.min(nowMs + quietMs, firstMs + mostMs) - nowMs), () => void saveNow())
    },
    async close() {
      timer?.cancel()
      await running
      if (firstMs !== undefined) await saveNow()
    },
  }
}
