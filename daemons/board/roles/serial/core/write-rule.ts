/** Who of several clients may write to a line. */
import type { Clock, Timer } from '#kit/clock.ts'

/**
 * - `all` everybody
 * - `first` who has been connected longest; when it leaves, the next
 * - `exclusive` who writes first, until it leaves or has written nothing for a while
 */
export type WriteMode = 'all' | 'first' | 'exclusive'

export const writeModes: readonly WriteMode[] = ['all', 'first', 'exclusive']

export interface WriteRuleParts {
  clock: Clock
  /** How long the holder of an `exclusive` line may write nothing before others may; 0: until it leaves. */
  idleMs: number
  /** Somebody else may write than before. */
  onChange(): void
}

/** The right to write, among clients of any kind that are compared by identity. */
export class WriteRule<One> {
  readonly #parts: WriteRuleParts
  /** In the order in which they came. */
  readonly #clients: One[] = []
  #mode: WriteMode
  #holder: One | undefined
  #timer: Timer | undefined
  #lastWriteMs = 0

  constructor(mode: WriteMode, parts: WriteRuleParts) {
    this.#mode = mode
    this.#parts = parts
  }

  setMode(mode: WriteMode): void {
    this.#mode = mode
    this.#release()
    this.#parts.onChange()
  }

  came(client: One): void {
    this.#clients.push(client)
    this.#parts.onChange()
  }

  left(client: One): void {
    const at = this.#clients.indexOf(client)
    if (at >= 0) this.#clients.splice(at, 1)
    if (this.#holder === client) this.#release()
    this.#parts.onChange()
  }

  /** Whether it may write now, or could take the right. */
  mayWrite(client: One): boolean {
    if (this.#mode === 'all') return true
    if (this.#mode === 'first') return this.#clients[0] === client
    return this.#holder === undefined || this.#holder === client
  }

  /** Whether it may write without being asked each time. */
  mayPass(client: One): boolean {
    return this.mayWrite(client) && (this.#mode !== 'exclusive' || this.#holder === client)
  }

  /** It writes. @returns whether it may */
  write(client: One): boolean {
    if (!this.mayWrite(client)) return false
    if (this.#mode === 'exclusive') this.#hold(client)
    return true
  }

  close(): void {
    this.#timer?.cancel()
  }

  #hold(client: One): void {
    const { clock, idleMs, onChange } = this.#parts
    this.#lastWriteMs = clock.monotonicMs()
    if (this.#holder === client) return
    this.#holder = client
    if (idleMs > 0) this.#await(idleMs)
    onChange()
  }

  /** One timer, however much is written. */
  #await(delayMs: number): void {
    const { clock, idleMs, onChange } = this.#parts
    this.#timer = clock.after(delayMs, () => {
      const leftMs = idleMs - (clock.monotonicMs() - this.#lastWriteMs)
      if (leftMs > 0) return this.#await(leftMs)
      this.#release()
      onChange()
    })
  }

  #release(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#holder = undefined
  }
}
