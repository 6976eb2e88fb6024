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
}

interface FileHooks {
  /** Every entry as it is now. */
  all(): LedgerEntry[]
  /** A write has failed; undefined: writes succeed again. */
  onDisk(fault: unknown): void
}

/** @returns the entries as read, and what writes their changes soon after */
export function openLedgerFile({ folder, clock, log, entries: most, saveMs }: FileParts, { all, onDisk }: FileHooks) {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, LEDGER_FILE)
  const read = readLines(path, 'ledger', log)
  const entries = entriesOf(read, path, log)
  let begunAt = begunIn(read[0]) ?? Math.min(clock.epochMs(), ...entries.map(({ since }) => since))
  const waits = new Backoff({ firstMs: Math.max(1, saveMs), maxMs: Math.max(saveMs, RETRY_MAX_MS) })
  const dirty = new Map<number, LedgerEntry>()
  /** 0 if the file has to be written whole, with its first line. */
  let linesInFile = begunIn(read[0]) === undefined ? 0 : read.length
  let isFailing = false
  let writing: Promise<void> | undefined
  let timer: Timer | undefined

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
      if (isFailing) onDisk(undefined)
      isFailing = false
      waits.reset()
    } catch (fault) {
      linesInFile = 0
      if (!isFailing) log.error('ledger cannot be written, entries are kept in memory', { file: path, fault })
      isFailing = true
      onDisk(fault)
    }
    writing = undefined
    timer = clock.after(isFailing ? waits.next() : saveMs, () => {
      timer = undefined
      if (dirty.size > 0 || isFailing) start()
    })
  }

  function start(): void {
    // Changes of one turn of the event loop share one write and one fsync.
    writing ??= Promise.resolve().then(writeAll)
  }

  return {
    entries,
    begunAt: () => begunAt,
    /** An entry that ended at this instant was dropped: the ledger is complete only from then on. */
    dropped(until: number): void {
      begunAt = Math.max(begunAt, until)
    },
    write(entry: LedgerEntry): void {
      dirty.set(entry.id, entry)
      if (!timer) start()
    },
    async close(): Promise<void> {
      await writing
      if (dirty.size > 0) await writeAll()
      timer?.cancel()
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
