/** The points of a port with their last values and the quality of these. */

import type { Clock, Timer } from '#kit/clock.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { type PointValue, valueText } from '../../wire/point-value.ts'
import {
  type PointBase,
  type PointDefinition,
  type PointKind,
  type PointProtocol,
  pointRevision,
} from './definition.ts'

// The quality of a point's value: state x event -> next state.

/**
 * - `unknown` never read
 * - `good` read, and young enough
 * - `stale` its last value is older than the limit
 * - `bad` there is no value: the device says so, or never answered
 */
export type PointQuality = 'unknown' | 'good' | 'stale' | 'bad'

/**
 * - `read` a value was received
 * - `refused` the unit answered that there is none: an exception, not a number
 * - `unanswered` a read got no reply
 * - `notOpen` the line is closed or gone: nothing will refresh the value, so it is not good for a moment longer
 * - `aged` the last value has become older than the limit
 */
export type PointEvent = 'read' | 'refused' | 'unanswered' | 'notOpen' | 'aged'

/** A pair that is not listed does not change the state: a single failed read leaves a recent value good. */
export const pointQualityTable: Readonly<Record<PointQuality, Partial<Record<PointEvent, PointQuality>>>> = {
  unknown: { read: 'good', refused: 'bad', unanswered: 'bad', notOpen: 'bad' },
  good: { refused: 'bad', notOpen: 'stale', aged: 'stale' },
  stale: { read: 'good', refused: 'bad' },
  bad: { read: 'good' },
}

/** @returns the state after the event; the same state if the table has no such pair */
export function nextPointQuality(quality: PointQuality, event: PointEvent): PointQuality {
  return pointQualityTable[quality][event] ?? quality
}

// The interface of a port with points.

/** The current value of a point. Times are epoch milliseconds; unknown is null. */
interface LiveValue {
  /** The revision of its definition, on which a change may be based. */
  revision: string
  /** The last value read; null if there is none. With quality `stale` it is old, see `ageMs`. */
  value: PointValue | null
  /** The value for people: rounded to `decimals`, without its unit. */
  text: string | null
  quality: PointQuality
  /** Since the value was read. */
  ageMs: number | null
  /** When the value last changed by more than the deadband. */
  changedAt: number | null
  readAt: number | null
  /** Why it is not read as it should be. */
  fault: { code: string; message: string } | null
}

/** A point as the API shows it. */
export type PointView<Point extends PointBase = PointDefinition> = Point & LiveValue

/** Payload of the event `value`. */
export interface ValuePayload {
  name: string
  unitId: number
  value: PointValue | null
  text: string | null
  /** Unit of measure. */
  unit: string | null
  quality: PointQuality
  /** The previously published value. */
  previous: PointValue | null
  readAt: number | null
}

/** Statistics of a port's polling. */
export interface PollingView {
  /** Reads of one polling round. */
  reads: number
  /** Points of one read, on the average; null without points. */
  pointsPerRead: number | null
  /** The worst deviation of the last replies from their grid; null before the second reply. */
  periodSlipMs: number | null
  /** Reads that were due while the previous one was still pending. */
  overruns: number
}

/** Points of one port, live. */
export interface PointsFace<Point extends PointBase = PointDefinition> {
  /** Which kind of points it takes. */
  readonly takes: PointKind
  /** Replaces the points; those that are read as before keep their values and their times. */
  set(definitions: readonly Point[]): void
  list(): PointView<Point>[]
  polling(): PollingView
}

// One point and its last value.

/** One instant by both clocks: monotonic for durations, epoch for people. */
interface Moment {
  monotonicMs: number
  epochMs: number
}

/** The last value of one point and what was last published of it; decides when to publish again. */
class PointState<Point extends PointBase, Reading> {
  readonly definition: Point
  readonly #read: (reading: Reading) => PointValue | undefined
  #quality: PointQuality = 'unknown'
  #value: PointValue | null = null
  #readAt: Moment | undefined
  #changedAtMs: number | null = null
  #fault: Fault | undefined
  /** What was published last. */
  #told: { value: PointValue | null; quality: PointQuality } = { value: null, quality: 'unknown' }

  constructor(definition: Point, read: (reading: Reading) => PointValue | undefined) {
    this.definition = definition
    this.#read = read
  }

  get quality(): PointQuality {
    return this.#quality
  }

  /** When its value was read, by the monotonic clock; undefined if it was never read. */
  get readMs(): number | undefined {
    return this.#readAt?.monotonicMs
  }

  /**
   * Takes the point's value from a reading, if the reading contains it.
   * @returns whether to publish it; undefined if the reading does not contain the point
   * @throws nothing: a reading without a usable value makes the point bad, with the reason
   */
  take(reading: Reading, at: Moment): boolean | undefined {
    let value: PointValue | undefined
    try {
      value = this.#read(reading)
    } catch (fault) {
      return this.fail('refused', fault as Fault)
    }
    if (value === undefined) return undefined
    this.#fault = undefined
    this.#value = value
    this.#readAt = at
    this.#move('read')
    return this.#isNews(at)
  }

  /** A read failed. A refusal drops the last value; without a reply the last value stays until it is stale. */
  fail(event: 'refused' | 'unanswered' | 'notOpen', fault: Fault): boolean {
    this.#fault = fault
    if (event === 'refused') this.#value = null
    this.#move(event)
    return this.#isNews()
  }

  /** The value is older than the limit. */
  age(): boolean {
    this.#move('aged')
    return this.#isNews()
  }

  /** Takes over the value of a point that is read from the same place in the same way. */
  inherit(other: PointState<Point, Reading>): void {
    this.#quality = other.#quality
    this.#value = other.#value
    this.#readAt = other.#readAt
    this.#changedAtMs = other.#changedAtMs
    this.#fault = other.#fault
    this.#told = other.#told
  }

  /** Marks the present value as published. */
  tell(): ValuePayload {
    const { name, unitId, unit } = this.definition
    const previous = this.#told.value
    this.#told = { value: this.#value, quality: this.#quality }
    const [value, quality] = [this.#value, this.#quality]
    return { name, unitId, value, text: this.#text(), unit, quality, previous, readAt: this.#readAt?.epochMs ?? null }
  }

  view(nowMs: number): PointView<Point> {
    const readAt = this.#readAt
    return {
      ...this.definition,
      revision: pointRevision(this.definition),
      value: this.#value,
      text: this.#text(),
      quality: this.#quality,
      ageMs: readAt ? Math.round(nowMs - readAt.monotonicMs) : null,
      changedAt: this.#changedAtMs,
      readAt: readAt?.epochMs ?? null,
      fault: this.#fault ? { code: this.#fault.code, message: this.#fault.message } : null,
    }
  }

  #move(event: PointEvent): void {
    this.#quality = nextPointQuality(this.#quality, event)
  }

  #text(): string | null {
    return this.#value === null ? null : valueText(this.#value, this.definition.decimals)
  }

  #isNews(at?: Moment): boolean {
    const hasMoved = this.#value !== null && isBeyond(this.#told.value, this.#value, this.definition.deadband)
    if (hasMoved && at) this.#changedAtMs = at.epochMs
    return hasMoved || this.#quality !== this.#told.quality
  }
}

/** Compared with the last published value, not the last read one, so that a slow drift is published too. */
function isBeyond(told: PointValue | null, value: PointValue, deadband: number): boolean {
  if (told === null) return true
  if (deadband === 0 || typeof told === 'boolean') return told !== value
  return Math.abs(Number(value) - Number(told)) > deadband
}

interface PointTableParts<Point extends PointBase, Reading> {
  clock: Clock
  protocol: Pick<
    PointProtocol<Point, unknown, unknown, Reading>,
    'groupOf' | 'groupOfReading' | 'isReadAlike' | 'reader'
  >
  /** The age at which a value is stale; undefined: three of the point's own poll periods. */
  staleAfterMs: number | undefined
  publish(event: 'value', payload: ValuePayload): void
}

/** How many poll periods may pass without a value before the last one is stale. */
const STALE_PERIODS = 3

/** Lives as long as its port. Holds one state per point and only one timer in all. */
export class PointTable<Point extends PointBase, Reading> {
  readonly #parts: PointTableParts<Point, Reading>
  #states = new Map<string, PointState<Point, Reading>>()
  #groups = new Map<number | string, PointState<Point, Reading>[]>()
  /** Fires when the first of the good values may be stale; then it is set for the next one. */
  #timer: { timer: Timer; atMs: number } | undefined

  constructor(parts: PointTableParts<Point, Reading>) {
    this.#parts = parts
  }

  /** Replaces the points. A point that is read as before keeps its value. */
  set(definitions: readonly Point[]): void {
    const { protocol } = this.#parts
    const before = this.#states
    this.#states = new Map(
      definitions.map((definition) => [definition.name, new PointState(definition, protocol.reader(definition))]),
    )
    for (const [name, state] of this.#states) {
      const other = before.get(name)
      if (other && protocol.isReadAlike(other.definition, state.definition)) state.inherit(other)
    }
    this.#groups = Map.groupBy(this.#states.values(), ({ definition }) => protocol.groupOf(definition))
    this.close()
    for (const state of this.#states.values()) this.#watch(state)
  }

  /** Updates every point that the reading contains. @param atMs when it came, by the monotonic clock */
  take(reading: Reading, atMs: number): void {
    const { clock, protocol } = this.#parts
    const at = { monotonicMs: atMs, epochMs: Math.round(clock.epochMs() - (clock.monotonicMs() - atMs)) }
    for (const state of this.#groups.get(protocol.groupOfReading(reading)) ?? []) {
      const isNews = state.take(reading, at)
      if (isNews === undefined) continue
      this.#tell(state, isNews)
      this.#watch(state)
    }
  }

  /** A read of these points failed. `refused`: the unit reported that there is no value. */
  fail(points: readonly Point[], event: 'refused' | 'unanswered', fault: Fault): void {
    for (const { name } of points) {
      const state = this.#states.get(name)
      if (state) this.#tell(state, state.fail(event, fault))
    }
  }

  /** The line is not open, so no value is good. */
  failAll(fault: Fault): void {
    for (const state of this.#states.values()) this.#tell(state, state.fail('notOpen', fault))
  }

  list(): PointView<Point>[] {
    const nowMs = this.#parts.clock.monotonicMs()
    return [...this.#states.values()].map((state) => state.view(nowMs))
  }

  /** Ends its timer. */
  close(): void {
    this.#timer?.timer.cancel()
    this.#timer = undefined
  }

  #tell(state: PointState<Point, Reading>, isNews: boolean): void {
    if (isNews) this.#parts.publish('value', state.tell())
  }

  /** When a good value will be stale; Infinity if it is not good. */
  #staleMs(state: PointState<Point, Reading>): number {
    if (state.quality !== 'good' || state.readMs === undefined) return Number.POSITIVE_INFINITY
    return state.readMs + (this.#parts.staleAfterMs ?? STALE_PERIODS * state.definition.pollMs)
  }

  /** One timer for all points. A fresh value does not restart it: it checks all of them when it fires. */
  #watch(state: PointState<Point, Reading>): void {
    const atMs = this.#staleMs(state)
    if (atMs >= (this.#timer?.atMs ?? Number.POSITIVE_INFINITY)) return
    this.close()
    const { clock } = this.#parts
    const timer = clock.after(atMs - clock.monotonicMs(), () => {
      this.#timer = undefined
      this.#age()
    })
    this.#timer = { timer, atMs }
  }

  #age(): void {
    const nowMs = this.#parts.clock.monotonicMs()
    let next: PointState<Point, Reading> | undefined
    for (const state of this.#states.values()) {
      if (this.#staleMs(state) <= nowMs) this.#tell(state, state.age())
      else if (!next || this.#staleMs(state) < this.#staleMs(next)) next = state
    }
    if (next) this.#watch(next)
  }
}
