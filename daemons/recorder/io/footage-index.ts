/**
 * The index of a footage folder: one row for each file, with its fragments. It can be rebuilt from the files at any
 * time, so it is written without waiting for the disk.
 */
import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { makePlain } from '#kit/store/store.ts'
import type { KeptFile } from '../core/ports.ts'
import type { FragmentPlace } from '../wire/mp4-read.ts'

/** `writing` since its daemon began it: after a kill its file may have more or less. `removing`: it goes away. */
export type RowState = 'kept' | 'writing' | 'removing'

/** The index of one folder. Instants are kept in microseconds. */
export interface FootageIndex {
  /** Whether it was made anew, since there was none or it was damaged: every file has to be read again. */
  isNew: boolean
  put(file: KeptFile, state: RowState): void
  forget(path: string): void
  inState(state: RowState): KeptFile[]
  /** Kept files of a camera that share a moment with the span, in order of time. */
  between(camera: string, fromAt: number, toAt: number): KeptFile[]
  /** Without their fragments: as quick for a month as for a minute. */
  spans(camera: string, fromAt: number, toAt: number): { startAt: number; endAt: number }[]
  /** First and last moment of a camera; undefined if nothing is kept. */
  bounds(camera: string): { startAt: number; endAt: number } | undefined
  oldest(): KeptFile | undefined
  bytes(): number
  /** The end of the newest recording of all. */
  newestAt(): number
  close(): void
}

/** Marks our files: `PLRF`. */
const APPLICATION_ID = 0x504c5246
const FILE = 'footage.db'

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS file (path TEXT PRIMARY KEY, camera TEXT NOT NULL, state TEXT NOT NULL,
    start_us INTEGER NOT NULL, end_us INTEGER NOT NULL, bytes INTEGER NOT NULL, fragments BLOB NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS file_place ON file (camera, state, start_us, end_us);
  CREATE INDEX IF NOT EXISTS file_age ON file (state, start_us, bytes);`

const COLUMNS = 'path, camera, start_us, end_us, bytes, fragments'

/** A file is not longer than a day, so one that reaches into a span begins at most so long before it. */
const LONGEST_US = 86_400_000_000

/** @param folder exists */
export function openFootageIndex(folder: string): FootageIndex {
  const path = join(folder, FILE)
  const isThere = existsSync(path)
  const sound = isThere ? openSound(path) : undefined
  if (isThere && !sound) putAside(path)
  return indexOn(sound ?? create(path), !sound)
}

function create(path: string): DatabaseSync {
  makePlain(path)
  const database = new DatabaseSync(path)
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA application_id = ${APPLICATION_ID}`)
  prepare(database)
  return database
}

function openSound(path: string): DatabaseSync | undefined {
  const database = new DatabaseSync(path)
  try {
    const [verdict] = Object.values(database.prepare('PRAGMA quick_check(1)').get() ?? {})
    const [kind] = Object.values(database.prepare('PRAGMA application_id').get() ?? {})
    if (verdict === 'ok' && kind === APPLICATION_ID) {
      prepare(database)
      return database
    }
  } catch {
    // Whatever is wrong with it, its files are the truth.
  }
  database.close()
  return undefined
}

function prepare(database: DatabaseSync): void {
  database.exec(`PRAGMA synchronous = NORMAL; ${SCHEMA}`)
}

function putAside(path: string): void {
  for (const end of ['', '-wal', '-shm']) if (existsSync(path + end)) renameSync(path + end, `${path}.damaged${end}`)
}

function indexOn(database: DatabaseSync, isNew: boolean): FootageIndex {
  const sql = (text: string): StatementSync => database.prepare(text)
  const put =
    sql(`INSERT INTO file (path, camera, state, start_us, end_us, bytes, fragments) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (path) DO UPDATE SET state = excluded.state, end_us = excluded.end_us, bytes = excluded.bytes,
      fragments = excluded.fragments`)
  const forget = sql('DELETE FROM file WHERE path = ?')
  const inState = sql(`SELECT ${COLUMNS} FROM file WHERE state = ? ORDER BY start_us`)
  const where = "camera = ? AND state = 'kept' AND start_us >= ? AND start_us < ? AND end_us > ? ORDER BY start_us"
  const between = sql(`SELECT ${COLUMNS} FROM file WHERE ${where}`)
  const spans = sql(`SELECT start_us, end_us FROM file WHERE ${where}`)
  // A third of the time that objects take.
  spans.setReturnArrays(true)
  const bounds = sql("SELECT min(start_us) AS first, max(end_us) AS last FROM file WHERE camera = ? AND state = 'kept'")
  const oldest = sql(`SELECT ${COLUMNS} FROM file WHERE state = 'kept' ORDER BY start_us LIMIT 1`)
  const bytes = sql("SELECT coalesce(sum(bytes), 0) AS bytes FROM file WHERE state = 'kept'")
  const newest = sql('SELECT coalesce(max(end_us), 0) AS at FROM file')
  const spanOf = (fromAt: number, toAt: number) => [us(fromAt) - LONGEST_US, us(toAt), us(fromAt)] as const

  return {
    isNew,
    put({ bytes: size, camera, endAt, fragments, path, startAt }, state) {
      put.run(path, camera, state, us(startAt), us(endAt), size, packed(fragments))
    },
    forget: (path) => void forget.run(path),
    inState: (state) => inState.all(state).map(fileOf),
    between: (camera, fromAt, toAt) => between.all(camera, ...spanOf(fromAt, toAt)).map(fileOf),
    spans: (camera, fromAt, toAt) =>
      spans
        .all(camera, ...spanOf(fromAt, toAt))
        .map((row) => Object.values(row))
        .map(([start, end]) => ({ startAt: Number(start) / 1000, endAt: Number(end) / 1000 })),
    bounds(camera) {
      const row = bounds.get(camera)
      if (row?.first === null || row?.first === undefined) return undefined
      return { startAt: Number(row.first) / 1000, endAt: Number(row.last) / 1000 }
    },
    oldest() {
      const row = oldest.get()
      return row && fileOf(row)
    },
    bytes: () => Number(bytes.get()?.bytes ?? 0),
    newestAt: () => Number(newest.get()?.at ?? 0) / 1000,
    close: () => database.close(),
  }
}

function us(ms: number): number {
  return Math.round(ms * 1000)
}

function fileOf(row: Record<string, unknown>): KeptFile {
  return {
    ...{ path: String(row.path), camera: String(row.camera), bytes: Number(row.bytes) },
    ...{ startAt: Number(row.start_us) / 1000, endAt: Number(row.end_us) / 1000 },
    fragments: unpacked(row.fragments as Uint8Array),
  }
}

/** Offset, length, ticks of decoding, duration with the highest bit for a key frame, wall time. */
const PACKED_BYTES = 24
const KEY_BIT = 0x8000_0000

function packed(fragments: readonly FragmentPlace[]): Uint8Array {
  const bytes = new Uint8Array(fragments.length * PACKED_BYTES)
  const view = new DataView(bytes.buffer)
  for (const [at, { decodeTicks, durationTicks, isKey, length, offset, wallMs }] of fragments.entries()) {
    const place = at * PACKED_BYTES
    for (const [column, value] of [offset, length, decodeTicks].entries()) view.setUint32(place + column * 4, value)
    view.setUint32(place + 12, durationTicks + (isKey ? KEY_BIT : 0))
    view.setFloat64(place + 16, wallMs)
  }
  return bytes
}

function unpacked(bytes: Uint8Array): FragmentPlace[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Array.from({ length: Math.floor(bytes.length / PACKED_BYTES) }, (_, at) => {
    const [offset = 0, length = 0, decodeTicks = 0, duration = 0] = [0, 4, 8, 12].map((column) =>
      view.getUint32(at * PACKED_BYTES + column),
    )
    const wallMs = view.getFloat64(at * PACKED_BYTES + 16)
    return { offset, length, decodeTicks, durationTicks: duration % KEY_BIT, wallMs, isKey: duration >= KEY_BIT }
  })
}
