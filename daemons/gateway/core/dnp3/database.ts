/** What a DNP3 outstation holds: its points, and for each master the events of their changes, in buffers with a bound. */
import { isSameBytes } from '#kit/pure/bytes.ts'
import { Fault } from '#kit/pure/fault.ts'
import { FLAG, GROUPS, type PointKind, type PointState, pointKinds } from '../../wire/dnp3/objects.ts'

/** Event classes: 1 goes first. */
export type EventClass = 1 | 2 | 3
export const eventClasses: readonly EventClass[] = [1, 2, 3]

/** One change of one point. */
export interface PointChange {
  readonly serial: number
  readonly kind: PointKind
  readonly index: number
  readonly eventClass: EventClass
  readonly state: PointState
}

/** The events that one master has not confirmed yet. */
export class EventBuffer {
  readonly #most: number
  readonly #byClass: Record<EventClass, PointChange[]> = { 1: [], 2: [], 3: [] }
  readonly #overflown = new Set<EventClass>()

  /** @param most events held of one class; beyond, the oldest is dropped */
  constructor(most: number) {
    this.#most = most
  }

  add(change: PointChange): void {
    const ofClass = this.#byClass[change.eventClass]
    if (ofClass.length >= this.#most) {
      this.#overflown.add(change.eventClass)
      ofClass.shift()
    }
    ofClass.push(change)
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
      if (this.#byClass[one].length < this.#most) this.#overflown.delete(one)
    }
  }
}

interface DatabaseParts {
  /** How many points of each kind there are. */
  sizes: Readonly<Record<PointKind, number>>
  /** The class of the events of each kind; 0: changes make none. */
  classes: Readonly<Record<PointKind, 0 | EventClass>>
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

  /** Sets a point. @returns whether that made an event. @throws Fault `dnp3_unknown_point` */
  set(kind: PointKind, index: number, { flags = FLAG.online, timeMs, value }: PointWish): boolean {
    const before = this.state(kind, index)
    const state = { value, flags, timeMs }
    this.#points[kind][index] = state
    const eventClass = this.#parts.classes[kind]
    if (eventClass === 0 || isSame(before, state)) return false
    const change = { serial: ++this.#serial, kind, index, eventClass, state }
    for (const buffer of this.#parts.buffers) buffer.add(change)
    return true
  }

  /**
   * Copies counters to frozen counters of the same index, as far as there are any: each once, in however many ranges it
   * is, as the second time would freeze a counter that was cleared.
   * @param ranges of counters that are there, `stop` among them
   * @param how.isCleared they begin anew at 0
   */
  freeze(
    ranges: readonly { start: number; stop: number }[],
    { isCleared, timeMs }: { isCleared: boolean; timeMs: number },
  ): void {
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
