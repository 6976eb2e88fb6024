/** What waits until a line has been silent for long enough, to the microsecond: a read of the driver, or a send. */
import type { NativePort } from './addon.ts'

interface SilenceParts {
  native: NativePort
  isOpen(): boolean
  /** Whether the driver could take bytes now, with none waiting before them. */
  isClear(): boolean
  tellPassed(): void
}

/** What comes of a wait. */
export interface SilenceEnd {
  /** Nothing was sent. The driver was read just before. */
  run(): void
  /** The bytes went out; the driver took the first `taken`. The rest must be written before this returns. */
  onSent(taken: number): void
}

type Awaited = Pick<SilenceEnd, 'run'> & Partial<SilenceEnd>

/** A wait takes the place of the last one. Nothing runs once the port is closed or lost. */
export class Silence {
  readonly #parts: SilenceParts
  #awaited: Awaited | undefined

  constructor(parts: SilenceParts) {
    this.#parts = parts
  }

  /**
   * After that time, to the microsecond, reads what the driver has, passes it to the listener, and then calls `run`, but
   * never in the same turn.
   */
  readAfter(delayMs: number, run: () => void): { cancel(): void } {
    const wait = this.#begin({ run })
    if (delayMs > 0 && this.#parts.isOpen()) this.#parts.native.wakeIn(Math.ceil(delayMs * 1000))
    else setImmediate(() => this.#readFor(wait))
    return { cancel: () => this.#cancel(wait) }
  }

  /**
   * Sends after that time, with no turn of JavaScript in between; in this turn where there is no time to wait. If bytes
   * come before that, or others write, it ends as `readAfter` does.
   */
  sendAfter(delayMs: number, bytes: Uint8Array, { onSent, run }: SilenceEnd): { cancel(): void } {
    const { native, isClear } = this.#parts
    if (!isClear()) return this.readAfter(delayMs, run)
    if (delayMs > 0) {
      const wait = this.#begin({ run, onSent })
      native.sendIn(Math.ceil(delayMs * 1000), bytes)
      return { cancel: () => this.#cancel(wait) }
    }
    const taken = native.sendIfQuiet(bytes)
    if (taken < 0) return this.readAfter(0, run)
    this.#awaited = undefined
    onSent(taken)
    return { cancel: () => undefined }
  }

  /** The addon says that the time is over. */
  awake(): void {
    this.#readFor(this.#awaited)
  }

  /** The addon says that it has sent. */
  sent(taken: number): void {
    const wait = this.#awaited
    this.#awaited = undefined
    wait?.onSent?.(taken)
  }

  #begin(wait: Awaited): Awaited {
    if (this.#awaited) this.#cancel(this.#awaited)
    this.#awaited = wait
    return wait
  }

  #cancel(wait: Awaited): void {
    if (this.#awaited !== wait) return
    this.#awaited = undefined
    if (wait.onSent && this.#parts.isOpen()) this.#parts.native.dropSend()
  }

  #readFor(wait: Awaited | undefined): void {
    if (wait === undefined || this.#awaited !== wait || !this.#parts.isOpen()) return
    this.#parts.native.readNow()
    this.#parts.tellPassed()
    // What was read may have ended the wait.
    if (this.#awaited !== wait) return
    this.#awaited = undefined
    wait.run()
  }
}
