/** The known name that an unknown one was probably meant to be. */

/** Names longer than this are not compared: the cost grows with the product of the lengths. */
const LONGEST_COMPARED = 64

/**
 * The known name with the least edit distance, where that is at most a third of the longer name (at least 1).
 * @returns undefined where no known name is near
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > LONGEST_COMPARED) return undefined
  let nearest: string | undefined
  let leastEdits = Number.POSITIVE_INFINITY
  for (const candidate of known) {
    if (candidate.length > LONGEST_COMPARED) continue
    const edits = editsBetween(name.toLowerCase(), candidate.toLowerCase())
    const mostEdits = Math.max(1, Math.floor(Math.max(name.length, candidate.length) / 3))
    if (edits > mostEdits || edits >= leastEdits) continue
    nearest = candidate
    leastEdits = edits
  }
  return nearest
}

/** Levenshtein distance, one row at a time. */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, replaced))
    }
    row = next
  }
  return row[to.length] ?? 0
}
