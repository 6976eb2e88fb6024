/** When a stream is announced over SAP, and taken back. */
import type { Clock, Timer } from '#kit/clock.ts'
import { sapHash, writeSap } from '../../wire/streams/sap.ts'

/** What is announced. */
export interface Announced {
  sdp: string
  /** IPv4 address of the board. */
  origin: string
}

/** What it needs of the world. */
export interface SapAnnouncingOptions {
  clock: Clock
  everyMs: number
  /** As the stream is now; undefined while there is nothing to announce. */
  describe(): Announced | undefined
  /** @returns whether it could be sent */
  send(bytes: Uint8Array): boolean
}

/** Changes that come together are announced together. */
const SETTLE_MS = 200

/**
 * Announces at once, then in its rhythm, and at once again where the description has changed: the version before is
 * taken back then, as RFC 2974 asks for, in front of the new one, since receivers know both by one session.
 * @source RFC 2974, 3 to 6
 */
export class SapAnnouncing {
  readonly #options: SapAnnouncingOptions
  #rhythm: Timer | undefined
  #settling: Timer | undefined
  #said: Announced | undefined
  /** Of what was said last. */
  #hash = 0
  #lastAt: number | null = null
  #count = 0

  constructor(options: SapAnnouncingOptions) {
    this.#options = options
  }

  start(): void {
    const { clock, everyMs } = this.#options
    this.#rhythm ??= clock.every(everyMs, () => this.#announce())
    this.#announce()
  }

  /** The description, or where it is sent, may be otherwise now. */
  changed(): void {
    if (!this.#rhythm) return
    this.#settling ??= this.#options.clock.after(SETTLE_MS, () => {
      this.#settling = undefined
      const now = this.#options.describe()
      if (now?.sdp !== this.#said?.sdp) this.#announce()
    })
  }

  /** Announces now, whether anything has changed or not: who listens may be others. */
  again(): void {
    if (this.#rhythm) this.#announce()
  }

  /** Takes back what was announced. */
  stop(): void {
    this.#rhythm?.cancel()
    this.#settling?.cancel()
    this.#rhythm = undefined
    this.#settling = undefined
    this.#takeBack()
  }

  /** @returns `lastAt` in epoch milliseconds, null before the first; `count` since the start */
  view(): { lastAt: number | null; count: number } {
    return { lastAt: this.#lastAt, count: this.#count }
  }

  #announce(): void {
    const now = this.#options.describe()
    if (now?.sdp !== this.#said?.sdp) this.#takeBack()
    if (!now) return
    if (!this.#said) this.#hash = otherThan(this.#hash, sapHash(now.sdp))
    if (!this.#options.send(this.#packetOf(now, false))) return
    this.#said = now
    this.#count++
    this.#lastAt = this.#options.clock.epochMs()
  }

  #takeBack(): void {
    if (this.#said) this.#options.send(this.#packetOf(this.#said, true))
    this.#said = undefined
  }

  #packetOf({ origin, sdp }: Announced, isDeletion: boolean): Uint8Array {
    return writeSap({ isDeletion, hash: this.#hash, origin, sdp })
  }
}

/** A new version must have another hash than the one before, and 16 bits may meet by chance. @source RFC 2974, 6 */
function otherThan(last: number, hash: number): number {
  return hash === last ? (hash % 0xffff) + 1 : hash
}
