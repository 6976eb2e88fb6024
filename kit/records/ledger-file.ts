/** The ledger's file: each change adds the whole entry as a line, and the last line of an entry counts. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock, Timer } from '../clock.ts'
import type { Log } from '../log.ts'
import { Backoff } from '../pure/pace.ts'
import { replaceFile } from '../store/store.ts'
import { entryOf, isInstant, type LedgerEntry } from './ledger-entry.ts'
import { appendLines, readLines } from './line-file.ts'

export const LEDGER_FILE = 'ledger.jsonl'

const LINES_AT_ONCE = 200
/** The longest wait before a disk that refused is tried again. */
const RETRY_MAX_MS = 60_000

interface FileParts {
  /** Created if missing. */
  folder: string
  clock: Clock
  log: Log
  /** Most entries; a file with more than twice as many lines is written anew. */
  entries: number
  /** Wait between two writes; doubles while the disk refuses. */
  saveMs: number
  /**
   * While entries of the file change again and again, as those of a loose plug do, their writes come ever more seldom, down
   * to this wait: each costs a card a block. A new entry never waits for it.
   */
  saveMostMs: number
}

interface FileHooks {
  /** Every entry as it is now. */
  all(): LedgerEntry[]
  /** A write has failed; undefined: writes succeed again. */
  onDisk(fault: unknown): void
}

/** @returns the entries as read, and what writes their changes soon after */
export function openLedgerFile(
  { folder, clock, log, entries: most, saveMs, saveMostMs }: FileParts,
  { all, onDisk }: FileHooks,
) {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, LEDGER_FILE)
  const read = readLines(path, 'ledger', log)
  const entries = entriesOf(read, path, log)
  let begunAt = begunIn(read[0]) ?? Math.min(clock.epochMs(), ...entries.map(({ since }) => since))
  const dirty = new Map<number, LedgerEntry>()
  let newestInFile = Math.max(0, ...entries.map(({ id }) => id))
  /** 0 if the file has to be written whole, with its first line. */
  let linesInFile = begunIn(read[0]) === undefined ? 0 : read.length
  let isFailing = false
  let writing: Promise<void> | undefined
  // Changes of one turn of the event loop share one write and one fsync.
  const pace = paceOf({ clock, saveMs, saveMostMs }, () => (writing ??= Promise.resolve().then(writeAll)))

  async function writeAll(): Promise<void> {
    const batch = [...dirty.values()]
    dirty.clear()
    try {
      // After a failure the file may lack changes, and one with many outdated lines is written anew.
      if (linesInFile === 0 || linesInFile + batch.length > most * 2 + LINES_AT_ONCE) {
        const kept = all()
        await replaceFile(path, piecesOf(begunAt, kept))
        linesInFile = kept.length + 1
      } else {
        await appendLines(path, linesOf(batch))
        linesInFile += batch.length
      }
      newestInFile = Math.max(newestInFile, ...batch.map(({ id }) => id))
      if (isFailing) onDisk(undefined)
      isFailing = false
    } catch (fault) {
      linesInFile = 0
      if (!isFailing) log.error('ledger cannot be written, entries are kept in memory', { file: path, fault })
      isFailing = true
      onDisk(fault)
    }
    writing = undefined
    pace.wrote(isFailing)
    plan()
  }

  function plan(): void {
    if (writing || (dirty.size === 0 && !isFailing)) return
    pace.plan(isFailing || [...dirty.keys()].some((id) => id > newestInFile))
  }

  return {
    entries,
    begunAt: () => begunAt,
    /** An entry that ended at this instant was dropped: the ledger is complete only from then on. */
    dropped(until: number): void {
      begunAt = Math.max(begunAt, until)
    },
    write(entry: LedgerEntry): void {
      const isKnown = dirty.has(entry.id)
      dirty.set(entry.id, entry)
      // What waits already is planned; else a storm would look through all that waits at each of its changes.
      if (!isKnown) plan()
    },
    async close(): Promise<void> {
      await writing
      if (dirty.size > 0) await writeAll()
      pace.cancel()
    },
  }
}

/** When `write` is called next. */
function paceOf({ clock, saveMs, saveMostMs }: Pick<FileParts, 'clock' | 'saveMs' | 'saveMostMs'>, write: () => void) {
  const mostMs = Math.max(saveMs, saveMostMs)
  const refused = new Backoff({ firstMs: Math.max(1, saveMs), maxMs: Math.max(saveMs, RETRY_MAX_MS) })
  const calm = new Backoff({ firstMs: saveMs, maxMs: mostMs })
  let wroteMs = Number.NEGATIVE_INFINITY
  /** Waits after that write, of a new entry and of one that is in the file. */
  let waits = { newMs: 0, knownMs: 0 }
  let timer: Timer | undefined
  const cancel = () => {
    timer?.cancel()
    timer = undefined
  }
  return {
    cancel,
    /** @param isUrgent an entry is new, or the disk refused */
    plan(isUrgent: boolean): void {
      const sinceMs = clock.monotonicMs() - wroteMs
      // The first change after a pause waits for nothing.
      if (sinceMs >= mostMs) calm.reset()
      const waitMs = (isUrgent ? waits.newMs : waits.knownMs) - sinceMs
      cancel()
      if (waitMs <= 0) write()
      else timer = clock.after(waitMs, write)
    },
    wrote(isFailing: boolean): void {
      wroteMs = clock.monotonicMs()
      if (!isFailing) refused.reset()
      const newMs = isFailing ? refused.next() : saveMs
      waits = { newMs, knownMs: isFailing ? newMs : calm.next() }
    },
  }
}

/** When the ledger was begun: its first line. */
function begunIn(line: string | undefined): number | undefined {
  try {
    const { begunAt } = JSON.parse(line ?? 'null') as { begunAt?: unknown }
    return isInstant(begunAt) ? begunAt : undefined
  } catch {
    return undefined
  }
}

/** The last version of each entry, in the order of their numbers; lines that do not read are logged and skipped. */
function entriesOf(lines: readonly string[], path: string, log: Log): LedgerEntry[] {
  const newest = new Map<number, LedgerEntry>()
  let bad = 0
  for (const line of lines) {
    const entry = entryOf(line)
    if (entry) newest.set(entry.id, entry)
    else if (begunIn(line) === undefined) bad++
  }
  if (bad > 0) log.warning('ledger has lines that do not read', { file: path, lines: bad })
  return [...newest.values()].sort((one, other) => one.id - other.id)
}

function* piecesOf(begunAt: number, entries: readonly LedgerEntry[]): Generator<string> {
  yield `${JSON.stringify({ begunAt })}\n`
  for (let from = 0; from < entries.length; from += LINES_AT_ONCE)
    yield linesOf(entries.slice(from, from + LINES_AT_ONCE))
}

function linesOf(entries: readonly LedgerEntry[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
}
