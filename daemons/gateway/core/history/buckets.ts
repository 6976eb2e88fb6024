/** Slots gathered into buckets of the length that somebody asked for. */
import type { PointSlot, UnitSlot } from '../../wire/history-block.ts'
import type { Placed } from './recorder.ts'

/** A point in one bucket. Null: it had no good value there. */
export interface PointBucket {
  at: number
  min: number | null
  mean: number | null
  max: number | null
  last: number | null
  /** How long its value was good, and how long it was recorded at all: 0 where the gateway did not run. */
  goodMs: number
  recordedMs: number
}

/** A unit in one bucket; `state`: its last one, null where nothing was recorded. */
export interface UnitBucket extends Omit<UnitSlot, 'state'> {
  at: number
  state: UnitSlot['state'] | null
}

/** Buckets from `from`, `count` of them. Instants are epoch ms. */
export interface Range {
  from: number
  stepMs: number
  count: number
}

/** A slot belongs to the bucket in which it begins. */
function bucketOf({ count, from, stepMs }: Range, at: number): number | undefined {
  const index = Math.floor((at - from) / stepMs)
  return index >= 0 && index < count ? index : undefined
}

export function createPointBuckets(range: Range) {
  const { count, from, stepMs } = range
  const buckets = Array.from(
    { length: count },
    (_, n): PointBucket => ({
      ...{ at: from + n * stepMs, min: null, mean: null, max: null, last: null, goodMs: 0, recordedMs: 0 },
    }),
  )
  const lastAt = new Float64Array(count).fill(Number.NEGATIVE_INFINITY)

  return {
    add({ at, slot }: Placed<PointSlot>): void {
      const index = bucketOf(range, at)
      const bucket = index === undefined ? undefined : buckets[index]
      if (index === undefined || !bucket) return
      const before = bucket.goodMs
      bucket.goodMs += slot.goodMs
      bucket.recordedMs += slot.recordedMs
      if (!slot.value) return
      const { last, max, mean, min } = slot.value
      const whole = before + slot.goodMs
      // A value that was good for no whole millisecond counts only where there is no other.
      const share = bucket.mean === null ? 1 : whole === 0 ? 0 : slot.goodMs / whole
      bucket.mean = bucket.mean === null ? mean : bucket.mean + (mean - bucket.mean) * share
      bucket.min = Math.min(bucket.min ?? min, min)
      bucket.max = Math.max(bucket.max ?? max, max)
      if (at < (lastAt[index] ?? 0)) return
      lastAt[index] = at
      bucket.last = last
    },
    buckets,
  }
}

export function createUnitBuckets(range: Range) {
  const { count, from, stepMs } = range
  const buckets = Array.from(
    { length: count },
    (_, n): UnitBucket => ({
      ...{ at: from + n * stepMs, requests: 0, replies: 0, exceptions: 0, missing: 0, damaged: 0 },
      ...{ recordedMs: 0, state: null },
    }),
  )

  return {
    add({ at, slot }: Placed<UnitSlot>): void {
      const index = bucketOf(range, at)
      const bucket = index === undefined ? undefined : buckets[index]
      if (!bucket) return
      for (const name of ['requests', 'replies', 'exceptions', 'missing', 'damaged', 'recordedMs'] as const)
        bucket[name] += slot[name]
      bucket.state = slot.state
    },
    buckets,
  }
}
