/** Every value of the building as it changes: what devices say, and the attributes that hold it for all readers. */
import type { Clock } from '#kit/clock.ts'
import { decimalOf } from '../control/reading.ts'
import type { Json } from '../json.ts'
import type { Book, LivelyBook, Row } from '../site/book.ts'
import type { attributeTargets } from '../site/tables.ts'
import { type LiveKind, type LiveLimits, LiveState } from './live-book.ts'

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

/** All values of the building. */
export interface LiveValues {
  /** @returns ends the subscription */
  onChange(listener: (change: ValueChange) => void): () => void
  /** @returns undefined if nobody ever said it */
  valueOf(target: ValueTarget, targetId: number | null, name: string): LiveValue | undefined
  /** Whether the value of an attribute's row is what holds now. */
  isCurrent(attribute: Row): boolean
  /** Sets an attribute for the building itself, such as a step of a macro: told like a value that a device said. */
  set(attribute: Row, value: Json): void
}

interface ValueParts {
  book: LivelyBook
  clock: Clock
  limits: LiveLimits
  /** Replaces the row of an attribute in memory; writing it is the store's business. */
  put(attribute: Row): void
}

/** @returns the live state, for drivers to report to, and the values behind it. */
export function createLive({ book, clock, limits, put }: ValueParts): { live: LiveState; values: LiveValues } {
  const listeners = new Set<(change: ValueChange) => void>()
  const idOf = createAttributeIndex(book)
  /** Attributes that were set by the building itself since the start. */
  const setHere = new Set<number>()

  function rowOf(target: ValueTarget, targetId: number | null, name: string): Row | undefined {
    const id = idOf(target, targetId, name)
    return id === undefined ? undefined : book.row('attribute', id)
  }

  function tell(change: ValueChange): void {
    for (const listener of listeners) listener(change)
  }

  function keep(row: Row, value: Json): ValueChange | undefined {
    const text = textOf(value)
    const before = row.value ?? null
    if (text === before) return undefined
    const at = clock.epochMs()
    put({ ...row, value: text, previous_value: before, changed_at: at, updated_at: at })
    const place = { target: row.system_target as ValueTarget, targetId: row.target_id as number | null }
    return { attributeId: row.id, ...place, name: String(row.name), value, previous: readValue(row), at }
  }

  const live = new LiveState(clock, limits, ({ kind, id, name, value, before }) => {
    const row = rowOf(kind, id, name)
    const change = row
      ? keep(row, value)
      : { target: kind, targetId: id, name, value, previous: before ?? null, at: clock.epochMs() }
    if (change) tell(change)
  })

  function isCurrent(row: Row): boolean {
    const { system_target: target, target_id: id } = row
    if (setHere.has(row.id) || !isKind(target) || typeof id !== 'number') return true
    const now = live.value(target, id, String(row.name))
    return now === undefined ? !isDriven(book, target, id) : textOf(now) === (row.value ?? null)
  }

  return {
    live,
    values: {
      onChange(listener) {
        const own = (change: ValueChange) => listener(change)
        listeners.add(own)
        return () => void listeners.delete(own)
      },
      valueOf(target, targetId, name) {
        const row = rowOf(target, targetId, name)
        const now = isKind(target) && targetId !== null ? live.value(target, targetId, name) : undefined
        const at = typeof row?.changed_at === 'number' ? row.changed_at : null
        if (now !== undefined) return { value: now, at, isCurrent: true }
        return row && { value: readValue(row), at, isCurrent: isCurrent(row) }
      },
      isCurrent,
      set(attribute, value) {
        setHere.add(attribute.id)
        const change = keep(attribute, value)
        if (change) tell(change)
      },
    },
  }
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

type OfTarget = readonly number[] | ReadonlyMap<string, number>

/** Finds the id of an attribute; the first if several rows have the same name. Rebuilt when rows come or go. */
function createAttributeIndex(
  book: LivelyBook,
): (target: string, targetId: number | null, name: string) => number | undefined {
  let shape = -1
  let index = new Map<string, Map<number | null, OfTarget>>()
  return (target, targetId, name) => {
    if (book.shape('attribute') !== shape) {
      shape = book.shape('attribute')
      index = indexOf(book)
    }
    const ofTarget = index.get(target)?.get(targetId)
    if (ofTarget === undefined) return undefined
    if (ofTarget instanceof Map) return ofTarget.get(name)
    return (ofTarget as readonly number[]).find((id) => book.row('attribute', id)?.name === name)
  }
}

function indexOf(book: Book): Map<string, Map<number | null, OfTarget>> {
  const index = new Map<string, Map<number | null, number[]>>()
  for (const { id, system_target: target, target_id: targetId } of book.rows('attribute')) {
    const ofKind = index.get(String(target)) ?? new Map<number | null, number[]>()
    index.set(String(target), ofKind)
    const key = typeof targetId === 'number' ? targetId : null
    const ids = ofKind.get(key)
    if (ids) ids.push(id)
    else ofKind.set(key, [id])
  }
  const byName = (ids: readonly number[]): OfTarget =>
    ids.length <= FEW
      ? ids
      : new Map(ids.toReversed().map((id) => [String(book.row('attribute', id)?.name), id] as const))
  return new Map(
    [...index].map(([target, ofKind]) => [
      target,
      new Map([...ofKind].map(([key, ids]) => [key, byName(ids)] as const)),
    ]),
  )
}
