/** Requests that wait for one line: bounded, by priority, in order of arrival, each for a bounded time. */
import type { Clock, Timer } from '#kit/clock.ts'

export interface TransactionQueueParts<Priority extends string, Item> {
  clock: Clock
  /** How many may wait in all, at most, with one more of a priority. The keys in their order are the order of turns. */
  limits: Readonly<Record<Priority, number>>
  /** One waited too long; it has left the queue. */
  onExpired(item: Item, waitedMs: number): void
}

/** One that waits. */
export interface Waiting<Priority, Item> {
  readonly item: Item
  readonly priority: Priority
  /** Since when, by the monotonic clock. */
  readonly sinceMs: number
}

export interface TransactionQueue<Priority extends string, Item> {
  readonly size: number
  /** @param waitMs how long it may wait. @returns false where there is no room for one of its priority */
  push(item: Item, priority: Priority, waitMs: number): boolean
  /** Those of one priority in order of arrival. What is taken while one looks is not shown again. */
  lane(priority: Priority): Iterable<Waiting<Priority, Item>>
  /** It has its turn, or is wanted no more. */
  take(waiting: Waiting<Priority, Item>): Item
  /** Empties the queue. @returns what waited, in the order of turns */
  clear(): Item[]
}

export function createTransactionQueue<Priority extends string, Item>(
  parts: TransactionQueueParts<Priority, Item>,
): TransactionQueue<Priority, Item> {
  type Entry = Waiting<Priority, Item>
  const { clock, limits } = parts
  const lanes = new Map((Object.keys(limits) as Priority[]).map((priority) => [priority, new Map<Entry, Timer>()]))
  const laneOf = (priority: Priority) => lanes.get(priority) as Map<Entry, Timer>
  let size = 0

  function take(entry: Entry): Item {
    const lane = laneOf(entry.priority)
    lane.get(entry)?.cancel()
    if (lane.delete(entry)) size--
    return entry.item
  }

  return {
    get size() {
      return size
    },
    push(item, priority, waitMs) {
      if (size >= limits[priority]) return false
      const entry: Entry = { item, priority, sinceMs: clock.monotonicMs() }
      const timer = clock.after(waitMs, () => {
        take(entry)
        parts.onExpired(item, clock.monotonicMs() - entry.sinceMs)
      })
      laneOf(priority).set(entry, timer)
      size++
      return true
    },
    lane: (priority) => laneOf(priority).keys(),
    take,
    clear() {
      const entries = [...lanes.values()].flatMap((lane) => [...lane.keys()])
      return entries.map(take)
    },
  }
}
