/** Our own answers, heard again on a line whose transceiver listens while it sends: taken off before anything else. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { LocalEcho } from '../wire/modbus-cut.ts'

export interface OwnEchoParts {
  clock: Clock
  /** `auto`: learned from the first answers. */
  localEcho: 'auto' | 'present' | 'absent'
  /** How long after an answer its echo may come, or pause, ms. */
  limitMs: number
  onEcho(frame: Uint8Array, atUs: number): void
  /** What is no echo. */
  onBytes(bytes: Uint8Array, atUs: number): void
}

/**
 * A line is `unknown` when opened. An echo that equals no request makes it `present`, and so it stays; an answer
 * followed by nothing, or by a request before any echo, makes it `absent`. While it is unknown a copy of an answer that
 * equals its request (functions 5, 6, 22) is taken for an echo: to answer our own echo would never end.
 */
export class OwnEcho {
  readonly #parts: OwnEchoParts
  #echo: LocalEcho = 'unknown'
  /** The answer that went out, and how much of it was heard. */
  #awaited: { frame: Uint8Array; isTwin: boolean; heardBytes: number; atUs: number } | undefined
  #limit: Timer | undefined
  #isAnythingHeard = false
  /** An answer went out, and neither its echo nor anything else was heard since. */
  #isUnechoed = false

  constructor(parts: OwnEchoParts) {
    this.#parts = parts
    this.reset()
  }

  /** The line was opened, perhaps with another adapter behind the same name. */
  reset(): void {
    const { localEcho } = this.#parts
    this.#limit?.cancel()
    this.#awaited = undefined
    this.#isUnechoed = false
    this.#echo = localEcho === 'auto' ? 'unknown' : localEcho
  }

  /**
   * An answer goes out.
   * @param onWireMs how long its bytes take
   * @param isTwin it equals the request
   */
  expect(frame: Uint8Array, onWireMs: number, isTwin: boolean): void {
    if (this.#echo === 'absent') return
    this.#release()
    this.#awaited = { frame, isTwin, heardBytes: 0, atUs: 0 }
    this.#isAnythingHeard = false
    this.#isUnechoed = true
    this.#limit = this.#parts.clock.after(onWireMs + this.#parts.limitMs, () => this.#over())
  }

  /** Something was heard that is no echo. Where it is a request, and the first thing, no echo is to come before it. */
  heard(isRequest: boolean): void {
    if (isRequest && this.#isUnechoed) this.#learn('absent')
    this.#isUnechoed = false
  }

  feed(bytes: Uint8Array, atUs: number): void {
    this.#isAnythingHeard = true
    const awaited = this.#awaited
    if (!awaited) {
      this.#parts.onBytes(bytes, atUs)
      return
    }
    const rest = awaited.frame.subarray(awaited.heardBytes)
    const same = Math.min(rest.length, bytes.length)
    if (!bytes.subarray(0, same).every((byte, at) => byte === rest[at])) {
      this.#release()
      this.#parts.onBytes(bytes, atUs)
      return
    }
    awaited.heardBytes += same
    awaited.atUs = atUs
    if (same < rest.length) return
    this.#end()
    this.#isUnechoed = false
    if (!awaited.isTwin) this.#learn('present')
    this.#parts.onEcho(awaited.frame, atUs)
    if (bytes.length > same) this.#parts.onBytes(bytes.subarray(same), atUs)
  }

  /** What was held as the beginning of an echo was none. */
  #release(): void {
    const awaited = this.#awaited
    this.#end()
    if (awaited && awaited.heardBytes > 0) this.#parts.onBytes(awaited.frame.slice(0, awaited.heardBytes), awaited.atUs)
  }

  #over(): void {
    if (!this.#isAnythingHeard) this.#learn('absent')
    this.#release()
  }

  #end(): void {
    this.#limit?.cancel()
    this.#awaited = undefined
  }

  #learn(echo: 'present' | 'absent'): void {
    if (this.#parts.localEcho === 'auto' && this.#echo !== 'present') this.#echo = echo
  }
}
