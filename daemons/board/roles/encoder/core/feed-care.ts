/** Keeps the stream fed: a source that ends is opened anew, with waits that grow, and another one is taken when it is wanted. */
import { type BackoffLimits, createBackoff } from '#kit/backoff.ts'
import { atMost, type Clock, type Timer } from '#kit/clock.ts'
import { type Fault, faultOf } from '#kit/fault.ts'
import type { Log } from '#kit/log.ts'
import { createTurn } from '#kit/turn.ts'
import { type AudioSource, sourceName } from '../../../core/sound/sound.ts'
import { type FeedEvent, type FeedState, nextFeedState } from './feed-state-table.ts'
import type { Feed, FeedOpener } from './ports.ts'

/** What the care is made of. */
export interface FeedCareParts {
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
  readonly #inTurn = createTurn()
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
