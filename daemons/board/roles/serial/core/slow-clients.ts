/** Clients that take less than the line sends: who waits for whom, and who is dropped. */
import type { Clock, Timer } from '#kit/clock.ts'

export interface SlowClientsParts<One> {
  clock: Clock
  /** How long the line waits where every client is behind. */
  limitMs: number
  count(): number
  /** The line is to be read no further; it is to go on. */
  onWait(isWaiting: boolean): void
  drop(client: One): void
}

/**
 * The line waits for nobody while somebody keeps up: who is behind is dropped. Where all are behind, such as the only
 * one, waiting harms nobody and flow control holds the device; after the limit they are dropped all the same.
 */
export class SlowClients<One> {
  readonly #parts: SlowClientsParts<One>
  readonly #behind = new Set<One>()
  #timer: Timer | undefined

  constructor(parts: SlowClientsParts<One>) {
    this.#parts = parts
  }

  /** The line is to be read no further. */
  get isWaiting(): boolean {
    return this.#timer !== undefined
  }

  fellBehind(client: One): void {
    this.#behind.add(client)
    this.judge()
  }

  caughtUp(client: One): void {
    if (this.#behind.delete(client)) this.judge()
  }

  /** Clients came or went. */
  judge(): void {
    const { clock, count, limitMs } = this.#parts
    if (this.#behind.size === 0) this.#goOn()
    else if (this.#behind.size < count()) this.#dropAll()
    else if (!this.#timer) {
      this.#parts.onWait(true)
      this.#timer = clock.after(limitMs, () => this.#dropAll())
    }
  }

  #dropAll(): void {
    const slow = [...this.#behind]
    this.#behind.clear()
    this.#goOn()
    for (const client of slow) this.#parts.drop(client)
  }

  #goOn(): void {
    if (!this.#timer) return
    this.#timer.cancel()
    this.#timer = undefined
    this.#parts.onWait(false)
  }
}
