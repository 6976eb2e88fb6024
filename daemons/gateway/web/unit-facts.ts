/** What was counted of one unit: facts by name, and how long its replies took. */
import { age, count } from '#kit/web/numbers.ts'
import type { UnitView as BusUnit } from '../core/modbus/units.ts'
import type { When } from './verdicts.ts'

/** What was counted of a unit, name and text, without what never happened. */
export function unitFacts(bus: BusUnit, { nowMs }: When): [name: string, text: string][] {
  const facts: [string, string][] = [
    ['Requests', count(bus.requests)],
    ['Replies', count(bus.replies)],
  ]
  const wrong: [string, number][] = [
    ['Without reply', bus.timeouts],
    ['Late replies', bus.lateReplies],
    ['Exceptions', bus.exceptions],
    ['Checksum errors', bus.crcErrors],
    ['Wrong replies', bus.badReplies],
    ['Came twice', bus.copies],
  ]
  for (const [name, value] of wrong) if (value > 0) facts.push([name, count(value)])
  const { damaged, exchanges, missing, twice } = bus.lately
  const bad = [damaged > 0 && `${damaged} damaged`, missing > 0 && `${missing} missing`, twice > 0 && `${twice} twice`]
  if (damaged + missing + twice > 0) facts.push([`Of the last ${exchanges}`, bad.filter(Boolean).join(', ')])
  facts.push([
    'Last reply',
    bus.lastReplyAt === null ? 'none yet' : `${age(Math.max(0, nowMs - bus.lastReplyAt), 1)} ago`,
  ])
  if (bus.heldUntil !== null && bus.heldUntil > nowMs)
    facts.push(['Held back', `${age(bus.heldUntil - nowMs, 1)} more`])
  return facts
}

/**
 * One that does not answer, as a number asked by mistake never does, need not stand in the verdict; nor one that was
 * noisy, once its cable is mended.
 */
export function mayForget({ replies, lateReplies, state }: BusUnit): boolean {
  return ['silent', 'probing', 'noisy'].includes(state) || (state !== 'well' && replies + lateReplies === 0)
}

/** A bar of the histogram: replies that took from `fromMs` up to `toMs` (null: longer than all bounds). */
export interface Bar {
  fromMs: number
  toMs: number | null
  count: number
  /** Share of the fullest bar, 0..1. */
  share: number
}

/** Bars from cumulative counts, without the empty ones at both ends. */
export function barsOf(histogram: BusUnit['histogram']): Bar[] {
  const bars = histogram.map(({ leMs, count: within }, at) => ({
    fromMs: histogram[at - 1]?.leMs ?? 0,
    toMs: leMs,
    count: within - (histogram[at - 1]?.count ?? 0),
  }))
  const first = bars.findIndex((bar) => bar.count > 0)
  const last = bars.findLastIndex((bar) => bar.count > 0)
  if (first < 0) return []
  const most = Math.max(...bars.map((bar) => bar.count))
  return bars.slice(first, last + 1).map((bar) => ({ ...bar, share: bar.count / most }))
}
