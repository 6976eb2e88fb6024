/** One point and its last value. */
import type { Fault } from '#kit/fault.ts'
import { createPointReader, type PointReader, type PointValue, sizeOf, valueText } from '../wire/point-value.ts'
import { nextPointQuality, type PointEvent, type PointQuality } from './point-quality-table.ts'
import { type PointDefinition, pointRevision } from './point-record.ts'
import type { PointView, ValuePayload } from './points-face.ts'

/** When something was: for durations and for people. */
export interface Moment {
  monotonicMs: number
  epochMs: number
}

/** Holds what was read of one point and what was told of it; knows when it is to be told again. */
export class PointState {
  readonly definition: PointDefinition
  /** After the last register it needs. */
  readonly end: number
  readonly #read: PointReader
  #quality: PointQuality = 'unknown'
  #value: PointValue | null = null
  #readAt: Moment | undefined
  #changedAtMs: number | null = null
  #fault: Fault | undefined
  /** As of the last event. */
  #told: { value: PointValue | null; quality: PointQuality } = { value: null, quality: 'unknown' }

  constructor(definition: PointDefinition) {
    this.definition = definition
    this.end = definition.address + sizeOf(definition)
    this.#read = createPointReader(definition)
  }

  get quality(): PointQuality {
    return this.#quality
  }

  /** When its value was read; undefined where it has none. */
  get readMs(): number | undefined {
    return this.#readAt?.monotonicMs
  }

  /**
   * Registers came, those of this point alone.
   * @returns whether it is to be told
   * @throws nothing: what is no value makes the point bad, with the reason
   */
  take(words: readonly number[], at: Moment): boolean {
    let value: PointValue
    try {
      value = this.#read(words)
    } catch (fault) {
      return this.fail('refused', fault as Fault)
    }
    this.#fault = undefined
    this.#value = value
    this.#readAt = at
    this.#move('read')
    return this.#isNews(at)
  }

  /** A read failed. A value that is refused is gone; one that did not come leaves the last one to grow old. */
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

  /** What was known of a point that is read in the same way. */
  inherit(other: PointState): void {
    this.#quality = other.#quality
    this.#value = other.#value
    this.#readAt = other.#readAt
    this.#changedAtMs = other.#changedAtMs
    this.#fault = other.#fault
    this.#told = other.#told
  }

  /** Marks it as told. */
  tell(): ValuePayload {
    const { name, unitId, unit } = this.definition
    const previous = this.#told.value
    this.#told = { value: this.#value, quality: this.#quality }
    const [value, quality] = [this.#value, this.#quality]
    return { name, unitId, value, text: this.#text(), unit, quality, previous, readAt: this.#readAt?.epochMs ?? null }
  }

  view(nowMs: number): PointView {
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

/** Measured from what was told, not from what was read last: what creeps is told too. */
function isBeyond(told: PointValue | null, value: PointValue, deadband: number): boolean {
  if (told === null) return true
  if (deadband === 0 || typeof told === 'boolean') return told !== value
  return Math.abs(Number(value) - Number(told)) > deadband
}
