/** The history on the disk: a SQLite database of its own, written and read by a thread. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { type SqlValue, startWriter, type Work, type Writer } from '#kit/store/sqlite-writer.ts'
import type { HistoryBlock, HistoryStore, KnownSeries } from '../core/history/disk.ts'
import { HISTORY_HEAP_MIB } from '../core/history/memory.ts'

/** The file's name in the state folder. */
const HISTORY_FILE = 'history.db'

/** Marks our files: `PLGH`. */
const APPLICATION_ID = 0x504c4748

const SCHEMA = [
  `CREATE TABLE IF NOT EXISTS series (id INTEGER PRIMARY KEY, port TEXT NOT NULL, kind TEXT NOT NULL,
    name TEXT NOT NULL, used_at INTEGER NOT NULL) STRICT`,
  `CREATE TABLE IF NOT EXISTS block (id INTEGER PRIMARY KEY, port TEXT NOT NULL, kind TEXT NOT NULL,
    at INTEGER NOT NULL, slot_ms INTEGER NOT NULL, slots INTEGER NOT NULL, data BLOB NOT NULL) STRICT`,
  'CREATE INDEX IF NOT EXISTS block_place ON block (port, kind, at)',
]

const PUT_SERIES = `INSERT INTO series (id, port, kind, name, used_at) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET used_at = excluded.used_at`
const PUT_BLOCK = 'INSERT OR IGNORE INTO block (id, port, kind, at, slot_ms, slots, data) VALUES (?, ?, ?, ?, ?, ?, ?)'

/** Pages that were freed are used again, so they do not count. */
const DROP_BEYOND = `DELETE FROM block WHERE id IN (SELECT id FROM block ORDER BY id LIMIT ?)
  AND (SELECT (page_count - freelist_count) * page_size
    FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()) > ?`

/**
 * In the order of writing, up to the first that is young enough: a clock that was set back removes nothing that should
 * stay. At most as many at once as take a moment: other writes wait for it.
 */
const TRIM_BLOCKS = `DELETE FROM block WHERE id IN (SELECT id FROM block
  WHERE id < coalesce((SELECT id FROM block WHERE at >= ? ORDER BY id LIMIT 1), 9007199254740991)
  ORDER BY id LIMIT 20000)`
const TRIM_SERIES = 'DELETE FROM series WHERE used_at < ?'

const DAY_MS = 86_400_000
/** The longest batch that the settings allow, now or when it was written. */
const LONGEST_BATCH_MS = 3_600_000
const READ_SERIES = 'SELECT id, port, kind, name, used_at FROM series WHERE id > ? ORDER BY id LIMIT 4096'
const READ_LAST = 'SELECT coalesce(max(id), 0) FROM block'
const READ_BLOCKS = `SELECT id, at, slot_ms, slots, data FROM block
  WHERE port = ? AND kind = ? AND at >= max(?, ? - ${LONGEST_BATCH_MS}) AND at < ? AND (at > ? OR id > ?)
    AND at + slots * slot_ms > ? ORDER BY at, id LIMIT 8`

/** Without work for so long, the thread ends: it takes 10 MB, and most of the time a batch is gathered. */
const REST_MS = 10_000

interface FileParts {
  clock: Clock
  stateFolder: string
  log: Log
  /** A new file was begun, in the place of a damaged one. */
  onPutAside(sentence: string): void
}

/** A writer whose thread is started for work, and ends after `REST_MS` without any. */
function restingWriter(open: () => Writer, clock: Clock) {
  let opened: Writer | undefined
  let closing: Promise<void> = Promise.resolve()
  let resting: Timer | undefined
  let users = 0

  async function using<Result>(work: (writer: Writer) => Promise<Result>): Promise<Result> {
    resting?.cancel()
    users++
    try {
      await closing
      opened ??= open()
      return await work(opened)
    } finally {
      users--
      if (users === 0) resting = clock.after(REST_MS, () => void close())
    }
  }

  async function close(): Promise<void> {
    resting?.cancel()
    closing = opened?.close() ?? closing
    opened = undefined
    await closing
  }

  return { using, close }
}

/** Opens the file in a thread that lives while there is work; where nothing was ever written, none is started. */
export function openHistoryFile({ clock, log, onPutAside, stateFolder }: FileParts): HistoryStore {
  const path = join(stateFolder, HISTORY_FILE)
  function open(): Writer {
    return startWriter(path, {
      busyMs: 5000,
      heapMib: HISTORY_HEAP_MIB,
      spare: {
        applicationId: APPLICATION_ID,
        schema: SCHEMA,
        onPutAside(why) {
          log.error('history put aside', { file: `${path}.damaged`, why })
          onPutAside(
            `${HISTORY_FILE} was damaged (${why}) and is now ${HISTORY_FILE}.damaged; a new history has begun.`,
          )
        },
      },
    })
  }

  const { close, using } = restingWriter(open, clock)
  return {
    async load() {
      const series: KnownSeries[] = []
      if (!existsSync(path)) return { series, lastId: 0 }
      return await using(async (writer) => {
        for (;;) {
          const rows = await writer.read(READ_SERIES, [series.at(-1)?.id ?? 0])
          series.push(...rows.map(seriesOf))
          if (rows.length === 0) break
        }
        const [[last = 0] = []] = await writer.read(READ_LAST, [])
        return { series, lastId: Number(last) }
      })
    },
    async write(series, blocks, maxBytes) {
      const seriesRows = series.map(({ id, kind, name, port, usedAt }): SqlValue[] => [id, port, kind, name, usedAt])
      const work: Work[] = [
        { sql: PUT_SERIES, values: seriesRows },
        { sql: PUT_BLOCK, values: blocks.map(rowOf) },
        // Twice as many may go as came, so that it also becomes smaller.
        { sql: DROP_BEYOND, values: blocks.length === 0 ? [] : [[2 * blocks.length, maxBytes]] },
      ]
      if (series.length + blocks.length > 0) await using((writer) => writer.write(work))
    },
    async trim(beforeAt) {
      if (!existsSync(path)) return
      const work: Work[] = [
        { sql: TRIM_BLOCKS, values: [[beforeAt]] },
        { sql: TRIM_SERIES, values: [[beforeAt - DAY_MS]] },
      ]
      await using((writer) => writer.write(work))
    },
    async read({ kind, port }, { at, from, id, to }) {
      if (!existsSync(path)) return []
      const rows = await using((writer) => writer.read(READ_BLOCKS, [port, kind, at, from, to, at, id, from]))
      return rows.map(
        ([id, at, slotMs, slots, data]): HistoryBlock => ({
          ...{ port, kind, id: Number(id), at: Number(at), slotMs: Number(slotMs), slots: Number(slots) },
          data: data as Uint8Array,
        }),
      )
    },
    close,
  }
}

function rowOf({ at, data, id, kind, port, slotMs, slots }: HistoryBlock): SqlValue[] {
  return [id, port, kind, at, slotMs, slots, data]
}

function seriesOf([id, port, kind, name, usedAt]: SqlValue[]): KnownSeries {
  return {
    ...{ id: Number(id), port: String(port), name: String(name), usedAt: Number(usedAt) },
    kind: kind === 'unit' ? 'unit' : 'point',
  }
}
