/** A camera's footage on a line of time: days, stretches and the holes between them. Times are epoch milliseconds. */

import { instantOf } from '#kit/pure/wall-time.ts'
import { dateOf, timeOf } from '#kit/web/numbers.ts'
import type { Stretch } from './api.ts'
import type { Density, SeenSlice } from './events-api.ts'

/** What the day of an instant is called, and where it begins and ends; 23 or 25 hours where clocks are changed. */
export interface Day extends Stretch {
  date: string
}

/** @param zone IANA name; the reader's own zone without one */
export function dayOf(atMs: number, zone: string | undefined): Day {
  return dayNamed(dateOf(atMs, zone), zone)
}

/** @param date `2031-03-09` @returns NaN as times if there is no such day */
export function dayNamed(date: string, zone: string | undefined): Day {
  const start = instantOf(`${date}T00:00`, zone)
  // 36 hours later it is the next day, whatever the clocks did.
  const end = Number.isNaN(start) ? start : instantOf(`${dateOf(start + 36 * 3_600_000, zone)}T00:00`, zone)
  return { date, start, end }
}

/**
 * The instant of a typed time on a day: `9`, `9:05`, `09:05:30`, `090530`, with a point for a colon as well.
 * @returns undefined if it is none
 */
export function typedTime(text: string, date: string, zone: string | undefined): number | undefined {
  const digits = text.trim().replace(/^(\d\d?)(\d\d)(\d\d)?$/, (_all, h, m, s) => (s ? `${h}:${m}:${s}` : `${h}:${m}`))
  const found = /^(\d\d?)(?:[:.](\d\d?))?(?:[:.](\d\d?))?$/.exec(digits)
  if (!found) return undefined
  const [hour, minute, second] = found.slice(1).map((part) => Number(part ?? 0))
  if ((hour ?? 24) > 23 || (minute ?? 60) > 59 || (second ?? 60) > 59) return undefined
  const two = (value: number | undefined) => String(value ?? 0).padStart(2, '0')
  const at = instantOf(`${date}T${two(hour)}:${two(minute)}:${two(second)}`, zone)
  return Number.isNaN(at) ? undefined : at
}

/** The stretch that holds an instant. */
export function stretchAt(stretches: readonly Stretch[], atMs: number): Stretch | undefined {
  return stretches.find(({ end, start }) => start <= atMs && atMs < end)
}

/** The first stretch that begins after an instant. */
export function stretchAfter(stretches: readonly Stretch[], atMs: number): Stretch | undefined {
  return stretches.find(({ start }) => start > atMs)
}

/** The stretch before: the present one's beginning first, as a key pressed once goes back to where one began. */
export function stretchBefore(stretches: readonly Stretch[], atMs: number): Stretch | undefined {
  // Just after a beginning, the one before is meant.
  return stretches.findLast(({ start }) => start < atMs - 2000)
}

/** A hole, or a stretch, in a part of the line. */
export interface Mark {
  /** Percent of the width. */
  left: number
  width: number
}

/** Where stretches lie on a line from `from` to `to`. A short one is drawn as wide as can be seen. */
export function marksOf(stretches: readonly Stretch[], { start: from, end: to }: Stretch): Mark[] {
  const percent = (ms: number) => (ms * 100) / (to - from)
  return stretches
    .filter(({ end, start }) => end > from && start < to)
    .map(({ end, start }) => {
      const [a, b] = [Math.max(start, from), Math.min(end, to)]
      const width = Math.max(0.4, percent(b - a))
      return { left: Math.min(percent(a - from), 100 - width), width }
    })
}

/** A bar of how much was seen, with its heights as parts of the line's. */
export interface SeenBar extends Mark {
  all: number
  /** Of persons, vehicles and animals. */
  named: number
}

/** How much was seen along a line. The most of it is as high as the line; a single event can be seen beside hundreds. */
export function barsOf(
  slices: readonly SeenSlice[],
  { bucketMs, from }: Pick<Density, 'bucketMs' | 'from'>,
  span: Stretch,
): SeenBar[] {
  const most = Math.max(1, ...slices.map(({ total }) => total))
  const height = (many: number) => (many === 0 ? 0 : Math.max(0.2, Math.sqrt(many / most)))
  return slices.flatMap(({ bucket, other, total }) => {
    const start = from + bucket * bucketMs
    const [mark] = marksOf([{ start, end: start + bucketMs }], span)
    return mark ? [{ ...mark, all: height(total), named: height(total - other) }] : []
  })
}

/** Ticks of a line: whole hours of a day, whole ten minutes of an hour, in the site's zone. */
export function ticksOf({ end, start }: Stretch, everyMs: number, zone: string | undefined) {
  const ticks: { left: number; label: string }[] = []
  // The offset of every zone is a whole number of quarter hours, and a day begins at a whole hour.
  const first = Math.ceil(start / everyMs) * everyMs
  const from = everyMs >= 3_600_000 ? start : first
  for (let at = from; at < end; at += everyMs)
    ticks.push({ left: ((at - start) * 100) / (end - start), label: timeOf(at, zone, 'min') })
  return ticks
}

/** How much is kept, ms. */
export function lengthOf(stretches: readonly Stretch[]): number {
  return stretches.reduce((sum, { end, start }) => sum + end - start, 0)
}

/** What of the stretches lies within a part of the line. */
export function within(stretches: readonly Stretch[], { end: to, start: from }: Stretch): Stretch[] {
  return stretches
    .map(({ end, start }) => ({ start: Math.max(start, from), end: Math.min(end, to) }))
    .filter(({ end, start }) => end > start)
}
