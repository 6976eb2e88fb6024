/** How long a unit takes to answer, kept as a histogram: of fixed size, however long it is asked. */

/** Upper bounds of the buckets, ms; one more takes what is above. Narrow where a line's units differ. */
const BOUNDS_MS = [2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000, 2000, 5000, 10_000] as const

/** Milliseconds. `p50`, `p95`: half of the replies, 95 of 100, took at most so long; bucket bounds, never above `max`. */
export interface LatencyView {
  last: number
  p50: number
  p95: number
  max: number
}

export interface UnitLatency {
  add(tookMs: number): void
  /** Null before the first reply. */
  view(): LatencyView | null
  /** Replies that took at most `leMs`, those of the bounds before it too; null: all. */
  histogram(): { leMs: number | null; count: number }[]
}

export function createUnitLatency(): UnitLatency {
  const counts = new Uint32Array(BOUNDS_MS.length + 1)
  let total = 0
  let last = 0
  let max = 0

  function bound(share: number): number {
    const rank = Math.ceil(share * total)
    let seen = 0
    for (const [at, leMs] of BOUNDS_MS.entries()) {
      seen += counts[at] ?? 0
      if (seen >= rank) return Math.min(leMs, max)
    }
    return max
  }

  return {
    add(tookMs) {
      let at = 0
      while (at < BOUNDS_MS.length && tookMs > (BOUNDS_MS[at] as number)) at++
      counts[at] = (counts[at] ?? 0) + 1
      total++
      last = Math.round(tookMs * 10) / 10
      max = Math.max(max, last)
    },
    view: () => (total === 0 ? null : { last, p50: bound(0.5), p95: bound(0.95), max }),
    histogram() {
      let seen = 0
      return [...counts].map((count, at) => {
        seen += count
        return { leMs: BOUNDS_MS[at] ?? null, count: seen }
      })
    },
  }
}
