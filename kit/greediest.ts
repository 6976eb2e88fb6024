/** Who makes room in a store that is full: whoever holds most, so that one program that asks for ever puts out nobody else. */

/**
 * The first entry, which is the oldest where they stand in that order, of the holder with the most entries.
 * @param holderOf whose an entry is; compared as keys of a map are
 * @returns its key; undefined for a store without entries
 */
export function firstOfGreediest<Key, Entry>(
  entries: ReadonlyMap<Key, Entry>,
  holderOf: (entry: Entry) => unknown,
): Key | undefined {
  const held = new Map<unknown, number>()
  for (const entry of entries.values()) held.set(holderOf(entry), (held.get(holderOf(entry)) ?? 0) + 1)
  const most = Math.max(...held.values())
  for (const [key, entry] of entries) if (held.get(holderOf(entry)) === most) return key
  return undefined
}
