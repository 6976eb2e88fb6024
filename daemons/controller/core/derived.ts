/** What is worked out of the book's rows, and stands until a table it came of changes. */
import type { Book, Row } from './row.ts'

/**
 * Keeps what `build` made until one of the tables changes: control works out scopes 500 times a second, tables change
 * a few times a day.
 * @returns gives the value, built anew where a table it came of has changed
 */
export function derived<Value>(book: Book, tables: readonly string[], build: () => Value): () => Value {
  let kept: { value: Value; revisions: readonly number[] } | undefined
  return () => {
    const revisions = tables.map((table) => book.revision(table))
    if (!kept || revisions.some((revision, i) => revision !== kept?.revisions[i])) kept = { value: build(), revisions }
    return kept.value
  }
}

/** The zones of each device, by id ascending. @returns an empty list for a device without zones */
export function zonesByDevice(book: Book): (deviceId: number) => readonly Row[] {
  const index = derived(book, ['zone'], () => groupedBy(book.rows('zone'), 'device_id'))
  return (deviceId) => index().get(deviceId) ?? []
}

/** Rows by the number in a column that refers to another table; rows without one are left out. */
export function groupedBy(rows: readonly Row[], column: string): Map<number, Row[]> {
  const groups = new Map<number, Row[]>()
  for (const row of rows) {
    const id = row[column]
    if (typeof id !== 'number') continue
    const group = groups.get(id)
    if (group) group.push(row)
    else groups.set(id, [row])
  }
  return groups
}
