/** The database updates.db: opened, checked and read at the start, written by a thread. Keys of releases are sealed in it. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Fault } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import type { Seal } from '#kit/store/sealing.ts'
import { isDamaged, startWriter, type Work } from '#kit/store/sqlite-writer.ts'
import { makePlain } from '#kit/store/store.ts'
import { WRITER_HEAP_MIB } from '../core/memory.ts'
import type { Keeper } from '../core/ports.ts'
import { keeperOf, kinds, nothingStored, type Row, recordReader, type Stored } from './records.ts'

/** The file's name in the state folder. */
export const DATABASE_FILE = 'updates.db'

/** Marks our files: `PLUP`. */
const APPLICATION_ID = 0x504c5550
/** 2: releases and installations may have a kind of board. What was there before needs no change. */
const SCHEMA_VERSION = 2

export interface UpdatesDatabase {
  keeper: Keeper
  stored: Stored
  /** Writes what is under way, and closes it. */
  close(): Promise<void>
}

/**
 * @param folder the state folder
 * @param busyMs how long another process may hold it
 * @throws Fault `database_damaged`, `database_foreign`, `database_newer`, `seal_broken`
 */
export function openUpdatesDatabase(folder: string, seal: Seal, busyMs: number): UpdatesDatabase {
  const path = join(folder, DATABASE_FILE)
  const stored = readAll(path, seal, busyMs)
  const writer = startWriter(path, { busyMs, heapMib: WRITER_HEAP_MIB })
  const put = (rows: readonly Row[]) => writer.write(kinds.flatMap((kind) => worksOf(kind, rows)))
  return { stored, keeper: keeperOf({ inTurn: createSerialTurn(), put }, seal), close: () => writer.close() }
}

function worksOf(kind: string, rows: readonly Row[]): Work[] {
  const ours = rows.filter((row) => row.kind === kind)
  return [
    {
      sql: `INSERT INTO ${kind} (key, record) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET record = excluded.record`,
      values: ours.flatMap(({ key, record }) => (record === null ? [] : [[key, record]])),
    },
    {
      sql: `DELETE FROM ${kind} WHERE key = ?`,
      values: ours.flatMap(({ key, record }) => (record === null ? [[key]] : [])),
    },
  ]
}

function readAll(path: string, seal: Seal, busyMs: number): Stored {
  // The log and its index copy the mode and owner of the file.
  makePlain(path)
  const database = new DatabaseSync(path, { timeout: busyMs })
  try {
    prove(database, path)
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    for (const kind of kinds)
      database.exec(
        `CREATE TABLE IF NOT EXISTS ${kind} (key TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID`,
      )
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`)
    return readRows(database, path, seal)
  } catch (error) {
    if (error instanceof Fault) throw error
    const { errcode, message } = error as Error & { errcode?: number }
    throw isDamaged(errcode) ? damaged(path, message, error) : error
  } finally {
    database.close()
  }
}

function prove(database: DatabaseSync, path: string): void {
  const first = (sql: string) => Object.values(database.prepare(sql).get() ?? {})[0]
  const isEmpty = first('SELECT count(*) FROM sqlite_schema') === 0
  if (!isEmpty && first('PRAGMA application_id') !== APPLICATION_ID)
    throw new Fault('database_foreign', `${path} is a database of another program: move it away`)
  const verdict = String(first('PRAGMA quick_check(1)'))
  if (verdict !== 'ok') throw damaged(path, verdict)
  const version = Number(first('PRAGMA user_version'))
  if (version > SCHEMA_VERSION)
    throw new Fault(
      'database_newer',
      `${path} was written by a newer version (schema ${version}, this one knows ${SCHEMA_VERSION}): install that again, or put a backup back`,
    )
}

function readRows(database: DatabaseSync, path: string, seal: Seal): Stored {
  const stored = nothingStored()
  const reader = recordReader(seal)
  for (const kind of kinds)
    for (const { key, record } of database.prepare(`SELECT key, record FROM ${kind}`).all())
      try {
        reader.add(stored, kind, String(record))
      } catch (cause) {
        if (cause instanceof Fault && cause.code === 'seal_broken') throw cause
        throw damaged(path, `${kind} ${String(key)} cannot be read`, cause)
      }
  stored.installation.sort((one, other) => one.registeredAt - other.registeredAt)
  return stored
}

function damaged(path: string, what: string, cause?: unknown): Fault {
  const sentence = `${path} is damaged (${what}): put a backup back with plantroom restore`
  return new Fault('database_damaged', sentence, { cause })
}
