/** The feed of an encoder's stream: its pipeline, and the retries when it ends. */

import { atMost, type Clock, type Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { type Fault, faultOf } from '#kit/pure/fault.ts'
import { Backoff, type BackoffLimits, createSerialTurn } from '#kit/pure/pace.ts'
import { type CardOptions, sourceFragment } from '../../../core/sound/card.ts'
import { type AudioSource, sourceName } from '../../../core/sound/sound.ts'
import { SAMPLE_RATE, type StreamEncoding } from '../../../wire/streams/description.ts'
import type { Feed, FeedOpener } from './ports.ts'

// State table of the feed: state x event -> next state.

/**
 * - `opening` its source is being opened
 * - `sending` its sound is sent
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

/** Events not listed leave the state as it is. */
export const feedStateTable: Readonly<Record<FeedState, Partial<Record<FeedEvent, FeedState>>>> = {
  opening: { opened: 'sending', failed: 'waiting', closing: 'closed' },
  sending: { failed: 'waiting', changed: 'opening', closing: 'closed' },
  waiting: { retry: 'opening', changed: 'opening', closing: 'closed' },
  closed: {},
}

/** @returns the next state; the same if the table has no such pair */
export function nextFeedState(state: FeedState, event: FeedEvent): FeedState {
  return feedStateTable[state][event] ?? state
}

// The pipeline description for GStreamer.

/** Name of the element that measures loudness. */
const METER = 'meter'
/** Name of the element that feeds the sender, and knows the age of its sound. */
const SINK = 'out'

/** The source; a card by the name that ALSA opens. */
export type FeedSource =
  | { kind: 'tone'; db: number }
  | { kind: 'file'; path: string }
  | { kind: 'alsa'; card: CardOptions }

/** The stream it feeds. */
interface FeedFormat {
  encoding: StreamEncoding
  channels: number
  /** Id of the sender. */
  sender: number
  meterMs: number
  /** From the first sound to its packet: the reserve of a source that delivers in bursts. */
  leadMs: number
}

/** Frequency at which no two samples of a second are alike. @source AES17, 4.2.1 */
const TONE_HZ = 997
/** How far a file is decoded ahead: enough to rewind to its beginning. */
const AHEAD_NS = 500_000_000

/**
 * Nothing is dithered or shaped: sound with the stream's bits arrives bit-exact, and a file or a card with more bits is
 * truncated. Meters use 32 bits, since `level` does not support 24.
 */
export function feedDescription(source: FeedSource, format: FeedFormat): string {
  const { channels, encoding, leadMs, meterMs, sender } = format
  // A file keeps its channels: GStreamer would mix them for loudspeakers that a stream of many channels does not have.
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
    // Ten milliseconds per buffer, so that fewer are passed on each second.
    return [`audiotestsrc wave=sine freq=${TONE_HZ} volume=${10 ** (source.db / 20)} samplesperbuffer=480`]
  return [
    `filesrc location="${source.path.replace(/[\\"]/g, '\\$&')}"`,
    'decodebin',
    'audioconvert dithering=none noise-shaping=none',
    'audioresample quality=10',
    `queue max-size-buffers=0 max-size-bytes=0 max-size-time=${AHEAD_NS}`,
  ]
}

// Reopens a source that ends, with back-off, and switches to another one on request.

/** Dependencies and settings. */
interface FeedCareParts {
  clock: Clock
  log: Log
  opener: FeedOpener
  source: AudioSource
  retry: BackoffLimits
  level(peakDb: readonly number[], rmsDb: readonly number[]): void
  /** Takes charge of a promise that nobody awaits. */
  own(promise: Promise<unknown>): void
  onChange(): void
}

/** A pipe without a writer, or a share that is offline, must not keep the board from serving its page. */
const MOST_WAIT_MS = 2000

export class FeedCare {
  readonly #parts: FeedCareParts
  readonly #backoff: Backoff
  /** Opens and closes one after the other: a card is free only after its last user has closed it. */
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
    this.#backoff = new Backoff(parts.retry)
  }

  get state(): FeedState {
    return this.#state
  }

  get source(): AudioSource {
    return this.#source
  }

  /** Name of the source, for people. */
  get name(): string {
    return this.#feed?.sourceName ?? sourceName(this.#source)
  }

  /** The open feed. */
  get feed(): Feed | undefined {
    return this.#feed
  }

  /** Why nothing is sent; null while something is, or before the first try. */
  get fault(): Fault | null {
    return this.#fault
  }

  /** How often it ended by itself, or could not be opened. */
  get restarts(): number {
    return this.#restarts
  }

  /** Opens it for the first time; if that fails it is tried again later, if it is slow it is not waited for. */
  async start(): Promise<void> {
    const opening = this.#inTurn(() => this.#open())
    await atMost(this.#parts.clock, MOST_WAIT_MS, opening)
  }

  /** Switches to another source. */
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
    // The source was changed before this one's turn came.
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
    // After it has held for long, back-off starts with short waits again.
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
