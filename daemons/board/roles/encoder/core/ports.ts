/** What the rules of the encoder need of the world, as interfaces that io/ implements. */
import type { Fault } from '#kit/pure/fault.ts'
import type { CardView } from '../../../core/sound/card.ts'
import type { AudioSource } from '../../../core/sound/sound.ts'

/** What happens to a feed. */
export interface FeedEvents {
  /** Peak and mean of each channel, dB below full scale. */
  level(peakDb: readonly number[], rmsDb: readonly number[]): void
  /** It has ended and will not come back. */
  died(why: Fault): void
}

/** Microseconds: half, 99 of a hundred, and all of the packets of the last two seconds were at most this. */
export interface Spread {
  p50: number
  p99: number
  max: number
}

/** What the stream has sent; numbers only grow, whatever source it had. */
export interface SentFacts {
  packets: number
  bytes: number
  /** Packets that the system did not take. */
  errors: number
  /** Its word on the last packet, where it was one of them. */
  error: string | null
  resyncs: number
  nextTimestamp: number | null
  /** Since the last packet; null before the first. */
  idleMs: number | null
  lateUs: Spread | null
  spacingUs: Spread | null
}

/** A source that plays into the stream. */
export interface Feed {
  /** For people. */
  readonly sourceName: string
  /** From the source to the wire; null where it is not live. */
  captureMs(): number | null
  card(): CardView | null
  realtime(): { granted: boolean; text: string }
  close(): Promise<void>
}

/** Opens feeds into one stream, which goes on counting from one to the next. */
export interface FeedOpener {
  /** @throws Fault `no_card`, `input_failed`, `sender_failed` */
  open(source: AudioSource, events: FeedEvents): Promise<Feed>
  /** null before the stream was ever sent. */
  sent(): SentFacts | null
  /** Whether the machine has other addresses than those that the stream is sent from. */
  hasMoved(): boolean
  close(): void
}
