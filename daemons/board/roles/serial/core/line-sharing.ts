/** Several clients on one line: the right to write, and what to do about slow clients. */
import type { Clock, Timer } from '#kit/clock.ts'

// The right to write.

/**
 * - `all` everybody
 * - `first` the client connected longest; when it leaves, the next
 * - `exclusive` the first to write, until it leaves or has written nothing for a while
 */
export type WriteMode = 'all' | 'first' | 'exclusive'

export const writeModes: readonly WriteMode[] = ['all', 'first', 'exclusive']

interface WriteRuleParts {
  clock: Clock
  /** How long the holder of an `exclusive` line may be silent before others may write; 0: until it leaves. */
  idleMs: number
  /** The right to write has changed. */
  onChange(): void
}

/** The right to write, among clients of any kind, compared by identity. */
export class WriteRule<One> {
  readonly #parts: WriteRuleParts
  /** In order of arrival. */
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

  /** Whether it may write without asking each time. */
  mayPass(client: One): boolean {
    return this.mayWrite(client) && (this.#mode !== 'exclusive' || this.#holder === client)
  }

  /** Call when it writes. @returns whether it may */
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

  /** A single timer, however much is written. */
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

// Slow clients: whether the line waits for them or they are dropped.

interface SlowClientsParts<One> {
  clock: Clock
  /** How long the line waits if every client is behind. */
  limitMs: number
  count(): number
  /** Whether to pause reading from the line. */
  onWait(isWaiting: boolean): void
  drop(client: One): void
}

/**
 * The line waits for nobody as long as one client keeps up: those behind are dropped. If all are behind, such as an
 * only client, waiting harms nobody and flow control stops the device; after the limit they are dropped anyway.
 */
export class SlowClients<One> {
  readonly #parts: SlowClientsParts<One>
  readonly #behind = new Set<One>()
  #timer: Timer | undefined

  constructor(parts: SlowClientsParts<One>) {
    this.#parts = parts
  }

  /** Whether reading from the line is paused. */
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

  /** Call when clients came or went. */
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
