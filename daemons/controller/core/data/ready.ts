/** Rows that were written as JSON and stand ready for the next who asks. */

/** What can be let go of: it is written again when somebody asks. */
export interface Writable {
  json: unknown
}

export interface Ready {
  /** @param item its `json` was just written */
  keep(item: Writable, bytes: number): void
}

/** Of an item beside its JSON: its place here, and where its texts end. @source measured: 60 to 100 bytes */
const ITEM_BYTES = 128

/**
 * Where more would be kept than may be, all that is kept is let go of: whose turn it is to go need not be known for each,
 * and a house that fits never comes to it.
 * @param mostBytes of all items
 */
export function createReady(mostBytes: number): Ready {
  const items = new Set<Writable>()
  let held = 0
  return {
    keep(item, bytes) {
      items.add(item)
      held += bytes + ITEM_BYTES
      if (held <= mostBytes) return
      for (const each of items) each.json = undefined
      items.clear()
      held = 0
    },
  }
}
