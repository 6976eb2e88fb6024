/** Interfaces that the encoder's rules need, implemented by io/. */
import type { Fault } from '#kit/pure/fault.ts'
import type { CardView } from '../../../core/sound/card.ts'
import type { AudioSource } from '../../../core/sound/sound.ts'

/** Events of a feed. */
export interface FeedEvents {
  /** Peak and mean of each channel, dB below full scale. */
  level(peakDb: readonly number[], rmsDb: readonly number[]): void
  /** It has ended for good. */
  died(why: Fault): void
}

/** Microseconds, over the packets of the last two seconds: 50 %, 99 % and all were at most this. */
export interface Spread {
  p50: number
  p99: number
  max: number
}

/** What the stream has sent; numbers only grow, whichever source it had. */
export interface SentFacts {
  packets: number
  bytes: number
  /** Packets that the system refused. */
  errors: number
  /** The system's error if the last packet was refused. */
  error: string | null
  resyncs: number
  nextTimestamp: number | null
  /** Time since the last packet; null before the first. */
  idleMs: number | null
  lateUs: Spread | null
  spacingUs: Spread | null
}

/** A source that plays into the stream. */
export interface Feed {
  /** Name for people. */
  readonly sourceName: string
  /** From the source to the wire; null if it is not live. */
  captureMs(): number | null
  card(): CardView | null
  realtime(): { granted: boolean; text: string }
  close(): Promise<void>
}

/** Opens feeds into one stream, which keeps counting from one to the next. */
export interface FeedOpener {
  /** @throws Fault `no_card`, `input_failed`, `sender_failed` */
  open(source: AudioSource, events: FeedEvents): Promise<Feed>
  /** null before anything was sent. */
  sent(): SentFacts | null
  /** Whether the machine's addresses differ from those the stream is sent from. */
  hasMoved(): boolean
  close(): void
}
