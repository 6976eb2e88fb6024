/** What a DNP3 outstation holds: its points, and for each master the events of their changes, in buffers with a bound. */
import { isSameBytes } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { IIN, type ObjectHeader, type ObjectRange } from '../../wire/dnp3/application.ts'
import { FLAG, GROUPS, type PointKind, type PointState, pointKinds } from '../../wire/dnp3/objects.ts'

/** Event classes: 1 goes first. */
export type EventClass = 1 | 2 | 3
export const eventClasses: readonly EventClass[] = [1, 2, 3]

/** Indices of points, both ends among them. */
export interface PointRange {
  start: number
  stop: number
}

/** One change of one point. */
export interface PointChange {
  readonly serial: number
  readonly kind: PointKind
  readonly index: number
  readonly state: PointState
}

interface EventBufferParts {
  /** Events held of one class; beyond, the oldest is dropped. */
  most: number
  /** How many points of each kind there are. */
  sizes: Readonly<Record<PointKind, number>>
  /** The class of the events of each kind until the master assigns another; 0: changes make none. */
  classes: Readonly<Record<PointKind, 0 | EventClass>>
}

/** The events that one master has not confirmed yet, and in which class it wants those of each point. */
export class EventBuffer {
  readonly #parts: EventBufferParts
  /** By index. */
  readonly #classes: Readonly<Record<PointKind, Uint8Array>>
  readonly #byClass: Record<EventClass, PointChange[]> = { 1: [], 2: [], 3: [] }
  readonly #overflown = new Set<EventClass>()

  constructor(parts: EventBufferParts) {
    this.#parts = parts
    const { classes, sizes } = parts
    this.#classes = Object.fromEntries(
      pointKinds.map((kind) => [kind, new Uint8Array(sizes[kind]).fill(classes[kind])]),
    ) as Record<PointKind, Uint8Array>
  }

  /** @returns whether it is an event for this master */
  add(change: PointChange): boolean {
    const eventClass = this.#classes[change.kind][change.index] as 0 | EventClass
    if (eventClass === 0) return false
    const ofClass = this.#byClass[eventClass]
    if (ofClass.length >= this.#parts.most) {
      this.#overflown.add(eventClass)
      ofClass.shift()
    }
    ofClass.push(change)
    return true
  }

  /** What these points do from now on is an event of this class; 0: none. Events that wait stay where they are. */
  assign(kind: PointKind, { start, stop }: PointRange, eventClass: 0 | EventClass): void {
    this.#classes[kind].fill(eventClass, start, stop + 1)
  }

  /** How many points the master has in another class than the settings say. */
  get assigned(): number {
    const { classes } = this.#parts
    return pointKinds.reduce(
      (sum, kind) => sum + this.#classes[kind].reduce((own, one) => own + Number(one !== classes[kind]), 0),
      0,
    )
  }

  /** An event was lost, and there has been no room since. */
  get isOverflown(): boolean {
    return this.#overflown.size > 0
  }

  count(eventClass: EventClass): number {
    return this.#byClass[eventClass].length
  }

  /** The events of these classes, the oldest first. */
  events(classes: readonly EventClass[]): PointChange[] {
    return classes.flatMap((one) => this.#byClass[one]).sort((one, other) => one.serial - other.serial)
  }

  /** Whether a class has events beside these. */
  hasOther(eventClass: EventClass, told: ReadonlySet<number>): boolean {
    return this.#byClass[eventClass].some(({ serial }) => !told.has(serial))
  }

  /** The master has confirmed these events. */
  confirm(told: ReadonlySet<number>): void {
    for (const one of eventClasses) {
      this.#byClass[one] = this.#byClass[one].filter(({ serial }) => !told.has(serial))
      if (this.#byClass[one].length < this.#parts.most) this.#overflown.delete(one)
    }
  }
}

interface DatabaseParts {
  /** How many points of each kind there are. */
  sizes: Readonly<Record<PointKind, number>>
  /** One for each master. */
  buffers: readonly EventBuffer[]
}

/** A change that somebody wants: flags that are left out say that the point is online. */
export interface PointWish {
  value: boolean | number | Uint8Array
  flags?: number
  timeMs: number
}

export class OutstationDatabase {
  readonly #points: Readonly<Record<PointKind, PointState[]>>
  readonly #parts: DatabaseParts
  #serial = 0

  constructor(parts: DatabaseParts) {
    this.#parts = parts
    const fresh = (kind: PointKind): PointState => ({
      value: kind === 'binary' ? false : kind === 'octet_string' ? new Uint8Array(1) : 0,
      // Until somebody has set it, nothing is known of a point.
      flags: FLAG.restart,
      timeMs: 0,
    })
    this.#points = Object.fromEntries(
      pointKinds.map((kind) => [kind, Array.from({ length: parts.sizes[kind] }, () => fresh(kind))]),
    ) as Record<PointKind, PointState[]>
  }

  size(kind: PointKind): number {
    return this.#points[kind].length
  }

  /** @throws Fault `dnp3_unknown_point` */
  state(kind: PointKind, index: number): PointState {
    const state = this.#points[kind][index]
    if (!state) {
      const has = this.size(kind) === 0 ? 'there are none' : `there are 0 to ${this.size(kind) - 1}`
      throw new Fault(
        'dnp3_unknown_point',
        `There is no ${kind} ${index}: ${has}. settings.points says how many there are.`,
      )
    }
    return state
  }

  /** Sets a point. @returns whether that made an event for any master. @throws Fault `dnp3_unknown_point` */
  set(kind: PointKind, index: number, { flags = FLAG.online, timeMs, value }: PointWish): boolean {
    const before = this.state(kind, index)
    const state = { value, flags, timeMs }
    this.#points[kind][index] = state
    if (isSame(before, state)) return false
    const change = { serial: ++this.#serial, kind, index, state }
    return this.#parts.buffers.filter((buffer) => buffer.add(change)).length > 0
  }

  /**
   * Copies counters to frozen counters of the same index, as far as there are any: each once, in however many ranges it
   * is, as the second time would freeze a counter that was cleared.
   * @param ranges of counters that are there, `stop` among them
   * @param how.isCleared they begin anew at 0
   */
  freeze(ranges: readonly PointRange[], { isCleared, timeMs }: { isCleared: boolean; timeMs: number }): void {
    let next = 0
    for (const { start, stop } of ranges.toSorted((one, other) => one.start - other.start)) {
      for (let index = Math.max(next, start); index <= stop; index++) {
        const { flags, value } = this.state('counter', index)
        if (index < this.size('frozen_counter')) this.set('frozen_counter', index, { value, flags, timeMs })
        if (isCleared) this.set('counter', index, { value: 0, flags, timeMs })
      }
      next = Math.max(next, stop + 1)
    }
  }
}

// What a request says of points.

/** Those of a range that there are. @param last index of the last point; -1: there are none @returns iin what is wrong */
export function rangesWithin(range: ObjectRange, last: number): { ranges: PointRange[]; iin: number } {
  if (range.kind === 'count') return { ranges: [], iin: IIN.parameterError }
  const wanted =
    range.kind === 'all'
      ? [{ start: 0, stop: last }]
      : range.kind === 'indices'
        ? [range]
        : range.indices.map((index) => ({ start: index, stop: index }))
  const isBeyond = wanted.some(({ stop }) => stop > last)
  const ranges = wanted
    .map(({ start, stop }) => ({ start, stop: Math.min(stop, last) }))
    .filter(({ start, stop }) => start <= stop)
  return { ranges, iin: isBeyond ? IIN.parameterError : 0 }
}

/**
 * A master assigns points to classes: a header of class data, then those of the points that belong to it.
 * @param sizeOf how many points of a kind there are
 * @returns the indications of what is wrong; the rest is assigned
 * @source IEEE 1815-2012, Table 4-2, function 22
 */
export function assignClasses(
  headers: readonly ObjectHeader[],
  events: EventBuffer,
  sizeOf: (kind: PointKind) => number,
): number {
  let eventClass: 0 | EventClass | undefined
  let flaws = 0
  for (const { group, range, variation } of headers) {
    const kind = kindOfStatic(group)
    if (group === CLASS_DATA && variation >= 1 && variation <= 4) eventClass = (variation - 1) as 0 | EventClass
    else if (!kind || variation !== 0) flaws |= IIN.objectUnknown
    else if (eventClass === undefined) flaws |= IIN.parameterError
    else {
      const { iin, ranges } = rangesWithin(range, sizeOf(kind) - 1)
      flaws |= iin
      for (const one of ranges) events.assign(kind, one, eventClass)
    }
  }
  return flaws
}

/** The group whose variations 1 to 4 are the classes 0 to 3. @source IEEE 1815-2012, A.28 */
const CLASS_DATA = 60

/** The kind of points that a group of present states is about; undefined for another group. */
export function kindOfStatic(group: number): PointKind | undefined {
  return pointKinds.find((kind) => GROUPS[kind].static === group)
}

/** The same of a group of events. */
export function kindOfEvent(group: number): PointKind | undefined {
  return pointKinds.find((kind) => GROUPS[kind].event === group)
}

function isSame(one: PointState, other: PointState): boolean {
  if (one.flags !== other.flags) return false
  if (one.value instanceof Uint8Array && other.value instanceof Uint8Array) return isSameBytes(one.value, other.value)
  return one.value === other.value
}
