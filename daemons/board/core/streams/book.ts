/** All streams heard on the network: who announced them, and until when they are believed. */
import type { Clock, Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { playFault, type RefClock, type StreamDescription } from '../../wire/streams/description.ts'
import { readSdp, readSdpOrigin, type SdpOrigin } from '../../wire/streams/sdp.ts'

// One stream, as `GET /api/streams` shows it.

/** How a stream was heard: announced by SAP; named by mDNS; described over RTSP. */
type HeardBy = 'sap' | 'mdns' | 'rtsp'

/** One stream; every text in it comes from a stranger. */
export interface HeardStream {
  /** Identifies it as long as it is heard. */
  id: string
  name: string
  info: string
  mcast: string
  port: number
  /** Its sender: as named in the description (source-filter), else its origin. */
  source: string
  /** Where the description was made. */
  origin: string
  /** Address that announced it: its sender or somebody else. */
  from: string
  /** `L24`, `L16`, or another encoding. */
  encoding: string
  channels: number
  /** Hz */
  sample_rate: number
  packet_ms: number
  payload_type: number
  ttl: number
  refclk: RefClock | null
  /** RTP timestamp at the epoch of its clock; null if not given. */
  mclk_offset: number | null
  /** The second path of a stream that has two. */
  dup: { mcast: string; port: number; source: string | null } | null
  /** Whether packets from others than `source` must be ignored, as its description asks. */
  source_specific: boolean
  /** Why no board can play it; null if boards can. */
  not_playable: string | null
  heard_by: HeardBy[]
  /** Epoch milliseconds. */
  first_heard_at: number
  last_heard_at: number
  /** As received. */
  sdp: string
}

/** How, from whom, when and with which text a stream was heard. */
type Hearsay = Pick<HeardStream, 'id' | 'from' | 'heard_by' | 'first_heard_at' | 'last_heard_at' | 'sdp'>

/** @param stream has at least one path */
export function heardStreamOf(stream: StreamDescription<string>, hearsay: Hearsay): HeardStream {
  const [path, dup] = stream.paths
  return {
    ...hearsay,
    name: stream.name,
    info: stream.info,
    mcast: path?.group ?? '',
    port: path?.port ?? 0,
    source: path?.source ?? stream.origin,
    origin: stream.origin,
    encoding: stream.encoding,
    channels: stream.channels,
    sample_rate: stream.sampleRate,
    packet_ms: stream.packetMs,
    payload_type: stream.payloadType,
    ttl: path?.ttl ?? 0,
    refclk: stream.refClock,
    mclk_offset: stream.mediaOffset,
    dup: dup ? { mcast: dup.group, port: dup.port, source: dup.source } : null,
    source_specific: typeof path?.source === 'string',
    not_playable: playFault(stream) ?? null,
  }
}

// Learns how often something is repeated, and notices when it has been missing too often.

/** Announcements that may be missed. */
const MOST_MISSED = 10
/** Used until the interval is known; typical of AES67 devices. */
const USUAL_RHYTHM_MS = 30_000
/** Shorter gaps are duplicated packets, longer ones are longer than any sender's interval. */
const LEAST_RHYTHM_MS = 1000
const MOST_RHYTHM_MS = 600_000

/** Tracks something that repeats. */
interface Rhythm {
  /** @param nowMs monotonic */
  heard(nowMs: number): void
  /** Whether ten were missed. @param nowMs monotonic */
  isOver(nowMs: number): boolean
}

/** @param nowMs monotonic; when it was first heard */
export function createRhythm(nowMs: number): Rhythm {
  let lastMs = nowMs
  let intervalMs: number | undefined

  return {
    heard(nowMs) {
      const gapMs = nowMs - lastMs
      if (gapMs < LEAST_RHYTHM_MS) return
      lastMs = nowMs
      const learntMs = Math.min(gapMs, MOST_RHYTHM_MS)
      // Moves a quarter of the way, so that one lost or late announcement does not matter.
      intervalMs = intervalMs === undefined ? learntMs : intervalMs + (learntMs - intervalMs) / 4
    },
    isOver: (nowMs) => nowMs - lastMs > MOST_MISSED * (intervalMs ?? USUAL_RHYTHM_MS),
  }
}

// A rough memory of keys met before, of fixed size.

/** 1 MiB; after 30,000 other keys, four of five are still known. */
const SKETCH_SLOTS = 1 << 17
/** Meeting again sooner means nothing: a network may duplicate packets. */
const MET_APART_S = 2

/** Keys are stored by a hash of 32 bits, each in one slot: later keys overwrite earlier ones. */
export function createSeenSketch() {
  const marks = new Uint32Array(SKETCH_SLOTS)
  const firstS = new Uint32Array(SKETCH_SLOTS)

  return {
    /** @returns whether the same key was met before, at least two seconds ago */
    meet(key: string, nowMs: number): boolean {
      const nowS = Math.floor(nowMs / 1000)
      const slot = hashOf(key, 0x811c9dc5) % SKETCH_SLOTS
      // Never 0, which marks an empty slot.
      const mark = (hashOf(key, 0x2545f491) | 1) >>> 0
      if (marks[slot] === mark) return nowS - (firstS[slot] ?? nowS) >= MET_APART_S
      marks[slot] = mark
      firstS[slot] = nowS
      return false
    },
  }
}

/** @source FNV-1a, with the final mixing of MurmurHash3 so that each bit counts */
function hashOf(text: string, seed: number): number {
  let hash = seed
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

// The book of streams.

/** Report that a stream is there. */
interface StreamWord {
  by: readonly HeardBy[]
  /** Address that it was heard from. */
  from: string
  sdp: string
  /** Hash of a SAP packet; deletions may carry it alone. */
  hash?: number
  /** The description was fetched earlier: the stream is still there, but its description may have changed. */
  isRepeated?: boolean
}

/** Report that a stream is gone. */
interface StreamFarewell {
  by: readonly HeardBy[]
  from: string
  /** The description, or at least its `o=` line. */
  sdp?: string
  hash?: number
}

/** Limits; keys of the config table `streams`. */
interface BookBounds {
  /** Streams kept. */
  most: number
  /** Streams kept of one sender. */
  perSender: number
  /** New streams that are parsed per second. */
  newPerSecond: number
}

/** Why a report is not listed: no valid description; too many new ones; one sender has too many; the list is full. */
export type StreamRefusal = 'unreadable' | 'flood' | 'sender_full' | 'full'

/** Dependencies and settings. */
interface StreamBookOptions {
  clock: Clock
  bounds: BookBounds
  /** The list has changed. */
  onChange(): void
}

/** One stream. */
interface Entry {
  key: string
  from: string
  hash: number | undefined
  stream: StreamDescription<string>
  sdp: string
  /** How it is heard, and how often. */
  voices: Map<HeardBy, Rhythm>
  /** Ways in which it was withdrawn, until the next sweep. */
  leaving: Set<HeardBy>
  /** Heard more than once, or fetched from its sender: mass forgeries do not get that far. */
  isConfirmed: boolean
  /** Monotonic: when first heard, and when its present description was taken. */
  metMs: number
  takenMs: number
  firstHeardAt: number
  lastHeardAt: number
  /** Other versions parsed in this second. */
  changes: number
}

const SWEEP_MS = 1000
/** Versions of one stream parsed per second: a description changes once or twice when its clock does. */
const MOST_CHANGES = 4
/** Hearing it again counts only this long after the first time; sooner it may be a duplicated packet. */
const CONFIRM_MS = 2000
/** An older version heard this soon after a newer one was delayed on the way. Later, its sender has restarted. */
const LATE_MS = 2000

/**
 * A stream is one session of one origin, as heard from one address: a forgery from another address makes its own entry.
 * A new one is added while there is room; in a full book it replaces one that was heard only once, of the sender with
 * the most of those, or else one of a sender with more than its share. One met before is added despite the limit of new
 * ones, and is not pushed out: a sender that keeps announcing is listed, whatever others send
 * (docs/decisions/stream-discovery.md).
 */
export class StreamBook {
  readonly #options: StreamBookOptions
  readonly #entries = new Map<string, Entry>()
  readonly #seen = createSeenSketch()
  readonly #refused: Record<StreamRefusal, number> = { unreadable: 0, flood: 0, sender_full: 0, full: 0 }
  readonly #sweeping: Timer
  #budget: number
  /** Other versions parsed in this second, of all streams. */
  #changes = 0

  constructor(options: StreamBookOptions) {
    this.#options = options
    this.#budget = options.bounds.newPerSecond
    this.#sweeping = options.clock.every(SWEEP_MS, () => this.#sweep())
  }

  /** Never throws, whatever the description. */
  heard(word: StreamWord): void {
    const named = readSdpOrigin(word.sdp)
    if (!named) return void this.#refused.unreadable++
    const key = keyOf(word.from, named)
    const entry = this.#entries.get(key)
    if (entry) this.#renew(entry, word, named)
    else this.#meet(key, word)
  }

  /**
   * Accepted only from who announced the stream; if a new version follows at once, as after a change, the stream stays.
   */
  takenBack({ by, from, hash, sdp = '' }: StreamFarewell): void {
    const named = readSdpOrigin(sdp)
    const entry = named
      ? this.#entries.get(keyOf(from, named))
      : [...this.#entries.values()].find((one) => hash && one.from === from && one.hash === hash)
    if (entry) for (const one of by) if (entry.voices.has(one)) entry.leaving.add(one)
  }

  /** Number of streams listed. */
  get size(): number {
    return this.#entries.size
  }

  /** All streams, by name. */
  list(): HeardStream[] {
    return [...this.#entries.values()].map(streamOfEntry).sort(byName)
  }

  /** Streams on a group and port, by either path. */
  find(group: string, port: number): HeardStream[] {
    const isThere = ({ stream }: Entry) => stream.paths.some((path) => path.group === group && path.port === port)
    return [...this.#entries.values()].filter(isThere).map(streamOfEntry).sort(byName)
  }

  /** Counts of reports that were not listed. */
  refused(): Readonly<Record<StreamRefusal, number>> {
    return { ...this.#refused }
  }

  close(): void {
    this.#sweeping.cancel()
  }

  #sweep(): void {
    this.#budget = this.#options.bounds.newPerSecond
    this.#changes = 0
    const nowMs = this.#options.clock.monotonicMs()
    for (const entry of this.#entries.values()) {
      entry.changes = 0
      for (const [by, rhythm] of entry.voices)
        if (rhythm.isOver(nowMs) || entry.leaving.has(by)) this.#silence(entry, by)
    }
  }

  #silence(entry: Entry, by: HeardBy): void {
    entry.voices.delete(by)
    entry.leaving.delete(by)
    if (entry.voices.size === 0) this.#entries.delete(entry.key)
    this.#options.onChange()
  }

  #renew(entry: Entry, word: StreamWord, named: SdpOrigin): void {
    const nowMs = this.#options.clock.monotonicMs()
    if (nowMs - entry.metMs >= CONFIRM_MS) entry.isConfirmed = true
    const isKnownVoice = word.by.every((by) => entry.voices.has(by))
    this.#hear(entry, word, nowMs)
    const isNews = !word.isRepeated && word.sdp !== entry.sdp
    const stream =
      isNews && this.#isToBeTaken(entry, named, isKnownVoice) && this.#mayChange(entry) && this.#streamOf(word.sdp)
    if (stream) Object.assign(entry, { stream, sdp: word.sdp, takenMs: nowMs })
    if (stream || !isKnownVoice) this.#options.onChange()
  }

  /** If two ways give the same version in different words, the first one stays; otherwise they would alternate. */
  #isToBeTaken(entry: Entry, named: SdpOrigin, isKnownVoice: boolean): boolean {
    const [known, told] = [BigInt(entry.stream.version), BigInt(named.version)]
    if (told === known) return isKnownVoice && entry.voices.size === 1
    return told > known || this.#options.clock.monotonicMs() - entry.takenMs > LATE_MS
  }

  /**
   * A sender with another version in each packet is not genuine: only its latest version is taken, once it has settled.
   */
  #mayChange(entry: Entry): boolean {
    if (this.#changes >= this.#options.bounds.newPerSecond || entry.changes >= MOST_CHANGES) {
      this.#refused.flood++
      return false
    }
    this.#changes++
    entry.changes++
    return true
  }

  #meet(key: string, word: StreamWord): void {
    const { bounds, clock, onChange } = this.#options
    const nowMs = clock.monotonicMs()
    const isConfirmed = this.#seen.meet(key, nowMs) || word.by.includes('rtsp')
    if (!isConfirmed && this.#budget < 1) return void this.#refused.flood++
    const { from, hash, sdp } = word
    const count = this.#countsOf(() => true).get(from) ?? 0
    if (count >= bounds.perSender) return void this.#refused.sender_full++
    if (!isConfirmed) this.#budget--
    const stream = this.#streamOf(sdp)
    if (!stream) return
    if (this.#entries.size >= bounds.most && !this.#makeRoom(count)) return void this.#refused.full++
    const at = clock.epochMs()
    const times = { metMs: nowMs, takenMs: nowMs, firstHeardAt: at, lastHeardAt: at, changes: 0 }
    const entry: Entry = { key, from, hash, stream, sdp, voices: new Map(), leaving: new Set(), isConfirmed, ...times }
    this.#entries.set(key, entry)
    this.#hear(entry, word, nowMs)
    onChange()
  }

  #hear(entry: Entry, word: StreamWord, nowMs: number): void {
    for (const by of word.by) {
      entry.leaving.delete(by)
      const rhythm = entry.voices.get(by)
      if (rhythm) rhythm.heard(nowMs)
      else entry.voices.set(by, createRhythm(nowMs))
    }
    if (word.hash !== undefined) entry.hash = word.hash
    entry.lastHeardAt = this.#options.clock.epochMs()
  }

  #streamOf(sdp: string): StreamDescription<string> | undefined {
    try {
      return readSdp(sdp)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      this.#refused.unreadable++
      return undefined
    }
  }

  /** Number of streams of each sender. */
  #countsOf(isCounted: (entry: Entry) => boolean): Map<string, number> {
    const counts = new Map<string, number>()
    for (const entry of this.#entries.values())
      if (isCounted(entry)) counts.set(entry.from, (counts.get(entry.from) ?? 0) + 1)
    return counts
  }

  /** @param count streams of the sender that needs room; a sender with two more than that must give one up */
  #makeRoom(count: number): boolean {
    const isWeak = ({ isConfirmed }: Entry) => !isConfirmed
    return this.#drop(isWeak, 1) || this.#drop(() => true, count + 2)
  }

  /** Drops the newest stream of the sender with the most. */
  #drop(isAny: (entry: Entry) => boolean, least: number): boolean {
    const counts = this.#countsOf(isAny)
    const most = Math.max(0, ...counts.values())
    if (most < least) return false
    const victim = [...this.#entries.values()].findLast((entry) => isAny(entry) && counts.get(entry.from) === most)
    return victim !== undefined && this.#entries.delete(victim.key)
  }
}

function keyOf(from: string, { origin, sessionId }: SdpOrigin): string {
  const made = isUsable(origin) ? origin : from
  return made === from ? `${sessionId}@${made}` : `${sessionId}@${made} by ${from}`
}

function streamOfEntry({ firstHeardAt, from, key, lastHeardAt, sdp, stream, voices }: Entry): HeardStream {
  const origin = isUsable(stream.origin) ? stream.origin : from
  const times = { first_heard_at: firstHeardAt, last_heard_at: lastHeardAt }
  return heardStreamOf({ ...stream, origin }, { id: key, from, heard_by: [...voices.keys()].sort(), ...times, sdp })
}

/** Senders that do not know their address write none, or a loopback or wildcard one. */
function isUsable(origin: string): boolean {
  return origin !== '' && !origin.startsWith('0.') && !origin.startsWith('127.')
}

function byName(one: HeardStream, other: HeardStream): number {
  return one.name.localeCompare(other.name) || (one.id < other.id ? -1 : 1)
}
