/** The thread that writes the database: SQLite is synchronous, and a card may take its time to sync. */
import { basename } from 'node:path'
import { Worker } from 'node:worker_threads'
import { Fault } from '#kit/fault.ts'
import { WRITER_HEAP_MIB } from '../core/site-keys.ts'
import type { SqlValue } from './sql.ts'
import { isDiskFull } from './sqlite-codes.ts'

/** One statement, run once for each list of values. */
export interface Work {
  sql: string
  values: readonly (readonly SqlValue[])[]
}

/** Writes in the order of the calls. */
export interface Writer {
  /**
   * Runs all of it in one transaction; resolves when it is on the disk.
   * @throws Fault `store_write_failed`: nothing of it was written
   */
  write(work: readonly Work[]): Promise<void>
  /** Ends the thread after what was asked before. */
  close(): Promise<void>
}

/** What the thread answers. */
interface Answer {
  error?: { message: string; errcode?: number }
}

/** What SQLite's log is cut down to once what is in it stands in the database. */
const LOG_BYTES = 8_388_608

/**
 * The thread keeps the process until it is closed, so that none ends with changes that still wait for their time.
 * @param path of a database that is made already
 * @param busyMs how long another process may hold it
 */
export function startWriter(path: string, busyMs: number): Writer {
  // As text: a bundle is one file, and has none beside it that a thread could be started from.
  const thread = new Worker(`(${threadMain.toString()})()`, {
    eval: true,
    workerData: { path, busyMs, logBytes: LOG_BYTES },
    resourceLimits: { maxOldGenerationSizeMb: WRITER_HEAP_MIB.old, maxYoungGenerationSizeMb: WRITER_HEAP_MIB.young },
  })
  const waiting: PromiseWithResolvers<void>[] = []
  let gone: Fault | undefined

  function fail(cause: unknown): void {
    gone ??= new Fault('store_write_failed', `${basename(path)} was not written: its thread has ended`, { cause })
    for (const waiter of waiting.splice(0)) waiter.reject(gone)
  }
  thread.on('error', fail)
  thread.on('exit', () => fail(undefined))
  thread.on('message', ({ error }: Answer) => {
    const waiter = waiting.shift()
    if (error === undefined) waiter?.resolve()
    else waiter?.reject(faultOf(path, error))
  })

  function ask(message: readonly Work[] | null): Promise<void> {
    if (gone !== undefined) return Promise.reject(gone)
    const waiter = Promise.withResolvers<void>()
    waiting.push(waiter)
    thread.postMessage(message)
    return waiter.promise
  }

  return {
    write: (work) => (work.every(({ values }) => values.length === 0) ? Promise.resolve() : ask(work)),
    async close() {
      if (gone !== undefined) return
      await ask(null)
      await thread.terminate()
    },
  }
}

/** Names the file and not its folder: callers are told the sentence. */
function faultOf(path: string, error: NonNullable<Answer['error']>): Fault {
  const why = isDiskFull(error.errcode) ? 'the disk is full' : `the database answered ${error.message}`
  return new Fault('store_write_failed', `${basename(path)} was not written: ${why}; it is as it was before`, {
    details: { errcode: error.errcode },
  })
}

/** Runs in the thread, from its own text: it may use nothing of this file. */
function threadMain(): void {
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads')
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const { path, busyMs, logBytes } = workerData as { path: string; busyMs: number; logBytes: number }
  const database = new DatabaseSync(path, { timeout: busyMs, enableForeignKeyConstraints: false })
  // What is acknowledged is on the disk, after a power cut too; what a big import grew the log by is given back.
  database.exec(`PRAGMA synchronous = FULL; PRAGMA journal_size_limit = ${logBytes}`)
  const statements = new Map<string, ReturnType<typeof database.prepare>>()

  function statement(sql: string) {
    const known = statements.get(sql) ?? database.prepare(sql)
    statements.set(sql, known)
    return known
  }

  function run(work: readonly Work[]): void {
    database.exec('BEGIN IMMEDIATE')
    try {
      for (const { sql, values } of work) for (const one of values) statement(sql).run(...one)
      database.exec('COMMIT')
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK')
      throw error
    }
  }

  parentPort?.on('message', (work: readonly Work[] | null) => {
    const answer: Answer = {}
    try {
      if (work === null) database.close()
      else run(work)
    } catch (error) {
      const { message, errcode } = error as Error & { errcode?: number }
      answer.error = { message, errcode }
    }
    parentPort.postMessage(answer)
  })
}
