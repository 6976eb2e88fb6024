/**
 * A SQLite database that a thread writes and reads: SQLite is synchronous, and a card may take its time to sync. The
 * daemon goes on meanwhile.
 */
import { basename } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { Fault } from '../pure/fault.ts'
import { startThread } from '../run/thread.ts'
import { makePlain } from './store.ts'

// SQLite's error codes. @source SQLite, Result and Error Codes

/** The low byte is the kind of error; the higher ones give details. */
const KIND = 0xff

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const DAMAGED: readonly number[] = [11, 26]

/** SQLITE_FULL. */
const FULL = 13

/** Whether the file is damaged or not a database. @param code the `errcode` of an error; undefined if it has none */
export function isDamaged(code: number | undefined): boolean {
  return DAMAGED.includes((code ?? 0) & KIND)
}

/** Whether the disk is full. @param code the `errcode` of an error; undefined if it has none */
function isDiskFull(code: number | undefined): boolean {
  return ((code ?? 0) & KIND) === FULL
}

/** A value in a STRICT table. */
export type SqlValue = null | number | string | Uint8Array

/** One statement, executed once for each list of values. */
export interface Work {
  sql: string
  values: readonly (readonly SqlValue[])[]
}

/** Works in the order of the calls. */
export interface Writer {
  /**
   * Executes everything in one transaction; resolves when it is on disk.
   * @throws Fault `store_write_failed`: nothing of it was written
   */
  write(work: readonly Work[]): Promise<void>
  /** The rows of a query, which bounds their number itself. @throws Fault `store_read_failed` */
  read(sql: string, values: readonly SqlValue[]): Promise<SqlValue[][]>
  /** Ends the thread after all earlier requests. */
  close(): Promise<void>
}

/**
 * A database that can be spared: the thread creates it, checks it, and begins a new one where it finds it damaged, at
 * the start or later.
 */
interface Spare {
  /** Marks the files of this kind; another mark counts as damaged. */
  applicationId: number
  /** Statements that create the tables, and do nothing to those that are there. */
  schema: readonly string[]
  /** The old file now ends with `.damaged`, in the place of one before it. @param why the check's words */
  onPutAside(why: string): void
}

interface WriterOptions {
  /** How long another process may hold it. */
  busyMs: number
  heapMib: { old: number; young: number }
  /** Left out: the database exists, and damage is a fault. */
  spare?: Spare
  /** Its first request is not to wait for the thread, which takes a tenth of a second to start. */
  startsAtOnce?: boolean
  /** The newest changes may be lost in a power cut, though not in a kill: then no write waits for the disk. */
  mayLoseNewest?: boolean
}

/** What the thread is given at its start. */
export interface ThreadData {
  path: string
  busyMs: number
  mayLoseNewest: boolean
  spare?: Pick<Spare, 'applicationId' | 'schema'>
}

/** A request to the thread; null: close. */
export type Asked = { work: readonly Work[] } | { sql: string; values: readonly SqlValue[] } | null

/** A reply from the thread. */
export interface Answer {
  rows?: SqlValue[][]
  error?: { message: string; errcode?: number }
  putAside?: string
}

/**
 * Its thread is started by the first request, unless that is not to wait, since it takes a fifth of a daemon's start. From then on it
 * keeps the process alive until it is closed, so that the process does not exit with unwritten changes.
 * @throws Fault and errors of the disk if a database that can be spared cannot be created
 */
export function startWriter(path: string, options: WriterOptions): Writer {
  const { busyMs, heapMib, mayLoseNewest = false, spare, startsAtOnce = false } = options
  // The log and its index copy the mode and owner of the file.
  if (spare) makePlain(path)
  const workerData: ThreadData = {
    ...{ path, busyMs, mayLoseNewest },
    ...(spare && { spare: { applicationId: spare.applicationId, schema: spare.schema } }),
  }
  const waiting: PromiseWithResolvers<Answer>[] = []
  let thread: Worker | undefined
  let gone: Answer | undefined

  function fail(error?: Error): void {
    gone ??= { error: { message: error?.message ?? 'that its thread has ended' } }
    for (const waiter of waiting.splice(0)) waiter.resolve(gone)
  }

  function start(): Worker {
    const started = startThread(new URL('./sqlite-thread.ts', import.meta.url), {
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: heapMib.old, maxYoungGenerationSizeMb: heapMib.young },
    })
    started.on('error', fail)
    started.on('exit', () => fail())
    started.on('message', (answer: Answer) => {
      if (answer.putAside !== undefined) spare?.onPutAside(answer.putAside)
      waiting.shift()?.resolve(answer)
    })
    return started
  }
  if (startsAtOnce) thread = start()

  function ask(message: Asked): Promise<Answer> {
    if (gone !== undefined) return Promise.resolve(gone)
    const waiter = Promise.withResolvers<Answer>()
    waiting.push(waiter)
    thread ??= start()
    thread.postMessage(message)
    return waiter.promise
  }

  return {
    async write(work) {
      if (work.every(({ values }) => values.length === 0)) return
      const { error } = await ask({ work })
      if (error !== undefined) throw notWritten(path, error)
    },
    async read(sql, values) {
      const { error, rows = [] } = await ask({ sql, values })
      if (error === undefined) return rows
      throw new Fault('store_read_failed', `${basename(path)} cannot be read: the database answered ${error.message}`)
    },
    async close() {
      if (gone !== undefined) return
      if (!thread) return fail()
      await ask(null)
      await thread.terminate()
    },
  }
}

/** Names the file without its folder: callers see the sentence. */
function notWritten(path: string, error: NonNullable<Answer['error']>): Fault {
  const why = isDiskFull(error.errcode) ? 'the disk is full' : `the database answered ${error.message}`
  return new Fault('store_write_failed', `${basename(path)} was not written: ${why}; it is as it was before`, {
    details: { errcode: error.errcode },
  })
}
