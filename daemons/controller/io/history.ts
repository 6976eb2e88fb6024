/** The history of attributes on the disk: written, trimmed, read in pieces, and brought into the rows at a start. */
import type { DatabaseSync } from 'node:sqlite'
import { Fault } from '#kit/pure/fault.ts'
import type { SqlValue, Work, Writer } from '#kit/store/sqlite-writer.ts'
import type { HistoryStore } from '../core/live/history.ts'
import type { Book, Row } from '../core/site/book.ts'
import { tableOf } from '../core/site/registry.ts'
import { forgetStatement, pieceStatement, rowDecoder } from './sql.ts'

/** Rows read at once, while nothing else is done. */
const CHUNK_ROWS = 500

const INSERT =
  'INSERT INTO attribute_history (id, created_at, updated_at, attribute_id, value, at) VALUES (?, ?, ?, ?, ?, ?)'

/**
 * In order of writing, up to the first recent row: a clock that was set back removes nothing extra. At most as many at
 * once as take a second: other writes wait for it.
 */
const TRIM_OLD = `DELETE FROM attribute_history WHERE id IN (
  SELECT id FROM attribute_history
  WHERE id < coalesce((SELECT id FROM attribute_history WHERE at >= ? ORDER BY id LIMIT 1), 9007199254740991)
  ORDER BY id LIMIT 100000)`

const SETTLE = 'UPDATE attribute SET value = ?, previous_value = ?, changed_at = ? WHERE id = ?'

const MARK = `INSERT INTO history_mark (id, created_at, updated_at, history_id) VALUES (1, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at, history_id = excluded.history_id`

const UNSETTLED = `SELECT attribute_id, value, at FROM attribute_history
  WHERE id > coalesce((SELECT max(history_id) FROM history_mark), 0) ORDER BY id`

interface StoreParts {
  database: DatabaseSync
  book: Book
  writer: Writer
  nowMs(): number
  takeId(): number
}

/** The history as the store of a site keeps it. */
export interface HistoryFile extends HistoryStore {
  /** The rows on the disk, a few hundred at a time. */
  pieces(isNewestFirst: boolean): AsyncIterable<readonly Row[]>
}

export function createHistoryFile({ database, book, writer, nowMs, takeId }: StoreParts): HistoryFile {
  const table = tableOf('attribute_history')
  if (table === undefined) throw new Fault('bad_column', 'there is no table attribute_history')
  const decode = rowDecoder(table)
  const forget = forgetStatement(table)

  return {
    takeId,
    write(rows, mostRows) {
      const values = rows.map(({ id, attributeId, value, at }): SqlValue[] => [id, at, at, attributeId, value, at])
      const newest = rows.at(-1)?.id ?? 0
      return writer.write([
        { sql: INSERT, values },
        { sql: forget, values: [[newest - mostRows]] },
      ])
    },
    trim: (beforeAt) => writer.write([{ sql: TRIM_OLD, values: [[beforeAt]] }]),
    settle(attributeIds, upTo) {
      const values = attributeIds.flatMap((id): SqlValue[][] => {
        const row = book.row('attribute', id)
        return row === undefined ? [] : [[...liveColumns(row), id]]
      })
      const mark: Work[] = upTo === undefined ? [] : [{ sql: MARK, values: [[nowMs(), nowMs(), upTo]] }]
      return writer.write([{ sql: SETTLE, values }, ...mark])
    },
    async *pieces(isNewestFirst) {
      const statement = database.prepare(pieceStatement(table, isNewestFirst))
      statement.setReturnArrays(true)
      let id = isNewestFirst ? Number.MAX_SAFE_INTEGER : 0
      for (;;) {
        const rows = (statement.all(id, CHUNK_ROWS) as unknown as unknown[][]).map(decode)
        if (rows.length > 0) yield rows
        if (rows.length < CHUNK_ROWS) return
        id = rows.at(-1)?.id ?? 0
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
}

function liveColumns({ value, previous_value, changed_at }: Row): SqlValue[] {
  return [value, previous_value, changed_at].map((column) => (column ?? null) as SqlValue)
}

/**
 * Attributes with the values of the history that is not in their rows yet, because the daemon was killed: rows are
 * written seldom, the history often. A value that was set since, by an import for one, stays.
 */
export function withHistory(database: DatabaseSync, attributes: readonly Row[]): Row[] {
  const rows = new Map(attributes.map((row) => [row.id, row]))
  for (const { attribute_id, value, at } of database.prepare(UNSETTLED).iterate()) {
    const row = rows.get(Number(attribute_id))
    const changedAt = Number(at)
    if (row === undefined || row.value === value) continue
    if (changedAt < Math.max(Number(row.updated_at), Number(row.changed_at))) continue
    const columns = { previous_value: row.value ?? null, changed_at: changedAt }
    rows.set(row.id, { ...row, ...columns, value: value as string | null })
  }
  return [...rows.values()]
}
