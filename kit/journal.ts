/** Who changed or sent what, and when: a bounded file of JSON lines that survives a torn last line. */
import { closeSync, constants, fstatSync, fsync, ftruncateSync, mkdirSync, readSync, writeFile } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import type { Log } from '#kit/log.ts'
import { shortCopy } from './bytes/plain-text.ts'
import {
  createJournalList,
  type JournalBounds,
  type JournalEntry,
  type JournalNote,
  type JournalQuery,
} from './journal-list.ts'
import { openPlain, replaceFile } from './store/whole-file.ts'

/** How a journal is made. */
export interface JournalOptions extends JournalBounds {
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
