/** A clock that only moves when a test says so. */
import type { Clock, Timer } from './clock.ts'

interface Pending {
  dueMs: number
  order: number
  run: () => void
  periodMs: number | undefined
}

/** A clock for tests. Timers run in order of their due time, each at its own instant. */
export interface FakeClock extends Clock {
  /** Advances the time and runs what falls due, without letting promises run in between. */
  advance(ms: number): void
  /** Like `advance`, but lets promises settle before, between and after the timers. */
  run(ms: number): Promise<void>
  /** Steps wall time only, as NTP does. */
  stepEpoch(ms: number): void
  /** Number of pending timers. */
  pending(): number
}

/** @param startEpochMs wall time at the start; monotonic time starts at 0 */
export function fakeClock(startEpochMs = 1_900_000_000_000): FakeClock {
  let nowMs = 0
  let epochOffsetMs = startEpochMs
  let order = 0
  const pending = new Set<Pending>()

  function set(delayMs: number, run: () => void, periodMs?: number): Timer {
    const entry: Pending = { dueMs: nowMs + Math.max(0, Math.ceil(delayMs)), order: order++, run, periodMs }
    pending.add(entry)
    return { cancel: () => void pending.delete(entry) }
  }

  function nextDue(limitMs: number): Pending | undefined {
    let first: Pending | undefined
    for (const entry of pending) {
      if (entry.dueMs > limitMs) continue
      if (!first || entry.dueMs < first.dueMs || (entry.dueMs === first.dueMs && entry.order < first.order))
        first = entry
    }
    return first
  }

  function fire(entry: Pending): void {
    nowMs = Math.max(nowMs, entry.dueMs)
    if (entry.periodMs === undefined) pending.delete(entry)
    else entry.dueMs += entry.periodMs
    entry.run()
  }

  return {
    epochMs: () => Math.floor(epochOffsetMs + nowMs),
    monotonicMs: () => nowMs,
    after: (delayMs, run) => set(delayMs, run),
    soon: (run) => set(0, run),
    every: (periodMs, run) => set(periodMs, run, periodMs),
    advance(ms) {
      const untilMs = nowMs + ms
      for (let entry = nextDue(untilMs); entry; entry = nextDue(untilMs)) fire(entry)
      nowMs = untilMs
    },
    async run(ms) {
      const untilMs = nowMs + ms
      await settle()
      for (let entry = nextDue(untilMs); entry; entry = nextDue(untilMs)) {
        fire(entry)
        await settle()
      }
      nowMs = untilMs
      await settle()
    },
    stepEpoch(ms) {
      epochOffsetMs += ms
    },
    pending: () => pending.size,
  }
}

/** Lets every ready promise run. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
