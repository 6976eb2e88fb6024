/** Keeps of the rows that match those that the answer shows: their number, a page of them, or the first in an order. */
import type { OrderBy, Query } from '../../wire/query/query.ts'
import { cellOf, compareCells } from './compare.ts'
import type { View } from './views.ts'

/** Rows that may wait beyond those that are wanted before the last are let go. */
const SPARE = 1000

/** Takes matching rows, in the order in which they are found. */
export interface Collector {
  /** @returns whether a further row could change the answer */
  take(view: View): boolean
  count(): number
  views(): readonly View[]
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
  return { take, count: () => count, views: () => [] }
}

function createPage({ limit, offset }: Query): Collector {
  const kept: View[] = []
  let skipped = 0
  function take(view: View): boolean {
    if (skipped < offset) skipped++
    else kept.push(view)
    return kept.length < limit
  }
  return { take, count: () => kept.length, views: () => kept }
}

function createRanking({ order, limit, offset }: Query): Collector {
  const compare = comparisonOf(order)
  const most = offset + limit
  const kept: View[] = []
  function rank(): void {
    kept.sort(compare)
    if (kept.length > most) kept.length = most
  }
  function take(view: View): boolean {
    kept.push(view)
    if (kept.length >= 2 * most + SPARE) rank()
    return true
  }
  function views(): View[] {
    rank()
    return kept.slice(offset)
  }
  return { take, count: () => kept.length, views }
}

/** By each column in turn, and by id where all are equal. */
function comparisonOf(order: readonly OrderBy[]): (one: View, other: View) => number {
  return (one, other) => {
    for (const { column, isDescending } of order) {
      const found = compareCells(cellOf(one.cells[column]), cellOf(other.cells[column]))
      if (found !== 0) return isDescending ? -found : found
    }
    return one.row.id - other.row.id
  }
}
