/**
 * Time zones as POSIX strings, such as `CET-1CEST,M3.5.0,M10.5.0/3`: which offset one means at a moment, and whether two mean
 * the same.
 * @source IEEE 1003.1-2017, 8.3 (TZ); RFC 8536, 3.3.1 (hours beyond a day)
 */

/** A zone that was understood. */
export interface PosixZone {
  /** Minutes ahead of UTC. */
  standard: number
  /** Undefined where there is no summer time. */
  summer: { minutes: number; from: Change; to: Change } | undefined
}

/** When a zone changes over in a year, by the clock that is in use before. */
interface Change {
  /** Midnight UTC of the day, epoch ms. */
  day(year: number): number
  seconds: number
}

const NAME = '(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)'
const OFFSET = '[+-]?\\d{1,3}(?::\\d{1,2}(?::\\d{1,2})?)?'
const WHOLE = new RegExp(`^${NAME}(${OFFSET})(?:(${NAME})(${OFFSET})?(?:,([^,]+),([^,]+))?)?$`)

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** POSIX leaves it open; these are what systems take: those of the United States. */
const USUAL = ['M3.2.0', 'M11.1.0'] as const

/** @returns undefined for what is no POSIX string: cameras say all kinds of things */
export function readPosixZone(text: string): PosixZone | undefined {
  const [, standardText, name, summerText, fromText = USUAL[0], toText = USUAL[1]] = WHOLE.exec(text.trim()) ?? []
  if (standardText === undefined) return undefined
  const standard = -secondsOf(standardText) / 60
  if (name === undefined) return { standard, summer: undefined }
  const [from, to] = [changeOf(fromText), changeOf(toText)]
  if (!from || !to) return undefined
  const minutes = summerText === undefined ? standard + 60 : -secondsOf(summerText) / 60
  return { standard, summer: { minutes, from, to } }
}

/** `-3:30`, as seconds. */
function secondsOf(text: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = text.replace(/^[+-]/, '').split(':').map(Number)
  const sum = hours * 3600 + minutes * 60 + seconds
  return text.startsWith('-') ? -sum : sum
}

function changeOf(text: string): Change | undefined {
  const [rule = '', timeText = '2', ...rest] = text.split('/')
  if (rest.length > 0 || !new RegExp(`^${OFFSET}$`).test(timeText)) return undefined
  const day = dayOf(rule)
  return day && { day, seconds: secondsOf(timeText) }
}

function dayOf(rule: string): Change['day'] | undefined {
  const [, month, week, weekday] = /^M(\d{1,2})\.([1-5])\.([0-6])$/.exec(rule)?.map(Number) ?? []
  if (month !== undefined && week !== undefined && weekday !== undefined && month >= 1 && month <= 12)
    return (year) => weekdayOf(year, { month, week, weekday })
  const [, julian, plain] = /^(?:J(\d{1,3})|(\d{1,3}))$/.exec(rule) ?? []
  // The 29th of February is no day of the first kind.
  if (julian !== undefined)
    return (year) => Date.UTC(year, 0, Number(julian)) + (isAfterLeapDay(year, julian) ? DAY_MS : 0)
  return plain === undefined ? undefined : (year) => Date.UTC(year, 0, Number(plain) + 1)
}

function isAfterLeapDay(year: number, julian: string): boolean {
  return Number(julian) >= 60 && new Date(Date.UTC(year, 1, 29)).getUTCMonth() === 1
}

/** The n-th of a day of the week in a month; the fifth is the last. */
function weekdayOf(year: number, { month, week, weekday }: { month: number; week: number; weekday: number }): number {
  const first = new Date(Date.UTC(year, month - 1, 1)).getUTCDay()
  const date = 1 + ((weekday - first + 7) % 7) + (week - 1) * 7
  const last = new Date(Date.UTC(year, month, 0)).getUTCDate()
  return Date.UTC(year, month - 1, date > last ? date - 7 : date)
}

/** Minutes ahead of UTC at a moment. */
export function offsetAt({ standard, summer }: PosixZone, atMs: number): number {
  if (!summer) return standard
  const year = new Date(atMs + standard * MINUTE_MS).getUTCFullYear()
  const instant = ({ day, seconds }: Change, before: number) => day(year) + seconds * 1000 - before * MINUTE_MS
  const from = instant(summer.from, standard)
  const to = instant(summer.to, summer.minutes)
  // South of the equator summer goes over the turn of the year.
  const isSummer = from < to ? atMs >= from && atMs < to : atMs >= from || atMs < to
  return isSummer ? summer.minutes : standard
}

/** Whether two zones mean the same at every hour of the year that begins at a moment. */
export function areSameAllYear(one: PosixZone, other: PosixZone, fromMs: number): boolean {
  const hours = one.summer || other.summer ? 366 * 24 : 1
  for (let hour = 0; hour < hours; hour++) {
    const atMs = fromMs + hour * 3_600_000
    if (offsetAt(one, atMs) !== offsetAt(other, atMs)) return false
  }
  return true
}
