/** The journal of who changed or sent what: entries in memory and in a file. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import { shortCopy } from '../pure/text.ts'
import { replaceFile } from '../store/store.ts'
import { appendLines, readLines } from './line-file.ts'

// Entries in memory: numbered, limited, searched from the newest on.

/** What to record. Never a secret: a changed password is mentioned, not shown. */
export interface JournalNote {
  /** User name, key name, or `plantroom` for the command line. */
  who: string
  /** Address of the peer, or `console`. */
  from: string
  /** The action, in a word or two: `port changed`, `bytes sent`. */
  what: string
  /** Its object. */
  target?: string
  /** Further facts, plain JSON; shortened beyond 2 kB. */
  detail?: unknown
  /** Set for frequent entries, which would otherwise push out changes; absent: a change. */
  kind?: JournalKind
}

/** Each kind has its own limit: somebody signed in, something was sent to a line, somebody was refused. */
type JournalKind = (typeof KINDS)[number]
const KINDS = ['sign-in', 'sent', 'refusal'] as const

/** A note with its number and its time. */
export interface JournalEntry extends JournalNote {
  /** Grows with each entry, over restarts too: orders entries of the same millisecond. */
  seq: number
  /** Epoch ms. */
  at: number
}

/** A search. */
interface JournalQuery {
  /** Entries at most. */
  limit: number
  /** Only entries with a smaller number: that of the last one on the page before. */
  before?: number
  /** Part of the actor's name, in any case. */
  who?: string
  /** Part of the action, in any case. */
  what?: string
}

/** Keeps entries in the order of their numbers. */
interface JournalList {
  /** Adds the entry with the next number; the oldest is dropped if full. */
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
 * Limits of what is kept. Within `maxEntries` each kind has its own limit in `most`: password guesses push out only
 * other refusals, a program that writes to a line each second pushes out only what programs sent, and neither pushes
 * out changes.
 */
interface JournalBounds {
  maxEntries: number
  /** Characters of all entries, with overhead per value; beyond it, the kind that takes most loses its oldest. */
  maxChars: number
  /** A kind without a number is limited by `maxEntries` alone. */
  most?: Readonly<Partial<Record<JournalKind, number>>>
}

/** @param kept entries of the file, oldest first; may be more than the limits allow */
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

  /** Always keeps the newest entry. */
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

/** Overhead of an entry beside its texts, and of each value within its detail: an empty list is `[]`, and an object. */
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

/** How a journal is made. */
interface JournalOptions extends JournalBounds {
  /** Created if missing. */
  folder: string
  clock: Clock
  log: Log
  /** The disk did not take a note, with the reason; undefined: it takes them again. */
  onDisk?: (fault: unknown) => void
}

/** The journal of one daemon. */
export interface Journal {
  /** Adds a note; it is listed at once and on the disk soon after. Never throws and never waits for the disk. */
  record(note: JournalNote): void
  /** Newest first. */
  list(query: JournalQuery): JournalEntry[]
  /** All kept entries, oldest first, as JSON lines in pieces of at most some hundred entries. */
  lines(): Generator<string>
  /** Number of listed notes that could not be written to the disk. */
  unwritten(): number
  /** Resolves when everything that can be written is written. */
  close(): Promise<void>
}

const FILE = 'journal.jsonl'
const LONGEST_DETAIL = 2048
const LONGEST_TEXT = 512
const LINES_AT_ONCE = 200
/** A greater number in a damaged file would leave no room to count on. */
const LAST_SEQ = 2 ** 52
/** The latest instant that a Date can hold. @source ECMA-262, 21.4.1.1 */
const LAST_INSTANT = 8.64e15

/** Opens the journal of a folder. Reads an existing file; drops a line torn by a crash, keeps the rest. */
export function createJournal(options: JournalOptions): Journal {
  const { clock, log, maxEntries, onDisk } = options
  mkdirSync(options.folder, { recursive: true, mode: 0o700 })
  const path = join(options.folder, FILE)
  const file = readEntries(path, log)
  const list = createJournalList(options, file.entries)
  /** Lines in the file, including dropped entries: the file is rewritten only now and then, not at each note. */
  let linesInFile = file.lines
  /** The last entry passed to the disk. */
  let handedSeq = list.lastSeq()
  let unwritten = 0
  let writing: Promise<void> | undefined

  async function writeAll(): Promise<void> {
    while (handedSeq < list.lastSeq()) {
      const batch = list.after(handedSeq)
      handedSeq = list.lastSeq()
      await writeBatch(batch)
    }
    writing = undefined
  }

  async function writeBatch(batch: readonly JournalEntry[]): Promise<void> {
    try {
      // After a failure the file may lack notes: it is then written whole, so that nothing is missing.
      if (unwritten > 0 || linesInFile + batch.length > maxEntries * 2) {
        const kept = list.all()
        await replaceFile(path, piecesOf(kept))
        linesInFile = kept.length
        handedSeq = Math.max(handedSeq, kept.at(-1)?.seq ?? 0)
      } else {
        await appendLines(path, linesOf(batch))
        linesInFile += batch.length
      }
      if (unwritten > 0) {
        log.notice('journal is written again', { notes: unwritten })
        onDisk?.(undefined)
      }
      unwritten = 0
    } catch (fault) {
      if (unwritten === 0) log.error('journal cannot be written, notes are kept in memory', { file: path, fault })
      onDisk?.(fault)
      unwritten = Math.min(maxEntries, unwritten + batch.length)
    }
  }

  return {
    record(note) {
      list.add(shortened({ seq: list.lastSeq() + 1, at: clock.epochMs(), ...note }))
      // Notes of one turn of the event loop share one write and one fsync.
      writing ??= Promise.resolve().then(writeAll)
    },
    list: (query) => list.find(query),
    lines: () => piecesOf(list.all()),
    unwritten: () => unwritten,
    close: async () => writing,
  }
}

/** The entries of a file; unreadable lines are logged and skipped. `lines` counts those too. */
function readEntries(path: string, log: Log): { entries: JournalEntry[]; lines: number } {
  const lines = readLines(path, 'journal', log)
  const entries: JournalEntry[] = []
  for (const line of lines) {
    const entry = entryOf(line, (entries.at(-1)?.seq ?? 0) + 1)
    if (entry) entries.push(entry)
  }
  const bad = lines.length - entries.length
  if (bad > 0) log.warning('journal has lines that do not read', { file: path, lines: bad })
  return { entries, lines: lines.length }
}

/**
 * Reads a line of the file, which may be damaged: only what can be searched, counted and written again is taken.
 * @param nextSeq used for an entry whose number is missing or out of order: a restored file, an older version
 */
function entryOf(line: string, nextSeq: number): JournalEntry | undefined {
  try {
    const { seq, kind, ...rest } = JSON.parse(line) as JournalEntry
    const { at, who, from, what, target = '' } = rest
    if (!Number.isInteger(at) || Math.abs(at) > LAST_INSTANT) return undefined
    if ([who, from, what, target].some((text) => typeof text !== 'string')) return undefined
    const isInOrder = Number.isSafeInteger(seq) && seq >= nextSeq && seq <= LAST_SEQ
    const entry = { seq: isInOrder ? seq : nextSeq, ...rest, ...(isKind(kind) && { kind }) }
    // A detail nested so deeply that it cannot be written is none.
    charsOf(entry)
    return entry
  } catch {
    return undefined
  }
}

function isKind(kind: unknown): kind is JournalKind {
  return (KINDS as readonly unknown[]).includes(kind)
}

function* piecesOf(entries: readonly JournalEntry[]): Generator<string> {
  for (let from = 0; from < entries.length; from += LINES_AT_ONCE)
    yield linesOf(entries.slice(from, from + LINES_AT_ONCE))
}

function linesOf(entries: readonly JournalEntry[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
}

/** Texts come from callers that may be hostile, so lines are limited, and thereby the file. */
function shortened(entry: JournalEntry): JournalEntry {
  const { seq, at, target, kind } = entry
  const detail = JSON.stringify(entry.detail)
  return {
    seq,
    at,
    who: shortCopy(entry.who, LONGEST_TEXT),
    from: shortCopy(entry.from, LONGEST_TEXT),
    what: shortCopy(entry.what, LONGEST_TEXT),
    ...(target === undefined ? {} : { target: shortCopy(target, LONGEST_TEXT) }),
    ...(detail === undefined
      ? {}
      : {
          detail: detail.length > LONGEST_DETAIL ? shortCopy(detail, LONGEST_DETAIL).concat('...') : JSON.parse(detail),
        }),
    ...(kind && { kind }),
  }
}
