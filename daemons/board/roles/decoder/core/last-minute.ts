/** What was counted in each of the last sixty seconds. */
import type { Clock } from '#kit/clock.ts'

const WINDOW_S = 60

export interface LastMinute<Name extends string> {
  /** Adds to this second. */
  add(counts: Readonly<Partial<Record<Name, number>>>): void
  sum(name: Name): number
  clear(): void
}

/** Holds sixty numbers of each name, whatever comes. */
export function createLastMinute<Name extends string>(clock: Clock, names: readonly Name[]): LastMinute<Name> {
  const seconds = new Float64Array(WINDOW_S).fill(Number.NaN)
  const rings = new Map(names.map((name) => [name, new Float64Array(WINDOW_S)]))
  const now = () => Math.floor(clock.monotonicMs() / 1000)

  return {
    add(counts) {
      const second = now()
      const place = second % WINDOW_S
      if (seconds[place] !== second) for (const ring of rings.values()) ring[place] = 0
      seconds[place] = second
      for (const [name, ring] of rings) ring[place] = (ring[place] ?? 0) + (counts[name] ?? 0)
    },
    sum(name) {
      const first = now() - WINDOW_S
      const ring = rings.get(name)
      return seconds.reduce((sum, second, place) => sum + (second > first ? (ring?.[place] ?? 0) : 0), 0)
    },
    clear() {
      seconds.fill(Number.NaN)
    },
  }
}
