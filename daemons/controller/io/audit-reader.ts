/** Reads the audit from the newest record to the oldest, in bounded pieces. */
import { existsSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { Fault } from '#kit/pure/fault.ts'
import type { AuditReader, AuditSearch } from '../core/audit.ts'
import type { Row } from '../core/site/book.ts'
import { rowOfTable, SELECT_ABOVE, SELECT_BELOW, SELECT_SOMEBODY } from './audit-store.ts'

/** How long the writing thread may hold the file. */
const BUSY_MS = 1000

/** A reader with its own connection to the file, opened on the first read. */
export interface OpenReader extends AuditReader {
  /** Closes the file; the next read opens it again. */
  close(): void
}

/**
 * @param by `flush` writes what is queued, so that callers find their own latest actions; `chunkRows` are read at once,
 * and other work runs in between; `lookRows` limits one search
 */
export function createAuditReader(by: {
  file: string
  flush: () => Promise<void>
  limits: { chunkRows: number; lookRows: number }
}): OpenReader {
  const { chunkRows, lookRows } = by.limits
  let db: DatabaseSync | undefined
  const statements = new Map<string, StatementSync>()

  /** @param sql SELECT_BELOW or SELECT_ABOVE */
  function chunk(sql: string, id: number): Row[] {
    try {
      db ??= new DatabaseSync(by.file, { readOnly: true, timeout: BUSY_MS })
      const statement = statements.get(sql) ?? db.prepare(sql)
      statements.set(sql, statement)
      return statement.all(id, chunkRows).map(rowOfTable)
    } catch (cause) {
      close()
      throw new Fault('audit_read_failed', 'the audit cannot be read', { cause })
    }
  }

  function close(): void {
    db?.close()
    db = undefined
    statements.clear()
  }

  async function* from(sql: string, firstId: number): AsyncGenerator<readonly Row[]> {
    await by.flush()
    let id = firstId
    for (;;) {
      const rows = chunk(sql, id)
      if (rows.length > 0) yield rows
      if (rows.length < chunkRows) return
      id = rows.at(-1)?.id ?? 0
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  async function scan(visit: (row: Row) => boolean, beforeId = Number.MAX_SAFE_INTEGER): Promise<void> {
    for await (const rows of from(SELECT_BELOW, beforeId)) if (!rows.every(visit)) return
  }

  return {
    scan,
    pieces: (isNewestFirst) =>
      isNewestFirst ? from(SELECT_BELOW, Number.MAX_SAFE_INTEGER) : from(SELECT_ABOVE, Number.MIN_SAFE_INTEGER),
    async list({ limit, beforeId, ...search }) {
      const rows: Row[] = []
      let looked = 0
      let next: number | null = null
      await scan((row) => {
        if (rows.length === limit || looked === lookRows) {
          next = row.id + 1
          return false
        }
        looked++
        if (isFound(row, search)) rows.push(row)
        return true
      }, beforeId)
      return { rows, next }
    },
    close,
  }
}

/** @returns whether a database has audit rows that can be read */
export function isAudit(file: string): boolean {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    db.prepare(SELECT_BELOW).all(Number.MAX_SAFE_INTEGER, 1)
    return true
  } catch {
    return false
  } finally {
    db.close()
  }
}

function isFound(row: Row, search: Omit<AuditSearch, 'limit' | 'beforeId'>): boolean {
  const { granted, reason, username, clientIp, fromAt, untilAt, fits } = search
  const at = row.at as number
  return (
    (granted === undefined || row.granted === granted) &&
    (reason === undefined || row.reason === reason) &&
    (username === undefined || row.username === username) &&
    (clientIp === undefined || row.client_ip === clientIp) &&
    (fromAt === undefined || at >= fromAt) &&
    (untilAt === undefined || at < untilAt) &&
    (fits === undefined || fits(row))
  )
}

/** Whether an audit contains a call by an account. An unreadable file counts as none; the start reports it. */
export function namesAccounts(file: string): boolean {
  if (!existsSync(file)) return false
  try {
    const database = new DatabaseSync(file, { readOnly: true, timeout: BUSY_MS })
    try {
      return database.prepare(SELECT_SOMEBODY).get() !== undefined
    } finally {
      database.close()
    }
  } catch {
    return false
  }
}
