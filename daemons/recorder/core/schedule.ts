/** When a rule counts and a patrol runs: on which days of the week, and from when to when, by the recorder's zone. */

/** Never changed in place. @source interface document 3, A, Patrol */
export interface Schedule {
  /** 0 is Sunday. */
  readonly days: readonly number[]
  /** HH:MM. */
  readonly from: string
  /** HH:MM; one before `from` is on the next day, the same one a day later: all day. */
  readonly to: string
}

const DAY_MINUTES = 1440
const MINUTE_MS = 60_000

/** @param zone IANA name */
export function isWithin({ days, from, to }: Schedule, atMs: number, zone: string): boolean {
  const { day, minute } = localOf(atMs, zone)
  const [begin, end] = [minuteOf(from), minuteOf(to)]
  // What goes on after midnight belongs to the day on which it began.
  const isOfToday = minute >= begin && (end <= begin || minute < end)
  const isOfYesterday = end <= begin && minute < end
  return (isOfToday && days.includes(day)) || (isOfYesterday && days.includes((day + 6) % 7))
}

/** The same time of day, so many days before: across a change of the clocks too. @param zone IANA name */
export function sameTimeBefore(atMs: number, days: number, zone: string): number {
  const before = atMs - days * DAY_MINUTES * MINUTE_MS
  const apart = localOf(atMs, zone).minute - localOf(before, zone).minute
  // Midnight may lie between.
  const half = DAY_MINUTES / 2
  return before + (((apart + half + DAY_MINUTES) % DAY_MINUTES) - half) * MINUTE_MS
}

function minuteOf(text: string): number {
  const [hours = 0, minutes = 0] = text.split(':').map(Number)
  return (60 * hours + minutes) % DAY_MINUTES
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const formats = new Map<string, Intl.DateTimeFormat>()

function localOf(atMs: number, zone: string): { day: number; minute: number } {
  let format = formats.get(zone)
  if (!format) {
    const parts = { weekday: 'short', hour: '2-digit', minute: '2-digit' } as const
    format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hourCycle: 'h23', ...parts })
    formats.clear()
    formats.set(zone, format)
  }
  const said = Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, value]))
  return { day: DAYS.indexOf(said.weekday ?? ''), minute: 60 * Number(said.hour) + Number(said.minute) }
}
