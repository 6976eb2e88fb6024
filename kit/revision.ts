/** Revisions: a short hash of a value, the same for equal values, whoever saved them and when. */
import { hash } from 'node:crypto'

/** Hex digits: enough to tell two edits of one record apart. */
const LENGTH = 14

/**
 * The first digits of the SHA-256 of its JSON.
 * @param value plain JSON; the order of its keys does not matter, since a file may have them in another order
 */
export function revisionOf(value: unknown): string {
  return hash('sha256', sortedJson(value) ?? '', 'hex').slice(0, LENGTH)
}

/** The one JSON text of a value: keys sorted, no blanks; undefined for what is no JSON. */
export function sortedJson(value: unknown): string | undefined {
  return JSON.stringify(value, inOrder)
}

function inOrder(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
