/** Dates and times as they are picked, in a zone: the wall clock of the building, wherever the reader is. */

const formats = new Map<string, Intl.DateTimeFormat>()

/**
 * The instant of `2031-03-09T14:00`, as an `<input type="datetime-local">` returns it; NaN if it is not valid. In the
 * hour that occurs twice in autumn, the first one is taken; a time in the hour that spring skips becomes an hour later.
 * @param zone IANA name; the reader's own zone without one
 */
export function instantOf(text: string, zone?: string): number {
  const asUtcMs = Date.parse(/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text) ? `${text}Z` : '')
  if (Number.isNaN(asUtcMs)) return Number.NaN
  // Zones are at most 14 h from UTC and change once within that: one of the two offsets is right.
  const candidates = [-1, 1].map((side) => asUtcMs - offsetMs(asUtcMs + side * DAY_MS, zone))
  const fitting = candidates.filter((atMs) => atMs + offsetMs(atMs, zone) === asUtcMs)
  return fitting.length > 0 ? Math.min(...fitting) : Math.max(...candidates)
}

const DAY_MS = 86_400_000

/** How far a zone's wall clock is ahead of UTC at an instant. */
function offsetMs(atMs: number, zone: string | undefined): number {
  const whole = Math.floor(atMs / 1000) * 1000
  const p = Object.fromEntries(
    formatOf(zone)
      .formatToParts(whole)
      .map(({ type, value }) => [type, Number(value)]),
  )
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = p
  return Date.UTC(year, month - 1, day, hour, minute, second) - whole
}

function formatOf(zone: string | undefined): Intl.DateTimeFormat {
  const key = zone ?? ''
  let format = formats.get(key)
  if (!format) {
    const two = '2-digit'
    const parts = { month: two, day: two, hour: two, minute: two, second: two } as const
    format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hourCycle: 'h23', year: 'numeric', ...parts })
    formats.set(key, format)
  }
  return format
}
