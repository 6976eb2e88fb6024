/** How often something happened within the last hour: sixty minutes of counts, whatever happens in them. */
import type { Clock } from '#kit/clock.ts'

const MINUTE_MS = 60_000
const MINUTES = 60

export interface HourCount {
  add(): void
  /** Of this minute and the 59 before it; since it was made where that is shorter. */
  lastHour(): number
}

export function createHourCount(clock: Pick<Clock, 'monotonicMs'>): HourCount {
  const counts = new Uint32Array(MINUTES)
  let newest = minuteOf(clock)

  /** Minutes that went by without a count are empty. */
  function turn(): number {
    const minute = minuteOf(clock)
    for (let at = Math.max(newest + 1, minute - MINUTES + 1); at <= minute; at++) counts[at % MINUTES] = 0
    newest = minute
    return minute % MINUTES
  }

  return {
    add() {
      const at = turn()
      counts[at] = (counts[at] ?? 0) + 1
    },
    lastHour() {
      turn()
      return counts.reduce((sum, count) => sum + count, 0)
    },
  }
}

function minuteOf(clock: Pick<Clock, 'monotonicMs'>): number {
  return Math.floor(clock.monotonicMs() / MINUTE_MS)
}
