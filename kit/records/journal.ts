/** The journal of who changed or sent what: its entries in memory and its file. */
import { closeSync, constants, fstatSync, fsync, ftruncateSync, mkdirSync, readSync, writeFile } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import { Fault } from '../pure/fault.ts'
import { shortCopy } from '../pure/text.ts'
import { openPlain, replaceFile } from '../store/store.ts'

// The entries of a journal in memory: numbered, bounded, looked through from the newest on.

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
type JournalKind = 'sign-in' | 'sent' | 'refusal'

/** A note with its number and its time. */
export interface JournalEntry extends JournalNote {
  /** Grows by each entry, over restarts too: tells apart what happened in the same millisecond. */
  seq: number
  /** Epoch ms. */
  at: number
}

/** What is looked for. */
interface JournalQuery {
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
interface JournalList {
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
interface JournalBounds {
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

/** How a journal is made. */
interface JournalOptions extends JournalBounds {
  /** Exists, or is made. */
  folder: string
  clock: Clock
  log: Log
}

/** The journal of one daemon. */
export interface Journal {
  /** Takes a note; it is on the list at once and on the disk soon after. Never throws and never waits for the disk. */
  record(note: JournalNote): void
  /** Newest first. */
  list(query: JournalQuery): JournalEntry[]
  /** Everything that is kept, oldest first, as JSON lines of at most some hundred entries at a time. */
  lines(): Generator<string>
  /** Notes that are on the list and could not be written to the disk. */
  unwritten(): number
  /** Resolves when everything that can be written is written. */
  close(): Promise<void>
}

const FILE = 'journal.jsonl'
const LONGEST_DETAIL = 2048
const LONGEST_TEXT = 512
const LINES_AT_ONCE = 200
/** No journal of ours comes near it: what is longer would be held in memory several times over. */
const LARGEST_FILE_BYTES = 268_435_456

/** Opens the journal of a folder. Reads the file that is there; a line torn by a crash is dropped, the rest stays. */
export function createJournal(options: JournalOptions): Journal {
  const { clock, log, maxEntries } = options
  mkdirSync(options.folder, { recursive: true, mode: 0o700 })
  const path = join(options.folder, FILE)
  const file = readEntries(path, log)
  const list = createJournalList(options, file.entries)
  /** Lines the file holds, those no longer kept too: it is cut only now and then, not at each note. */
  let linesInFile = file.lines
  /** The last entry that was handed to the disk. */
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
      // After a failure the file may lack notes that the list has: it is written whole, and nothing is missing.
      if (unwritten > 0 || linesInFile + batch.length > maxEntries * 2) {
        const kept = list.all()
        await replaceFile(path, piecesOf(kept))
        linesInFile = kept.length
        handedSeq = Math.max(handedSeq, kept.at(-1)?.seq ?? 0)
      } else {
        await append(path, linesOf(batch))
        linesInFile += batch.length
      }
      if (unwritten > 0) log.notice('journal is written again', { notes: unwritten })
      unwritten = 0
    } catch (fault) {
      if (unwritten === 0) log.error('journal cannot be written, notes are kept in memory', { file: path, fault })
      unwritten = Math.min(maxEntries, unwritten + batch.length)
    }
  }

  return {
    record(note) {
      list.add(shortened({ seq: list.lastSeq() + 1, at: clock.epochMs(), ...note }))
      // Notes of one turn of the loop share one write and one fsync.
      writing ??= Promise.resolve().then(writeAll)
    },
    list: (query) => list.find(query),
    lines: () => piecesOf(list.all()),
    unwritten: () => unwritten,
    close: async () => writing,
  }
}

/** The entries of a file; what does not read as one is told and left out. `lines` counts those too. */
function readEntries(path: string, log: Log): { entries: JournalEntry[]; lines: number } {
  const bytes = bytesOf(path, log)
  const lines = bytes.toString('utf8').split('\n').slice(0, -1)
  const entries: JournalEntry[] = []
  for (const line of lines) {
    const entry = entryOf(line, (entries.at(-1)?.seq ?? 0) + 1)
    if (entry) entries.push(entry)
  }
  const bad = lines.length - entries.length
  if (bad > 0) log.warning('journal has lines that do not read', { file: path, lines: bad })
  return { entries, lines: lines.length }
}

/** Whole lines of the file, the newest where it is far too long; nothing where there is none. */
function bytesOf(path: string, log: Log): Buffer {
  let descriptor: number
  try {
    descriptor = openPlain(path, constants.O_RDWR)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0)
    throw new Fault('store_unreadable', `${path} cannot be read (${(error as NodeJS.ErrnoException).code})`, {
      cause: error,
    })
  }
  try {
    const { size } = fstatSync(descriptor)
    const from = Math.max(0, size - LARGEST_FILE_BYTES)
    if (from > 0) log.warning('journal is too long, its oldest part is left out', { file: path, bytes: size })
    const bytes = Buffer.alloc(size - from)
    const read = bytes.subarray(0, readSync(descriptor, bytes, 0, bytes.length, from))
    const end = read.lastIndexOf(0x0a) + 1
    if (end < read.length) {
      // Cut off, so that the next note does not begin in the middle of a line.
      ftruncateSync(descriptor, from + end)
      log.warning('journal ended in a torn line, which is dropped', { file: path })
    }
    return read.subarray(from > 0 ? read.indexOf(0x0a) + 1 : 0, end)
  } finally {
    closeSync(descriptor)
  }
}

/** @param nextSeq for an entry without a number, or with one that does not come next: a restored file, an older version */
function entryOf(line: string, nextSeq: number): JournalEntry | undefined {
  try {
    const entry = JSON.parse(line) as JournalEntry
    if (typeof entry?.at !== 'number' || typeof entry.what !== 'string') return undefined
    const { seq, ...rest } = entry
    return { seq: Number.isSafeInteger(seq) && seq >= nextSeq ? seq : nextSeq, ...rest }
  } catch {
    return undefined
  }
}

function* piecesOf(entries: readonly JournalEntry[]): Generator<string> {
  for (let from = 0; from < entries.length; from += LINES_AT_ONCE)
    yield linesOf(entries.slice(from, from + LINES_AT_ONCE))
}

function linesOf(entries: readonly JournalEntry[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
}

/** Texts come from callers that may be hostile: a line has a bound, and so has the file. */
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

async function append(path: string, text: string): Promise<void> {
  const { O_WRONLY, O_APPEND, O_CREAT } = constants
  const descriptor = openPlain(path, O_WRONLY | O_APPEND | O_CREAT)
  try {
    await promisify(writeFile)(descriptor, text)
    await promisify(fsync)(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
