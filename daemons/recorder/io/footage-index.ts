/**
 * The index of all footage: one row for each file, with its fragments, and the disk it is on. It can be rebuilt from the
 * files at any time, so it is written without waiting for the disk. It lies beside the state, not beside the files: what
 * is on a disk that was pulled stays known.
 */
import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { Fault } from '#kit/pure/fault.ts'
import { isDamaged } from '#kit/store/sqlite-writer.ts'
import { makePlain } from '#kit/store/store.ts'
import type { FragmentPlace } from '../wire/mp4-read.ts'

/** `writing` since its daemon began it: after a kill its file may have more or less. `removing`: it goes away. */
export type RowState = 'kept' | 'writing' | 'removing'

/** A file as the index has it. Instants are kept in microseconds. */
export interface IndexRow {
  /** Its disk, as `diskOf` numbers them. */
  disk: number
  /** Below the folder of its disk. */
  path: string
  camera: string
  startAt: number
  endAt: number
  bytes: number
  fragments: readonly FragmentPlace[]
}

/** A stretch of a file, and where it is. */
export interface IndexSpan {
  startAt: number
  endAt: number
  disk: number
}

export interface FootageIndex {
  /** Number of a disk. @param id of its marker */
  diskOf(id: string): number
  /** Whether every file of a disk has been read: not of one that was never here, or after the index was damaged. */
  isWhole(disk: number): boolean
  setWhole(disk: number, isWhole: boolean): void
  /** Numbers of all disks that were ever here. */
  disks(): number[]
  /** @param isHeld whether it may not be removed for its age or for room */
  put(row: IndexRow, state: RowState, isHeld: boolean): void
  has(disk: number, path: string): boolean
  row(disk: number, path: string): IndexRow | undefined
  forget(disk: number, path: string): void
  /** Forgets files of a disk that ended before. @returns how many, at most 500 */
  forgetBefore(disk: number, endedAt: number): number
  inState(disk: number, state: RowState): IndexRow[]
  /** Files of a disk, in pieces: paths greater than `after`, in order. */
  paths(disk: number, after: string, most: number): string[]
  /** Files of a camera that are not being removed and share a moment with the span, in order of time. */
  between(camera: string, fromAt: number, toAt: number): IndexRow[]
  /** Without their fragments: as quick for a month as for a minute. */
  spans(camera: string, fromAt: number, toAt: number): IndexSpan[]
  /** First and last moment of a camera; undefined if nothing is kept. */
  bounds(camera: string): { startAt: number; endAt: number } | undefined
  cameras(): string[]
  /** The oldest file of a camera on a disk that may be removed. */
  oldest(disk: number, camera: string): IndexRow | undefined
  bytes(disk: number): number
  /** Files that share a moment with the span may not be removed, or may again. */
  hold(camera: string, fromAt: number, toAt: number, isHeld: boolean): void
  /** The end of the newest recording of all. */
  newestAt(): number
  /** When the newest file of a camera began; 0 without any. */
  newestOf(camera: string): number
  /** Rows that are put together, at once. */
  together(task: () => void): void
  close(): void
}

/** Marks our files: `PLRF`. */
const APPLICATION_ID = 0x504c5246
export const INDEX_FILE = 'footage.db'

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS disk (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, is_whole INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS file (disk INTEGER NOT NULL, path TEXT NOT NULL, camera TEXT NOT NULL, state TEXT NOT NULL,
    is_held INTEGER NOT NULL, start_us INTEGER NOT NULL, end_us INTEGER NOT NULL, bytes INTEGER NOT NULL,
    fragments BLOB NOT NULL) STRICT;
  CREATE UNIQUE INDEX IF NOT EXISTS file_path ON file (disk, path);
  CREATE INDEX IF NOT EXISTS file_place ON file (camera, start_us, end_us, state, disk);
  CREATE INDEX IF NOT EXISTS file_age ON file (disk, state, camera, is_held, start_us, bytes);`

const COLUMNS = 'disk, path, camera, start_us, end_us, bytes, fragments'

/** A file is not longer than a day, so one that reaches into a span begins at most so long before it. */
const LONGEST_US = 86_400_000_000

/**
 * @param folder exists
 * @param onDamaged called where damage is met later, which a start does not look for: once, and the call that met it throws
 *   the same fault, `index_damaged`
 */
export function openFootageIndex(folder: string, onDamaged: (fault: Fault) => void = () => {}): FootageIndex {
  const path = join(folder, INDEX_FILE)
  const isThere = existsSync(path)
  const sound = isThere ? openSound(path) : undefined
  if (isThere && !sound) putIndexAside(folder)
  return tellingDamage(sound ?? indexOn(create(path)), onDamaged)
}

/** For a look that changes nothing. @param folder has an index @throws Fault `index_damaged` */
export function openIndexAsItIs(folder: string): FootageIndex {
  const sound = openSound(join(folder, INDEX_FILE))
  if (!sound) throw indexDamaged(undefined)
  return tellingDamage(sound, () => {})
}

function indexDamaged(cause: unknown): Fault {
  const sentence = 'The index of the footage is damaged. At its next start the recorder makes a new one from the files.'
  return new Fault('index_damaged', sentence, { cause })
}

function tellingDamage(index: FootageIndex, onDamaged: (fault: Fault) => void): FootageIndex {
  let told: Fault | undefined

  function tell(cause: unknown): Fault {
    if (told) return told
    told = indexDamaged(cause)
    onDamaged(told)
    return told
  }

  const calls = Object.entries(index).map(([name, call]: [string, (...values: unknown[]) => unknown]) => [
    name,
    (...values: unknown[]) => {
      try {
        return call(...values)
      } catch (cause) {
        throw isDamaged((cause as { errcode?: number }).errcode) ? tell(cause) : cause
      }
    },
  ])
  return Object.fromEntries(calls)
}

function create(path: string): DatabaseSync {
  makePlain(path)
  const database = new DatabaseSync(path)
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA application_id = ${APPLICATION_ID}`)
  prepare(database)
  return database
}

/** Not proven page by page: the index of a month is gigabytes, and a start would take minutes. */
function openSound(path: string): FootageIndex | undefined {
  makePlain(path)
  const database = new DatabaseSync(path)
  try {
    const [kind] = Object.values(database.prepare('PRAGMA application_id').get() ?? {})
    if (kind === APPLICATION_ID) {
      prepare(database)
      return indexOn(database)
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

/** The next opening makes a new one. */
export function putIndexAside(folder: string): void {
  const path = join(folder, INDEX_FILE)
  for (const end of ['', '-wal', '-shm']) if (existsSync(path + end)) renameSync(path + end, `${path}.damaged${end}`)
}

function indexOn(database: DatabaseSync): FootageIndex {
  const sql = (text: string): StatementSync => database.prepare(text)
  const kept = bytesOfDisks(database)
  const put =
    sql(`INSERT INTO file (disk, path, camera, state, is_held, start_us, end_us, bytes, fragments) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (disk, path) DO UPDATE SET state = excluded.state, is_held = excluded.is_held, start_us = excluded.start_us,
      end_us = excluded.end_us, bytes = excluded.bytes, fragments = excluded.fragments`)
  const before = sql('SELECT state, bytes FROM file WHERE disk = ? AND path = ?')
  const one = sql(`SELECT ${COLUMNS} FROM file WHERE disk = ? AND path = ?`)
  const forget = sql('DELETE FROM file WHERE disk = ? AND path = ?')
  const old = sql('SELECT path FROM file WHERE disk = ? AND end_us < ? LIMIT 500')
  const inState = sql(`SELECT ${COLUMNS} FROM file WHERE disk = ? AND state = ? ORDER BY start_us`)
  const paths = sql('SELECT path FROM file WHERE disk = ? AND path > ? ORDER BY path LIMIT ?')
  const oldest = sql(`SELECT ${COLUMNS} FROM file WHERE disk = ? AND state = 'kept' AND camera = ? AND is_held = 0
    ORDER BY start_us LIMIT 1`)
  const hold = sql(`UPDATE file SET is_held = ? WHERE camera = ? AND start_us >= ? AND start_us < ? AND end_us > ?`)
  const disks = createDisks(database)

  function forgetOne(disk: number, path: string): void {
    count(disk, path, 0)
    forget.run(disk, path)
  }

  function count(disk: number, path: string, next: number): void {
    const row = before.get(disk, path)
    const own = row?.state === 'kept' ? Number(row.bytes) : 0
    kept.set(disk, (kept.get(disk) ?? 0) - own + next)
  }

  return {
    ...disks,
    ...readersOf(database),
    put({ bytes, camera, disk, endAt, fragments, path, startAt }, state, isHeld) {
      count(disk, path, state === 'kept' ? bytes : 0)
      put.run(disk, path, camera, state, isHeld ? 1 : 0, us(startAt), us(endAt), bytes, packed(fragments))
    },
    has: (disk, path) => before.get(disk, path) !== undefined,
    row(disk, path) {
      const row = one.get(disk, path)
      return row && rowOf(row)
    },
    forget: forgetOne,
    forgetBefore(disk, endedAt) {
      const paths = old.all(disk, us(endedAt))
      for (const { path } of paths) forgetOne(disk, String(path))
      return paths.length
    },
    inState: (disk, state) => inState.all(disk, state).map(rowOf),
    paths: (disk, after, most) => paths.all(disk, after, most).map((row) => String(row.path)),
    oldest(disk, camera) {
      const row = oldest.get(disk, camera)
      return row && rowOf(row)
    },
    bytes: (disk) => kept.get(disk) ?? 0,
    hold: (camera, fromAt, toAt, isHeld) => void hold.run(isHeld ? 1 : 0, camera, ...spanOf(fromAt, toAt)),
    together(task) {
      database.exec('BEGIN')
      try {
        task()
        database.exec('COMMIT')
      } catch (error) {
        if (database.isTransaction) database.exec('ROLLBACK')
        throw error
      }
    },
    close: () => database.close(),
  }
}

/** Kept bytes by disk; counted once, and from then on as rows change. */
function bytesOfDisks(database: DatabaseSync): Map<number, number> {
  const sums = database.prepare("SELECT disk, sum(bytes) AS bytes FROM file WHERE state = 'kept' GROUP BY disk").all()
  return new Map(sums.map(({ bytes, disk }) => [Number(disk), Number(bytes)]))
}

function createDisks(database: DatabaseSync): Pick<FootageIndex, 'diskOf' | 'disks' | 'isWhole' | 'setWhole'> {
  const add = database.prepare('INSERT INTO disk (id, is_whole) VALUES (?, 0) ON CONFLICT (id) DO NOTHING')
  const number = database.prepare('SELECT number FROM disk WHERE id = ?')
  const isWhole = database.prepare('SELECT is_whole FROM disk WHERE number = ?')
  const setWhole = database.prepare('UPDATE disk SET is_whole = ? WHERE number = ?')
  const numbers = database.prepare('SELECT number FROM disk')
  return {
    diskOf(id) {
      add.run(id)
      return Number(number.get(id)?.number)
    },
    isWhole: (disk) => isWhole.get(disk)?.is_whole === 1,
    setWhole: (disk, whole) => void setWhole.run(whole ? 1 : 0, disk),
    disks: () => numbers.all().map(({ number }) => Number(number)),
  }
}

/** Instants of a query: begins of files that can reach into the span, and its own begin. */
function spanOf(fromAt: number, toAt: number): [number, number, number] {
  return [us(fromAt) - LONGEST_US, us(toAt), us(fromAt)]
}

function readersOf(
  database: DatabaseSync,
): Pick<FootageIndex, 'between' | 'spans' | 'bounds' | 'cameras' | 'newestAt' | 'newestOf'> {
  const sql = (text: string): StatementSync => database.prepare(text)
  const own = "camera = ? AND state <> 'removing' AND end_us > start_us"
  const where = `${own} AND start_us >= ? AND start_us < ? AND end_us > ? ORDER BY start_us`
  const between = sql(`SELECT ${COLUMNS} FROM file WHERE ${where}`)
  const spans = sql(`SELECT start_us, end_us, disk FROM file WHERE ${where}`)
  // A third of the time that objects take.
  spans.setReturnArrays(true)
  const first = sql(`SELECT start_us AS at FROM file WHERE ${own} ORDER BY start_us LIMIT 1`)
  const last = sql(`SELECT end_us AS at FROM file WHERE ${own} ORDER BY start_us DESC LIMIT 1`)
  const newest = sql('SELECT start_us AS at FROM file WHERE camera = ? ORDER BY start_us DESC LIMIT 1')
  const next = sql('SELECT min(camera) AS camera FROM file WHERE camera > ?')

  function cameras(): string[] {
    const found: string[] = []
    for (let one = next.get('')?.camera; typeof one === 'string'; one = next.get(one)?.camera) found.push(one)
    return found
  }

  return {
    cameras,
    between: (camera, fromAt, toAt) => between.all(camera, ...spanOf(fromAt, toAt)).map(rowOf),
    spans: (camera, fromAt, toAt) =>
      spans
        .all(camera, ...spanOf(fromAt, toAt))
        .map((row) => Object.values(row))
        .map(([start, end, disk]) => ({
          startAt: Number(start) / 1000,
          endAt: Number(end) / 1000,
          disk: Number(disk),
        })),
    // Files of a camera do not overlap, so the last to begin is the last to end.
    bounds(camera) {
      const [start, end] = [first.get(camera), last.get(camera)]
      return start && end ? { startAt: Number(start.at) / 1000, endAt: Number(end.at) / 1000 } : undefined
    },
    newestOf: (camera) => Math.floor(Number(newest.get(camera)?.at ?? 0) / 1000),
    newestAt: () => Math.max(0, ...cameras().map((camera) => Number(last.get(camera)?.at ?? 0))) / 1000,
  }
}

function us(ms: number): number {
  return Math.min(Math.round(ms * 1000), Number.MAX_SAFE_INTEGER)
}

function rowOf(row: Record<string, unknown>): IndexRow {
  return {
    ...{ disk: Number(row.disk), path: String(row.path), camera: String(row.camera), bytes: Number(row.bytes) },
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
