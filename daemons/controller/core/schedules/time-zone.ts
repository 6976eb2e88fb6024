/** The wall clock of a time zone: which instants a time of a day is, where hours come twice or never. */
import { Fault } from '#kit/pure/fault.ts'

export const MINUTE_MS = 60_000
export const DAY_MS = 86_400_000

/** A day is counted from 1970-01-01 in the zone's own calendar. */
export interface TimeZone {
  readonly name: string
  /** The day of an instant. */
  dayOf(atMs: number): number
  /**
   * The instants at which the wall clock shows these minutes of a day, ascending, none twice.
   * - A time that never comes, because the clock is set forward, becomes the instant at which it is set.
   * - A time that comes twice is its first one.
   * @param isElapsed for what comes every hour: what never comes is left out, and what comes twice is both, so that as
   * much time passes between two of them as on any other day
   */
  instantsOf(day: number, minutes: readonly number[], isElapsed: boolean): number[]
}

/**
 * @param name as in the IANA database, which Node brings along
 * @throws Fault `schedule_invalid` for a name that it does not know
 */
export function openTimeZone(name: string): TimeZone {
  formatOf(name)

  /** How far the wall clock is ahead of UTC at an instant, in whole minutes as zones have been since 1972. */
  function offsetAt(atMs: number): number {
    const parts = { year: 0, month: 1, day: 1, hour: 0, minute: 0 }
    for (const { type, value } of formatOf(name).formatToParts(atMs))
      if (type in parts) parts[type as keyof typeof parts] = Number(value)
    const wallMs = Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute)
    return wallMs - Math.floor(atMs / MINUTE_MS) * MINUTE_MS
  }

  /** The first instant with the later offset. */
  function changeBetween(fromMs: number, untilMs: number): number {
    const before = offsetAt(fromMs)
    let [low, high] = [fromMs / MINUTE_MS, untilMs / MINUTE_MS]
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (offsetAt(middle * MINUTE_MS) === before) low = middle
      else high = middle
    }
    return high * MINUTE_MS
  }

  return {
    name,
    dayOf: (atMs) => Math.floor((atMs + offsetAt(atMs)) / DAY_MS),
    instantsOf(day, minutes, isElapsed) {
      const dayMs = day * DAY_MS
      // Zones are at most 14 h from UTC, and change once within three days at most.
      const [early, late] = [offsetAt(dayMs - DAY_MS), offsetAt(dayMs + 2 * DAY_MS)]
      if (early === late) return minutes.map((minute) => dayMs + minute * MINUTE_MS - early)
      const instants = minutes.flatMap((minute) => {
        const wallMs = dayMs + minute * MINUTE_MS
        const shown = [early, late].flatMap((offset) => (offsetAt(wallMs - offset) === offset ? [wallMs - offset] : []))
        if (isElapsed) return shown
        return [shown.length === 0 ? changeBetween(wallMs - late, wallMs - early) : Math.min(...shown)]
      })
      return [...new Set(instants)].sort((one, other) => one - other)
    },
  }
}

/** Formats that are kept: each takes 40 kB beside the heap, and a building has one zone or two. */
const KEPT_FORMATS = 16
const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(name: string): Intl.DateTimeFormat {
  const format = formats.get(name) ?? newFormat(name)
  formats.delete(name)
  formats.set(name, format)
  const [oldest] = formats.keys()
  if (formats.size > KEPT_FORMATS && oldest !== undefined) formats.delete(oldest)
  return format
}

function newFormat(name: string): Intl.DateTimeFormat {
  const two = '2-digit'
  const parts = { year: 'numeric', month: two, day: two, hour: two, minute: two } as const
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone: name, hourCycle: 'h23', calendar: 'gregory', ...parts })
  } catch (cause) {
    throw new Fault(
      'schedule_invalid',
      `there is no time zone ${JSON.stringify(name)}, expected such as Europe/Paris`,
      {
        cause,
      },
    )
  }
}
