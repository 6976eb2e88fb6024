/** What feeds the stream of an encoder: its pipeline, and what opens it anew when it ends. */

import { atMost, type Clock, type Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { type Fault, faultOf } from '#kit/pure/fault.ts'
import { type BackoffLimits, createBackoff, createSerialTurn } from '#kit/pure/pace.ts'
import { type CardOptions, sourceFragment } from '../../../core/sound/card.ts'
import { type AudioSource, sourceName } from '../../../core/sound/sound.ts'
import { SAMPLE_RATE, type StreamEncoding } from '../../../wire/streams/description.ts'
import type { Feed, FeedOpener } from './ports.ts'

// Its life: state x event -> next state.

/**
 * - `opening` its source is being opened
 * - `sending` what it gives goes out
 * - `waiting` it ended, or could not be opened; it is tried again
 * - `closed` the board stops
 */
export type FeedState = 'opening' | 'sending' | 'waiting' | 'closed'

/**
 * - `opened` the source plays
 * - `failed` it ended by itself, or could not be opened
 * - `retry` the wait is over
 * - `changed` another source is wanted
 * - `closing` the board stops
 */
export type FeedEvent = 'opened' | 'failed' | 'retry' | 'changed' | 'closing'

/** A pair that is not listed does not change the state. */
export const feedStateTable: Readonly<Record<FeedState, Partial<Record<FeedEvent, FeedState>>>> = {
  opening: { opened: 'sending', failed: 'waiting', closing: 'closed' },
  sending: { failed: 'waiting', changed: 'opening', closing: 'closed' },
  waiting: { retry: 'opening', changed: 'opening', closing: 'closed' },
  closed: {},
}

/** @returns the state after the event; the same state where the table has no such pair */
export function nextFeedState(state: FeedState, event: FeedEvent): FeedState {
  return feedStateTable[state][event] ?? state
}

// The pipeline, in GStreamer's words.

/** Name of the element that measures how loud it is. */
const METER = 'meter'
/** Name of the element that gives to the sender, and knows how old what it gives is. */
const SINK = 'out'

/** Where it comes from; a card by the name that ALSA opens. */
export type FeedSource =
  | { kind: 'tone'; db: number }
  | { kind: 'file'; path: string }
  | { kind: 'alsa'; card: CardOptions }

/** The stream it goes to. */
interface FeedFormat {
  encoding: StreamEncoding
  channels: number
  /** Number of the sender. */
  sender: number
  meterMs: number
  /** From the first sound to its packet: what a source that gives in lumps lives on. */
  leadMs: number
}

/** Frequency at which no two samples of a second are alike. @source AES17, 4.2.1 */
const TONE_HZ = 997
/** Sound of a file that is decoded ahead: its beginning is found again in that time. */
const AHEAD_NS = 500_000_000

/**
 * Nothing is dithered or shaped: what has the bits of the stream arrives bit by bit, and a file or a card of more bits is
 * cut. Meters look at 32 bits, since `level` knows no 24.
 */
export function feedDescription(source: FeedSource, format: FeedFormat): string {
  const { channels, encoding, leadMs, meterMs, sender } = format
  // A file keeps its channels where GStreamer would mix them into loudspeakers that a stream of many channels has not.
  const isOpen = source.kind === 'file' && channels > 2
  const many = isOpen ? '' : `,channels=${channels}${channels > 2 ? ',channel-mask=(bitmask)0x0' : ''}`
  const layout = `rate=${SAMPLE_RATE},layout=interleaved${many}`
  const parts = [
    ...sourceParts(source, channels),
    `audio/x-raw,format=S32LE,${layout}`,
    `level name=${METER} interval=${meterMs * 1_000_000} peak-ttl=0`,
    'audioconvert dithering=none noise-shaping=none',
    `audio/x-raw,format=${encoding === 'L16' ? 'S16BE' : 'S24BE'},${layout}`,
    `plantroomrtpsink name=${SINK} sender=${sender} lead-ns=${leadMs * 1_000_000}`,
  ]
  return parts.join(' ! ')
}

function sourceParts(source: FeedSource, channels: number): string[] {
  if (source.kind === 'alsa') return [sourceFragment(source.card, channels)]
  if (source.kind === 'tone')
    // Ten milliseconds at once: less of them are passed on each second.
    return [`audiotestsrc wave=sine freq=${TONE_HZ} volume=${10 ** (source.db / 20)} samplesperbuffer=480`]
  return [
    `filesrc location="${source.path.replace(/[\\"]/g, '\\$&')}"`,
    'decodebin',
    'audioconvert dithering=none noise-shaping=none',
    'audioresample quality=10',
    `queue max-size-buffers=0 max-size-bytes=0 max-size-time=${AHEAD_NS}`,
  ]
}

// A source that ends is opened anew, with waits that grow, and another one is taken when it is wanted.

/** What the care is made of. */
interface FeedCareParts {
  clock: Clock
  log: Log
  opener: FeedOpener
  source: AudioSource
  retry: BackoffLimits
  level(peakDb: readonly number[], rmsDb: readonly number[]): void
  /** Takes over a promise nobody awaits. */
  own(promise: Promise<unknown>): void
  onChange(): void
}

/** A pipe that nobody writes to, and a share that is away, must not keep the board from its page. */
const MOST_WAIT_MS = 2000

export class FeedCare {
  readonly #parts: FeedCareParts
  readonly #backoff: ReturnType<typeof createBackoff>
  /** Opening and closing go one after the other: a card is free once its last user has let go. */
  readonly #inTurn = createSerialTurn()
  #state: FeedState = 'opening'
  #source: AudioSource
  #feed: Feed | undefined
  #fault: Fault | null = null
  #restarts = 0
  #sendingMs = 0
  #timer: Timer | undefined

  constructor(parts: FeedCareParts) {
    this.#parts = parts
    this.#source = parts.source
    this.#backoff = createBackoff(parts.retry)
  }

  get state(): FeedState {
    return this.#state
  }

  get source(): AudioSource {
    return this.#source
  }

  /** For people. */
  get name(): string {
    return this.#feed?.sourceName ?? sourceName(this.#source)
  }

  /** What is open now. */
  get feed(): Feed | undefined {
    return this.#feed
  }

  /** Why nothing is sent; null while something is, or was never tried. */
  get fault(): Fault | null {
    return this.#fault
  }

  /** How often it ended by itself, or could not be opened. */
  get restarts(): number {
    return this.#restarts
  }

  /** Opens it for the first time; one that cannot be opened is tried again later, one that takes long is not waited for. */
  async start(): Promise<void> {
    const opening = this.#inTurn(() => this.#open())
    await atMost(this.#parts.clock, MOST_WAIT_MS, opening)
  }

  /** Another source from now on. */
  take(source: AudioSource): Promise<void> {
    this.#source = source
    this.#timer?.cancel()
    this.#backoff.reset()
    this.#fault = null
    this.#step('changed')
    return this.#inTurn(async () => {
      await this.#letGo()
      await this.#open()
    })
  }

  async close(): Promise<void> {
    this.#step('closing')
    this.#timer?.cancel()
    await this.#inTurn(() => this.#letGo())
    this.#parts.opener.close()
  }

  async #open(): Promise<void> {
    // Another source was wanted before this one's turn came.
    if (this.#state !== 'opening' || this.#feed !== undefined) return
    const source = this.#source
    let opened: Feed | undefined
    let ended: Fault | undefined
    try {
      opened = await this.#parts.opener.open(source, {
        level: (peakDb, rmsDb) => this.#parts.level(peakDb, rmsDb),
        died: (why) => {
          ended = why
          if (opened !== undefined && this.#feed === opened) this.#died(why)
        },
      })
    } catch (error) {
      return this.#failed(faultOf(error, 'input_failed', `${sourceName(source)} cannot be opened.`))
    }
    this.#feed = opened
    if (this.#state !== 'opening' || source !== this.#source) return
    if (ended !== undefined) return this.#failed(ended)
    this.#fault = null
    this.#sendingMs = this.#parts.clock.monotonicMs()
    this.#step('opened')
  }

  #died(why: Fault): void {
    const { clock, retry } = this.#parts
    // One that held for long begins with short waits again.
    if (clock.monotonicMs() - this.#sendingMs > retry.maxMs) this.#backoff.reset()
    this.#failed(why)
  }

  #failed(fault: Fault): void {
    if (this.#state === 'closed' || this.#state === 'waiting') return
    if (this.#fault?.message !== fault.message)
      this.#parts.log.error('encoder input failed', { code: fault.code, why: fault.message })
    this.#fault = fault
    this.#restarts += 1
    this.#step('failed')
    this.#parts.own(this.#inTurn(() => this.#letGo()))
    this.#timer = this.#parts.clock.after(this.#backoff.next(), () => {
      this.#step('retry')
      this.#parts.own(this.#inTurn(() => this.#open()))
    })
  }

  async #letGo(): Promise<void> {
    const feed = this.#feed
    this.#feed = undefined
    await feed?.close()
  }

  #step(event: FeedEvent): void {
    const before = this.#state
    this.#state = nextFeedState(before, event)
    if (this.#state !== before) this.#parts.onChange()
  }
}
