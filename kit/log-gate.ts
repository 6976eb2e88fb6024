/** Keeps one troubled target from filling the log: the first trouble at once, then one line a period with a count. */
import type { Clock, Timer } from '#kit/clock.ts'

/** Gathers what happens too often to be logged each time. */
export interface LogGate {
  /** Says it now, or counts it for the line at the end of the period. `times` is how often it happened, at least 1. */
  note(facts: Record<string, unknown>, times?: number): void
  /** Says what was counted and not said yet. */
  close(): void
}

/** @param say writes the line; `count` is how many since the last line, `facts` those of the newest */
export function createLogGate(
  clock: Clock,
  periodMs: number,
  say: (count: number, facts: Record<string, unknown>) => void,
): LogGate {
  let timer: Timer | undefined
  let count = 0
  let newest: Record<string, unknown> = {}

  function open(): void {
    timer = undefined
    if (count === 0) return
    say(count, newest)
    count = 0
    timer = clock.after(periodMs, open)
  }

  return {
    note(facts, times = 1) {
      count += times
      newest = facts
      if (!timer) open()
    },
    close() {
      timer?.cancel()
      open()
      timer?.cancel()
      timer = undefined
    },
  }
}
