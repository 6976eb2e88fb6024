/** Looks at what is plugged in: one at a time, soon after something happened, and now and then. */
import type { Clock, Timer } from '#kit/clock.ts'

/** What the looks are made of. */
export interface LooksParts<Seen> {
  clock: Clock
  look(): Promise<Seen>
  /** @returns in how many ms to look again, if nothing happens before */
  heed(seen: Seen, number: number): number
  /** A look failed. @returns as above */
  failed(error: unknown): number
  own(promise: Promise<unknown>): void
}

/** Time for what belongs together, such as a hub and all that is on it, to arrive. */
export const SOON_MS = 100

export class Looks<Seen> {
  readonly #parts: LooksParts<Seen>
  #number = 0
  #running: Promise<void> | undefined
  #isDue = false
  #next: Timer | undefined
  #isStopped = false

  constructor(parts: LooksParts<Seen>) {
    this.#parts = parts
  }

  /** Of the look that was begun last, from 1. */
  get number(): number {
    return this.#number
  }

  /** Resolves after a look that began no earlier than this call. Who asks while one runs gets one more. */
  now(): Promise<void> {
    this.#isDue = true
    this.#running ??= this.#runAll()
    return this.#running
  }

  /** However often it is called, there is one look. */
  soon(): void {
    this.#in(SOON_MS)
  }

  /** None comes by itself any more; `now` still does. */
  stop(): void {
    this.#isStopped = true
    this.#next?.cancel()
  }

  #in(delayMs: number): void {
    this.#next?.cancel()
    if (!this.#isStopped) this.#next = this.#parts.clock.after(delayMs, () => this.#parts.own(this.now()))
  }

  async #runAll(): Promise<void> {
    try {
      let nextMs = 0
      while (this.#isDue) {
        this.#isDue = false
        nextMs = await this.#one(++this.#number)
      }
      this.#in(nextMs)
    } finally {
      // At once: who asks a moment later would be given the run that looks no more.
      this.#running = undefined
    }
  }

  async #one(number: number): Promise<number> {
    let seen: Seen
    try {
      seen = await this.#parts.look()
    } catch (error) {
      return this.#parts.failed(error)
    }
    return this.#parts.heed(seen, number)
  }
}
