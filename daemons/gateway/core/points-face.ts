/** What a port with points shows of them, and takes. */
import type { PointValue } from '../wire/point-value.ts'
import type { PointQuality } from './point-quality-table.ts'
import type { PointDefinition } from './point-record.ts'

/** A point as readers see it. Instants are epoch milliseconds; unknown is null. */
export interface PointView extends PointDefinition {
  /** Of its definition: what a change may be made from. */
  revision: string
  /** The last value read; null where there is none. Of quality `stale` it is old, see `ageMs`. */
  value: PointValue | null
  /** The value for people: rounded to `decimals`, without its unit. */
  text: string | null
  quality: PointQuality
  /** Since the value was read. */
  ageMs: number | null
  /** When the value last moved by more than the deadband. */
  changedAt: number | null
  readAt: number | null
  /** Why it is not read as it should be. */
  fault: { code: string; message: string } | null
}

/** Payload of the event `value`. */
export interface ValuePayload {
  name: string
  unitId: number
  value: PointValue | null
  text: string | null
  /** Unit of measure. */
  unit: string | null
  quality: PointQuality
  /** What was told before. */
  previous: PointValue | null
  readAt: number | null
}

/** How the polling of a port goes. */
export interface PollingView {
  /** Reads that one round takes. */
  reads: number
  /** Points of one read, on the average; null without points. */
  pointsPerRead: number | null
  /** By how much the last answers came off their grid, at worst; null before the second answer. */
  periodSlipMs: number | null
  /** Reads that were due while the one before was still out. */
  overruns: number
}

/** Points of one port, live. */
export interface PointsFace {
  /** Replaces the points; those that are read as before keep their values and their times. */
  set(definitions: readonly PointDefinition[]): void
  list(): PointView[]
  polling(): PollingView
}
