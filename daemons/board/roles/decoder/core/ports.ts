/** What the rules of the decoder need of the world, as interfaces that io/ implements. */
import type { HeardStream } from '../../../core/streams/book.ts'
import type { StreamEncoding } from '../../../wire/streams/description.ts'

/** What is announced on the network. */
export interface StreamFinder {
  list(): readonly HeardStream[]
  /** Those that come on a group and port, by either path. */
  find(group: string, port: number): readonly HeardStream[]
}

/** One way by which packets come. */
export interface ReceivePath {
  group: string
  port: number
  /** The only sender that is heard; null: the first, until it is silent. */
  source: string | null
}

/** How the receiver keeps time with the sender: by the clock both have, or by the packets' arrival. */
export type SyncMode = 'clock' | 'arrival'

/** What is to be received, and how. */
export interface Tuning {
  /** One, or two that carry the same. */
  paths: readonly ReceivePath[]
  encoding: StreamEncoding
  /** 0: the receiver finds out. */
  channels: number
  /** RTP payload type; null: any. */
  payloadType: number | null
  /** Added to a packet's timestamp before it is compared with the clock, modulo 2^32. */
  mediaOffset: number
  /** From the instant of a sample to its sound, in ms. */
  linkMs: number
  /** How long the ring of samples is, at least twice the link. */
  roomMs: number
  sync: SyncMode
}

/** What came in by one path since the receiver was opened. */
export interface PathCounts {
  packets: number
  bytes: number
  /** By sequence numbers; goes down again where a packet comes after all. */
  lost: number
  /** Came when their place had been played. */
  late: number
  duplicate: number
  reordered: number
  /** From a sender that is not the one heard. */
  wrongSource: number
  /** The last such sender. */
  wrongSourceAddress: string | null
  /** Of the address that is heard, and of another stream of it. */
  otherSsrc: number
  /** Of another payload type, or of a length that does not fit encoding and channels. */
  wrongFormat: number
  /** No RTP at all. */
  malformed: number
  /** Who is heard; null before the first packet, and after it has been silent for long. */
  sender: string | null
}

/** When packets came, against the instant at which they are played, since the last look. */
export interface ArrivalSpread {
  /** Time left before it is played: of the packet that came earliest, and of the one that came latest (below 0: too late). */
  earliestUs: number
  latestUs: number
  /** How far arrivals stray from their even pace. */
  jitterP50Us: number
  jitterP99Us: number
  jitterMaxUs: number
}

/** How reception is. */
export interface ReceptionStats {
  paths: readonly PathCounts[]
  /** Of both paths together: packets that brought sound, each once. */
  received: number
  /** Of both paths together: those that never came, and those that came too late. */
  lost: number
  late: number
  /** Timestamps so far from now that they are of another time. */
  wild: number
  /** Packets that were made up for by a repeat that fades. */
  concealed: number
  /** Breaks of the sound that were heard: silence where concealment ended, and jumps. */
  glitches: number
  /** As packets have them; null before the first. */
  channels: number | null
  packetMs: number | null
  payloadType: number | null
  /** Bytes of a frame, one sample of each channel, as packets tell them by themselves. */
  frameBytes: number | null
  /** null where no packet came since the last look. */
  arrival: ArrivalSpread | null
  /** Time of a packet's arrival less the instant of its timestamp by the board's own clock, in ms; null where no packet came. */
  transitMs: number | null
  /** Rate of the sender's clock against this board's; null where both have one, and before it is known. */
  senderPpm: number | null
}

/** A receiver that is open. */
export interface Receiver {
  /** Names it to the output. */
  readonly id: number
  stats(): ReceptionStats
  /** A path whose network was away when this was opened has one now: a receiver that is opened anew hears it too. */
  hasNewPath(): boolean
  setLinkMs(linkMs: number): void
  close(): void
}

export interface ReceiverOpener {
  /** @throws Fault `receiver_failed` with the call that the system refused */
  open(tuning: Tuning): Receiver
}

/** What happens to an output that plays. */
export interface OutputEvents {
  /** Loudest sample and mean of each channel, in dB below full scale. */
  level(peakDb: readonly number[], rmsDb: readonly number[]): void
  /** It has ended and will not come back. */
  died(why: string): void
}

/** An output that plays. */
export interface Output {
  /** What is heard: the receiver of this id, 0 for none. Fades out and in. */
  listen(receiverId: number): void
  /** Ramps. */
  setGain(gain: number): void
  facts(): OutputFacts
  close(): Promise<void>
}

/** How an output is. */
export interface OutputFacts {
  /** Of the card, behind the instant at which samples are due; null where there is none, or it does not say. */
  latencyMs: number | null
  /** How much faster the card runs than the clock; null where there is none. */
  driftPpm: number | null
  /** Blocks for which the sink had to wait. */
  underruns: number
  /** Sound that was left out because this board stood still for too long to catch up. */
  skippedMs: number
  /** Times that sound did not go on where it was: for what was left out, or a clock that stepped. */
  phaseJumps: number
  /** Samples that the volume took over full scale. */
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
