/** Dates and times as a hand picks them, in the site's zone: the wall clock of the building, wherever the reader sits. */

const formats = new Map<string, Intl.DateTimeFormat>()

/**
 * The instant of `2031-03-09T14:00` as an `<input type="datetime-local">` gives it; NaN where it is none.
 * In the hour that is there twice in autumn it is the first of both; in the one that spring leaves out, an hour later.
 * @param zone IANA name; the reader's own zone without one
 */
export function instantOf(text: string, zone?: string): number {
  const asUtcMs = Date.parse(/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text) ? `${text}Z` : '')
  if (Number.isNaN(asUtcMs)) return Number.NaN
  // Zones are at most 14 h from UTC and change once within that: the offset of the one side or of the other is right.
  const candidates = [-1, 1].map((side) => asUtcMs - offsetMs(asUtcMs + side * DAY_MS, zone))
  const fitting = candidates.filter((atMs) => atMs + offsetMs(atMs, zone) === asUtcMs)
  return fitting.length > 0 ? Math.min(...fitting) : Math.max(...candidates)
}

const DAY_MS = 86_400_000

/** How far the wall clock of a zone is ahead of UTC at an instant. */
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
