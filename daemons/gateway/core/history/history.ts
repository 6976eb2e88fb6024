/** The history of points and units: recorded, written in batches, kept for some days, and asked for. */
import { type Static, Type } from 'typebox'
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { decodePoints, decodeUnits, type UnitSlot } from '../../wire/history-block.ts'
import { refuseFields } from '../bus/faults.ts'
import type { ValuePayload } from '../points/values.ts'
import { createPointBuckets, createUnitBuckets, type PointBucket, type Range, type UnitBucket } from './buckets.ts'
import { type Decode, HistoryDisk, type HistoryStore } from './disk.ts'
import { type RecordedPort, Recorder, type Series } from './recorder.ts'

// Keys of the table `history` in gateway.toml.

export const historyKeys = Type.Object(
  {
    days: Type.Integer({
      default: 7,
      minimum: 0,
      maximum: 366,
      unit: 'days',
      description: 'how long values of points and counts of units are kept; 0: no history',
    }),
    max_bytes: Type.Integer({
      default: 268_435_456,
      minimum: 4_194_304,
      maximum: 17_179_869_184,
      unit: 'bytes',
      description: 'most that history.db takes on the disk, without its log of 8 MiB; beyond, the oldest goes',
    }),
    slot_s: Type.Integer({
      default: 60,
      minimum: 10,
      maximum: 600,
      unit: 's',
      description: 'length of a slot: of each the least, mean, greatest and last value are kept',
    }),
    write_s: Type.Integer({
      default: 300,
      minimum: 10,
      maximum: 3600,
      unit: 's',
      description: 'how often it is written to the disk; a power cut loses as much',
    }),
    series: Type.Integer({
      default: 8192,
      minimum: 16,
      maximum: 65_536,
      description: 'points and units recorded at once; further ones have no history',
    }),
    queue_bytes: Type.Integer({
      default: 8_388_608,
      minimum: 65_536,
      maximum: 268_435_456,
      unit: 'bytes',
      description: 'history that waits for a disk that takes nothing; beyond, the oldest is dropped',
    }),
    readers: Type.Integer({
      default: 4,
      minimum: 1,
      maximum: 64,
      description: 'questions answered at once, and as many exports; further ones are refused for a moment',
    }),
    readers_per_client: Type.Integer({
      default: 3,
      minimum: 1,
      maximum: 64,
      description:
        'how many of these questions, and how many of these exports, one account or API key may have at once',
    }),
  },
  { additionalProperties: false, default: {}, description: 'what points and units did in the last days' },
)

export type HistoryLimits = Static<typeof historyKeys>

interface HistoryParts {
  clock: Clock
  limits: HistoryLimits
  store: HistoryStore
  ports(): Iterable<RecordedPort>
  /** The disk does not take it; undefined: it does again. */
  onFault(fault: Fault | undefined): void
}

/** What a caller asks for. Instants are epoch ms. */
export interface HistoryWish {
  from?: number | undefined
  to?: number | undefined
  /** Seconds; left out: at most 400 buckets. */
  step?: number | undefined
  /** Who asks, by a key of the caller's choice: each has only so many questions at once. */
  client?: string
}

export interface History {
  start(): void
  /** Writes what it has. */
  close(): Promise<void>
  hear(port: string, value: Pick<ValuePayload, 'name' | 'quality' | 'value'>): void
  /** The disk began a new file: what was in the old one is not there any more. */
  begunAfresh(): void
  /** @throws Fault `bad_fields`, `history_off`, `history_busy`, `store_read_failed` */
  points(port: string, names: readonly string[], wish: HistoryWish): Promise<Asked<PointBucket>>
  units(port: string, unitIds: readonly number[], wish: HistoryWish): Promise<Asked<UnitBucket>>
  /**
   * The same in pieces, in the order of time, however long it is; left out, `step` is that of the slots. Whoever reads
   * none of them leaves.
   */
  pieces(
    port: string,
    names: readonly string[],
    wish: HistoryWish,
  ): AsyncIterable<Asked<PointBucket>> & { leave(): void }
  /** Blocks that found no room while the disk took nothing. */
  dropped(): number
}

/** The buckets of each series, by name. */
export interface Asked<Bucket> extends Range {
  series: Map<string, Bucket[]>
}

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

/** Most buckets of one answer, and how many it has where the caller leaves the step to us. */
const MOST_BUCKETS = 2000
const USUAL_BUCKETS = 400

/** Buckets of all its points that an export holds at once. */
const PIECE_BUCKETS = 6000

export function createHistory(parts: HistoryParts): History {
  const { clock, limits } = parts
  const slotMs = 1000 * limits.slot_s
  const disk = new HistoryDisk(parts)
  const recorder = new Recorder({
    ...{ clock, slotMs, ports: parts.ports },
    slotsPerBatch: Math.max(1, Math.round(limits.write_s / limits.slot_s)),
    mostSeries: limits.series,
    onBatch: (batch) => disk.take(batch),
  })
  const asReader = createTurnstile(limits)
  const asExporter = createTurnstile(limits)
  let trimming: Timer | undefined

  async function pointsIn(port: string, names: readonly string[], range: Range): Promise<Asked<PointBucket>> {
    const made = new Map(names.map((name) => [name, createPointBuckets(range)]))
    const wanted = names.map((name): Series => ({ port, kind: 'point', name }))
    await disk.each(wanted, range, decodePoints, (name, slot) => made.get(name)?.add(slot))
    for (const series of wanted) for (const slot of recorder.recentPoint(series)) made.get(series.name)?.add(slot)
    return { ...range, series: bucketsOf(made) }
  }

  async function unitsIn(port: string, unitIds: readonly number[], range: Range): Promise<Asked<UnitBucket>> {
    const wanted = unitIds.map((unitId): Series => ({ port, kind: 'unit', name: String(unitId) }))
    const made = new Map(wanted.map(({ name }) => [name, createUnitBuckets(range)]))
    const decode: Decode<UnitSlot> = (block, _slotMs, isWanted) => decodeUnits(block, isWanted)
    await disk.each(wanted, range, decode, (name, slot) => made.get(name)?.add(slot))
    for (const series of wanted) for (const slot of recorder.recentUnit(series)) made.get(series.name)?.add(slot)
    return { ...range, series: bucketsOf(made) }
  }

  return {
    start() {
      if (limits.days === 0) return
      recorder.start()
      disk.trim()
      trimming = clock.every(HOUR_MS, () => disk.trim())
    },
    async close() {
      trimming?.cancel()
      recorder.close()
      await disk.close()
    },
    hear: (port, value) => recorder.hear(port, value),
    begunAfresh: () => disk.begunAfresh(),
    dropped: () => disk.dropped,
    points: (port, names, wish) => asReader(wish, () => pointsIn(port, names, rangeOf(wish, clock, limits))),
    units: (port, unitIds, wish) => asReader(wish, () => unitsIn(port, unitIds, rangeOf(wish, clock, limits))),
    pieces(port, names, wish) {
      const whole = rangeOf({ step: limits.slot_s, ...wish }, clock, limits, Number.POSITIVE_INFINITY)
      const most = Math.max(1, Math.floor(PIECE_BUCKETS / Math.max(1, names.length)))
      return asExporter.each(wish, async function* () {
        for (let done = 0; done < whole.count; done += most) {
          const count = Math.min(most, whole.count - done)
          yield await pointsIn(port, names, { ...whole, from: whole.from + done * whole.stepMs, count })
        }
      })
    },
  }
}

/** Lets at most `history.readers` in at once, of one client fewer. @throws Fault `history_off`, `history_busy` */
function createTurnstile({ days, readers, readers_per_client: most }: HistoryLimits) {
  const inside = new Map<string, number>()

  /** @returns call it to leave; once counts */
  function enter({ client = '' }: HistoryWish): () => void {
    if (days === 0) throw new Fault('history_off', 'No history is kept: history.days is 0.')
    const all = [...inside.values()].reduce((sum, one) => sum + one, 0)
    const own = inside.get(client) ?? 0
    const details = { retryAfterMs: 1000 }
    if (own >= most)
      throw new Fault('history_busy', `You are reading the history ${own} times already: let one end first.`, {
        details,
      })
    if (all >= readers)
      throw new Fault('history_busy', `The history is being read by ${all} others: ask again in a moment.`, { details })
    inside.set(client, own + 1)
    let isInside = true
    return () => {
      if (!isInside) return
      isInside = false
      const left = (inside.get(client) ?? 1) - 1
      if (left > 0) inside.set(client, left)
      else inside.delete(client)
    }
  }

  return Object.assign(
    async function pass<Result>(wish: HistoryWish, read: () => Promise<Result>): Promise<Result> {
      const leave = enter(wish)
      try {
        return await read()
      } finally {
        leave()
      }
    },
    {
      /** Enters at once, and leaves when whoever reads is done or gone. */
      each<Piece>(wish: HistoryWish, read: () => AsyncGenerator<Piece>): AsyncIterable<Piece> & { leave(): void } {
        const leave = enter(wish)
        async function* pieces(): AsyncGenerator<Piece> {
          try {
            yield* read()
          } finally {
            leave()
          }
        }
        return Object.assign(pieces(), { leave })
      },
    },
  )
}

function bucketsOf<Bucket>(made: ReadonlyMap<string, { buckets: Bucket[] }>): Map<string, Bucket[]> {
  return new Map([...made].map(([name, { buckets }]) => [name, buckets]))
}

/** Begins and ends at whole steps, so that the same question gets the same buckets. @throws Fault `bad_fields` */
function rangeOf(wish: HistoryWish, clock: Clock, limits: HistoryLimits, most = MOST_BUCKETS): Range {
  const { days, slot_s: slotS } = limits
  const to = wish.to ?? clock.epochMs()
  const from = wish.from ?? to - DAY_MS
  const faults: { field: string; message: string }[] = []
  if (from >= to) faults.push({ field: 'from', message: `is ${from}, expected less than to, which is ${to}` })
  if (to - from > (days + 1) * DAY_MS)
    faults.push({ field: 'from', message: `is more than ${days + 1} days before to; ${days} are kept` })
  const usualS = Math.ceil((to - from) / 1000 / USUAL_BUCKETS / slotS) * slotS
  const stepS = wish.step ?? Math.max(slotS, usualS)
  if (stepS % slotS !== 0) faults.push({ field: 'step', message: `is ${stepS}, expected a multiple of ${slotS}` })
  const stepMs = 1000 * stepS
  const start = Math.floor(from / stepMs) * stepMs
  const count = Math.ceil((to - start) / stepMs)
  if (count > most)
    faults.push({ field: 'step', message: `makes ${count} buckets, at most ${most} are given: ask for longer ones` })
  if (faults.length > 0) refuseFields(faults)
  return { from: start, stepMs, count }
}
