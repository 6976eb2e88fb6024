/** Limits on devices, for each and in all: the bytes buffered for them, and the bytes read from them per second. */
import type { Clock } from '#kit/clock.ts'

// Buffered bytes: partial frames, messages and answers in transit.

/** Anything that buffers bytes of a device. */
export interface Keeper {
  /** @param reason why it must give them up */
  give(reason: string): void
}

/** Counts the buffered bytes of all devices. When they exceed the limit, the keeper with most gives up. */
export class KeptBytes {
  readonly #most: number
  readonly #of = new Map<Keeper, number>()
  #total = 0

  constructor(most: number) {
    this.#most = most
  }

  get total(): number {
    return this.#total
  }

  /** @param bytes how many it buffers now; 0 removes it */
  set(keeper: Keeper, bytes: number): void {
    this.#total += bytes - (this.#of.get(keeper) ?? 0)
    if (bytes === 0) this.#of.delete(keeper)
    else this.#of.set(keeper, bytes)
    while (this.#total > this.#most) {
      const [greediest] = [...this.#of].reduce((most, one) => (one[1] > most[1] ? one : most))
      this.set(greediest, 0)
      greediest.give(`it kept most of the ${this.#most} bytes that all devices may together (drivers.kept_bytes)`)
    }
  }
}

// Bytes read per second.

/** A leaky bucket: what was read, minus what has been allowed since. */
class Debt {
  readonly #perS: number
  #bytes = 0
  #atMs = 0

  constructor(perS: number) {
    this.#perS = perS
  }

  add(bytes: number, nowMs: number): void {
    this.#bytes = this.at(nowMs) + bytes
    this.#atMs = nowMs
  }

  at(nowMs: number): number {
    return Math.max(0, this.#bytes - (this.#perS * (nowMs - this.#atMs)) / 1000)
  }
}

/** A frame costs as much as this many bytes: a device that sends only line ends is a flood too. */
const FRAME_COST = 64

/** Shortest pause after a device has sent too much. */
const SHORTEST_PAUSE_MS = 10

export interface HeardLimits {
  /** Bytes per second that are read from one device. */
  heardBytes: number
  /** The same for all together; beyond it, devices above their equal share wait. */
  heardInAll: number
}

/** How much may be read from each device. One second's worth may come in a burst. */
export class HeardBudget {
  readonly #clock: Clock
  readonly #limits: HeardLimits
  readonly #all: Debt
  readonly #of = new Map<object, Debt>()

  constructor(clock: Clock, limits: HeardLimits) {
    this.#clock = clock
    this.#limits = limits
    this.#all = new Debt(limits.heardInAll)
  }

  join(device: object): void {
    this.#of.set(device, new Debt(this.#limits.heardBytes))
  }

  leave(device: object): void {
    this.#of.delete(device)
  }

  spend(device: object, bytes: number, frames: number): void {
    const cost = bytes + frames * FRAME_COST
    const nowMs = this.#clock.monotonicMs()
    this.#all.add(cost, nowMs)
    this.#of.get(device)?.add(cost, nowMs)
  }

  /** How long reading from it must pause; 0 if it need not. */
  pauseMs(device: object): number {
    const { heardBytes, heardInAll } = this.#limits
    const nowMs = this.#clock.monotonicMs()
    const own = this.#of.get(device)?.at(nowMs) ?? 0
    const overMs = ((own - heardBytes) / heardBytes) * 1000
    if (overMs > 0) return Math.max(SHORTEST_PAUSE_MS, overMs)
    const isOverShare = this.#all.at(nowMs) > heardInAll && own > heardInAll / this.#of.size
    return isOverShare ? SHORTEST_PAUSE_MS : 0
  }
}
