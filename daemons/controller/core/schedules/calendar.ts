/** When a schedule is due: its row as rules of days and times, and the next and the last of its times. */
import { Fault } from '#kit/pure/fault.ts'
import type { Json } from '../json.ts'
import type { Row } from '../site/book.ts'
import { type Place, sunTime } from './sun.ts'
import { DAY_MS, MINUTE_MS, openTimeZone, type TimeZone } from './time-zone.ts'

/** The times of a schedule, day by day. */
export interface Calendar {
  readonly zone: TimeZone
  /** Whether it is due on a day at all. */
  isOn(day: number): boolean
  /** Its instants on a day that is on, ascending. */
  instantsOf(day: number): readonly number[]
}

/** A day of the calendar, counted from 1970-01-01. */
interface Day {
  /** 1 to 12. */
  month: number
  day: number
  /** 0 is Sunday. */
  weekday: number
}

/** A longer search finds nothing either: 29 February comes again after at most eight years. */
const HORIZON_DAYS = 3000

/** @returns the first time after an instant; null if there is none within eight years */
export function timeAfter(calendar: Calendar, afterMs: number): number | null {
  // The sunset of a day, with its offset, may lie on the next.
  const first = calendar.zone.dayOf(afterMs) - 1
  for (let day = first; day < first + HORIZON_DAYS; day++) {
    if (!calendar.isOn(day)) continue
    for (const atMs of calendar.instantsOf(day)) if (atMs > afterMs) return atMs
  }
  return null
}

/** @returns the last time up to `untilMs`, and after `afterMs`; null if there is none */
export function timeUpTo(calendar: Calendar, untilMs: number, afterMs: number): number | null {
  const last = calendar.zone.dayOf(afterMs) - 1
  for (let day = calendar.zone.dayOf(untilMs) + 1; day >= last; day--) {
    if (!calendar.isOn(day)) continue
    const atMs = calendar.instantsOf(day).findLast((each) => each <= untilMs)
    if (atMs !== undefined) return atMs > afterMs ? atMs : null
  }
  return null
}

/**
 * @param row of `schedule`
 * @param site the first row of `site`, whose time zone and place count
 * @throws Fault `schedule_invalid`
 */
export function readCalendar(row: Row, site: Row | undefined): Calendar {
  const zone = openTimeZone(textOf(row.timezone) ?? textOf(site?.timezone) ?? 'UTC')
  const weekdays = textOf(row.days) === undefined ? undefined : readField('days', String(row.days), WEEKDAYS)
  const isInSeason = readSeason(row)
  const { isOn, instantsOf } = readTimes(row, site, zone)
  return {
    zone,
    instantsOf,
    isOn(day) {
      const date = dateOf(day)
      return (weekdays?.has(date.weekday) ?? true) && isInSeason(day) && isOn(date)
    },
  }
}

/** The part of a calendar that depends on its kind. */
interface Times {
  isOn(date: Day): boolean
  instantsOf(day: number): readonly number[]
}

function readTimes(row: Row, site: Row | undefined, zone: TimeZone): Times {
  const { kind } = row
  if (kind === 'cron') return readCron(textOf(row.cron), zone)
  if (kind === 'at') {
    const minute = readClock(textOf(row.at))
    return { isOn: () => true, instantsOf: (day) => zone.instantsOf(day, [minute], false) }
  }
  if (kind === 'sunrise' || kind === 'sunset') return sunTimes(kind, row, placeOf(site), zone)
  throw invalid('kind', kind ?? null, 'cron, at, sunrise or sunset')
}

function sunTimes(kind: 'sunrise' | 'sunset', row: Row, place: Place, zone: TimeZone): Times {
  const offsetMs = (typeof row.offset_min === 'number' ? row.offset_min : 0) * MINUTE_MS
  return {
    isOn: () => true,
    instantsOf(day) {
      const [noonMs = 0] = zone.instantsOf(day, [NOON], false)
      const atMs = sunTime(kind, place, noonMs)
      return atMs === undefined ? [] : [atMs + offsetMs]
    },
  }
}

const NOON = 12 * 60

function placeOf(site: Row | undefined): Place {
  const [latitude, longitude] = [site?.latitude, site?.longitude]
  if (typeof latitude === 'number' && typeof longitude === 'number') return { latitude, longitude }
  throw new Fault('schedule_invalid', 'the site has no latitude and longitude, so nobody knows when its sun rises')
}

/** `07:30` as minutes of the day. */
function readClock(text: string | undefined): number {
  const [, hour, minute] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text ?? '') ?? []
  if (hour === undefined) throw invalid('at', text ?? null, 'a time such as 07:30')
  return Number(hour) * 60 + Number(minute)
}

// Cron: minute, hour, day of the month, month, day of the week.

/** What a field of numbers takes: its range, and names that stand for numbers. */
interface Field {
  from: number
  to: number
  names?: readonly string[]
}

const NAMES_OF_WEEK = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const NAMES_OF_YEAR = ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** 7 is Sunday too. */
const WEEKDAYS: Field = { from: 0, to: 7, names: NAMES_OF_WEEK }
const FIELDS: readonly (readonly [string, Field])[] = [
  ['minute', { from: 0, to: 59 }],
  ['hour', { from: 0, to: 23 }],
  ['day', { from: 1, to: 31 }],
  ['month', { from: 1, to: 12, names: NAMES_OF_YEAR }],
  ['weekday', WEEKDAYS],
]

/** @source POSIX, crontab: where both days are restricted, either of them is enough */
function readCron(text: string | undefined, zone: TimeZone): Times {
  const words = text?.trim().split(/\s+/) ?? []
  if (words.length !== FIELDS.length)
    throw invalid('cron', text ?? null, 'five fields: minute, hour, day, month, weekday')
  const sets = FIELDS.map(([name, field], at) => readField(`${name} of cron`, words[at] as string, field))
  const [minutes, hours, days, months, weekdays] = sets as [
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
  ]
  const times = [...hours].flatMap((hour) => [...minutes].map((minute) => hour * 60 + minute)).sort((a, b) => a - b)
  // Otherwise what runs every ten minutes would pause for the hour that comes twice.
  const isElapsed = hours.size === 24
  const [isAnyDay, isAnyWeekday] = [days.size === 31, weekdays.size === 7]
  return {
    instantsOf: (day) => zone.instantsOf(day, times, isElapsed),
    isOn({ day, month, weekday }) {
      if (!months.has(month)) return false
      if (isAnyDay || isAnyWeekday) return days.has(day) && weekdays.has(weekday)
      return days.has(day) || weekdays.has(weekday)
    },
  }
}

/** A list of numbers, names and ranges, each with a step: `1,5-9,*\/15`, `mon-fri`. */
function readField(what: string, text: string, field: Field): Set<number> {
  const found = new Set<number>()
  for (const part of text.toLowerCase().split(/\s*,\s*|\s+/)) {
    const [, low = '', high, step = '1'] = /^(\*|\w+)(?:-(\w+))?(?:\/(\d{1,2}))?$/.exec(part) ?? []
    const isAll = low === '*'
    const from = isAll ? field.from : numberIn(low, field)
    // `5/15` means from 5 on, as in every cron that knows it.
    const to = isAll
      ? lastOf(field)
      : high !== undefined
        ? numberIn(high, field)
        : part.includes('/')
          ? lastOf(field)
          : from
    if (from === undefined || to === undefined || Number(step) === 0 || (isAll && high !== undefined) || part === '')
      throw invalid(what, text, expectedIn(field))
    for (const each of rangeOf(from, to, field, what)) if (each.at % Number(step) === 0) found.add(each.value)
  }
  return found
}

function lastOf({ to, names }: Field): number {
  return names === NAMES_OF_WEEK ? 6 : to
}

/** Values with their place in the range. A range of weekdays may go round: `fri-mon`. */
function rangeOf(from: number, to: number, field: Field, what: string): { at: number; value: number }[] {
  const isWeek = field.names === NAMES_OF_WEEK
  if (from > to && !isWeek) throw invalid(what, `${from}-${to}`, expectedIn(field))
  const length = from <= to ? to - from + 1 : to + 7 - from + 1
  return Array.from({ length }, (_, at) => ({ at, value: isWeek ? (from + at) % 7 : from + at }))
}

function numberIn(word: string, { from, to, names = [] }: Field): number | undefined {
  const named = names.indexOf(word)
  if (named >= 0 && word !== '') return named
  const value = /^\d{1,2}$/.test(word) ? Number(word) : Number.NaN
  return value >= from && value <= to ? value : undefined
}

function expectedIn({ from, to, names }: Field): string {
  const [, one, two] = names ?? []
  const said = one === undefined || two === undefined ? '' : `, names such as ${names === NAMES_OF_WEEK ? one : two}`
  return `numbers from ${from} to ${to}${said}, ranges, steps, lists`
}

// The season: from a date to a date, once or every year.

function readSeason({ from_date, until_date }: Row): (day: number) => boolean {
  const [from, until] = [readDate('from_date', textOf(from_date)), readDate('until_date', textOf(until_date))]
  if (from && until && from.isYearly !== until.isYearly)
    throw new Fault('schedule_invalid', 'from_date and until_date are both with a year, or both without')
  const isYearly = from?.isYearly ?? until?.isYearly ?? false
  const least = from?.value ?? Number.NEGATIVE_INFINITY
  const most = until?.value ?? Number.POSITIVE_INFINITY
  if (!isYearly) return (day) => day >= least && day <= most
  return (day) => {
    const date = dateOf(day)
    const place = date.month * 100 + date.day
    // From October to March goes over the end of the year.
    return least <= most ? place >= least && place <= most : place >= least || place <= most
  }
}

/** `2026-10-01` as a day, `10-01` as month and day of every year. */
function readDate(column: string, text: string | undefined): { isYearly: boolean; value: number } | undefined {
  if (text === undefined) return undefined
  const [, year, month, day] = /^(?:(\d{4})-)?(\d\d)-(\d\d)$/.exec(text) ?? []
  // A leap year, so that 02-29 is a date.
  const atMs = Date.UTC(Number(year ?? 2000), Number(month) - 1, Number(day))
  const isThere = new Date(atMs).toJSON()?.slice(5, 10) === `${month}-${day}`
  if (!isThere) throw invalid(column, text, 'a date such as 2026-10-01, or 10-01 for every year')
  return year === undefined
    ? { isYearly: true, value: Number(month) * 100 + Number(day) }
    : { isYearly: false, value: atMs / DAY_MS }
}

function dateOf(day: number): Day {
  const date = new Date(day * DAY_MS)
  return { month: date.getUTCMonth() + 1, day: date.getUTCDate(), weekday: date.getUTCDay() }
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

function invalid(what: string, seen: Json, expected: string): Fault {
  const said = seen === null ? 'is missing' : `is ${JSON.stringify(seen).slice(0, 80)}`
  return new Fault('schedule_invalid', `${what} ${said}, expected ${expected}`)
}
