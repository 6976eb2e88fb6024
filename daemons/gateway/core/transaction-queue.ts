/** Requests that wait for one line: bounded, by priority, in order of arrival, each for a bounded time. */
import type { Clock, Timer } from '#kit/clock.ts'

export interface TransactionQueueParts<Priority extends string, Item> {
  clock: Clock
  /** How many may wait in all, at most, with one more of a priority. The keys in their order are the order of turns. */
  limits: Readonly<Record<Priority, number>>
  /** How many of a priority find a place though more than its limit wait; left out: none. */
  own?: Readonly<Record<Priority, number>>
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
  /**
   * @param waitMs how long it may wait
   * @param leaving places it leaves free beyond its limit, where others of its priority need them
   * @returns false where there is no room for it
   */
  push(item: Item, priority: Priority, waitMs: number, leaving?: number): boolean
  /** Those of one priority in order of arrival. What is taken while one looks is not shown again. */
  lane(priority: Priority): Iterable<Waiting<Priority, Item>>
  isWaiting(waiting: Waiting<Priority, Item>): boolean
  /** It has its turn, or is wanted no more. */
  take(waiting: Waiting<Priority, Item>): Item
  /** Empties the queue. @returns what waited, in the order of turns */
  clear(): Item[]
}

export function createTransactionQueue<Priority extends string, Item>(
  parts: TransactionQueueParts<Priority, Item>,
): TransactionQueue<Priority, Item> {
  type Entry = Waiting<Priority, Item>
  const { clock, limits, own } = parts
  const lanes = new Map((Object.keys(limits) as Priority[]).map((priority) => [priority, new Map<Entry, Timer>()]))
  const laneOf = (priority: Priority) => lanes.get(priority) as Map<Entry, Timer>
  let size = 0

  function isFull(priority: Priority, leaving: number): boolean {
    const most = Math.max(1, limits[priority] - leaving)
    return size >= most && (leaving > 0 || laneOf(priority).size >= (own?.[priority] ?? 0))
  }

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
    push(item, priority, waitMs, leaving = 0) {
      if (isFull(priority, leaving)) return false
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
    isWaiting: (waiting) => laneOf(waiting.priority).has(waiting),
    take,
    clear() {
      const entries = [...lanes.values()].flatMap((lane) => [...lane.keys()])
      return entries.map(take)
    },
  }
}
