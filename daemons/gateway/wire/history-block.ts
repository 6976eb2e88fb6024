/**
 * The history of one port over a few minutes as bytes: for each of its series one entry, and in it one record a slot.
 * @source our own format: docs/gateway.md, History
 */
import { Fault } from '#kit/pure/fault.ts'

/** What a point did in one slot. Times are milliseconds. */
export interface PointSlot {
  /** How long anybody looked. */
  recordedMs: number
  /** How long its value was good. */
  goodMs: number
  /** Null: it had no good value at any time of the slot. */
  value: { min: number; mean: number; max: number; last: number } | null
}

/** The states of a unit, by the number that is stored: a new one goes to the end. @source our own format */
export const unitStates = ['unknown', 'well', 'slow', 'noisy', 'failing', 'silent', 'probing'] as const

/** How a unit did in one slot. */
export interface UnitSlot {
  recordedMs: number
  requests: number
  replies: number
  exceptions: number
  /** Requests that no valid reply followed. */
  missing: number
  /** Frames with a wrong checksum, and replies that were none. */
  damaged: number
  /** At the end of the slot. */
  state: (typeof unitStates)[number]
}

/** A series with its slots, one after another; null: nothing was recorded in that slot. */
export interface SlotRun<Slot> {
  id: number
  slots: readonly (Slot | null)[]
}

/**
 * Flags of a record of a point. A value that did not move takes one byte.
 * `WHOLE`: recorded, and good, all through; else both times follow.
 */
const RECORDED = 1
const WHOLE = 2
const HAS_VALUE = 4
/** All four numbers are the same; only one follows. */
const STILL = 8
/** And it is the last one of the slot before: none follows. */
const AS_BEFORE = 16

/** @param slotMs length of a slot @source our own format */
export function encodePoints(runs: readonly SlotRun<PointSlot>[], slotMs: number): Uint8Array {
  return encodeRuns(runs, (out, slots) => {
    let before: number | undefined
    for (const slot of slots) {
      writePoint(out, slot, before, slotMs)
      if (slot?.value) before = slot.value.last
    }
  })
}

function writePoint(out: ByteWriter, slot: PointSlot | null, before: number | undefined, slotMs: number): void {
  if (slot === null) {
    out.byte(0)
    return
  }
  const { goodMs, recordedMs, value } = slot
  const isWhole = recordedMs === slotMs && goodMs === (value ? slotMs : 0)
  const isStill = value !== null && value.min === value.max && value.last === value.min && value.mean === value.min
  const isAsBefore = isStill && Object.is(value.last, before)
  const valueFlags = value ? HAS_VALUE | (isStill ? STILL : 0) | (isAsBefore ? AS_BEFORE : 0) : 0
  out.byte(RECORDED | (isWhole ? WHOLE : 0) | valueFlags)
  if (!isWhole) {
    out.varint(recordedMs)
    out.varint(goodMs)
  }
  if (!value || isAsBefore) return
  out.double(value.last)
  if (!isStill) for (const number of [value.min, value.mean, value.max]) out.double(number)
}

/**
 * The slots of points by the ids of their series.
 * @param isWanted which of them are read
 * @throws Fault `history_damaged`
 * @source our own format
 */
export function decodePoints(
  block: Uint8Array,
  slotMs: number,
  isWanted: (id: number) => boolean,
): Map<number, (PointSlot | null)[]> {
  return decodeRuns(block, isWanted, (entry) => {
    const slots: (PointSlot | null)[] = []
    let before: number | undefined
    while (!entry.isAtEnd) {
      const slot = readPoint(entry, before, slotMs)
      if (slot?.value) before = slot.value.last
      slots.push(slot)
    }
    return slots
  })
}

function readPoint(entry: ByteReader, before: number | undefined, slotMs: number): PointSlot | null {
  const flags = entry.byte()
  if (!(flags & RECORDED)) return null
  const hasValue = (flags & HAS_VALUE) !== 0
  const recordedMs = flags & WHOLE ? slotMs : entry.varint()
  const goodMs = flags & WHOLE ? (hasValue ? slotMs : 0) : entry.varint()
  if (!hasValue) return { recordedMs, goodMs, value: null }
  const last = flags & AS_BEFORE ? before : entry.double()
  if (last === undefined) throw damaged('a value refers to one that is not there')
  if (flags & STILL) return { recordedMs, goodMs, value: { min: last, mean: last, max: last, last } }
  return { recordedMs, goodMs, value: { min: entry.double(), mean: entry.double(), max: entry.double(), last } }
}

/** @source our own format */
export function encodeUnits(runs: readonly SlotRun<UnitSlot>[]): Uint8Array {
  return encodeRuns(runs, (out, slots) => {
    for (const slot of slots) {
      out.byte(slot === null ? 0 : 1 + unitStates.indexOf(slot.state))
      if (slot) for (const number of countsOf(slot)) out.varint(number)
    }
  })
}

function countsOf({ recordedMs, requests, replies, exceptions, missing, damaged }: UnitSlot): number[] {
  return [recordedMs, requests, replies, exceptions, missing, damaged]
}

/** The slots of units, as `decodePoints`. @throws Fault `history_damaged` @source our own format */
export function decodeUnits(block: Uint8Array, isWanted: (id: number) => boolean): Map<number, (UnitSlot | null)[]> {
  return decodeRuns(block, isWanted, (entry) => {
    const slots: (UnitSlot | null)[] = []
    while (!entry.isAtEnd) slots.push(readUnit(entry))
    return slots
  })
}

function readUnit(entry: ByteReader): UnitSlot | null {
  const code = entry.byte()
  if (code === 0) return null
  const state = unitStates[code - 1]
  if (state === undefined) throw damaged(`no state has the number ${code}`)
  const next = () => entry.varint()
  return {
    state,
    recordedMs: next(),
    requests: next(),
    replies: next(),
    exceptions: next(),
    missing: next(),
    damaged: next(),
  }
}

function encodeRuns<Slot>(
  runs: readonly SlotRun<Slot>[],
  write: (out: ByteWriter, slots: readonly (Slot | null)[]) => void,
): Uint8Array {
  const out = new ByteWriter()
  const inner = new ByteWriter()
  for (const { id, slots } of runs) {
    inner.clear()
    write(inner, slots)
    out.varint(id)
    out.varint(inner.length)
    out.bytes(inner.view())
  }
  return out.view().slice()
}

function decodeRuns<Slot>(
  block: Uint8Array,
  isWanted: (id: number) => boolean,
  read: (entry: ByteReader) => (Slot | null)[],
): Map<number, (Slot | null)[]> {
  const runs = new Map<number, (Slot | null)[]>()
  const reader = new ByteReader(block)
  while (!reader.isAtEnd) {
    const id = reader.varint()
    const length = reader.varint()
    const entry = reader.take(length)
    if (isWanted(id)) runs.set(id, read(new ByteReader(entry)))
  }
  return runs
}

function damaged(what: string): Fault {
  return new Fault('history_damaged', `The history cannot be read there: ${what}.`)
}

/** Bytes that grow. Numbers as varints of seven bits, the lowest first; doubles with the lowest byte first. */
class ByteWriter {
  #buffer = new Uint8Array(1024)
  length = 0

  clear(): void {
    this.length = 0
  }

  view(): Uint8Array {
    return this.#buffer.subarray(0, this.length)
  }

  byte(value: number): void {
    this.#room(1)
    this.#buffer[this.length++] = value
  }

  varint(value: number): void {
    let rest = value
    while (rest >= 0x80) {
      this.byte((rest % 0x80) + 0x80)
      rest = Math.floor(rest / 0x80)
    }
    this.byte(rest)
  }

  double(value: number): void {
    this.#room(8)
    new DataView(this.#buffer.buffer).setFloat64(this.length, value, true)
    this.length += 8
  }

  bytes(bytes: Uint8Array): void {
    this.#room(bytes.length)
    this.#buffer.set(bytes, this.length)
    this.length += bytes.length
  }

  #room(more: number): void {
    if (this.length + more <= this.#buffer.length) return
    const larger = new Uint8Array(Math.max(2 * this.#buffer.length, this.length + more))
    larger.set(this.view())
    this.#buffer = larger
  }
}

/** Every read that goes beyond the end throws Fault `history_damaged`. */
class ByteReader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  byte(): number {
    const byte = this.#bytes[this.#at++]
    if (byte === undefined) throw damaged('a record ends too early')
    return byte
  }

  varint(): number {
    let value = 0
    for (let weight = 1; ; weight *= 0x80) {
      const byte = this.byte()
      value += (byte & 0x7f) * weight
      if (!Number.isSafeInteger(value)) throw damaged('a count is too long')
      if (byte < 0x80) return value
    }
  }

  double(): number {
    const bytes = this.take(8)
    return new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0, true)
  }

  take(length: number): Uint8Array {
    const end = this.#at + length
    if (end > this.#bytes.length) throw damaged('an entry ends too early')
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }
}
