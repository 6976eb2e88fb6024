/** Tests of core/schedules: when a schedule is due, over a year in many zones, and near the poles. */
import * as fc from 'fast-check'
import t from 'tap'
import { readCalendar, timeAfter, timeUpTo } from '../../../core/schedules/calendar.ts'
import { DAY_MS, MINUTE_MS } from '../../../core/schedules/time-zone.ts'
import type { Row } from '../../../core/site/book.ts'

type Columns = { [column: string]: string | number | null }

const calendarOf = (columns: Columns, site: Columns = {}) =>
  readCalendar({ id: 1, ...columns } as Row, { id: 1, ...site } as Row)

/** Every time of a schedule from one instant up to another. */
function timesOf(calendar: ReturnType<typeof calendarOf>, fromMs: number, untilMs: number): number[] {
  const times: number[] = []
  for (let at = timeAfter(calendar, fromMs); at !== null && at <= untilMs; at = timeAfter(calendar, at)) times.push(at)
  return times
}

/** What a wall clock shows: `2026-03-29 02:30`, from Intl alone. */
function wallOf(zone: string): (atMs: number) => string {
  const two = '2-digit'
  const parts = { year: 'numeric', month: two, day: two, hour: two, minute: two } as const
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, hourCycle: 'h23', ...parts })
  return (atMs) => format.format(atMs)
}

/** All offsets of a zone in a year, in ms ahead of UTC, from Intl alone. Each lasts for more than a day. */
function offsetsOf(wall: (atMs: number) => string, fromMs: number, untilMs: number): number[] {
  const offsets = new Set<number>()
  for (let atMs = fromMs; atMs <= untilMs; atMs += DAY_MS) offsets.add(Date.parse(`${wall(atMs)}Z`) - atMs)
  return [...offsets]
}

const FROM = Date.UTC(2026, 0, 1)

/** Two hemispheres, a change of half an hour, one at midnight, offsets of quarters, and none at all. */
const ZONES = [
  'Europe/Amsterdam',
  'America/New_York',
  'Australia/Lord_Howe',
  'America/Santiago',
  'Pacific/Chatham',
  'Asia/Kolkata',
]

for (const zone of ZONES)
  t.test(`over a year in ${zone} a daily time comes once a day, whatever the clock does`, async (t) => {
    const untilMs = FROM + 366 * DAY_MS
    const wall = wallOf(zone)
    const offsets = offsetsOf(wall, FROM, untilMs)
    let [missing, twice] = [0, 0]
    for (const at of ['00:00', '00:30', '01:45', '02:15', '02:30', '03:00', '12:00', '23:55']) {
      const times = timesOf(calendarOf({ kind: 'at', at, timezone: zone }), FROM - 1, untilMs)
      const byDay = Map.groupBy(times, (each) => wall(each).slice(0, 10))
      t.equal(byDay.size, times.length, `${at}: none comes twice`)
      for (let dayMs = FROM + DAY_MS; dayMs < untilMs - DAY_MS; dayMs += DAY_MS) {
        const text = `${new Date(dayMs).toISOString().slice(0, 10)} ${at}`
        const instants = offsets.map((offset) => Date.parse(`${text}Z`) - offset).filter((each) => wall(each) === text)
        const [found] = byDay.get(text.slice(0, 10)) ?? []
        if (instants.length > 1) twice++
        if (instants.length > 0) t.equal(found, Math.min(...instants), `${text}: the first`)
        else {
          missing++
          // It was set forward: the clock shows an earlier time just before, and a later one at that instant.
          t.ok(found !== undefined && wall(found).slice(11) > at && wall(found - MINUTE_MS) < text, text)
        }
      }
    }
    t.equal(missing > 0, zone !== 'Asia/Kolkata')
    t.equal(twice > 0, zone !== 'Asia/Kolkata')
  })

t.test('what comes every hour goes by elapsed time: no pause in the hour that comes twice, none doubled', async (t) => {
  for (const zone of ['Europe/Amsterdam', 'America/New_York', 'America/Santiago']) {
    const times = timesOf(calendarOf({ kind: 'cron', cron: '*/20 * * * *', timezone: zone }), FROM, FROM + 366 * DAY_MS)
    t.ok(
      times.every((at, n) => n === 0 || at - (times[n - 1] as number) === 20 * MINUTE_MS),
      zone,
    )
  }
})

t.test('the last time up to an instant is the one after which the next would be found', async (_t) => {
  const rules: Columns[] = [
    { kind: 'at', at: '02:30' },
    { kind: 'cron', cron: '*/7 1-3 * * *' },
    { kind: 'cron', cron: '0 6 1 * mon' },
    { kind: 'sunset', offset_min: 300 },
    { kind: 'sunrise', offset_min: -700, days: 'sat, sun' },
  ]
  const site = { latitude: 52.4, longitude: 4.9 }
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...rules),
      fc.constantFrom(...ZONES),
      fc.integer({ min: FROM, max: FROM + 400 * DAY_MS }),
      fc.integer({ min: 0, max: 40 * DAY_MS }),
      async (rule, timezone, untilMs, spanMs) => {
        const calendar = calendarOf({ ...rule, timezone }, site)
        const found = timeUpTo(calendar, untilMs, untilMs - spanMs)
        const all = timesOf(calendar, untilMs - spanMs, untilMs)
        return found === (all.at(-1) ?? null)
      },
    ),
    { numRuns: 60 },
  )
})

t.test('cron has lists, ranges, steps and names, and either of two restricted days is enough', async (t) => {
  const firstAfter = (cron: string, after: string, more: Columns = {}) => {
    const at = timeAfter(calendarOf({ kind: 'cron', cron, ...more }), Date.parse(`${after}Z`))
    return at === null ? null : new Date(at).toISOString().slice(0, 16)
  }
  const rows: [string, string, string | null][] = [
    ['* * * * *', '2026-11-25T22:10', '2026-11-25T22:11'],
    ['5/20 * * * *', '2026-11-25T22:10', '2026-11-25T22:25'],
    ['0 9-17/4 * * mon-fri', '2026-11-27T17:30', '2026-11-30T09:00'],
    ['30 7 * * 7', '2026-11-25T00:00', '2026-11-29T07:30'],
    ['30 7 * * fri-mon', '2026-11-30T08:00', '2026-12-04T07:30'],
    ['0 0 13 * fri', '2026-11-25T00:00', '2026-11-27T00:00'],
    ['0 0 13 * *', '2026-11-25T00:00', '2026-12-13T00:00'],
    ['0 0 29 feb *', '2096-03-01T00:00', '2104-02-29T00:00'],
    ['15,45 12 1 jan,jul *', '2026-01-01T12:15', '2026-01-01T12:45'],
    ['0 0 31 2 *', '2026-01-01T00:00', null],
  ]
  for (const [cron, after, expected] of rows) t.equal(firstAfter(cron, after), expected, cron)
})

t.test('days and dates restrict each kind, in the calendar of its own zone', async (t) => {
  const at = (columns: Columns, after: string) => {
    const found = timeAfter(calendarOf({ kind: 'at', at: '08:00', ...columns }), Date.parse(`${after}Z`))
    return found === null ? null : new Date(found).toISOString().slice(0, 16)
  }
  t.equal(at({ days: 'sat-sun' }, '2026-11-25T00:00'), '2026-11-28T08:00')
  t.equal(at({ from_date: '2027-01-10' }, '2026-11-25T00:00'), '2027-01-10T08:00')
  t.equal(at({ until_date: '2026-11-25' }, '2026-11-25T08:00'), null)
  t.equal(at({ from_date: '10-01', until_date: '03-31' }, '2026-03-31T08:00'), '2026-10-01T08:00')
  t.equal(at({ from_date: '10-01', until_date: '03-31' }, '2026-12-31T08:00'), '2027-01-01T08:00')
  t.equal(at({ days: 'mon', timezone: 'Pacific/Auckland' }, '2026-11-25T00:00'), '2026-11-29T19:00', 'their Monday')
})

t.test('what cannot be read is refused with the column and what is expected', async (t) => {
  const rows: [Columns, RegExp][] = [
    [{ kind: 'cron', cron: null }, /cron is missing, expected five fields/],
    [{ kind: 'cron', cron: '* * * *' }, /five fields/],
    [{ kind: 'cron', cron: '60 * * * *' }, /minute of cron is "60", expected numbers from 0 to 59/],
    [{ kind: 'cron', cron: '*/0 * * * *' }, /minute of cron/],
    [{ kind: 'cron', cron: '9-5 * * * *' }, /minute of cron/],
    [{ kind: 'cron', cron: '0 0 * foo *' }, /month of cron is "foo"/],
    [{ kind: 'at', at: '24:00' }, /at is "24:00", expected a time such as 07:30/],
    [{ kind: 'at', at: '07:30', days: 'someday' }, /days is "someday"/],
    [{ kind: 'at', at: '07:30', from_date: '2026-02-30' }, /from_date/],
    [{ kind: 'at', at: '07:30', from_date: '2026-02-03', until_date: '03-01' }, /both with a year/],
    [{ kind: 'at', at: '07:30', timezone: 'Mars/Olympus' }, /no time zone "Mars\/Olympus"/],
    [{ kind: 'sunset' }, /no latitude and longitude/],
    [{ kind: 'moonrise' }, /kind is "moonrise"/],
  ]
  for (const [columns, sentence] of rows)
    t.throws(() => calendarOf(columns), { code: 'schedule_invalid', message: sentence }, JSON.stringify(columns))
})

t.test('any text as cron is read or refused', async () => {
  const word = fc.stringMatching(/^[0-9*,\-/a-z ]{0,30}$/)
  await fc.assert(
    fc.property(word, (cron) => {
      try {
        const calendar = calendarOf({ kind: 'cron', cron })
        const at = timeAfter(calendar, FROM)
        return at === null || at > FROM
      } catch (fault) {
        return (fault as { code?: string }).code === 'schedule_invalid'
      }
    }),
  )
})

t.test('sunrise and sunset come within three minutes of the almanac', async (t) => {
  // Times of the US Naval Observatory and of timeanddate.com.
  const rows: [string, number, number, string, string, string][] = [
    ['Europe/London', 51.5074, -0.1278, '2026-06-21', '04:43', '21:21'],
    ['Europe/London', 51.5074, -0.1278, '2026-12-21', '08:04', '15:53'],
    ['America/New_York', 40.7128, -74.006, '2026-03-20', '06:59', '19:08'],
    ['Australia/Sydney', -33.8688, 151.2093, '2026-12-21', '05:41', '20:05'],
    ['America/Quito', -0.1807, -78.4678, '2026-09-23', '06:04', '18:10'],
  ]
  for (const [timezone, latitude, longitude, day, rises, sets] of rows) {
    const zone = timezone === 'America/Quito' ? 'America/Guayaquil' : timezone
    for (const [kind, expected] of [
      ['sunrise', rises],
      ['sunset', sets],
    ] as const) {
      const calendar = calendarOf({ kind, from_date: day, timezone: zone }, { latitude, longitude })
      const found = wallOf(zone)(timeAfter(calendar, Date.parse(`${day}T00:00Z`) - DAY_MS) ?? 0)
      const [hour = 0, minute = 0] = found.slice(11).split(':').map(Number)
      const [wantedHour = 0, wantedMinute = 0] = expected.split(':').map(Number)
      const late = hour * 60 + minute - wantedHour * 60 - wantedMinute
      t.equal(found.slice(0, 10), day)
      t.ok(Math.abs(late) <= 3, `${timezone} ${day} ${kind} ${found}, expected ${expected}`)
    }
  }
})

t.test('in the polar night there is no sunrise, and the next one is that of its end', async (t) => {
  const tromso = { latitude: 69.6492, longitude: 18.9553, timezone: 'Europe/Oslo' }
  const calendar = calendarOf({ kind: 'sunrise' }, tromso)
  const times = timesOf(calendar, FROM, FROM + 366 * DAY_MS)
  const months = new Set(times.map((at) => new Date(at).getUTCMonth() + 1))
  t.notOk(months.has(12), 'none in December')
  t.notOk(months.has(6), 'nor in June, when it does not set')
  t.ok(times.length > 200 && times.length < 260, `${times.length} days with a sunrise`)
  const next = timeAfter(calendar, Date.UTC(2026, 11, 1)) as number
  t.match(new Date(next).toISOString(), /^2027-01-1[3-7]T1/)
  t.equal(timeAfter(calendarOf({ kind: 'sunset' }, { latitude: 90, longitude: 0 }), FROM), null, 'at the pole')
})

t.test('the sun of a day is that of its own noon, also where the clock is far from the sun', async (t) => {
  for (const [timezone, latitude, longitude] of [
    ['Pacific/Kiritimati', 1.87, -157.4],
    ['Asia/Shanghai', 39.5, 75.99],
    ['Pacific/Chatham', -44, -176.5],
  ] as const) {
    const times = timesOf(calendarOf({ kind: 'sunrise', timezone }, { latitude, longitude }), FROM, FROM + 366 * DAY_MS)
    t.ok(times.length >= 365 && times.length <= 367, `${timezone}: ${times.length}`)
    t.ok(
      times.every((at, n) => n === 0 || Math.abs(at - (times[n - 1] as number) - DAY_MS) < 4 * MINUTE_MS),
      timezone,
    )
  }
})
