/** How far the heap may grow before V8 collects all of it, once the daemon has started. */
import { setFlagsFromString } from 'node:v8'

/**
 * V8 lets a heap grow to more than twice what lives in it where there is memory: a building that reports thousands of
 * values a second then takes a hundred MB of garbage. The start is better off without a bound, since all that it makes
 * lives on. V8 reads this flag at each full collection, and nowhere else (docs/decisions/idle-memory-and-speed.md).
 * @param percent of what lived after the collection before
 */
export function boundHeapGrowth(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`)
}
