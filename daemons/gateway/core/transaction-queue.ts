/** Requests that wait for one line: bounded, in order of arrival, each for a bounded time. */
import type { Clock, Timer } from '#kit/clock.ts'

export interface TransactionQueueParts<Item> {
  clock: Clock
  /** Most that wait at once. */
  limit: number
  /** How long one may wait. */
  waitMs: number
  /** One waited too long; it has left the queue. */
  onExpired(item: Item, waitedMs: number): void
}

export interface TransactionQueue<Item> {
  readonly size: number
  /** @returns false where the queue is full */
  push(item: Item): boolean
  /** Whether one waits that may go. */
  has(mayGo: (item: Item) => boolean): boolean
  /** Takes the first that may go; those before it keep their place. */
  take(mayGo: (item: Item) => boolean): Item | undefined
  /** Empties the queue. */
  clear(): Item[]
}

interface Waiting<Item> {
  item: Item
  timer: Timer
}

export function createTransactionQueue<Item>(parts: TransactionQueueParts<Item>): TransactionQueue<Item> {
  const { clock, limit, waitMs } = parts
  let waiting: Waiting<Item>[] = []

  function remove(entry: Waiting<Item>): void {
    entry.timer.cancel()
    waiting = waiting.filter((other) => other !== entry)
  }

  return {
    get size() {
      return waiting.length
    },
    push(item) {
      if (waiting.length >= limit) return false
      const sinceMs = clock.monotonicMs()
      const timer = clock.after(waitMs, () => {
        remove(entry)
        parts.onExpired(item, clock.monotonicMs() - sinceMs)
      })
      const entry = { item, timer }
      waiting.push(entry)
      return true
    },
    has: (mayGo) => waiting.some(({ item }) => mayGo(item)),
    take(mayGo) {
      const entry = waiting.find(({ item }) => mayGo(item))
      if (entry) remove(entry)
      return entry?.item
    },
    clear() {
      const items = waiting.map(({ item }) => item)
      for (const entry of waiting) entry.timer.cancel()
      waiting = []
      return items
    },
  }
}
