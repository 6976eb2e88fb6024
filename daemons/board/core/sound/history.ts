/** What was measured each second, for as long as a page wants to look back. */
import type { Clock } from '#kit/clock.ts'

/** One hour. */
export const HISTORY_SECONDS = 3600

/** As `GET /api/history` answers it. */
export interface HistoryView {
  step_s: 1
  /** Epoch ms of the first point of every series. */
  from_at: number
  /** Oldest first, all of the same length, which grows up to the whole span; unknown is null. */
  series: Record<string, (number | null)[]>
}

/** Some of the values of this second. Unknown is null, and so is what nobody gives. */
export type Measured<Name extends string> = Readonly<Partial<Record<Name, number | null>>>

export interface History<Name extends string = string> {
  /**
   * Adds to the second that it is now; several may add their own in the same second. Called each second: where a timer
   * came late and left one second out, that has the same values.
   */
  add(values: Measured<Name>): void
  view(): HistoryView
}

export interface HistoryOptions<Name extends string> {
  clock: Clock
  names: readonly Name[]
  seconds: number
}

/** Digits that a 32-bit float keeps. */
const DIGITS = 7

/** Holds `seconds` values of each name, four bytes each, whatever happens. */
export function createHistory<Name extends string>({ clock, names, seconds }: HistoryOptions<Name>): History<Name> {
  const rings = new Map(names.map((name) => [name, new Float32Array(seconds).fill(Number.NaN)]))
  const second = () => Math.floor(clock.monotonicMs() / 1000)
  /** The newest second that anything is known of, and the first. */
  let newest: number | undefined
  let first = 0

  /** Makes room for a second; those that were left out are unknown. */
  function moveTo(now: number): void {
    if (newest === undefined) first = now
    else for (let at = Math.max(newest + 1, now - seconds + 1); at <= now; at++) forget(at)
    newest = now
  }

  function forget(at: number): void {
    for (const ring of rings.values()) ring[at % seconds] = Number.NaN
  }

  return {
    add(values) {
      const now = second()
      const leftOut = newest !== undefined && now - newest === 2 ? now - 1 : undefined
      if (newest === undefined || now > newest) moveTo(now)
      for (const [name, ring] of rings) {
        const value = values[name]
        if (value === undefined || value === null) continue
        ring[now % seconds] = value
        if (leftOut !== undefined) ring[leftOut % seconds] = value
      }
    },
    view() {
      const last = newest ?? second()
      const from = Math.max(newest === undefined ? last + 1 : first, last - seconds + 1)
      const series = [...rings].map(([name, ring]) => [name, pointsOf(ring, from, last)] as const)
      const fromMs = clock.epochMs() - (clock.monotonicMs() - from * 1000)
      return { step_s: 1, from_at: Math.round(fromMs), series: Object.fromEntries(series) }
    },
  }
}

function pointsOf(ring: Float32Array, from: number, last: number): (number | null)[] {
  return Array.from({ length: last - from + 1 }, (_, index) => {
    const value = ring[(from + index) % ring.length]
    return value === undefined || Number.isNaN(value) ? null : Number(value.toPrecision(DIGITS))
  })
}
