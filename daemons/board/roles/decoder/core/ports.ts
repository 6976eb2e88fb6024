/** Interfaces that the decoder's rules need, implemented by io/. */
import type { HeardStream } from '../../../core/streams/book.ts'
import type { StreamEncoding } from '../../../wire/streams/description.ts'

/** Streams announced on the network. */
export interface StreamFinder {
  list(): readonly HeardStream[]
  /** Streams on a group and port, by either path. */
  find(group: string, port: number): readonly HeardStream[]
}

/** One path on which packets come. */
export interface ReceivePath {
  group: string
  port: number
  /** The only sender accepted; null: the first one, until it is silent. */
  source: string | null
}

/** How the receiver synchronizes with the sender: by their common clock, or by the arrival of packets. */
export type SyncMode = 'clock' | 'arrival'

/** What to receive, and how. */
export interface Tuning {
  /** One, or two that carry the same. */
  paths: readonly ReceivePath[]
  encoding: StreamEncoding
  /** 0: the receiver detects it. */
  channels: number
  /** RTP payload type; null: any. */
  payloadType: number | null
  /** Added to a packet's timestamp before it is compared with the clock, modulo 2^32. */
  mediaOffset: number
  /** From the instant of a sample to its sound, in ms. */
  linkMs: number
  /** Length of the ring of samples, at least twice the link. */
  roomMs: number
  sync: SyncMode
}

/** Counts of one path since the receiver was opened. */
export interface PathCounts {
  packets: number
  bytes: number
  /** By sequence numbers; decreases if a packet arrives after all. */
  lost: number
  /** Arrived after their place had been played. */
  late: number
  duplicate: number
  reordered: number
  /** From another sender than the current one. */
  wrongSource: number
  /** The last such sender. */
  wrongSourceAddress: string | null
  /** From the current sender's address, but another stream of it. */
  otherSsrc: number
  /** Another payload type, or a length that does not fit encoding and channels. */
  wrongFormat: number
  /** Not RTP. */
  malformed: number
  /** The sender we receive from; null before the first packet and after a long silence. */
  sender: string | null
}

/** Arrival times of packets relative to their playing, since the last look. */
export interface ArrivalSpread {
  /** Time left before playing: of the earliest packet and of the latest (below 0: too late). */
  earliestUs: number
  latestUs: number
  /** Deviation of arrivals from an even pace. */
  jitterP50Us: number
  jitterP99Us: number
  jitterMaxUs: number
}

/** State of reception. */
export interface ReceptionStats {
  paths: readonly PathCounts[]
  /** Packets that brought sound on either path, each counted once. */
  received: number
  /** On both paths together: packets that never came, and that came too late. */
  lost: number
  late: number
  /** Timestamps so far from now that they belong to another time. */
  wild: number
  /** Packets replaced by a fading repeat. */
  concealed: number
  /** Audible breaks: silence after concealment ended, and jumps. */
  glitches: number
  /** As found in packets; null before the first. */
  channels: number | null
  packetMs: number | null
  payloadType: number | null
  /** Bytes of a frame, one sample of each channel, as derived from packets. */
  frameBytes: number | null
  /** null if no packet came since the last look. */
  arrival: ArrivalSpread | null
  /** Arrival of a packet minus the instant of its timestamp on the board's own clock, in ms; null if no packet came. */
  transitMs: number | null
  /** Rate of the sender's clock against this board's; null if they share a clock, and while unknown. */
  senderPpm: number | null
}

/** An open receiver. */
export interface Receiver {
  /** Identifies it to the output. */
  readonly id: number
  stats(): ReceptionStats
  /** Whether a path whose network was down at opening now has one: reopen the receiver to use it. */
  hasNewPath(): boolean
  setLinkMs(linkMs: number): void
  close(): void
}

export interface ReceiverOpener {
  /** @throws Fault `receiver_failed` with the call that the system refused */
  open(tuning: Tuning): Receiver
}

/** Events of a playing output. */
export interface OutputEvents {
  /** Peak and mean of each channel, in dB below full scale. */
  level(peakDb: readonly number[], rmsDb: readonly number[]): void
  /** It has ended for good. */
  died(why: string): void
}

/** A playing output. */
export interface Output {
  /** Plays the receiver of this id, 0 for none. Fades out and in. */
  listen(receiverId: number): void
  /** Changes the gain in a ramp. */
  setGain(gain: number): void
  facts(): OutputFacts
  close(): Promise<void>
}

/** State of an output. */
export interface OutputFacts {
  /** The card's delay behind the instant at which samples are due; null if there is no card, or it does not say. */
  latencyMs: number | null
  /** How much faster the card runs than the clock; null if there is none. */
  driftPpm: number | null
  /** Blocks for which the sink had to wait. */
  underruns: number
  /** Sound skipped because this board stalled too long to catch up. */
  skippedMs: number
  /** Times that sound jumped: after skipped sound, or when the clock stepped. */
  phaseJumps: number
  /** Samples that the volume raised over full scale. */
  clippedSamples: number
  realtime: { granted: boolean; text: string }
}

export interface OutputOpener {
  /** What it plays to, for people. */
  readonly name: string
  readonly kind: 'null' | 'file' | 'alsa'
  /** @throws Fault `output_failed`, `no_card` */
  open(events: OutputEvents): Promise<Output>
}
