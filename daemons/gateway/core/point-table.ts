/** The points of one port with their values: refreshed by whatever was read, whoever asked for it. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { Fault } from '#kit/fault.ts'
import type { PointDefinition } from './point-record.ts'
import { PointState } from './point-state.ts'
import type { PointView, ValuePayload } from './points-face.ts'

/** Registers or bits as a unit gave them. `fc` 1 to 4. */
export interface ReadValues {
  unitId: number
  fc: number
  address: number
  values: readonly number[]
}

export interface PointTableParts {
  clock: Clock
  /** A value is stale after so long; undefined: three periods of its own. */
  staleAfterMs: number | undefined
  publish(event: 'value', payload: ValuePayload): void
}

/** Periods that a value may miss before it is stale. */
const STALE_PERIODS = 3

/** Lives as long as its port. Holds one state a point and one timer, whatever comes in. */
export class PointTable {
  readonly #parts: PointTableParts
  #states = new Map<string, PointState>()
  #byPlace = new Map<number, PointState[]>()
  /** Runs when the first of the good values may be stale, and looks again for the next. */
  #timer: { timer: Timer; atMs: number } | undefined

  constructor(parts: PointTableParts) {
    this.#parts = parts
  }

  /** Replaces the points. One that is read as before keeps its value. */
  set(definitions: readonly PointDefinition[]): void {
    const before = this.#states
    this.#states = new Map(definitions.map((definition) => [definition.name, new PointState(definition)]))
    for (const [name, state] of this.#states) {
      const other = before.get(name)
      if (other && isReadAlike(other.definition, state.definition)) state.inherit(other)
    }
    this.#byPlace = Map.groupBy(this.#states.values(), ({ definition }) => placeOf(definition))
    this.close()
    for (const state of this.#states.values()) this.#watch(state)
  }

  /** Refreshes every point whose registers are all there. @param atMs when they came, by the monotonic clock */
  take({ unitId, fc, address, values }: ReadValues, atMs: number): void {
    const { clock } = this.#parts
    const end = address + values.length
    const at = { monotonicMs: atMs, epochMs: Math.round(clock.epochMs() - (clock.monotonicMs() - atMs)) }
    for (const state of this.#byPlace.get(placeOf({ unitId, fc })) ?? []) {
      const { address: from } = state.definition
      if (from < address || state.end > end) continue
      this.#tell(state, state.take(values.slice(from - address, state.end - address), at))
      this.#watch(state)
    }
  }

  /** A read of these points came to nothing. `refused`: the unit said that there is no value. */
  fail(points: readonly PointDefinition[], event: 'refused' | 'unanswered', fault: Fault): void {
    for (const { name } of points) {
      const state = this.#states.get(name)
      if (state) this.#tell(state, state.fail(event, fault))
    }
  }

  /** The line is not open: no value is good. */
  failAll(fault: Fault): void {
    for (const state of this.#states.values()) this.#tell(state, state.fail('notOpen', fault))
  }

  list(): PointView[] {
    const nowMs = this.#parts.clock.monotonicMs()
    return [...this.#states.values()].map((state) => state.view(nowMs))
  }

  /** Ends its timer. */
  close(): void {
    this.#timer?.timer.cancel()
    this.#timer = undefined
  }

  #tell(state: PointState, isNews: boolean): void {
    if (isNews) this.#parts.publish('value', state.tell())
  }

  /** When a good value will be stale; never where it is not good. */
  #staleMs(state: PointState): number {
    if (state.quality !== 'good' || state.readMs === undefined) return Number.POSITIVE_INFINITY
    return state.readMs + (this.#parts.staleAfterMs ?? STALE_PERIODS * state.definition.pollMs)
  }

  /** One timer for all: a value that is refreshed leaves it running, it looks again when it runs. */
  #watch(state: PointState): void {
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
    let next: PointState | undefined
    for (const state of this.#states.values()) {
      if (this.#staleMs(state) <= nowMs) this.#tell(state, state.age())
      else if (!next || this.#staleMs(state) < this.#staleMs(next)) next = state
    }
    if (next) this.#watch(next)
  }
}

function placeOf({ unitId, fc }: { unitId: number; fc: number }): number {
  return unitId * 8 + fc
}

/** Whether two definitions read the same value from the same place: what else they say is for people. */
function isReadAlike(a: PointDefinition, b: PointDefinition): boolean {
  const keys = [
    'unitId',
    'fc',
    'address',
    'type',
    'wordOrder',
    'byteOrder',
    'bit',
    'length',
    'scale',
    'offset',
  ] as const
  return keys.every((key) => a[key] === b[key]) && a.noValue.join() === b.noValue.join()
}
