/** Keeps of the rows that match those that the answer shows: their number, a page of them, or the first in an order. */
import type { OrderBy, Query } from '../../wire/query/query.ts'
import { type Cell, cellOf, compareCells } from './compare.ts'
import type { Steps } from './data-turns.ts'
import { type Compare, raise, sink } from './heap.ts'
import type { View } from './views.ts'

/** Rows that are taken out of an order before others may have their turn. */
const ROWS_A_STEP = 64

/** Takes matching rows, in the order in which they are found. */
export interface Collector {
  /** @returns whether a further row could change the answer */
  take(view: View): boolean
  count(): number
  /** Rows that it holds. */
  kept(): number
  /** In the order that was asked for; once. */
  views(): Steps<readonly View[]>
}

/** @param isInOrder rows are found in the order that was asked for */
export function createCollector(query: Query, isInOrder: boolean): Collector {
  if (query.count !== false) return createCounter(query.count)
  return isInOrder ? createPage(query) : createRanking(query)
}

/** @param what true: rows; a column: those that have a value there */
function createCounter(what: true | string): Collector {
  let count = 0
  const take = ({ cells }: View) => {
    if (what === true || cellOf(cells[what]) !== null) count++
    return true
  }
  return { take, count: () => count, kept: () => 0, views: () => only([]) }
}

function createPage({ limit, offset }: Query): Collector {
  const kept: View[] = []
  let skipped = 0
  function take(view: View): boolean {
    if (skipped < offset) skipped++
    else kept.push(view)
    return kept.length < limit
  }
  return { take, count: () => kept.length, kept: () => kept.length, views: () => only(kept) }
}

function* only(views: readonly View[]): Steps<readonly View[]> {
  yield
  return views
}

/** A row with the values that it is put in order by, made once: JSON would be written anew for each comparison. */
interface Ranked {
  readonly view: View
  readonly keys: readonly Cell[]
}

/**
 * The first rows of an order, in a heap with the last of them on top: each row that comes is a few comparisons, where
 * sorting fifty thousand at once would hold up everything else for as long.
 */
function createRanking({ order, limit, offset }: Query): Collector {
  const compare = comparisonOf(order)
  const most = offset + limit
  const heap: Ranked[] = []
  function take(view: View): boolean {
    const ranked = { view, keys: order.map(({ column }) => cellOf(view.cells[column])) }
    const last = heap[0]
    if (heap.length < most) raise(heap, ranked, compare)
    else if (last && compare(ranked, last) < 0) sink(heap, ranked, compare)
    return true
  }
  /** Takes the last one from the top again and again. */
  function* views(): Steps<readonly View[]> {
    const found: View[] = []
    while (heap.length > offset) {
      const [last] = heap
      const moved = heap.pop()
      if (last === undefined || moved === undefined) break
      if (heap.length > 0) sink(heap, moved, compare)
      found.push(last.view)
      if (found.length % ROWS_A_STEP === 0) yield
    }
    return found.reverse()
  }
  return { take, count: () => heap.length, kept: () => heap.length, views }
}

/** By each column in turn, and by id where all are equal. */
function comparisonOf(order: readonly OrderBy[]): Compare<Ranked> {
  return (one, other) => {
    for (const [at, { isDescending }] of order.entries()) {
      const found = compareCells(one.keys[at] ?? null, other.keys[at] ?? null)
      if (found !== 0) return isDescending ? -found : found
    }
    return one.view.row.id - other.view.row.id
  }
}
