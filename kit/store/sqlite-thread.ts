/** The thread behind sqlite-writer.ts: it alone holds the database open, and puts a damaged one aside if it may. */
import { renameSync, rmSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { type Answer, type Asked, isDamaged, type SqlValue, type ThreadData, type Work } from './sqlite-writer.ts'
import { makePlain } from './store.ts'

const { busyMs, mayLoseNewest, path, spare } = workerData as ThreadData

/** SQLite's log is truncated to this size once its contents are in the database. */
const LOG_BYTES = 8_388_608

/** The code of a file that is well as a file, and yet not what it should be. */
const SQLITE_CORRUPT = 11

let database: DatabaseSync | undefined
const statements = new Map<string, StatementSync>()

function opened(): DatabaseSync {
  database ??= open()
  return database
}

function open(): DatabaseSync {
  const fresh = new DatabaseSync(path, { timeout: busyMs, enableForeignKeyConstraints: false })
  try {
    if (spare) {
      prove(fresh, spare.applicationId)
      fresh.exec(`PRAGMA journal_mode = WAL; PRAGMA application_id = ${spare.applicationId}`)
      for (const sql of spare.schema) fresh.exec(sql)
    }
    // Acknowledged writes survive a power cut, unless they may be lost; space by which a big import grew the log is given back.
    fresh.exec(`PRAGMA synchronous = ${mayLoseNewest ? 'NORMAL' : 'FULL'}; PRAGMA journal_size_limit = ${LOG_BYTES}`)
    return fresh
  } catch (error) {
    fresh.close()
    throw error
  }
}

/** @throws an error with the code of damage if it is not a sound database of this kind */
function prove(fresh: DatabaseSync, applicationId: number): void {
  const first = (sql: string) => Object.values(fresh.prepare(sql).get() ?? {})[0]
  const isOther = first('SELECT count(*) FROM sqlite_schema') !== 0 && first('PRAGMA application_id') !== applicationId
  const verdict = isOther ? 'it is of another kind' : String(first('PRAGMA quick_check(1)'))
  if (verdict !== 'ok') throw Object.assign(new Error(verdict), { errcode: SQLITE_CORRUPT })
}

function close(): void {
  statements.clear()
  database?.close()
  database = undefined
}

function statement(sql: string): StatementSync {
  const known = statements.get(sql) ?? opened().prepare(sql)
  statements.set(sql, known)
  return known
}

function write(work: readonly Work[]): void {
  const target = opened()
  target.exec('BEGIN IMMEDIATE')
  try {
    for (const { sql, values } of work) for (const one of values) statement(sql).run(...one)
    target.exec('COMMIT')
  } catch (error) {
    if (target.isTransaction) target.exec('ROLLBACK')
    throw error
  }
}

function read(sql: string, values: readonly SqlValue[]): SqlValue[][] {
  const asked = statement(sql)
  asked.setReturnArrays(true)
  return asked.all(...values) as unknown as SqlValue[][]
}

function putAside(): void {
  close()
  renameSync(path, `${path}.damaged`)
  for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true })
  makePlain(path)
}

function answer(asked: Asked): Answer {
  if (asked === null) close()
  else if ('work' in asked) write(asked.work)
  else return { rows: read(asked.sql, asked.values) }
  return {}
}

function faultOf(error: unknown): Answer {
  const { message, errcode } = error as Error & { errcode?: number }
  return { error: { message, ...(errcode !== undefined && { errcode }) } }
}

function answerOrFault(asked: Asked): Answer {
  try {
    return answer(asked)
  } catch (error) {
    return faultOf(error)
  }
}

/** Tries once more with a new database where the old one is damaged and can be spared. */
function answerSurely(asked: Asked): Answer {
  const first = answerOrFault(asked)
  if (!spare || !isDamaged(first.error?.errcode)) return first
  try {
    putAside()
  } catch (error) {
    return faultOf(error)
  }
  return { ...answerOrFault(asked), putAside: first.error?.message ?? '' }
}

// A database that must be there is opened now: its fault ends the thread, and with it every request.
if (!spare) opened()
parentPort?.on('message', (asked: Asked) => parentPort?.postMessage(answerSurely(asked)))
