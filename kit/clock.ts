/** The clock as a dependency: wall time, monotonic time and timers. */

/** A pending timer; cancelling twice, or after it ran, does nothing. */
export interface Timer {
  cancel(): void
}

/** Real time, or a test's. Measure durations with `monotonicMs` only. */
export interface Clock {
  /** Wall time, whole milliseconds since 1970-01-01T00:00Z. May step. */
  epochMs(): number
  /** CLOCK_MONOTONIC in milliseconds with a fraction (microseconds kept). Never steps back. */
  monotonicMs(): number
  /**
   * Runs once after `delayMs`, rounded up to whole milliseconds, however long that is. A pending timer does not keep
   * the process alive.
   */
  after(delayMs: number, run: () => void): Timer
  /**
   * Runs once all input that is ready has been read; within microseconds on an idle machine. Node runs timers before it
   * reads, so what a timer finds after a stall of the process may be stale.
   */
  soon(run: () => void): Timer
  /** Runs every `periodMs`, at most 24 days, until cancelled. Does not keep the process alive. */
  every(periodMs: number, run: () => void): Timer
}

/** Node's timers count in 32 bits: a longer delay would run at once, with a warning. */
const LONGEST_MS = 2 ** 31 - 1

/** The clock of the machine. */
export const systemClock: Clock = {
  epochMs: () => Date.now(),
  monotonicMs() {
    // Not `hrtime.bigint`: with its division it costs four times as much, and every request reads the clock several
    // times.
    const [seconds, nanoseconds] = process.hrtime()
    return (seconds * 1e6 + Math.trunc(nanoseconds / 1000)) / 1000
  },
  after(delayMs, run) {
    const restMs = delayMs - LONGEST_MS
    if (restMs <= 0) {
      const handle = setTimeout(run, Math.max(0, Math.ceil(delayMs)))
      handle.unref()
      return { cancel: () => clearTimeout(handle) }
    }
    let part = systemClock.after(LONGEST_MS, () => {
      part = systemClock.after(restMs, run)
    })
    return { cancel: () => part.cancel() }
  },
  soon(run) {
    // The first may run in an event loop round that has already read; input is read between it and the second.
    let handle = setImmediate(() => {
      handle = setImmediate(run)
    })
    return { cancel: () => clearImmediate(handle) }
  },
  every(periodMs, run) {
    const handle = setInterval(run, Math.min(LONGEST_MS, periodMs))
    handle.unref()
    return { cancel: () => clearInterval(handle) }
  },
}

/** Resolves after `delayMs` on the given clock. */
export function wait(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(delayMs, resolve)
  })
}

/**
 * Waits for a task, up to a limit.
 * @param task continues if it takes longer; a failure within the time is thrown, a later one is its owner's
 * @returns whether it finished within `mostMs`
 */
export async function atMost(clock: Clock, mostMs: number, task: Promise<unknown>): Promise<boolean> {
  const late = Promise.withResolvers<false>()
  const timer = clock.after(mostMs, () => late.resolve(false))
  try {
    return await Promise.race([task.then(() => true), late.promise])
  } finally {
    timer.cancel()
  }
}
