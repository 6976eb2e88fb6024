/** What the history of a point says: its verdict, its outages, its extremes. */
import { call } from '#kit/web/call.ts'
import { age } from '#kit/web/numbers.ts'
import type { Judgement } from '#kit/web/parts.ts'
import type { PointBucket } from '../core/history/buckets.ts'
import { portRoute } from './api.ts'
import * as texts from './texts.ts'

/** What a point did, as `GET .../points/:name/history` answers. Instants are epoch ms. */
export interface PointHistory {
  name: string
  unit: string | null
  decimals: number | null
  from: number
  to: number
  stepMs: number
  buckets: PointBucket[]
}

export function askHistory(path: string, name: string, { from, to }: { from: number; to: number }) {
  const range = new URLSearchParams({ from: String(from), to: String(to) })
  return call<PointHistory>(`GET ${portRoute(path, `/points/${encodeURIComponent(name)}/history?${range}`)}`)
}

/** Decimals where the point does not say how many it has: a mean may have many. */
export function decimalsOf(decimals: number | null): number {
  return decimals ?? 2
}

/** Null where there are none. */
export function leastOf(values: readonly number[]): number | null {
  return values.reduce<number | null>((least, value) => Math.min(least ?? value, value), null)
}

/** Null where there are none. */
export function greatestOf(values: readonly number[]): number | null {
  return values.reduce<number | null>((most, value) => Math.max(most ?? value, value), null)
}

/** How long a bucket lacked a good value, and how long the gateway did not record. */
function lackOf({ at, goodMs, recordedMs }: PointBucket, stepMs: number, nowMs: number) {
  const passedMs = Math.max(0, Math.min(stepMs, nowMs - at))
  // The slot that runs is some seconds old when it is asked for.
  const offMs = passedMs - recordedMs
  return { badMs: Math.max(0, recordedMs - goodMs), offMs: offMs > SLACK_MS ? offMs : 0 }
}

const SLACK_MS = 15_000

/** How long in all it lacked a good value, and how long nothing was recorded. */
export function lacksOf({ buckets, stepMs }: Pick<PointHistory, 'buckets' | 'stepMs'>, nowMs: number) {
  const lacks = buckets.map((bucket) => lackOf(bucket, stepMs, nowMs))
  return {
    badMs: lacks.reduce((sum, lack) => sum + lack.badMs, 0),
    offMs: lacks.reduce((sum, lack) => sum + lack.offMs, 0),
  }
}

/** The verdict on a point over a time. */
export function judgeHistory({ buckets, name, stepMs }: PointHistory, span: string, nowMs: number): Judgement {
  const { badMs, offMs } = lacksOf({ buckets, stepMs }, nowMs)
  const why = offMs > 0 ? texts.wasNotRecordedFor(age(offMs)) : ''
  if (buckets.every(({ recordedMs }) => recordedMs === 0))
    return { lit: 'off', sentence: texts.nothingRecorded(name, span) }
  if (buckets.every(({ goodMs }) => goodMs === 0))
    return { lit: 'fault', sentence: texts.hadNoValueAtAll(name, span), why: `${texts.lookAtItsUnit} ${why}`.trim() }
  if (badMs >= 1000) return { lit: 'warn', sentence: texts.hadNoValueFor(name, age(badMs), span), why }
  if (offMs > 0) return { lit: 'off', sentence: why }
  return { lit: 'ok', sentence: texts.hadAValueAlways(name, span) }
}

/** A time in which a value was missing, or nothing was recorded. Epoch ms. */
export interface Outage {
  fromMs: number
  toMs: number
  lackMs: number
  lit: 'fault' | 'off'
  /** It had no value at any time of it. */
  isWhole: boolean
}

/** Neighbouring buckets with the same lack are one outage. */
export function outagesOf({ buckets, stepMs }: PointHistory, nowMs: number): Outage[] {
  const outages: Outage[] = []
  for (const bucket of buckets) {
    const { badMs, offMs } = lackOf(bucket, stepMs, nowMs)
    if (badMs + offMs < 1000) continue
    const lit = badMs >= offMs ? 'fault' : 'off'
    const isWhole = bucket.goodMs === 0
    const last = outages.at(-1)
    const toMs = Math.min(bucket.at + stepMs, nowMs)
    if (last?.toMs === bucket.at && last.lit === lit && last.isWhole === isWhole) {
      last.toMs = toMs
      last.lackMs += badMs + offMs
    } else outages.push({ fromMs: bucket.at, toMs, lackMs: badMs + offMs, lit, isWhole })
  }
  return outages
}
