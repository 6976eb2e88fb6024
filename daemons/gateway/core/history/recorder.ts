/**
 * Gathers what points and units do in slots of equal length: the least, mean, greatest and last value, how long it was
 * good, and the counts of units. What it has gathered over a batch goes to the disk at once.
 */
import type { Clock, Timer } from '#kit/clock.ts'
import type { PointSlot, UnitSlot } from '../../wire/history-block.ts'
import type { UnitView } from '../bus/units.ts'
import type { PointView, ValuePayload } from '../points/values.ts'

/** What the recorder looks at when a slot ends. */
export interface RecordedPort {
  path: string
  points(): readonly Pick<PointView, 'name' | 'value' | 'quality'>[]
  units(): readonly UnitView[]
}

/** A point or a unit of a port. */
export interface Series {
  port: string
  kind: 'point' | 'unit'
  /** Of a unit its number. */
  name: string
}

/** Slots that follow each other; null: nothing was recorded in that slot. `at`: when the first begins, epoch ms. */
export interface Batch {
  at: number
  slotMs: number
  count: number
  points: Map<string, SeriesSlots<PointSlot>>
  units: Map<string, SeriesSlots<UnitSlot>>
}

interface SeriesSlots<Slot> {
  series: Series
  slots: (Slot | null)[]
}

/** One slot of a series, with its place in time. */
export interface Placed<Slot> {
  at: number
  slotMs: number
  slot: Slot
}

interface RecorderParts {
  clock: Clock
  slotMs: number
  slotsPerBatch: number
  /** Series recorded at once; further ones are not. */
  mostSeries: number
  ports(): Iterable<RecordedPort>
  onBatch(batch: Batch): void
}

/** A part of a line may be named like anything: the parts of a key are kept apart by what no name has. */
export function seriesKey({ port, kind, name }: Series): string {
  return `${port}\n${kind}\n${name}`
}

/** How far a slot may be longer or shorter than all others, as the clock is slewed: the part of it. */
const DRIFT = 0.1

type UnitCounts = Omit<UnitSlot, 'recordedMs' | 'state'>

/** Lives as long as the daemon. */
export class Recorder {
  readonly #parts: RecorderParts
  readonly #points = new Map<string, PointTrack>()
  readonly #units = new Map<string, { counts: UnitCounts; sinceMs: number }>()
  #batch: Batch | undefined
  /** The slot that runs: when it began, by both clocks, and when it ends, by the monotonic one. */
  #slot: { at: number; beganMs: number; endsMs: number } | undefined
  #timer: Timer | undefined
  #leftOut = 0

  constructor(parts: RecorderParts) {
    this.#parts = parts
  }

  /** Series that are not recorded, because there are too many. */
  get leftOut(): number {
    return this.#leftOut
  }

  start(): void {
    this.#beginSlot(this.#parts.clock.monotonicMs())
    this.#look()
  }

  /** Hands over what it has; records no more. */
  close(): void {
    if (!this.#slot) return
    this.#timer?.cancel()
    this.#endSlot(this.#parts.clock.monotonicMs())
    this.#slot = undefined
    this.#handOver()
  }

  /** A point has another value or another quality. */
  hear(port: string, { name, quality, value }: Pick<ValuePayload, 'name' | 'quality' | 'value'>): void {
    if (!this.#slot) return
    this.#trackOf({ port, kind: 'point', name })?.set(goodNumber(value, quality), this.#nowInSlot())
  }

  /** The slots that are not handed over yet, of one point; the last one still runs. */
  recentPoint(series: Series): Placed<PointSlot>[] {
    const key = seriesKey(series)
    const placed = placedOf(this.#batch, this.#batch?.points.get(key)?.slots)
    const now = this.#points.get(key)?.peek(this.#nowInSlot())
    return this.#slot && now ? [...placed, { at: this.#slot.at, slotMs: this.#parts.slotMs, slot: now }] : placed
  }

  recentUnit(series: Series): Placed<UnitSlot>[] {
    return placedOf(this.#batch, this.#batch?.units.get(seriesKey(series))?.slots)
  }

  #nowInSlot(): number {
    return Math.min(this.#parts.clock.monotonicMs(), this.#slot?.endsMs ?? 0)
  }

  /** @param nowMs monotonic; after a slot that ended in time, the clock's drift is no reason for another place */
  #beginSlot(nowMs: number, driftMs = 0): void {
    const { clock, slotMs } = this.#parts
    const epochMs = clock.epochMs() - (clock.monotonicMs() - nowMs)
    const at = Math.floor((epochMs + driftMs) / slotMs) * slotMs
    const endsMs = nowMs + at + slotMs - epochMs
    this.#slot = { at, beganMs: nowMs, endsMs }
    if (this.#batch && at !== this.#batch.at + this.#batch.count * slotMs) this.#handOver()
    this.#batch ??= { at, slotMs, count: 0, points: new Map(), units: new Map() }
    this.#timer = clock.after(endsMs - clock.monotonicMs(), () => this.#turn())
  }

  /** The slot is over: exactly when it should be, unless the process stood still for longer than a slot. */
  #turn(): void {
    const { clock, slotMs, slotsPerBatch } = this.#parts
    const endsMs = this.#slot?.endsMs ?? 0
    const nowMs = clock.monotonicMs()
    const hasStood = nowMs - endsMs >= slotMs
    this.#endSlot(endsMs)
    if (hasStood || (this.#batch?.count ?? 0) >= slotsPerBatch) this.#handOver()
    if (hasStood) for (const track of this.#points.values()) track.skipTo(nowMs)
    if (hasStood) this.#beginSlot(nowMs)
    else this.#beginSlot(endsMs, DRIFT * slotMs)
  }

  /** What is known now counts: points that went are dropped, those that came are begun. */
  #look(): { units: [Series, UnitView][] } {
    const nowMs = this.#nowInSlot()
    const seen = new Set<string>()
    const units: [Series, UnitView][] = []
    for (const port of this.#parts.ports()) {
      for (const { name, quality, value } of port.points()) {
        const series: Series = { port: port.path, kind: 'point', name }
        this.#trackOf(series)?.set(goodNumber(value, quality), nowMs)
        seen.add(seriesKey(series))
      }
      for (const unit of port.units()) units.push([{ port: port.path, kind: 'unit', name: String(unit.unitId) }, unit])
    }
    for (const key of this.#points.keys()) if (!seen.has(key)) this.#points.delete(key)
    return { units }
  }

  #trackOf(series: Series): PointTrack | undefined {
    const key = seriesKey(series)
    const known = this.#points.get(key)
    if (known) return known
    if (this.#points.size + this.#units.size >= this.#parts.mostSeries) {
      this.#leftOut++
      return undefined
    }
    const track = new PointTrack(series, this.#nowInSlot())
    this.#points.set(key, track)
    return track
  }

  #endSlot(endMs: number): void {
    const batch = this.#batch
    if (!batch) return
    const { units } = this.#look()
    for (const track of this.#points.values())
      append(batch, batch.points, track.series, this.#wholeSlot(track.take(endMs), endMs))
    this.#endUnits(batch, units, endMs)
    batch.count++
  }

  /** One that was recorded all through lasts as long as all of them, whatever the clock was slewed by meanwhile. */
  #wholeSlot<Slot extends { recordedMs: number; goodMs?: number }>(slot: Slot | null, endMs: number): Slot | null {
    const { slotMs } = this.#parts
    const lengthMs = endMs - (this.#slot?.beganMs ?? endMs)
    if (slot === null || Math.abs(lengthMs - slotMs) > DRIFT * slotMs || slot.recordedMs < lengthMs - 1) return slot
    if (slot.goodMs === undefined) return { ...slot, recordedMs: slotMs }
    const goodMs = slot.goodMs >= slot.recordedMs ? slotMs : Math.min(slot.goodMs, slotMs)
    return { ...slot, recordedMs: slotMs, goodMs }
  }

  #endUnits(batch: Batch, units: readonly [Series, UnitView][], endMs: number): void {
    const seen = new Set<string>()
    for (const [series, unit] of units) {
      const key = seriesKey(series)
      seen.add(key)
      const before = this.#units.get(key)
      if (!before && this.#points.size + this.#units.size >= this.#parts.mostSeries) {
        this.#leftOut++
        continue
      }
      const sinceMs = before?.sinceMs ?? this.#slot?.beganMs ?? endMs
      const counts = countsOf(unit)
      this.#units.set(key, { counts, sinceMs: endMs })
      const slot = { ...lessBefore(counts, before?.counts), state: unit.state, recordedMs: Math.round(endMs - sinceMs) }
      append(batch, batch.units, series, this.#wholeSlot(slot, endMs))
    }
    for (const key of this.#units.keys()) if (!seen.has(key)) this.#units.delete(key)
  }

  #handOver(): void {
    const batch = this.#batch
    this.#batch = undefined
    if (batch && batch.count > 0) this.#parts.onBatch(batch)
  }
}

/** Slots that passed before the series began are null. */
function append<Slot>({ count }: Batch, all: Map<string, SeriesSlots<Slot>>, series: Series, slot: Slot | null): void {
  const key = seriesKey(series)
  const known = all.get(key) ?? { series, slots: [] }
  all.set(key, known)
  while (known.slots.length < count) known.slots.push(null)
  known.slots.push(slot)
}

function placedOf<Slot>(batch: Batch | undefined, slots: readonly (Slot | null)[] = []): Placed<Slot>[] {
  if (!batch) return []
  const { at, slotMs } = batch
  return slots.flatMap((slot, index) => (slot === null ? [] : [{ at: at + index * slotMs, slotMs, slot }]))
}

/** A number that may be plotted; texts are not kept. Null: there is none, or it is not good. */
function goodNumber(value: PointView['value'], quality: PointView['quality']): number | null {
  if (quality !== 'good' || value === null) return null
  const number = typeof value === 'string' && !/^-?\d+(\.\d+)?$/.test(value) ? Number.NaN : Number(value)
  return Number.isFinite(number) ? number : null
}

function countsOf({ requests, replies, exceptions, timeouts, crcErrors, badReplies }: UnitView): UnitCounts {
  return { requests, replies, exceptions, missing: timeouts, damaged: crcErrors + badReplies }
}

/** A unit that was forgotten begins at 0 again. */
function lessBefore(now: UnitCounts, before: UnitCounts | undefined): UnitCounts {
  if (!before) return now
  const less = (name: keyof UnitCounts) => (now[name] < before[name] ? now[name] : now[name] - before[name])
  return {
    requests: less('requests'),
    replies: less('replies'),
    exceptions: less('exceptions'),
    missing: less('missing'),
    damaged: less('damaged'),
  }
}

/** The value of one point in the slot that runs. A value holds until the next; its mean is over time. */
class PointTrack {
  readonly series: Series
  #value: number | null = null
  /** Up to when time is counted. */
  #untilMs: number
  #recordedMs = 0
  #goodMs = 0
  #sum = 0
  #seen: { min: number; max: number; last: number } | undefined

  constructor(series: Series, nowMs: number) {
    this.series = series
    this.#untilMs = nowMs
  }

  set(value: number | null, nowMs: number): void {
    this.#count(nowMs)
    this.#value = value
    if (value !== null) this.#see(value)
  }

  /** The slot so far. */
  peek(nowMs: number): PointSlot | null {
    this.#count(nowMs)
    if (this.#recordedMs === 0 && !this.#seen) return null
    const goodMs = Math.round(this.#goodMs)
    const recordedMs = Math.max(goodMs, Math.round(this.#recordedMs))
    if (!this.#seen) return { recordedMs, goodMs: 0, value: null }
    const { last, max, min } = this.#seen
    const mean = min === max || this.#goodMs === 0 ? last : Math.min(max, Math.max(min, this.#sum / this.#goodMs))
    return { recordedMs, goodMs, value: { min, mean, max, last } }
  }

  /** The whole slot; the next one begins. */
  take(endMs: number): PointSlot | null {
    const slot = this.peek(endMs)
    this.#recordedMs = 0
    this.#goodMs = 0
    this.#sum = 0
    this.#seen = undefined
    return slot
  }

  /** Nobody looked until now. */
  skipTo(nowMs: number): void {
    this.#untilMs = nowMs
  }

  #count(nowMs: number): void {
    const passedMs = Math.max(0, nowMs - this.#untilMs)
    this.#untilMs = Math.max(this.#untilMs, nowMs)
    this.#recordedMs += passedMs
    // One that ends as the slot begins is not of this slot.
    if (this.#value === null || passedMs === 0) return
    this.#see(this.#value)
    this.#goodMs += passedMs
    this.#sum += this.#value * passedMs
  }

  #see(value: number): void {
    const { max = value, min = value } = this.#seen ?? {}
    this.#seen = { min: Math.min(min, value), max: Math.max(max, value), last: value }
  }
}
