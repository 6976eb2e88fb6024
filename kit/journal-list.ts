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
  /** What comes by the thousand, and would push out what was changed; absent: a change. */
  kind?: JournalKind
}

/** Each has a bound of its own: somebody signed in, something was sent to a line, somebody was turned away. */
export type JournalKind = 'sign-in' | 'sent' | 'refusal'

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
 * How much is kept. Of `maxEntries` each kind has `most` at most: who guesses at passwords pushes out what is told of
 * such as him, a program that writes to a line each second what programs sent, and neither what people changed.
 */
export interface JournalBounds {
  maxEntries: number
  /** What all entries take, in characters of their texts with something for each value; beyond, the kind that takes most loses its oldest. */
  maxChars: number
  /** A kind without a figure is bounded by `maxEntries` alone. */
  most?: Readonly<Partial<Record<JournalKind, number>>>
}

/** @param kept entries of the file, oldest first; more than the bounds allow may be there */
export function createJournalList(bounds: JournalBounds, kept: readonly JournalEntry[]): JournalList {
  const entries = newestOf(kept, bounds)
  const counts = new Map<JournalKind, number>()
  const chars = new Map<JournalKind | undefined, number>()
  let allChars = 0
  for (const entry of entries) count(entry, 1)
  dropLong()
  let lastSeq = kept.at(-1)?.seq ?? 0

  function count(entry: JournalEntry, by: 1 | -1): void {
    const { kind } = entry
    if (kind) counts.set(kind, (counts.get(kind) ?? 0) + by)
    const size = by * charsOf(entry)
    chars.set(kind, (chars.get(kind) ?? 0) + size)
    allChars += size
  }

  function drop(index: number): void {
    const [gone] = entries.splice(index, 1)
    if (gone) count(gone, -1)
  }

  /** The newest entry stays, whatever it is. */
  function dropLong(): void {
    while (allChars > bounds.maxChars && entries.length > 1) {
      const [[longest] = []] = [...chars].toSorted(([, one], [, other]) => other - one)
      const oldest = entries.findIndex(({ kind }) => kind === longest)
      drop(oldest < 0 || oldest === entries.length - 1 ? 0 : oldest)
    }
  }

  function isTooMany(kind: JournalKind | undefined): boolean {
    return kind !== undefined && (counts.get(kind) ?? 0) > (bounds.most?.[kind] ?? bounds.maxEntries)
  }

  return {
    add(entry) {
      entries.push(entry)
      lastSeq = entry.seq
      count(entry, 1)
      if (isTooMany(entry.kind)) drop(entries.findIndex(({ kind }) => kind === entry.kind))
      if (entries.length > bounds.maxEntries) drop(0)
      dropLong()
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

/** What an entry takes beside its texts, and so does each value within its detail: an empty list is `[]`, and an object. */
const ENTRY_CHARS = 128
const VALUE_CHARS = 16
const BEFORE_VALUES = /[[{,:]/g

function charsOf({ who, from, what, target = '', detail }: JournalEntry): number {
  const details = detail === undefined ? '' : JSON.stringify(detail)
  const values = typeof detail === 'object' ? (details.match(BEFORE_VALUES)?.length ?? 0) : 0
  const texts = who.length + from.length + what.length + target.length + details.length
  return ENTRY_CHARS + texts + VALUE_CHARS * values
}

function newestOf(kept: readonly JournalEntry[], { maxEntries, most = {} }: JournalBounds): JournalEntry[] {
  const newest: JournalEntry[] = []
  const room = new Map(Object.entries(most))
  for (let at = kept.length - 1; at >= 0 && newest.length < maxEntries; at--) {
    const entry = kept[at]
    if (!entry) continue
    const left = room.get(entry.kind ?? '')
    if (left === 0) continue
    if (left !== undefined) room.set(entry.kind ?? '', left - 1)
    newest.push(entry)
  }
  return newest.reverse()
}
