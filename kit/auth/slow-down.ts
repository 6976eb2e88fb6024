/** Waits that grow with wrong tries, and end. */
import type { Clock } from '#kit/clock.ts'

/** Bounds of one table of wrong tries. */
export interface SlowDownBounds {
  clock: Clock
  /** Wrong tries before the first wait. */
  freeTries: number
  /** First wait; doubles with each further wrong try. */
  waitMs: number
  /** Longest wait. */
  waitMaxMs: number
  /** Without a try for so long, a key is forgotten; default: twice the longest wait. */
  forgetMs?: number
  /** Keys remembered; the one that has been quiet longest makes room. */
  table: number
}

/** Tries of one kind of key: addresses, or accounts. */
export interface SlowDown {
  /** Milliseconds until this key may try again; 0 for now. */
  check(key: string): number
  /** Counts a wrong try. @returns wrong tries of this key so far */
  failed(key: string): number
  /** Takes one try back that was counted and never looked at. */
  unfailed(key: string): void
  /** Forgets what this key did wrong. */
  succeeded(key: string): void
}

/** Makes an empty table. */
export function createSlowDown({ clock, freeTries, waitMs, waitMaxMs, table, ...more }: SlowDownBounds): SlowDown {
  const { forgetMs = 2 * waitMaxMs } = more
  // Quiet longest first.
  const tries = new Map<string, { wrong: number; lastMs: number }>()

  function recall(key: string) {
    const found = tries.get(key)
    if (!found || clock.monotonicMs() - found.lastMs < forgetMs) return found
    tries.delete(key)
    return undefined
  }

  return {
    check(key) {
      const found = recall(key)
      if (!found || found.wrong < freeTries) return 0
      // 2 ** 1024 is Infinity, which the least of the two takes care of.
      const wholeMs = Math.min(waitMaxMs, waitMs * 2 ** (found.wrong - freeTries))
      return Math.max(0, Math.ceil(found.lastMs + wholeMs - clock.monotonicMs()))
    },
    failed(key) {
      const wrong = (recall(key)?.wrong ?? 0) + 1
      tries.delete(key)
      const quietest = tries.keys().next()
      if (tries.size >= table && !quietest.done) tries.delete(quietest.value)
      tries.set(key, { wrong, lastMs: clock.monotonicMs() })
      return wrong
    },
    unfailed(key) {
      const found = tries.get(key)
      if (!found) return
      if (found.wrong > 1) found.wrong--
      else tries.delete(key)
    },
    succeeded: (key) => void tries.delete(key),
  }
}
