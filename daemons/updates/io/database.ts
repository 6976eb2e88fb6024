/** The database updates.db: opened, checked and read at the start, written by a thread. Keys of releases are sealed in it. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Static, TSchema } from 'typebox'
import { createReader } from '#kit/http/check.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { Seal } from '#kit/store/sealing.ts'
import { isDamaged, startWriter, type Work } from '#kit/store/sqlite-writer.ts'
import { makePlain } from '#kit/store/store.ts'
import { WRITER_HEAP_MIB } from '../core/memory.ts'
import {
  type ArtifactRecord,
  artifactRecord,
  type InstallationRecord,
  installationRecord,
  type Keeper,
  type ReleaseRecord,
  releaseRecord,
} from '../core/ports.ts'

/** The file's name in the state folder. */
export const DATABASE_FILE = 'updates.db'

/** Marks our files: `PLUP`. */
const APPLICATION_ID = 0x504c5550
const SCHEMA_VERSION = 1

/** Records are JSON: what is asked of them is answered from memory. */
const TABLES = { installation: installationRecord, release: releaseRecord, artifact: artifactRecord } as const
type Table = keyof typeof TABLES

export interface UpdatesDatabase extends Keeper {
  installations: InstallationRecord[]
  releases: ReleaseRecord[]
  artifacts: ArtifactRecord[]
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
  const read = readAll(path, seal, busyMs)
  const writer = startWriter(path, { busyMs, heapMib: WRITER_HEAP_MIB })
  return {
    ...read,
    saveInstallations: (changed, removed) =>
      writer.write([putting('installation', changed, ({ id }) => id), removing('installation', removed)]),
    saveReleases: (changed, removed = []) =>
      writer.write([
        putting(
          'release',
          changed.map((record) => sealed(record, seal)),
          ({ version }) => version,
        ),
        removing('release', removed),
      ]),
    saveArtifact: (record) => writer.write([putting('artifact', [record], artifactKey)]),
    removeArtifact: (record) => writer.write([removing('artifact', [artifactKey(record)])]),
    close: () => writer.close(),
  }
}

function artifactKey({ filename, type }: Pick<ArtifactRecord, 'type' | 'filename'>): string {
  return `${type}/${filename}`
}

function putting<Record>(table: Table, records: readonly Record[], keyOf: (record: Record) => string): Work {
  return {
    sql: `INSERT INTO ${table} (key, record) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET record = excluded.record`,
    values: records.map((record) => [keyOf(record), JSON.stringify(record)]),
  }
}

function removing(table: Table, keys: readonly string[]): Work {
  return { sql: `DELETE FROM ${table} WHERE key = ?`, values: keys.map((key) => [key]) }
}

/** Bound to its release: the key of one does not open as that of another. */
const boundTo = ({ version }: ReleaseRecord) => `release ${version}`

function sealed(record: ReleaseRecord, seal: Seal): ReleaseRecord {
  const { update } = record
  if (update === null) return record
  return { ...record, update: { ...update, encryptionKey: seal.close(update.encryptionKey, boundTo(record)) } }
}

function opened(record: ReleaseRecord, seal: Seal): ReleaseRecord {
  const { update } = record
  if (update === null) return record
  return { ...record, update: { ...update, encryptionKey: seal.open(update.encryptionKey, boundTo(record)) } }
}

function readAll(path: string, seal: Seal, busyMs: number) {
  // The log and its index copy the mode and owner of the file.
  makePlain(path)
  const database = new DatabaseSync(path, { timeout: busyMs })
  try {
    prove(database, path)
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    for (const table of Object.keys(TABLES))
      database.exec(
        `CREATE TABLE IF NOT EXISTS ${table} (key TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID`,
      )
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`)
    return {
      installations: rowsOf(database, path, 'installation').sort((one, other) => one.registeredAt - other.registeredAt),
      releases: rowsOf(database, path, 'release').map((record) => opened(record, seal)),
      artifacts: rowsOf(database, path, 'artifact'),
    }
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

function rowsOf<Name extends Table>(
  database: DatabaseSync,
  path: string,
  table: Name,
): Static<(typeof TABLES)[Name]>[] {
  const check = createReader(TABLES[table] as TSchema)
  return database
    .prepare(`SELECT key, record FROM ${table}`)
    .all()
    .map(({ key, record }) => {
      try {
        return check(JSON.parse(String(record))) as Static<(typeof TABLES)[Name]>
      } catch (cause) {
        throw damaged(path, `${table} ${String(key)} cannot be read`, cause)
      }
    })
}

function damaged(path: string, what: string, cause?: unknown): Fault {
  const sentence = `${path} is damaged (${what}): put a backup back with plantroom restore`
  return new Fault('database_damaged', sentence, { cause })
}
