/** Time as a thing that is handed in: wall time, monotonic time and timers. */

/** A timer that was set; cancelling twice, or after it ran, does nothing. */
export interface Timer {
  cancel(): void
}

/** The time of the world, or of a test. Durations come from `monotonicMs` only. */
export interface Clock {
  /** Wall time, whole milliseconds since 1970-01-01T00:00Z. May step. */
  epochMs(): number
  /** CLOCK_MONOTONIC in milliseconds with a fraction (microseconds kept). Never steps back. */
  monotonicMs(): number
  /**
   * Runs once after `delayMs`, rounded up to whole milliseconds, however long that is. A pending timer does not keep the
   * process alive.
   */
  after(delayMs: number, run: () => void): Timer
  /**
   * Runs once what lies ready to be read has been read; within microseconds on a machine with nothing else to do.
   * Node runs timers before it reads, so what a timer finds after a stall of the process may be old.
   */
  soon(run: () => void): Timer
  /** Runs every `periodMs` until cancelled, at least every 24 days. Does not keep the process alive. */
  every(periodMs: number, run: () => void): Timer
}

/** Node's timers count in 32 bits: one that is longer would run at once, with a warning. */
const LONGEST_MS = 2 ** 31 - 1

/** The clock of the machine. */
export const systemClock: Clock = {
  epochMs: () => Date.now(),
  monotonicMs() {
    // Not `hrtime.bigint`: with its division it costs four times as much, and every request asks several times.
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
    // The first may run in the round of the event loop that has read already; between it and the second input is read.
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

/** Resolves after `delayMs` of the clock given. */
export function wait(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(delayMs, resolve)
  })
}

/**
 * Waits for something, but not for ever.
 * @param task goes on if it takes longer; its failure within the time is told, and after it is its owner's
 * @returns whether it was over within `mostMs`
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
