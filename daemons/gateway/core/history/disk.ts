/** The history on its way to the disk and back: series get numbers, batches become blocks, what fails waits. */
import type { Clock } from '#kit/clock.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import { encodePoints, encodeUnits, type SlotRun } from '../../wire/history-block.ts'
import type { Range } from './buckets.ts'
import { type Batch, type Placed, type Series, seriesKey } from './recorder.ts'

/** One port and kind over one batch, or a part of its series. Ids grow, over restarts too. */
export interface HistoryBlock {
  id: number
  port: string
  kind: Series['kind']
  /** When its first slot begins, epoch ms. */
  at: number
  slotMs: number
  slots: number
  data: Uint8Array
}

/** A series as the disk knows it. `usedAt`: epoch ms, to a day. */
export interface KnownSeries extends Series {
  id: number
  usedAt: number
}

/** How the history is stored. Every promise may reject with Fault `store_write_failed` or `store_read_failed`. */
export interface HistoryStore {
  /** All series, and the highest id of a block. */
  load(): Promise<{ series: KnownSeries[]; lastId: number }>
  /** Durable when it resolves. The oldest blocks go where there are more than `maxBytes`. */
  write(series: readonly KnownSeries[], blocks: readonly HistoryBlock[], maxBytes: number): Promise<void>
  /** Removes what is older than an instant: blocks, and series that were not used since. */
  trim(beforeAt: number): Promise<void>
  /**
   * The next blocks of a port in the order of `at` and id, of those that have a part of [from, to).
   * @returns a few; none: that was all
   */
  read(of: { port: string; kind: Series['kind'] }, place: ReadPlace): Promise<HistoryBlock[]>
  close(): Promise<void>
}

/** What to read, and where to read on: behind the block that begins at `at` with this id. */
export interface ReadPlace {
  from: number
  to: number
  at: number
  id: number
}

/** Reads the slots of the wanted series of one block. */
export type Decode<Slot> = (
  block: Uint8Array,
  slotMs: number,
  isWanted: (id: number) => boolean,
) => Map<number, (Slot | null)[]>

interface DiskParts {
  clock: Clock
  limits: { days: number; max_bytes: number; queue_bytes: number; series: number }
  store: HistoryStore
  /** The disk does not take it; undefined: it does again. */
  onFault(fault: Fault | undefined): void
}

const DAY_MS = 86_400_000

/** Bytes of one block, more or less: a piece that is read is this big. */
const BLOCK_BYTES = 65_536

/** What a slot takes at most, of a point and of a unit; of a unit it may be more, if it is asked a million times. */
const POINT_SLOT_BYTES = 38
const UNIT_SLOT_BYTES = 16

export class HistoryDisk {
  readonly #parts: DiskParts
  readonly #inTurn = createSerialTurn()
  readonly #series: SeriesBook
  #lastId: number | undefined
  #queue: HistoryBlock[] = []
  #queuedBytes = 0
  #dropped = 0
  #isFailing = false

  constructor(parts: DiskParts) {
    this.#parts = parts
    this.#series = new SeriesBook(parts.clock, 2 * parts.limits.series)
  }

  /** Blocks that found no room. */
  get dropped(): number {
    return this.#dropped
  }

  take(batch: Batch): void {
    void this.#safely(async () => {
      await this.#load()
      this.#enqueue(batch)
      await this.#writeQueue()
      // A file that was begun meanwhile knows no series.
      if (this.#series.unsaved().length > 0) await this.#writeQueue()
    })
  }

  trim(): void {
    void this.#safely(async () => {
      await this.#load()
      const beforeAt = this.#parts.clock.epochMs() - this.#parts.limits.days * DAY_MS
      this.#series.forget(beforeAt - DAY_MS)
      await this.#parts.store.trim(beforeAt)
    })
  }

  /** The disk began a new file. */
  begunAfresh(): void {
    this.#series.saveAllAgain()
  }

  /** Every slot of these series, all of one port and kind, that begins in the range. @throws Fault `store_read_failed` */
  async each<Slot>(
    wanted: readonly Series[],
    { count, from, stepMs }: Range,
    decode: Decode<Slot>,
    take: (name: string, slot: Placed<Slot>) => void,
  ): Promise<void> {
    await this.#inTurn(() => this.#load())
    const [of] = wanted
    if (!of) return
    const names = this.#series.namesById(wanted)
    const open = ({ at, data, slotMs }: HistoryBlock) => {
      for (const [id, slots] of decode(data, slotMs, (each) => names.has(each)))
        for (const [n, slot] of slots.entries())
          if (slot) take(names.get(id) ?? '', { at: at + n * slotMs, slotMs, slot })
    }
    // What waits now may be on the disk when that is asked.
    const waiting = this.#queue.filter(({ kind, port }) => kind === of.kind && port === of.port)
    const seen = new Set(waiting.map(({ id }) => id))
    for (const block of waiting) open(block)
    let place: ReadPlace = { from, to: from + count * stepMs, at: 0, id: 0 }
    for (;;) {
      const blocks = await this.#parts.store.read(of, place)
      const last = blocks.at(-1)
      if (!last) return
      for (const block of blocks) if (!seen.has(block.id)) open(block)
      place = { ...place, at: last.at, id: last.id }
    }
  }

  async close(): Promise<void> {
    await this.#inTurn(async () => {})
    await this.#parts.store.close()
  }

  async #load(): Promise<void> {
    if (this.#lastId !== undefined) return
    const { lastId, series } = await this.#parts.store.load()
    this.#series.fill(series)
    this.#lastId = lastId
  }

  async #safely(work: () => Promise<void>): Promise<void> {
    const { onFault } = this.#parts
    await this.#inTurn(async () => {
      try {
        await work()
        if (this.#isFailing) onFault(undefined)
        this.#isFailing = false
      } catch (fault) {
        if (!this.#isFailing) onFault(fault as Fault)
        this.#isFailing = true
      }
    })
  }

  #enqueue({ at, count, points, slotMs, units }: Batch): void {
    const place = { at, slotMs, slots: count }
    for (const { port, runs } of this.#partsOf(points.values(), count * POINT_SLOT_BYTES))
      this.#push({ ...place, port, kind: 'point', id: this.#nextId(), data: encodePoints(runs, slotMs) })
    for (const { port, runs } of this.#partsOf(units.values(), count * UNIT_SLOT_BYTES))
      this.#push({ ...place, port, kind: 'unit', id: this.#nextId(), data: encodeUnits(runs) })
  }

  #nextId(): number {
    this.#lastId = (this.#lastId ?? 0) + 1
    return this.#lastId
  }

  /** The series of each port, in parts of about `BLOCK_BYTES`. @param eachBytes most of one series */
  #partsOf<Slot>(
    tracks: Iterable<{ series: Series; slots: (Slot | null)[] }>,
    eachBytes: number,
  ): { port: string; runs: SlotRun<Slot>[] }[] {
    const most = Math.max(1, Math.floor(BLOCK_BYTES / Math.max(1, eachBytes)))
    const parts: { port: string; runs: SlotRun<Slot>[] }[] = []
    const open = new Map<string, SlotRun<Slot>[]>()
    for (const { series, slots } of tracks) {
      const id = this.#series.idOf(series)
      if (id === undefined) continue
      let runs = open.get(series.port)
      if (!runs || runs.length >= most) {
        runs = []
        open.set(series.port, runs)
        parts.push({ port: series.port, runs })
      }
      runs.push({ id, slots })
    }
    return parts
  }

  #push(block: HistoryBlock): void {
    this.#queue.push(block)
    this.#queuedBytes += block.data.length
    while (this.#queuedBytes > this.#parts.limits.queue_bytes && this.#queue.length > 1) {
      this.#queuedBytes -= this.#queue.shift()?.data.length ?? 0
      this.#dropped++
    }
  }

  async #writeQueue(): Promise<void> {
    const blocks = new Set(this.#queue)
    const series = this.#series.unsaved()
    await this.#parts.store.write(series, [...blocks], this.#parts.limits.max_bytes)
    this.#series.saved(series)
    this.#queue = this.#queue.filter((block) => !blocks.has(block))
    this.#queuedBytes = this.#queue.reduce((sum, { data }) => sum + data.length, 0)
  }
}

/** The numbers of series. Those that went stay as long as what was recorded of them. */
class SeriesBook {
  readonly #clock: Clock
  readonly #most: number
  #known = new Map<string, KnownSeries>()
  /** Those that the disk does not have, or not with today's date. */
  #unsaved = new Map<string, KnownSeries>()
  #lastId = 0

  constructor(clock: Clock, most: number) {
    this.#clock = clock
    this.#most = most
  }

  fill(series: readonly KnownSeries[]): void {
    for (const one of series) this.#known.set(seriesKey(one), one)
    this.#lastId = series.reduce((most, { id }) => Math.max(most, id), this.#lastId)
  }

  /** Its number; a new one is given if it is not known. Undefined: there are too many. */
  idOf(series: Series): number | undefined {
    const key = seriesKey(series)
    const nowMs = this.#clock.epochMs()
    const before = this.#known.get(key)
    if (before && Math.abs(nowMs - before.usedAt) < DAY_MS) return before.id
    if (!before && this.#known.size >= this.#most) return undefined
    const now = { ...series, id: before?.id ?? ++this.#lastId, usedAt: nowMs }
    this.#known.set(key, now)
    this.#unsaved.set(key, now)
    return now.id
  }

  namesById(wanted: readonly Series[]): Map<number, string> {
    const names = new Map<number, string>()
    for (const series of wanted) {
      const known = this.#known.get(seriesKey(series))
      if (known) names.set(known.id, series.name)
    }
    return names
  }

  unsaved(): KnownSeries[] {
    return [...this.#unsaved.values()]
  }

  saved(series: readonly KnownSeries[]): void {
    for (const one of series) {
      const key = seriesKey(one)
      if (this.#unsaved.get(key) === one) this.#unsaved.delete(key)
    }
  }

  saveAllAgain(): void {
    // Copies, so that a save that is under way does not count for them.
    this.#unsaved = new Map([...this.#known].map(([key, series]) => [key, { ...series }]))
  }

  forget(beforeAt: number): void {
    for (const [key, { usedAt }] of this.#known) if (usedAt < beforeAt) this.#known.delete(key)
  }
}
