/** The wall clock of a time zone: which instants a time of a day is, where hours come twice or never. */
import { Fault } from '#kit/pure/fault.ts'

export const MINUTE_MS = 60_000
export const DAY_MS = 86_400_000

/** A day is counted from 1970-01-01 in the zone's own calendar. */
export interface TimeZone {
  readonly name: string
  /** The day of an instant. */
  dayOf(atMs: number): number
  /** The minute of its day, as the wall clock shows it. */
  minuteOf(atMs: number): number
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
  offsetsOf(name)

  const offsetAt: Offsets = (atMs) => offsetsOf(name)(atMs)

  return {
    name,
    dayOf: (atMs) => Math.floor((atMs + offsetAt(atMs)) / DAY_MS),
    minuteOf: (atMs) => Math.floor(((atMs + offsetAt(atMs)) % DAY_MS) / MINUTE_MS),
    instantsOf(day, minutes, isElapsed) {
      const dayMs = day * DAY_MS
      // Zones are at most 14 h from UTC, and change once within three days at most.
      const [early, late] = [offsetAt(dayMs - DAY_MS), offsetAt(dayMs + 2 * DAY_MS)]
      if (early === late) return minutes.map((minute) => dayMs + minute * MINUTE_MS - early)
      const instants = minutes.flatMap((minute) => {
        const wallMs = dayMs + minute * MINUTE_MS
        const shown = [early, late].flatMap((offset) => (offsetAt(wallMs - offset) === offset ? [wallMs - offset] : []))
        if (isElapsed) return shown
        return [shown.length === 0 ? changeBetween(offsetAt, wallMs - late, wallMs - early) : Math.min(...shown)]
      })
      return [...new Set(instants)].sort((one, other) => one - other)
    },
  }
}

/**
 * Zones that are kept: each takes 40 kB beside the heap for its format, and 15 kB for its days. A building has one zone
 * or two.
 */
const KEPT_ZONES = 16
/**
 * Days whose offset is kept for each zone: a schedule is asked for its next time again and again, and Intl takes longer
 * for one offset than the rest of the search.
 */
const KEPT_DAYS = 400

/** How far the wall clock of a zone is ahead of UTC at an instant. */
type Offsets = (atMs: number) => number

const zones = new Map<string, Offsets>()

function offsetsOf(name: string): Offsets {
  const offsets = zones.get(name) ?? readOffsets(newFormat(name))
  zones.delete(name)
  zones.set(name, offsets)
  const [oldest] = zones.keys()
  if (zones.size > KEPT_ZONES && oldest !== undefined) zones.delete(oldest)
  return offsets
}

function readOffsets(format: Intl.DateTimeFormat): Offsets {
  const midnights = new Map<number, number>()
  const changes = new Map<number, number>()

  /** In whole minutes, as zones have been since 1972. */
  function read(atMs: number): number {
    const parts = { year: 0, month: 1, day: 1, hour: 0, minute: 0 }
    for (const { type, value } of format.formatToParts(atMs))
      if (type in parts) parts[type as keyof typeof parts] = Number(value)
    const wallMs = Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute)
    return wallMs - Math.floor(atMs / MINUTE_MS) * MINUTE_MS
  }

  const atMidnight = (day: number): number => remembered(midnights, day, () => read(day * DAY_MS))
  const changeOn = (day: number): number =>
    remembered(changes, day, () => changeBetween(read, day * DAY_MS, (day + 1) * DAY_MS))

  return (atMs) => {
    const day = Math.floor(atMs / DAY_MS)
    const [before, after] = [atMidnight(day), atMidnight(day + 1)]
    // No zone changes twice within a day of UTC.
    return before === after || atMs < changeOn(day) ? before : after
  }
}

function remembered(values: Map<number, number>, day: number, find: () => number): number {
  const known = values.get(day)
  if (known !== undefined) return known
  const value = find()
  if (values.size >= KEPT_DAYS) values.clear()
  values.set(day, value)
  return value
}

/** The first instant, in whole minutes, with the later offset. */
function changeBetween(offsetAt: Offsets, fromMs: number, untilMs: number): number {
  const before = offsetAt(fromMs)
  let [low, high] = [fromMs / MINUTE_MS, untilMs / MINUTE_MS]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(middle * MINUTE_MS) === before) low = middle
    else high = middle
  }
  return high * MINUTE_MS
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
