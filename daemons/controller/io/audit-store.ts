/** Stores rows of the audit: the table, the thread that writes its file, and the handling of a damaged file. */
import { rename, rm } from 'node:fs/promises'
import type { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import type { Log } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { shortCopy } from '#kit/pure/text.ts'
import { isDamaged } from '#kit/store/sqlite-writer.ts'
import type { AuditFacts, AuditRecord } from '../core/audit.ts'
import type { Json } from '../core/json.ts'
import { AUDIT_HEAP_MIB } from '../core/keys.ts'
import type { Row } from '../core/site/book.ts'

// The table: its columns, and the conversion between records and rows of bounded, plain values.

/** Values of one row in the order of `COLUMNS`, without the id. */
export type SqlRow = (string | number | null)[]

/** In the order in which rows are written. @source document 1, Audit record */
const COLUMNS = {
  at: 'INTEGER NOT NULL',
  request_type: 'TEXT NOT NULL',
  method: 'TEXT NOT NULL',
  path: 'TEXT NOT NULL',
  status: 'INTEGER NOT NULL',
  elapsed_ms: 'INTEGER NOT NULL',
  client_ip: 'TEXT NOT NULL',
  user_id: 'INTEGER',
  username: 'TEXT',
  granted: 'INTEGER NOT NULL',
  reason: 'TEXT',
  target: 'TEXT',
  run_id: 'INTEGER',
  action: 'TEXT',
  outcome: 'TEXT',
  detail: 'TEXT',
} as const

const names = Object.keys(COLUMNS)

/** Executed at a start without a table. Ids grow with every row: they define the order, whatever the clock did. */
const CREATE_TABLE = `CREATE TABLE IF NOT EXISTS request_history (id INTEGER PRIMARY KEY, ${Object.entries(COLUMNS)
  .map(([name, type]) => `${name} ${type}`)
  .join(', ')}) STRICT`

/** For older files: the statement that adds each missing column. */
const ADD_COLUMNS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(COLUMNS).map(([name, type]) => [name, `ALTER TABLE request_history ADD COLUMN ${name} ${type}`]),
)

/** Calls that anybody can produce at will: those without an account, and refused ones. */
const CHEAP = '(user_id IS NULL OR granted = 0)'

/** The same condition in the form that uses the index. */
const IS_CHEAP = `${CHEAP} = 1`

/** Whether there is a call by an account, using the index. */
export const SELECT_SOMEBODY = `SELECT 1 FROM request_history WHERE ${CHEAP} = 0 LIMIT 1`

/** Finds the oldest cheap rows, and counts all rows, without reading whole rows. */
const INDEX_CHEAP = `CREATE INDEX IF NOT EXISTS cheap_requests ON request_history (${CHEAP})`

/** One row, with positional parameters. */
const INSERT_ROW = `INSERT INTO request_history (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`

/** Rows below an id, newest first; parameters are the id and the limit. */
export const SELECT_BELOW = `SELECT id, ${names.join(', ')} FROM request_history WHERE id < ? ORDER BY id DESC LIMIT ?`

/** Rows above an id, oldest first; parameters are the id and the limit. */
export const SELECT_ABOVE = `SELECT id, ${names.join(', ')} FROM request_history WHERE id > ? ORDER BY id LIMIT ?`

/** Most characters stored of each text: anything longer was made up by somebody. */
const LONGEST = { method: 32, path: 512, client_ip: 64, username: 128, reason: 64, target: 128 } as const
const LONGEST_FACTS = { action: 256, detail: 512 } as const

/** @returns a row that the strict table always accepts: a rejected row would block all rows behind it */
export function rowOfRecord(record: AuditRecord): SqlRow {
  return [
    whole(record.at),
    record.requestType,
    plain(record.method, LONGEST.method),
    plain(withoutQuery(record.path), LONGEST.path),
    whole(record.status),
    whole(record.elapsedMs),
    plain(record.clientIp, LONGEST.client_ip),
    record.userId === null ? null : whole(record.userId),
    record.username === null ? null : plain(record.username, LONGEST.username),
    record.granted ? 1 : 0,
    record.reason === null ? null : plain(record.reason, LONGEST.reason),
    record.target === null ? null : plain(record.target, LONGEST.target),
    record.runId === null ? null : whole(record.runId),
    ...factsOf(record.facts ?? null),
  ]
}

function factsOf(facts: AuditFacts | null): (string | null)[] {
  if (facts === null) return [null, null, null]
  const { action, outcome, detail } = facts
  return [plain(action, LONGEST_FACTS.action), outcome, detail === null ? null : plain(detail, LONGEST_FACTS.detail)]
}

/**
 * @param values as SQLite returns them. @returns a row like those of every table: booleans as such, created_at from its
 * time
 */
export function rowOfTable(values: Readonly<Record<string, unknown>>): Row {
  const at = values.at as number
  const columns = values as Readonly<Record<string, Json>>
  return { ...columns, id: values.id as number, created_at: at, updated_at: at, granted: values.granted === 1 }
}

/** Nearly every text matches, and the test is cheap. */
const PLAIN = /^[ -~]*$/

/**
 * SQLite ends a text at NUL, and lone surrogates are not UTF-8: both, and other invisible characters, are replaced. So
 * are characters that change the direction of writing: a name after one of them reads as another.
 */
function plain(text: string, longest: number): string {
  if (text.length <= longest && PLAIN.test(text)) return text
  return shortCopy(text, longest)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '\ufffd')
}

function withoutQuery(path: string): string {
  const mark = path.indexOf('?')
  return mark < 0 ? path : shortCopy(path, mark)
}

function whole(figure: number): number {
  return Number.isFinite(figure) ? Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.round(figure))) : 0
}

// One step of a trim: removes rows that are too many or too old.

interface TrimStep {
  /** Epoch ms: older rows may go. */
  beforeAt: number
  /** How many rows may stay. */
  most: number
  /** Most rows removed in this step: writes wait for it. */
  step: number
  /** SQL condition for rows that anybody can produce. */
  isCheap: string
}

/**
 * Removes at most `step` of the oldest rows: those that are too old, and those beyond `most`. Of the latter, cheap rows
 * go first, except those in the newest half: otherwise a stranger could push out all other records by calling often
 * enough. Passed to a thread as text: it must not use anything outside its body.
 * @returns whether there may be more to do
 */
function trimAudit(db: DatabaseSync, { beforeAt, most, step, isCheap }: TrimStep): boolean {
  function removeOldest(rows: number, where = 'true'): number {
    const oldest = `SELECT id FROM request_history WHERE ${where} ORDER BY id LIMIT ?`
    const { changes } = db.prepare(`DELETE FROM request_history WHERE id IN (${oldest})`).run(rows)
    return Number(changes)
  }

  /** In order of writing, up to the first recent row: a clock that was set back removes nothing extra. */
  function oldRows(): number {
    const times = db.prepare('SELECT at FROM request_history ORDER BY id LIMIT ?').all(step)
    const young = times.findIndex(({ at }) => Number(at) >= beforeAt)
    return young < 0 ? times.length : young
  }

  const tooOld = removeOldest(oldRows())
  const rows = Number(db.prepare('SELECT count(*) AS rows FROM request_history').get()?.rows)
  const over = Math.min(rows - most, step - tooOld)
  if (over <= 0) return tooOld === step
  const newest = Number(db.prepare('SELECT max(id) AS id FROM request_history').get()?.id)
  const cheap = removeOldest(over, `${isCheap} AND id <= ${newest - Math.ceil(most / 2)}`)
  return tooOld + cheap + removeOldest(over - cheap) === step
}

// The thread that has the file open for writing: a card may block for 100 ms to make a batch durable.

/** Tasks for the thread, one at a time. */
export type AuditTask =
  | { kind: 'open' }
  | { kind: 'write'; rows: readonly SqlRow[] }
  | ({ kind: 'trim' } & Pick<TrimStep, 'beforeAt' | 'most' | 'step'>)
  | { kind: 'close' }

/** A thread that lives until it is ended. */
interface AuditThread {
  /**
   * Executes tasks in the order of the calls.
   * @returns whether there is more to do (`trim`)
   * @throws Fault `audit_file_broken` if the file is damaged or not a database, `audit_write_failed` for everything
   * else: nothing of the task is on disk then
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

/** SQLite's log is truncated to this size once its contents are in the file. */
const LOG_BYTES = 4_194_304

const HEAP = { maxOldGenerationSizeMb: AUDIT_HEAP_MIB.old, maxYoungGenerationSizeMb: AUDIT_HEAP_MIB.young }

function createAuditThread(file: string): AuditThread {
  const table = {
    createTable: CREATE_TABLE,
    addColumns: ADD_COLUMNS,
    indexCheap: INDEX_CHEAP,
    isCheap: IS_CHEAP,
    insertRow: INSERT_ROW,
  }
  const workerData = { file, busyMs: BUSY_MS, logBytes: LOG_BYTES, ...table }
  // Started from its text, so that a daemon stays one file.
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
    // It keeps the process alive only while somebody waits for it.
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

/** Runs in the thread, as text: it must not use anything outside its body. */
function write(trim: typeof trimAudit): void {
  const { closeSync, constants, openSync } = process.getBuiltinModule('node:fs')
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads')
  let db: import('node:sqlite').DatabaseSync
  let insert: import('node:sqlite').StatementSync

  function open(): void {
    // Created with this mode, which the log and its index copy: the audit is private. A symbolic link here, which
    // SQLite would follow, is not accepted.
    const { O_WRONLY, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
    closeSync(openSync(workerData.file, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600))
    db = new DatabaseSync(workerData.file, { timeout: workerData.busyMs })
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = ${workerData.logBytes}`)
    db.exec(workerData.createTable)
    // A file of an older version lacks newer columns; its rows have null there.
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

// The store: opens the file on demand, writes rows, and puts a damaged file aside.

/** Stores rows. */
export interface AuditStore {
  /** @throws Fault `audit_write_failed` */
  open(): Promise<void>
  /** Durable when it resolves. @throws Fault `audit_write_failed`: none of the rows was written */
  write(rows: readonly SqlRow[]): Promise<void>
  /** @returns whether there is more to do. @throws Fault `audit_write_failed`, `audit_file_broken` */
  ask(task: AuditTask): Promise<boolean>
  close(): Promise<void>
}

/** @param by `onPutAside` is called before the file is moved, so that readers close the old one */
export function createAuditStore(by: { file: string; log: Log; onPutAside: () => void }): AuditStore {
  const { file, log } = by
  let thread: Promise<AuditThread> | undefined

  /** The current thread, or a new one; concurrent callers get the same. */
  function current(): Promise<AuditThread> {
    thread ??= open()
    return thread
  }

  async function open(): Promise<AuditThread> {
    const made = createAuditThread(file)
    try {
      await made.ask({ kind: 'open' })
    } catch (fault) {
      thread = undefined
      await made.end()
      throw fault
    }
    return made
  }

  async function ask(task: AuditTask): Promise<boolean> {
    const mine = current()
    try {
      return await (await mine).ask(task)
    } catch (fault) {
      // After a failed write the file is opened again for the retry: a card may have been pulled. A failed trim can
      // wait.
      if (thread === mine && (task.kind === 'write' || isBroken(fault))) {
        thread = undefined
        await mine.then((each) => each.end()).catch(() => {})
      }
      throw fault
    }
  }

  /** Retries with a new file if the old one is damaged; the old one is kept beside it, for anyone who can repair it. */
  async function despiteDamage<Given>(run: () => Promise<Given>): Promise<Given> {
    try {
      return await run()
    } catch (fault) {
      if (!isBroken(fault)) throw fault
      log.error('audit_put_aside', { fault, file: `${file}.broken` })
      by.onPutAside()
      await rename(file, `${file}.broken`)
      for (const end of ['-wal', '-shm']) await rm(file + end, { force: true })
      return run()
    }
  }

  return {
    open: () => despiteDamage(async () => void (await current())),
    write: (rows) => despiteDamage(async () => void (await ask({ kind: 'write', rows }))),
    ask,
    async close() {
      const last = await thread?.catch(() => undefined)
      thread = undefined
      await last?.ask({ kind: 'close' })
      await last?.end()
    },
  }
}

function isBroken(fault: unknown): boolean {
  return fault instanceof Fault && fault.code === 'audit_file_broken'
}
