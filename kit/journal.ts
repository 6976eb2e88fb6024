/** Who changed or sent what, and when: a bounded file of JSON lines that survives a torn last line. */
import { existsSync, mkdirSync, readFileSync, truncateSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { belongToFolder, replaceFile } from './store/whole-file.ts'

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
}

/** A note with its time, epoch ms. */
export interface JournalEntry extends JournalNote {
  at: number
}

/** How a journal is made. */
export interface JournalOptions {
  /** Exists, or is made. */
  folder: string
  clock: Clock
  log: Log
  /** Entries that are kept; the oldest go first. */
  maxEntries: number
}

/** The journal of one daemon. */
export interface Journal {
  /** Takes a note; it is on the list at once and on the disk soon after. Never throws and never waits for the disk. */
  record(note: JournalNote): void
  /** Newest first, at most `limit`; with `before`, those older than that instant (epoch ms). */
  list(query: { limit: number; before?: number }): JournalEntry[]
  /** Notes that are on the list and could not be written to the disk. */
  unwritten(): number
  /** Resolves when everything that can be written is written. */
  close(): Promise<void>
}

const FILE = 'journal.jsonl'
const LONGEST_DETAIL = 2048
const LONGEST_TEXT = 512

/** Opens the journal of a folder. Reads the file that is there; a line torn by a crash is dropped, the rest stays. */
export function createJournal(options: JournalOptions): Journal {
  const { clock, log, maxEntries } = options
  mkdirSync(options.folder, { recursive: true, mode: 0o700 })
  const path = join(options.folder, FILE)
  const entries = readEntries(path, options)
  /** Lines the file holds, those beyond `maxEntries` too: it is cut only now and then, not at each note. */
  let linesInFile = entries.length
  /** Notes at the end of the list that the file lacks. */
  let waiting = 0
  let unwritten = 0
  let writing: Promise<void> | undefined

  async function writeAll(): Promise<void> {
    while (waiting > 0) {
      const batch = entries.slice(-waiting)
      waiting = 0
      await writeBatch(batch)
    }
    writing = undefined
  }

  async function writeBatch(batch: JournalEntry[]): Promise<void> {
    try {
      // After a failure the file may lack notes that the list has: it is written whole, and nothing is missing.
      if (unwritten > 0 || linesInFile + batch.length > maxEntries * 2) {
        const kept = entries.slice()
        await replaceFile(path, linesOf(kept))
        linesInFile = kept.length
      } else {
        await append(path, linesOf(batch))
        linesInFile += batch.length
      }
      if (unwritten > 0) log.notice('journal is written again', { notes: unwritten })
      unwritten = 0
    } catch (fault) {
      if (unwritten === 0) log.error('journal cannot be written, notes are kept in memory', { file: path, fault })
      unwritten = Math.min(entries.length, unwritten + batch.length)
    }
  }

  return {
    record(note) {
      entries.push(shortened({ at: clock.epochMs(), ...note }))
      if (entries.length > maxEntries) entries.shift()
      waiting = Math.min(waiting + 1, entries.length)
      // Notes of one turn of the loop share one write and one fsync.
      writing ??= Promise.resolve().then(writeAll)
    },
    list({ limit, before }) {
      const newest: JournalEntry[] = []
      for (let at = entries.length - 1; at >= 0 && newest.length < limit; at--) {
        const entry = entries[at] as JournalEntry
        if (before === undefined || entry.at < before) newest.push(entry)
      }
      return newest
    },
    unwritten: () => unwritten,
    close: async () => writing,
  }
}

/** The newest entries of a file; what does not read as an entry is told and left out. */
function readEntries(path: string, { log, maxEntries }: JournalOptions): JournalEntry[] {
  if (!existsSync(path)) return []
  const bytes = readFileSync(path)
  const whole = bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1)
  if (whole.length < bytes.length) {
    // Cut off, so that the next note does not begin in the middle of a line.
    truncateSync(path, whole.length)
    log.warning('journal ended in a torn line, which is dropped', { file: path })
  }
  const lines = whole.toString('utf8').split('\n').slice(0, -1)
  const entries = lines.slice(-maxEntries).map(entryOf)
  const good = entries.filter((entry) => entry !== undefined)
  if (good.length < entries.length)
    log.warning('journal has lines that do not read', { file: path, lines: entries.length - good.length })
  return good
}

function entryOf(line: string): JournalEntry | undefined {
  try {
    const entry = JSON.parse(line) as JournalEntry
    return typeof entry?.at === 'number' && typeof entry.what === 'string' ? entry : undefined
  } catch {
    return undefined
  }
}

function linesOf(entries: readonly JournalEntry[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
}

/** Texts come from callers that may be hostile: a line has a bound, and so has the file. */
function shortened(entry: JournalEntry): JournalEntry {
  const { at, target } = entry
  const detail = JSON.stringify(entry.detail)
  return {
    at,
    who: entry.who.slice(0, LONGEST_TEXT),
    from: entry.from.slice(0, LONGEST_TEXT),
    what: entry.what.slice(0, LONGEST_TEXT),
    ...(target === undefined ? {} : { target: target.slice(0, LONGEST_TEXT) }),
    ...(detail === undefined
      ? {}
      : { detail: detail.length > LONGEST_DETAIL ? `${detail.slice(0, LONGEST_DETAIL)}...` : JSON.parse(detail) }),
  }
}

async function append(path: string, text: string): Promise<void> {
  const file = await open(path, 'a', 0o600)
  try {
    belongToFolder(path)
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}
