/** Several clients on one line: who may write to it, who waits for whom, and who is dropped. */
import type { Clock, Timer } from '#kit/clock.ts'

// Who may write.

/**
 * - `all` everybody
 * - `first` who has been connected longest; when it leaves, the next
 * - `exclusive` who writes first, until it leaves or has written nothing for a while
 */
export type WriteMode = 'all' | 'first' | 'exclusive'

export const writeModes: readonly WriteMode[] = ['all', 'first', 'exclusive']

interface WriteRuleParts {
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

// Clients that take less than the line sends: who waits for whom, and who is dropped.

interface SlowClientsParts<One> {
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
