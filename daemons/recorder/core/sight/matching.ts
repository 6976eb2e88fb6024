/** Which of two sets belong together: the pairs with the greatest sum of likeness. */

/**
 * @param likeness of each row with each column, 0 to 1; 0 or less: the two are no pair
 * @returns pairs of row and column
 * @source the Hungarian method with potentials, one row after the other
 */
export function matchPairs(likeness: readonly (readonly number[])[]): [row: number, column: number][] {
  const rows = likeness.length
  const columns = likeness[0]?.length ?? 0
  if (rows === 0 || columns === 0) return []
  const size = Math.max(rows, columns)
  const cost = (row: number, column: number) => 1 - Math.max(0, likeness[row - 1]?.[column - 1] ?? 0)
  const [rowPart, columnPart] = [new Float64Array(size + 1), new Float64Array(size + 1)]
  const rowOf = new Int32Array(size + 1)
  for (let row = 1; row <= size; row++) placeRow(row, { size, cost, rowPart, columnPart, rowOf })
  const pairs: [number, number][] = []
  for (let column = 1; column <= columns; column++) {
    const row = (rowOf[column] ?? 0) - 1
    if ((likeness[row]?.[column - 1] ?? 0) > 0) pairs.push([row, column - 1])
  }
  return pairs
}

interface Assignment {
  size: number
  cost(row: number, column: number): number
  rowPart: Float64Array
  columnPart: Float64Array
  /** Row of each column; 0: none yet. */
  rowOf: Int32Array
}

/** Finds the cheapest chain of changes by which one row more has a column. */
function placeRow(row: number, { columnPart, cost, rowOf, rowPart, size }: Assignment): void {
  const least = new Float64Array(size + 1).fill(Number.POSITIVE_INFINITY)
  const before = new Int32Array(size + 1)
  const isDone = new Uint8Array(size + 1)
  rowOf[0] = row
  let column = 0
  do {
    isDone[column] = 1
    const own = rowOf[column] ?? 0
    let step = Number.POSITIVE_INFINITY
    let next = 0
    for (let other = 1; other <= size; other++) {
      if (isDone[other]) continue
      const reduced = cost(own, other) - (rowPart[own] ?? 0) - (columnPart[other] ?? 0)
      if (reduced < (least[other] ?? 0)) {
        least[other] = reduced
        before[other] = column
      }
      if ((least[other] ?? 0) < step) {
        step = least[other] ?? 0
        next = other
      }
    }
    for (let other = 0; other <= size; other++) {
      if (isDone[other]) {
        const its = rowOf[other] ?? 0
        rowPart[its] = (rowPart[its] ?? 0) + step
        columnPart[other] = (columnPart[other] ?? 0) - step
      } else least[other] = (least[other] ?? 0) - step
    }
    column = next
  } while (rowOf[column] !== 0)
  while (column !== 0) {
    const previous = before[column] ?? 0
    rowOf[column] = rowOf[previous] ?? 0
    column = previous
  }
}
