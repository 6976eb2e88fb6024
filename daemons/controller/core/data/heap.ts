/** A heap in an array: what compares last stands on top, and each change is a few comparisons. */

/** Less than 0 where `one` comes first. */
export type Compare<Item> = (one: Item, other: Item) => number

/** Adds one at the bottom of a heap and lets it rise to its place. */
export function raise<Item>(heap: Item[], item: Item, compare: Compare<Item>): void {
  let at = heap.length
  heap.push(item)
  while (at > 0) {
    const above = (at - 1) >> 1
    const other = heap[above] as Item
    if (compare(item, other) <= 0) break
    heap[at] = other
    at = above
  }
  heap[at] = item
}

/** Puts one in place of the top of a heap and lets it sink to its place. */
export function sink<Item>(heap: Item[], item: Item, compare: Compare<Item>): void {
  let at = 0
  for (;;) {
    const left = 2 * at + 1
    if (left >= heap.length) break
    const right = left + 1
    const below = right < heap.length && compare(heap[right] as Item, heap[left] as Item) > 0 ? right : left
    const other = heap[below] as Item
    if (compare(other, item) <= 0) break
    heap[at] = other
    at = below
  }
  heap[at] = item
}
