/** The thread that has the audit's file open for writing: a card may take 100 ms to make a batch durable, and blocks meanwhile. */
import { Worker } from 'node:worker_threads'
import { Fault } from '#kit/fault.ts'
import { AUDIT_HEAP_MIB } from '../core/audit-keys.ts'
import { ADD_COLUMNS, CREATE_TABLE, INDEX_CHEAP, INSERT_ROW, IS_CHEAP, type SqlRow } from './audit-table.ts'
import { type TrimStep, trimAudit } from './audit-trim-step.ts'
import { isDamaged } from './sqlite-codes.ts'

/** What the thread is told, one thing at a time. */
export type AuditTask =
  | { kind: 'open' }
  | { kind: 'write'; rows: readonly SqlRow[] }
  | ({ kind: 'trim' } & Pick<TrimStep, 'beforeAt' | 'most' | 'step'>)
  | { kind: 'close' }

/** A thread that lives until it is ended. */
export interface AuditThread {
  /**
   * Tasks are done in the order in which they are asked for.
   * @returns whether there is more of the kind to do (`trim`)
   * @throws Fault `audit_file_broken` where the file is no database or a damaged one, `audit_write_failed` for everything
   * else: nothing of the task is on the disk then
   */
  ask(task: AuditTask): Promise<boolean>
  end(): Promise<void>
}

interface Reply {
  fault?: { code: number; message: string }
  hasMore?: boolean
}

/** How long a backup or a reader may hold the file. */
const BUSY_MS = 1000

/** What SQLite's log is cut down to once what is in it stands in the file. */
const LOG_BYTES = 4_194_304

const HEAP = { maxOldGenerationSizeMb: AUDIT_HEAP_MIB.old, maxYoungGenerationSizeMb: AUDIT_HEAP_MIB.young }

export function createAuditThread(file: string): AuditThread {
  const table = {
    createTable: CREATE_TABLE,
    addColumns: ADD_COLUMNS,
    indexCheap: INDEX_CHEAP,
    isCheap: IS_CHEAP,
    insertRow: INSERT_ROW,
  }
  const workerData = { file, busyMs: BUSY_MS, logBytes: LOG_BYTES, ...table }
  // From its text, so that a daemon stays one file.
  const worker = new Worker(`(${write})(${trimAudit})`, {
    eval: true,
    workerData,
    resourceLimits: HEAP,
    execArgv: [],
    env: {},
  })
  const asked: PromiseWithResolvers<Reply>[] = []
  let ended: Fault | undefined

  function endAll(cause?: unknown): void {
    ended ??= new Fault('audit_write_failed', 'the thread that writes the audit has ended', { cause })
    for (const each of asked.splice(0)) each.reject(ended)
  }

  worker.on('message', (reply: Reply) => {
    asked.shift()?.resolve(reply)
    // It keeps the process alive while somebody waits for it, and no longer.
    if (asked.length === 0) worker.unref()
  })
  worker.on('error', endAll)
  worker.on('exit', () => endAll())
  worker.unref()
  return {
    async ask(task) {
      if (ended) throw ended
      const waiting = Promise.withResolvers<Reply>()
      asked.push(waiting)
      worker.ref()
      worker.postMessage(task)
      const { fault, hasMore = false } = await waiting.promise
      if (fault) throw faultOfSqlite(fault)
      return hasMore
    },
    end: async () => void (await worker.terminate()),
  }
}

function faultOfSqlite({ code, message }: { code: number; message: string }): Fault {
  if (isDamaged(code)) return new Fault('audit_file_broken', `the audit's file is damaged: ${message}`)
  return new Fault('audit_write_failed', `the audit cannot be written: ${message}`)
}

/** Runs in the thread, as text: it may use nothing that stands outside of it. */
function write(trim: typeof trimAudit): void {
  const { closeSync, constants, openSync } = process.getBuiltinModule('node:fs')
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads')
  let db: import('node:sqlite').DatabaseSync
  let insert: import('node:sqlite').StatementSync

  function open(): void {
    // The log and its index get the mode of the file: who did what is nobody else's to read.
    // A link in its place, which SQLite would follow, is none of ours.
    const { O_WRONLY, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
    closeSync(openSync(workerData.file, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600))
    db = new DatabaseSync(workerData.file, { timeout: workerData.busyMs })
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = ${workerData.logBytes}`)
    db.exec(workerData.createTable)
    // A file of an older version lacks what was added since; its rows have null there.
    const has = new Set(
      db
        .prepare("SELECT name FROM pragma_table_info('request_history')")
        .all()
        .map((row) => row.name),
    )
    for (const [name, sql] of Object.entries<string>(workerData.addColumns)) if (!has.has(name)) db.exec(sql)
    db.exec(workerData.indexCheap)
    insert = db.prepare(workerData.insertRow)
  }

  function oneStep(run: () => boolean): boolean {
    db.exec('BEGIN IMMEDIATE')
    try {
      const hasMore = run()
      db.exec('COMMIT')
      return hasMore
    } catch (error) {
      // A full disk has ended the transaction already.
      if (db.isTransaction) db.exec('ROLLBACK')
      throw error
    }
  }

  function writeRows(rows: readonly SqlRow[]): boolean {
    for (const row of rows) insert.run(...row)
    return false
  }

  function run(task: AuditTask): boolean {
    if (task.kind === 'open') open()
    else if (task.kind === 'write') return oneStep(() => writeRows(task.rows))
    else if (task.kind === 'trim') return oneStep(() => trim(db, { ...task, isCheap: workerData.isCheap }))
    else db?.close()
    return false
  }

  parentPort?.on('message', (task: AuditTask) => {
    try {
      parentPort.postMessage({ hasMore: run(task) })
    } catch (error) {
      const { errcode = 0, message } = error as { errcode?: number; message: string }
      parentPort.postMessage({ fault: { code: errcode, message } })
    }
  })
}
