/** Reception: counts over all receivers since the start, the present state, and times since the last packets. */
import type { Clock } from '#kit/clock.ts'
import { SAMPLE_RATE } from '../../../wire/streams/description.ts'
import type { ArrivalSpread, PathCounts, ReceptionStats } from './ports.ts'

// Counts of each of the last sixty seconds.

const WINDOW_S = 60

interface LastMinute<Name extends string> {
  /** Adds to the present second. */
  add(counts: Readonly<Partial<Record<Name, number>>>): void
  sum(name: Name): number
  clear(): void
}

/** Always holds sixty numbers of each name. */
export function createLastMinute<Name extends string>(clock: Clock, names: readonly Name[]): LastMinute<Name> {
  const seconds = new Float64Array(WINDOW_S).fill(Number.NaN)
  const rings = new Map(names.map((name) => [name, new Float64Array(WINDOW_S)]))
  const now = () => Math.floor(clock.monotonicMs() / 1000)

  return {
    add(counts) {
      const second = now()
      const place = second % WINDOW_S
      if (seconds[place] !== second) for (const ring of rings.values()) ring[place] = 0
      seconds[place] = second
      for (const [name, ring] of rings) ring[place] = (ring[place] ?? 0) + (counts[name] ?? 0)
    },
    sum(name) {
      const first = now() - WINDOW_S
      const ring = rings.get(name)
      return seconds.reduce((sum, second, place) => sum + (second > first ? (ring?.[place] ?? 0) : 0), 0)
    },
    clear() {
      seconds.fill(Number.NaN)
    },
  }
}

// How long after the instant of its timestamp a packet arrived.

const NS_PER_S = 1_000_000_000n
const CYCLE = 1n << 32n

/** A packet: its RTP timestamp, and the time of its arrival on a clock. */
interface Arrived {
  timestamp: number
  /** RTP timestamp at the clock's zero, modulo 2^32. @source RFC 7273, 5.2 */
  mediaOffset: number
  audioNs: bigint
}

/** @returns ms, below 0 if the timestamp is ahead; timestamps wrap, so it is within half a day either way */
export function transitMsOf({ audioNs, mediaOffset, timestamp }: Arrived): number {
  const now = (audioNs * BigInt(SAMPLE_RATE)) / NS_PER_S + BigInt(mediaOffset)
  const frames = Number(BigInt.asIntN(32, (now - BigInt(timestamp)) % CYCLE))
  return (frames * 1000) / SAMPLE_RATE
}

// Counts, and the present state.

/** Counts with the same name in paths and totals. */
type AddedUp = Pick<PathCounts, 'packets' | 'bytes' | 'lost' | 'late' | 'duplicate' | 'reordered' | 'malformed'>

/** Totals of all receivers since the start. */
export interface ReceptionTotals extends AddedUp {
  concealed: number
  glitches: number
  wrong_source: number
  wrong_format: number
  wild: number
}

export type TotalName = keyof ReceptionTotals

const NOTHING: ReceptionTotals = {
  packets: 0,
  bytes: 0,
  lost: 0,
  late: 0,
  duplicate: 0,
  reordered: 0,
  concealed: 0,
  glitches: 0,
  wrong_source: 0,
  wrong_format: 0,
  wild: 0,
  malformed: 0,
}

/** Names of the totals, in their order. */
export const totalNames = Object.keys(NOTHING) as TotalName[]

/** Follows the receivers of one decoder, one after the other. */
export class Reception {
  readonly #clock: Clock
  readonly #minute
  /** Totals of closed receivers. */
  #before = NOTHING
  #stats: ReceptionStats | null = null
  #grown = NOTHING
  #received = 0
  #soundMs: number | null = null
  #wildMs: number | null = null
  #openedMs: number
  #begunMs: number
  /** Time of the last packet on each path of the receiver. */
  #pathMs: (number | undefined)[] = []
  #packetMs: number | null = null
  #otherMs: number | null = null
  #otherAddress: string | null = null
  #formatMs: number | null = null

  constructor(clock: Clock) {
    this.#clock = clock
    this.#openedMs = clock.monotonicMs()
    this.#begunMs = this.#openedMs
    this.#minute = createLastMinute(clock, ['received', 'lost', 'late'])
  }

  /** Starts with another receiver; `isOther`: for another stream, whose losses are counted anew. */
  begin({ isOther }: { isOther: boolean }): void {
    this.#before = this.totals
    this.#stats = null
    this.#grown = NOTHING
    this.#received = 0
    this.#begunMs = this.#clock.monotonicMs()
    this.#pathMs = []
    if (!isOther) return
    this.#openedMs = this.#clock.monotonicMs()
    this.#packetMs = null
    this.#otherMs = null
    this.#otherAddress = null
    this.#formatMs = null
    this.#soundMs = null
    this.#wildMs = null
    this.#minute.clear()
  }

  /** Adds the present statistics of the receiver. */
  look(stats: ReceptionStats): void {
    const was = this.#stats === null ? NOTHING : totalsOf(this.#stats)
    this.#grown = combined(totalsOf(stats), was, (now, before) => now - before)
    const nowMs = this.#clock.monotonicMs()
    const before = this.paths
    stats.paths.forEach((path, at) => {
      if (path.packets > (before[at]?.packets ?? 0)) this.#pathMs[at] = nowMs
      const other = otherOf(path, before[at])
      if (other !== null) this.hearOther(other)
    })
    this.#stats = stats
    if (this.#grown.packets > 0) this.#packetMs = nowMs
    if (this.#grown.wrong_format > 0) this.#formatMs = nowMs
    if (this.#grown.wild > 0) this.#wildMs = nowMs
    const received = stats.received - this.#received
    if (received > 0) this.#soundMs = nowMs
    this.#received = stats.received
    const { late, lost } = this.#grown
    this.#minute.add({ received, lost, late })
  }

  /** Records that somebody else sends to the group. */
  hearOther(address: string): void {
    this.#otherMs = this.#clock.monotonicMs()
    this.#otherAddress = address
  }

  /** Totals since the start. */
  get totals(): ReceptionTotals {
    if (this.#stats === null) return this.#before
    return combined(this.#before, totalsOf(this.#stats), (before, now) => before + now)
  }

  /** Increase since the previous look. */
  get grown(): ReceptionTotals {
    return this.#grown
  }

  get stats(): ReceptionStats | null {
    return this.#stats
  }

  get paths(): readonly PathCounts[] {
    return this.#stats?.paths ?? []
  }

  get arrival(): ArrivalSpread | null {
    return this.#stats?.arrival ?? null
  }

  /** The current sender; with two paths, that of the first one that has one. */
  get sender(): string | null {
    return this.paths.find(({ sender }) => sender !== null)?.sender ?? null
  }

  /** Time since the last packet of the sender, in ms; since the stream was chosen if there was none. */
  get silentMs(): number {
    return this.#clock.monotonicMs() - (this.#packetMs ?? this.#openedMs)
  }

  /** The same for each path, in ms; since the receiver was opened if there was none. */
  get pathsSilentMs(): readonly number[] {
    const nowMs = this.#clock.monotonicMs()
    return this.paths.map((_, at) => nowMs - (this.#pathMs[at] ?? this.#begunMs))
  }

  /** Whether a packet of this stream has ever come. */
  get hasHeard(): boolean {
    return this.#packetMs !== null
  }

  /** Time since a packet brought sound, in ms; since the stream was chosen if none did. */
  get soundlessMs(): number {
    return this.#clock.monotonicMs() - (this.#soundMs ?? this.#openedMs)
  }

  /** Age of the last packet of another time; null if there was none. */
  get wildAgeMs(): number | null {
    return this.#wildMs === null ? null : this.#clock.monotonicMs() - this.#wildMs
  }

  /** Age of the last packet from another sender; null if there was none. */
  get otherAgeMs(): number | null {
    return this.#otherMs === null ? null : this.#clock.monotonicMs() - this.#otherMs
  }

  /** Address of that sender. */
  get otherAddress(): string | null {
    return this.#otherAddress
  }

  /** Age of the last packet that did not fit; null if there was none. */
  get formatAgeMs(): number | null {
    return this.#formatMs === null ? null : this.#clock.monotonicMs() - this.#formatMs
  }

  /** 0..100; null if nothing was expected. */
  get lossPercent1Min(): number | null {
    // A lost packet that arrives after all is subtracted again; at the edge of the minute that can go below 0.
    const missing = Math.max(0, this.#minute.sum('lost') + this.#minute.sum('late'))
    const expected = this.#minute.sum('received') + missing
    return expected === 0 ? null : (100 * missing) / expected
  }

  /** Packets that came too late to be played, in the last minute. */
  get late1Min(): number {
    return this.#minute.sum('late')
  }
}

type Summed =
  | 'packets'
  | 'bytes'
  | 'duplicate'
  | 'reordered'
  | 'wrongSource'
  | 'otherSsrc'
  | 'wrongFormat'
  | 'malformed'

/** Another sender since the previous look; the current sender itself if it also sends another stream. */
function otherOf(path: PathCounts, before: PathCounts | undefined): string | null {
  if (path.wrongSource > (before?.wrongSource ?? 0)) return path.wrongSourceAddress
  return path.otherSsrc > (before?.otherSsrc ?? 0) ? path.sender : null
}

function totalsOf({ paths, lost, late, wild, concealed, glitches }: ReceptionStats): ReceptionTotals {
  const sum = (name: Summed) => paths.reduce((total, path) => total + path[name], 0)
  return {
    packets: sum('packets'),
    bytes: sum('bytes'),
    lost,
    late,
    duplicate: sum('duplicate'),
    reordered: sum('reordered'),
    concealed,
    glitches,
    wrong_source: sum('wrongSource') + sum('otherSsrc'),
    wrong_format: sum('wrongFormat'),
    wild,
    malformed: sum('malformed'),
  }
}

function combined(
  one: ReceptionTotals,
  other: ReceptionTotals,
  by: (one: number, other: number) => number,
): ReceptionTotals {
  return Object.fromEntries(totalNames.map((name) => [name, by(one[name], other[name])])) as unknown as ReceptionTotals
}
