/** The entries of a journal in memory: numbered, bounded, looked through from the newest on. */

/** What is recorded. Never a secret: a password that was changed is told, not shown. */
export interface JournalNote {
  /** User name, key name, or `plantroom` for the command line. */
  who: string
  /** Address of the peer, or `console`. */
  from: string
  /** What was done, in a word or two: `port changed`, `bytes sent`. */
  what: string
  /** What it was done to. */
  target?: string
  /** Further facts, plain JSON; shortened beyond 2 kB. */
  detail?: unknown
  /** Somebody was turned away. Strangers cause these: they have a bound of their own. */
  isRefusal?: true
}

/** A note with its number and its time. */
export interface JournalEntry extends JournalNote {
  /** Grows by each entry, over restarts too: tells apart what happened in the same millisecond. */
  seq: number
  /** Epoch ms. */
  at: number
}

/** What is looked for. */
export interface JournalQuery {
  /** Entries at most. */
  limit: number
  /** Only entries with a smaller number: the last one of the page before. */
  before?: number
  /** Part of the name of who did it, whatever its case. */
  who?: string
  /** Part of what was done, whatever its case. */
  what?: string
}

/** Holds entries in the order of their numbers. */
export interface JournalList {
  /** Takes the entry with the next number; the oldest makes room. */
  add(entry: JournalEntry): void
  /** Newest first. */
  find(query: JournalQuery): JournalEntry[]
  /** Entries with a greater number, oldest first. */
  after(seq: number): JournalEntry[]
  /** A copy, oldest first. */
  all(): JournalEntry[]
  /** The greatest number so far, 0 for none. */
  lastSeq(): number
}

/**
 * Of the `maxEntries`, `maxRefusals` at most are refusals: who has himself turned away again and again pushes out what
 * is told of such as him, not what others changed.
 */
interface JournalBounds {
  maxEntries: number
  maxRefusals: number
}

/** @param kept entries of the file, oldest first; more than the bounds allow may be there */
export function createJournalList(bounds: JournalBounds, kept: readonly JournalEntry[]): JournalList {
  const entries = newestOf(kept, bounds)
  let refusals = entries.filter(({ isRefusal }) => isRefusal).length
  let lastSeq = kept.at(-1)?.seq ?? 0

  function drop(index: number): void {
    const [gone] = entries.splice(index, 1)
    if (gone?.isRefusal) refusals--
  }

  return {
    add(entry) {
      entries.push(entry)
      lastSeq = entry.seq
      if (entry.isRefusal) refusals++
      if (refusals > bounds.maxRefusals) drop(entries.findIndex(({ isRefusal }) => isRefusal))
      if (entries.length > bounds.maxEntries) drop(0)
    },
    find({ limit, before = Number.POSITIVE_INFINITY, who, what }) {
      const [someone, something] = [who?.toLowerCase(), what?.toLowerCase()]
      const found: JournalEntry[] = []
      for (let at = entries.length - 1; at >= 0 && found.length < limit; at--) {
        const entry = entries[at]
        if (!entry || entry.seq >= before) continue
        if (someone !== undefined && !entry.who.toLowerCase().includes(someone)) continue
        if (something === undefined || entry.what.toLowerCase().includes(something)) found.push(entry)
      }
      return found
    },
    after(seq) {
      let from = entries.length
      while (from > 0 && (entries[from - 1]?.seq ?? 0) > seq) from--
      return entries.slice(from)
    },
    all: () => entries.slice(),
    lastSeq: () => lastSeq,
  }
}

function newestOf(kept: readonly JournalEntry[], { maxEntries, maxRefusals }: JournalBounds): JournalEntry[] {
  const newest: JournalEntry[] = []
  let refusals = 0
  for (let at = kept.length - 1; at >= 0 && newest.length < maxEntries; at--) {
    const entry = kept[at]
    if (!entry || (entry.isRefusal && refusals === maxRefusals)) continue
    if (entry.isRefusal) refusals++
    newest.push(entry)
  }
  return newest.reverse()
}
