/** A short name for what a value says: two that say the same have the same, whoever saved them and when. */

/**
 * 53 bits of JSON, by cyrb53: enough to tell two edits of one record apart, and no secret's keeper.
 * @param value plain JSON; the order of its keys does not matter, since a file may give them in another
 * @returns 14 hex digits
 */
export function revisionOf(value: unknown): string {
  const text = JSON.stringify(value, inOrder) ?? ''
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    high = Math.imul(high ^ code, 2654435761)
    low = Math.imul(low ^ code, 1597334677)
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909)
  return (4294967296 * (2097151 & low) + (high >>> 0)).toString(16).padStart(14, '0')
}

function inOrder(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
