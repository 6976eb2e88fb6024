/** Pacing and fairness: back-off, one after another, log rate limiting, and eviction of the greediest. */
import type { Clock, Timer } from '../clock.ts'

// Back-off: waits between tries that grow up to a limit.

export interface BackoffLimits {
  /** Wait before the first retry, in milliseconds. */
  firstMs: number
  /** The longest wait, in milliseconds. */
  maxMs: number
}

/** A class: there may be one for each of ten thousand devices. */
export class Backoff {
  readonly #limits: BackoffLimits
  #nextMs: number

  constructor(limits: BackoffLimits) {
    this.#limits = limits
    this.#nextMs = limits.firstMs
  }

  /** Returns the wait before the next try, which doubles each time. */
  next(): number {
    const waitMs = this.#nextMs
    this.#nextMs = Math.min(this.#limits.maxMs, waitMs * 2)
    return waitMs
  }

  /** Called after a success. */
  reset(): void {
    this.#nextMs = this.#limits.firstMs
  }
}

// Eviction in a full store: the holder with the most entries loses one, so that a program that keeps asking pushes out
// nobody else.

/**
 * Makes room for one more entry: drops the first entry of the holder with the most (the oldest, if in that order),
 * until there are fewer than `most`.
 * @param holderOf the holder of an entry; compared like keys of a map
 */
export function dropGreediest<Key, Entry>(
  entries: Map<Key, Entry>,
  most: number,
  holderOf: (entry: Entry) => unknown,
): void {
  while (entries.size > 0 && entries.size >= most) dropOfGreediest(entries, holderOf)
}

function dropOfGreediest<Key, Entry>(entries: Map<Key, Entry>, holderOf: (entry: Entry) => unknown): void {
  const held = new Map<unknown, number>()
  for (const entry of entries.values()) held.set(holderOf(entry), (held.get(holderOf(entry)) ?? 0) + 1)
  const greediest = Math.max(...held.values())
  for (const [key, entry] of entries) if (held.get(holderOf(entry)) === greediest) return void entries.delete(key)
}

// Keeps one failing target from filling the log: the first event at once, then one line a period with a count.

/** Combines events that are too frequent to log each time. */
export interface LogGate {
  /** Logs at once, or counts for the line at the end of the period. `times` is how often it happened, at least 1. */
  note(facts: Record<string, unknown>, times?: number): void
  /** Logs what was counted but not logged yet. */
  close(): void
}

/** @param say writes the line; `count` is how many since the last line, `facts` those of the newest */
export function createLogGate(
  clock: Clock,
  periodMs: number,
  say: (count: number, facts: Record<string, unknown>) => void,
): LogGate {
  let timer: Timer | undefined
  let count = 0
  let newest: Record<string, unknown> = {}

  function open(): void {
    timer = undefined
    if (count === 0) return
    say(count, newest)
    count = 0
    timer = clock.after(periodMs, open)
  }

  return {
    note(facts, times = 1) {
      count += times
      newest = facts
      if (!timer) open()
    },
    close() {
      timer?.cancel()
      open()
      timer?.cancel()
      timer = undefined
    },
  }
}

/** Runs a change after earlier ones have settled, whether or not they failed. */
export type InTurn = <Result>(change: () => Promise<Result>) => Promise<Result>

export function createSerialTurn(): InTurn {
  let turn: Promise<unknown> = Promise.resolve()
  return (change) => {
    const mine = turn.then(change)
    turn = mine.catch(() => {})
    return mine
  }
}
