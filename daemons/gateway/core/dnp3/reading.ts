/** What a DNP3 master reads: present states and events, made piece by piece while the response is sent. */
import { IIN, type ObjectHeader, prefixedHeader, rangeHeader } from '../../wire/dnp3/application.ts'
import { encoderOf, FLAG, GROUPS, hasVariation, type PointKind, packedOf, pointKinds } from '../../wire/dnp3/objects.ts'
import {
  type EventBuffer,
  type EventClass,
  eventClasses,
  kindOfEvent,
  kindOfStatic,
  type OutstationDatabase,
  type PointChange,
} from './database.ts'

/** One piece of a response that is not divided: its bytes, and the events that it tells. */
export interface Block {
  bytes: readonly number[]
  serials: readonly number[]
}

/** Objects under one header are divided beyond this, so that a response fits into fragments of any size. */
const BLOCK_BYTES = 128

interface ReadingParts {
  database: OutstationDatabase
  events: EventBuffer
  /** The time of the outstation, as an object. */
  timeObject(): number[]
}

/** What to answer to a read: the indications of what is wrong with it, and the objects, which are made when they are sent. */
export function readObjects(
  headers: readonly ObjectHeader[],
  parts: ReadingParts,
): { blocks: Iterable<Block>; iin: number } {
  const asked = new AskedEvents(parts.events)
  const pieces: (() => Iterable<Block>)[] = []
  let iin = 0
  for (const header of headers) {
    const { flaw = 0, piece } = readOne(header, parts, asked)
    iin |= flaw
    if (piece) pieces.push(piece)
  }
  return { blocks: inTurn(pieces), iin }
}

function* inTurn(pieces: readonly (() => Iterable<Block>)[]): Iterable<Block> {
  for (const piece of pieces) yield* piece()
}

interface OneRead {
  flaw?: number
  piece?: () => Iterable<Block>
}

const unknown: OneRead = { flaw: IIN.objectUnknown }

/** Events that are still to be told, the oldest first. */
interface EventQueue {
  events: readonly PointChange[]
  /** The next of them. */
  at: number
}

/** The events that a request asks for: looked up once, and each told once, however many of its headers name it. */
class AskedEvents {
  readonly #buffer: EventBuffer
  readonly #queues = new Map<EventClass | PointKind, EventQueue>()
  #all: readonly PointChange[] | undefined
  readonly told = new Set<number>()

  constructor(buffer: EventBuffer) {
    this.#buffer = buffer
  }

  of(which: EventClass | PointKind): EventQueue {
    const queue = this.#queues.get(which) ?? { events: this.#eventsOf(which), at: 0 }
    this.#queues.set(which, queue)
    return queue
  }

  #eventsOf(which: EventClass | PointKind): readonly PointChange[] {
    if (typeof which === 'number') return this.#buffer.events([which])
    this.#all ??= this.#buffer.events(eventClasses)
    return this.#all.filter(({ kind }) => kind === which)
  }
}

function readOne(header: ObjectHeader, parts: ReadingParts, asked: AskedEvents): OneRead {
  const { group, range, variation } = header
  const { database } = parts
  const { told } = asked
  const most = range.kind === 'count' ? range.count : Number.POSITIVE_INFINITY
  if (group === 60) {
    if (variation === 1) return { piece: () => allPresent(database) }
    if (variation < 2 || variation > 4) return unknown
    return { piece: () => tellEvents(asked.of((variation - 1) as EventClass), { variation: 0, told, most }) }
  }
  if (group === 50 && variation === 1) return { piece: () => [{ bytes: parts.timeObject(), serials: [] }] }
  const statics = kindOfStatic(group)
  if (!hasVariation(group, variation) && !(statics && packedOf(group, variation))) return unknown
  if (statics) return readPresent(header, statics, database)
  const kind = kindOfEvent(group)
  if (!kind) return unknown
  return { piece: () => tellEvents(asked.of(kind), { variation, told, most }) }
}

function* allPresent(database: OutstationDatabase): Iterable<Block> {
  for (const kind of pointKinds)
    yield* present({ database, kind, group: GROUPS[kind].static, variation: 0 }, 0, database.size(kind) - 1)
}

/** What is asked beyond the last point is left out, and said. */
function readPresent(
  { group, range, variation }: ObjectHeader,
  kind: PointKind,
  database: OutstationDatabase,
): OneRead {
  const last = database.size(kind) - 1
  const which = { database, kind, group, variation }
  switch (range.kind) {
    case 'all':
      return { piece: () => present(which, 0, last) }
    case 'indices': {
      const flaw = range.stop > last ? IIN.parameterError : 0
      return { flaw, piece: () => present(which, range.start, Math.min(last, range.stop)) }
    }
    case 'prefixed': {
      const there = range.indices.filter((index) => index <= last)
      const flaw = there.length < range.indices.length ? IIN.parameterError : 0
      return { flaw, piece: () => inTurn(there.map((index) => () => present(which, index, index))) }
    }
    default:
      return { flaw: IIN.parameterError }
  }
}

interface Which {
  database: OutstationDatabase
  kind: PointKind
  group: number
  variation: number
}

/** The variation of binary and double-bit points with flags. */
const WITH_FLAGS = 2

/** The present states of these points, neighbours of one variation under one header. */
function* present({ database, group, kind, variation }: Which, start: number, stop: number): Iterable<Block> {
  const pack = packedOf(group, variation)
  for (let index = start; index <= stop; ) {
    if (pack) {
      const end = Math.min(stop, index + pack.perByte * BLOCK_BYTES - 1)
      const states = Array.from({ length: end - index + 1 }, (_, at) => database.state(kind, index + at))
      // A variation without flags may only say what is well.
      if (states.every(({ flags }) => flags === FLAG.online))
        yield { bytes: [...rangeHeader(group, variation, index, end), ...pack.encode(states)], serials: [] }
      else yield* present({ database, kind, group, variation: WITH_FLAGS }, index, end)
      index = end + 1
      continue
    }
    const first = encoderOf(group, variation, database.state(kind, index))
    if (!first) return
    const bytes = [...first.bytes]
    let end = index
    for (; end < stop && bytes.length < BLOCK_BYTES; end++) {
      const next = encoderOf(group, variation, database.state(kind, end + 1))
      if (next?.variation !== first.variation) break
      bytes.push(...next.bytes)
    }
    yield { bytes: [...rangeHeader(group, first.variation, index, end), ...bytes], serials: [] }
    index = end + 1
  }
}

/**
 * Events in the order in which they came, neighbours of one group and variation under one header.
 * @param queue is moved on behind what was told
 * @param how `told` has the events that were told already, and gets these; `most`: so many at most
 */
export function* tellEvents(
  queue: EventQueue,
  { most, told, variation }: { variation: number; told: Set<number>; most: number },
): Iterable<Block> {
  let open: { group: number; variation: number; bytes: number[]; serials: number[] } | undefined
  const close = ({ bytes, group, serials, variation: own }: NonNullable<typeof open>): Block => ({
    bytes: [...prefixedHeader(group, own, serials.length), ...bytes],
    serials,
  })
  const next = () => {
    while (queue.at < queue.events.length) {
      const change = queue.events[queue.at++]
      if (change && !told.has(change.serial)) return change
    }
    return undefined
  }
  for (let left = most; left > 0; left--) {
    const change = next()
    if (!change) break
    const { index, kind, serial, state } = change
    const group = GROUPS[kind].event
    const made = encoderOf(group, variation, state)
    if (!made) continue
    if (open && (open.group !== group || open.variation !== made.variation || open.bytes.length >= BLOCK_BYTES)) {
      yield close(open)
      open = undefined
    }
    open ??= { group, variation: made.variation, bytes: [], serials: [] }
    open.bytes.push(index & 0xff, index >> 8, ...made.bytes)
    open.serials.push(serial)
    told.add(serial)
  }
  if (open) yield close(open)
}

/** Blocks that are taken as a fragment has room for them. */
export class Blocks {
  readonly #blocks: Iterator<Block>
  #next: IteratorResult<Block>

  constructor(blocks: Iterable<Block>) {
    this.#blocks = blocks[Symbol.iterator]()
    this.#next = this.#blocks.next()
  }

  get isDone(): boolean {
    return this.#next.done === true
  }

  /** As many as fit, at least one. */
  next(mostBytes: number): { bytes: Uint8Array; serials: ReadonlySet<number> } {
    const bytes: number[] = []
    const serials = new Set<number>()
    while (this.#next.done !== true) {
      const block = this.#next.value
      if (bytes.length > 0 && bytes.length + block.bytes.length > mostBytes) break
      bytes.push(...block.bytes)
      for (const serial of block.serials) serials.add(serial)
      this.#next = this.#blocks.next()
    }
    return { bytes: Uint8Array.from(bytes), serials }
  }
}
