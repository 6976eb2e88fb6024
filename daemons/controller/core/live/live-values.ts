/** Every value of the building as it changes: what devices say, and the attributes that hold it for all readers. */
import type { Clock } from '#kit/clock.ts'
import { decimalOf } from '../control/reading.ts'
import { isSameJson, type Json, objectOf, putKey } from '../json.ts'
import type { Book, LivelyBook, Row } from '../site/book.ts'
import type { attributeTargets } from '../site/tables.ts'
import {
  type DeviceState,
  type LiveBook,
  type LiveKind,
  type LiveLimits,
  LiveState,
  type LiveZone,
} from './live-book.ts'

// Values, as those see them who wait for changes.

/** What a value belongs to: as `system_target` of an attribute. */
export type ValueTarget = (typeof attributeTargets)[number]

/** One value that changed. By the time it is told, every reader of the book and of the live state sees it. */
export interface ValueChange {
  /** Undefined if no row of `attribute` holds the value. */
  readonly attributeId?: number
  readonly target: ValueTarget
  /** Null for the controller itself. */
  readonly targetId: number | null
  readonly name: string
  /** As the device said it: a number stays a number, while the attribute's row holds its text. */
  readonly value: Json
  /** The value before, as `readValue` reads the row; null if none was known. */
  readonly previous: Json
  /** Epoch ms. */
  readonly at: number
}

/** One value as it is known now. */
export interface LiveValue {
  readonly value: Json
  /** Since when, in epoch ms; null if that is not known. */
  readonly at: number | null
  /** False for a value from before the start, or from before its device was lost, until it is said again. */
  readonly isCurrent: boolean
}

/** What a zone does now. */
interface ZoneNow {
  readonly values: LiveZone
  readonly secure: ReadonlySet<string>
}

/** All values of the building. */
export interface LiveValues {
  /** @returns ends the subscription */
  onChange(listener: (change: ValueChange) => void): () => void
  /** @returns undefined if nobody ever said it */
  valueOf(target: ValueTarget, targetId: number | null, name: string): LiveValue | undefined
  /** Whether the value of an attribute's row is what holds now. Does not depend on the value. */
  isCurrent(attribute: Row): boolean
  /** The attributes of one target, by id. */
  attributesOf(target: ValueTarget, targetId: number | null): readonly Row[]
  /**
   * What a zone does now: what its device reports, and attributes that hold a current value beside. An attribute named
   * `level` is the zone's level, and who may not see the one may not see the other.
   * @returns also the names that only elevated sessions may see, as an attribute of that name is secure
   */
  zoneNow(id: number): ZoneNow
  /**
   * Sets an attribute for the building itself, such as a step of a macro: told like a value that a device said. What a
   * device says stays so until it says it again.
   */
  set(attribute: Row, value: Json): void
  /** Whether the value of a zone was set in this way, and not said by its device since. */
  isSet(zoneId: number, name: string): boolean
  /** Called for each value set in this way that no device says. @returns ends the subscription */
  onSet(listener: (change: ValueChange) => void): () => void
  /** Puts what devices say back into the rows after changes of the whole site. */
  renew(): void
}

interface ValueParts {
  book: LivelyBook
  clock: Clock
  limits: LiveLimits
  /** Replaces the row of an attribute in memory; writing it is the store's business. */
  put(attribute: Row): void
  /** Called when a value does not fit `limits.totalChars` for all attributes: its row stays as it is. */
  leftOut(): void
}

const NO_NAMES: ReadonlySet<string> = new Set()

/**
 * The live state as pages show it, to whoever is signed in: a page may hang on a wall. Without secure values, with those
 * that the building sets itself.
 */
export function shownOnPages(live: LiveBook, values: LiveValues): LiveBook {
  const listeners = new Set<(kind: LiveKind, id: number) => void>()
  /** Zones with secure attributes, as they were shown last. */
  const shown = new Map<number, LiveZone>()
  const states = new Map<number, DeviceState>()
  let isHearing = false

  function hasChanged(kind: LiveKind, id: number): boolean {
    if (kind === 'device') {
      const { state } = live.device(id)
      const before = states.get(id) ?? 'unknown'
      if (state === 'unknown') states.delete(id)
      else states.set(id, state)
      return state !== before
    }
    const { values: now, secure } = values.zoneNow(id)
    const before = shown.get(id)
    if (secure.size === 0) {
      shown.delete(id)
      return true
    }
    const after = withoutSecure(now, secure)
    shown.set(id, after)
    return before === undefined || !isSameJson(before, after)
  }

  /** Tells no change of what is not shown: its time would be told with it. */
  function hear(kind: LiveKind, id: number): void {
    if (hasChanged(kind, id)) for (const listener of listeners) listener(kind, id)
  }

  return {
    device: (id) => live.device(id),
    zone(id) {
      const { values: now, secure } = values.zoneNow(id)
      return secure.size === 0 ? now : withoutSecure(now, secure)
    },
    revision: () => live.revision(),
    onChange(listener) {
      const own: typeof listener = (kind, id) => listener(kind, id)
      listeners.add(own)
      // From the first listener on for good: what was shown before is not known otherwise.
      if (!isHearing) {
        live.onChange(hear)
        values.onSet(({ target, targetId }) => target === 'zone' && targetId !== null && hear('zone', targetId))
      }
      isHearing = true
      return () => void listeners.delete(own)
    },
  }
}

function withoutSecure(now: LiveZone, secure: ReadonlySet<string>): LiveZone {
  return objectOf(Object.entries(now).filter(([name]) => !secure.has(name))) as LiveZone
}

/** @returns the live state, for drivers to report to, and the values behind it. */
export function createLive(parts: ValueParts): { live: LiveState; values: LiveValues } {
  const values = new Values(parts)
  return { live: values.live, values }
}

type Listeners = Set<(change: ValueChange) => void>

/** Lives as long as the daemon. */
class Values implements LiveValues {
  readonly live: LiveState
  readonly #parts: ValueParts
  readonly #index: ReturnType<typeof createAttributeIndex>
  readonly #listeners: Listeners = new Set()
  readonly #setListeners: Listeners = new Set()
  /** Attributes that were set by the building itself since the start. */
  readonly #setHere = new Set<number>()
  /** Values of zones that were set so in place of what their devices say, as `1 volume`. */
  readonly #setOver = new Set<string>()
  #isSetting = false

  constructor(parts: ValueParts) {
    this.#parts = parts
    this.#index = createAttributeIndex(parts.book)
    this.live = new LiveState(parts.clock, parts.limits, {
      said: ({ kind, id, name, value, before }) => {
        if (kind === 'zone' && !this.#isSetting) this.#setOver.delete(`${id} ${name}`)
        const row = this.#rowOf(kind, id, name)
        const at = parts.clock.epochMs()
        const change = row
          ? this.#keep(row, value)
          : { target: kind, targetId: id, name, value, previous: before ?? null, at }
        if (change) tellAll(this.#listeners, change)
      },
      last: (zoneId, name) => this.valueOf('zone', zoneId, name)?.value,
    })
  }

  onChange(listener: (change: ValueChange) => void): () => void {
    return addTo(this.#listeners, listener)
  }

  isSet(zoneId: number, name: string): boolean {
    return this.#setOver.has(`${zoneId} ${name}`)
  }

  onSet(listener: (change: ValueChange) => void): () => void {
    return addTo(this.#setListeners, listener)
  }

  valueOf(target: ValueTarget, targetId: number | null, name: string): LiveValue | undefined {
    const row = this.#rowOf(target, targetId, name)
    const now = isKind(target) && targetId !== null ? this.live.value(target, targetId, name) : undefined
    const at = typeof row?.changed_at === 'number' ? row.changed_at : null
    if (now !== undefined) return { value: now, at, isCurrent: true }
    return row && { value: readValue(row), at, isCurrent: this.isCurrent(row) }
  }

  isCurrent(row: Row): boolean {
    const { system_target: target, target_id: id } = row
    if (this.#setHere.has(row.id) || !isKind(target) || typeof id !== 'number') return true
    return this.live.value(target, id, String(row.name)) !== undefined || !isDriven(this.#parts.book, target, id)
  }

  attributesOf(target: ValueTarget, targetId: number | null): readonly Row[] {
    const ids = this.#index.now().ids.get(target)?.get(targetId)?.ids ?? []
    return ids.flatMap((id) => this.#parts.book.row('attribute', id) ?? [])
  }

  zoneNow(id: number): ZoneNow {
    const said = this.live.zone(id)
    let values: Record<string, Json> | undefined
    let secure: Set<string> | undefined
    for (const row of this.attributesOf('zone', id)) {
      const name = String(row.name)
      if (row.secure !== false) secure = (secure ?? new Set()).add(name)
      if (this.live.value('zone', id, name) !== undefined || row.value === null || !this.isCurrent(row)) continue
      values ??= objectOf(Object.entries(said))
      putKey(values, name, readValue(row))
    }
    return { values: (values ?? said) as LiveZone, secure: secure ?? NO_NAMES }
  }

  set(attribute: Row, value: Json): void {
    const { system_target: target, target_id: id, name } = attribute
    if (isKind(target) && typeof id === 'number' && this.live.value(target, id, String(name)) !== undefined) {
      if (target === 'zone') this.#setOver.add(`${id} ${name}`)
      this.#isSetting = true
      this.live.report(target === 'zone' ? { zoneId: id } : { deviceId: id }, objectOf([[String(name), value]]))
      this.#isSetting = false
      return
    }
    this.#setHere.add(attribute.id)
    const change = this.#keep(attribute, value)
    if (!change) return
    tellAll(this.#listeners, change)
    tellAll(this.#setListeners, change)
  }

  renew(): void {
    for (const row of this.#parts.book.rows('attribute')) {
      const { system_target: target, target_id: id } = row
      const now = isKind(target) && typeof id === 'number' ? this.live.value(target, id, String(row.name)) : undefined
      if (now !== undefined) this.#keep(row, now)
    }
  }

  #rowOf(target: ValueTarget, targetId: number | null, name: string): Row | undefined {
    const id = this.#index.idOf(target, targetId, name)
    return id === undefined ? undefined : this.#parts.book.row('attribute', id)
  }

  /** @returns undefined if the value is the same, or does not fit */
  #keep(row: Row, value: Json): ValueChange | undefined {
    const { clock, limits, put, leftOut } = this.#parts
    const text = textOf(value)
    const before = row.value ?? null
    if (text === before) return undefined
    const at = clock.epochMs()
    const next = { ...row, value: text, previous_value: before, changed_at: at }
    const index = this.#index.now()
    const more = charsOfRow(next) - charsOfRow(row)
    if (more > 0 && index.chars + more > limits.totalChars) {
      leftOut()
      return undefined
    }
    index.chars += more
    put(next)
    const place = { target: row.system_target as ValueTarget, targetId: row.target_id as number | null }
    return { attributeId: row.id, ...place, name: String(row.name), value, previous: readValue(row), at }
  }
}

function addTo(listeners: Listeners, listener: (change: ValueChange) => void): () => void {
  const own = (change: ValueChange) => listener(change)
  listeners.add(own)
  return () => void listeners.delete(own)
}

function tellAll(listeners: Listeners, change: ValueChange): void {
  for (const listener of listeners) listener(change)
}

function isKind(target: unknown): target is LiveKind {
  return target === 'zone' || target === 'device'
}

/** Whether a device is behind it that could say its values. */
function isDriven(book: Book, kind: LiveKind, id: number): boolean {
  return kind === 'device' || typeof book.row('zone', id)?.device_id === 'number'
}

// Attributes hold text, while devices say numbers, switches and lists.

/** A value as the row of an attribute holds it. */
export function textOf(value: Json): string | null {
  return value === null || typeof value === 'string' ? value : JSON.stringify(value)
}

/** The value of an attribute's row, by its type; without one, a text that is a number or a switch is read as such. */
export function readValue({ value, type }: Row): Json {
  if (typeof value !== 'string') return value ?? null
  if (type === 'text' || type === 'string') return value
  if (value === 'true' || value === 'false') return value === 'true'
  const number = decimalOf(value)
  // `007` and `1e3` are texts of somebody else, unless the type says that this is a number.
  if (number !== undefined && (String(number) === value || type === 'number')) return number
  if (type !== 'json') return value
  try {
    return JSON.parse(value) as Json
  } catch {
    return value
  }
}

// The index: 50,000 attributes are looked up thousands of times a second.

/** Targets with more attributes than this get an index by name; for fewer, comparing the names is as quick. */
const FEW = 16

/** The attributes of one target, by id; `byName` if they are many. */
interface OfTarget {
  readonly ids: readonly number[]
  readonly byName?: ReadonlyMap<string, number>
}

/** The attributes of a building: the characters of all values and of those before, and where each row is. */
interface AttributeIndex {
  chars: number
  readonly ids: ReadonlyMap<string, ReadonlyMap<number | null, OfTarget>>
}

/**
 * Of several rows with the same name `idOf` finds the first secure one, else the first: what one of them hides, no other
 * shows. The index is made again when rows come or go.
 */
function createAttributeIndex(book: LivelyBook) {
  let shape = -1
  let index: AttributeIndex = { chars: 0, ids: new Map() }

  function now(): AttributeIndex {
    if (book.shape('attribute') === shape) return index
    shape = book.shape('attribute')
    index = indexOf(book)
    return index
  }

  function idOf(target: string, targetId: number | null, name: string): number | undefined {
    const ofTarget = now().ids.get(target)?.get(targetId)
    if (ofTarget?.byName) return ofTarget.byName.get(name)
    let found: number | undefined
    for (const id of ofTarget?.ids ?? []) {
      const row = book.row('attribute', id)
      if (row?.name !== name) continue
      if (row.secure !== false) return id
      found ??= id
    }
    return found
  }

  return { idOf, now }
}

function charsOfRow({ value, previous_value: before }: Row): number {
  return (typeof value === 'string' ? value.length : 0) + (typeof before === 'string' ? before.length : 0)
}

function indexOf(book: Book): AttributeIndex {
  const index = new Map<string, Map<number | null, number[]>>()
  for (const { id, system_target: target, target_id: targetId } of book.rows('attribute')) {
    const ofKind = index.get(String(target)) ?? new Map<number | null, number[]>()
    index.set(String(target), ofKind)
    const key = typeof targetId === 'number' ? targetId : null
    const ids = ofKind.get(key)
    if (ids) ids.push(id)
    else ofKind.set(key, [id])
  }
  const named = (ids: readonly number[]): OfTarget => {
    if (ids.length <= FEW) return { ids }
    const rows = ids.flatMap((id) => book.row('attribute', id) ?? []).toReversed()
    const [open = [], secure = []] = [false, true].map((isSecure) =>
      rows.filter((row) => (row.secure !== false) === isSecure),
    )
    return { ids, byName: new Map([...open, ...secure].map((row) => [String(row.name), row.id] as const)) }
  }
  const ids = new Map(
    [...index].map(([target, ofKind]) => [
      target,
      new Map([...ofKind].map(([key, ids]) => [key, named(ids)] as const)),
    ]),
  )
  return { ids, chars: book.rows('attribute').reduce((sum, row) => sum + charsOfRow(row), 0) }
}
