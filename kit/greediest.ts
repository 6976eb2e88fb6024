/** Who makes room in a store that is full: whoever holds most, so that one program that asks for ever puts out nobody else. */

/**
 * Leaves room for one entry more: drops of the holder with the most entries the first, which is the oldest where they
 * stand in that order, until there are fewer than `most`.
 * @param holderOf whose an entry is; compared as keys of a map are
 */
export function dropGreediest<Key, Entry>(
  entries: Map<Key, Entry>,
  most: number,
  holderOf: (entry: Entry) => unknown,
): void {
  while (entries.size > 0 && entries.size >= most) dropOfGreediest(entries, holderOf)
}

function dropOfGreediest<Key, Entry>(entries: Map<Key, Entry>, holderOf: (entry: Entry) => unknown): void {
  const held = new Map<unknown, number>()
  for (const entry of entries.values()) held.set(holderOf(entry), (held.get(holderOf(entry)) ?? 0) + 1)
  const greediest = Math.max(...held.values())
  for (const [key, entry] of entries) if (held.get(holderOf(entry)) === greediest) return void entries.delete(key)
}
