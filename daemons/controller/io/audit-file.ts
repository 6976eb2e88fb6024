/** The audit on the disk: records gather while a batch is written, one commit each, within a bound on what may wait. */
import { join } from 'node:path'
import { createBackoff } from '#kit/backoff.ts'
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { createLogGate } from '#kit/log-gate.ts'
import type { AuditBook, AuditReader, AuditRecord, AuditSearch } from '../core/audit.ts'
import type { AuditConfig } from '../core/audit-keys.ts'
import type { Row } from '../core/row.ts'
import { type AuditBatch, type AuditBatches, createAuditBatches } from './audit-batches.ts'
import { createAuditReader, type OpenReader } from './audit-reader.ts'
import { type AuditStore, createAuditStore } from './audit-store.ts'
import { rowOfRecord, type SqlRow } from './audit-table.ts'
import { type AuditTrim, createAuditTrim } from './audit-trim.ts'

/** What an audit needs. */
export interface AuditNeeds {
  /** Of the daemon's state. */
  folder: string
  clock: Clock
  log: Log
  limits: AuditConfig
}

const LOST_LINE_MS = 10_000

/** Of the queue, one part in so many is kept free for records that an answer waits for. */
const PARTS_OF_QUEUE = 4

/** Of a record that an answer waits for and that has no room: who waits has a bound of his own. */
const NEVER: Promise<void> = new Promise(() => {})

/** Of a call that was carried out and answered 500. */
const LATE = 'the answer was 500, as this record did not reach the disk in time'

/** The file's name in the state folder. */
export const AUDIT_FILE = 'audit.db'

/** The audit in the state folder. */
export class AuditFile implements AuditBook, AuditReader {
  readonly #clock: Clock
  readonly #log: Log
  readonly #limits: AuditConfig
  readonly #batches: AuditBatches
  readonly #store: AuditStore
  readonly #reader: OpenReader
  readonly #trim: AuditTrim
  readonly #backoff: ReturnType<typeof createBackoff>
  readonly #lostLine: ReturnType<typeof createLogGate>
  #writing: Promise<void> | undefined
  #timer: Timer | undefined
  #timerDueMs = Number.POSITIVE_INFINITY
  #isFailing = false
  #isStopped = false
  /** Rows of records that an answer waits for. */
  readonly #rows = new WeakMap<AuditRecord, SqlRow>()
  #onTheWay: AuditBatch | undefined
  readonly #lateOnTheWay = new Map<SqlRow, AuditRecord>()
  #written = 0
  #lost = 0

  constructor({ folder, clock, log, limits }: AuditNeeds) {
    const file = join(folder, AUDIT_FILE)
    this.#clock = clock
    this.#log = log
    this.#limits = limits
    this.#batches = createAuditBatches(limits.batch_rows)
    this.#store = createAuditStore({ file, log, onPutAside: () => this.#reader.close() })
    this.#trim = createAuditTrim({ clock, log, limits, run: (task) => this.#store.ask(task) })
    this.#backoff = createBackoff({ firstMs: limits.retry_ms, maxMs: limits.retry_max_ms })
    const { scan_rows: chunkRows, search_rows: lookRows } = limits
    this.#reader = createAuditReader({ file, flush: () => this.flush(), limits: { chunkRows, lookRows } })
    this.#lostLine = createLogGate(clock, LOST_LINE_MS, (records) =>
      log.error('audit_records_lost', { records, limit: limits.queue_rows }),
    )
  }

  /** @throws Fault `audit_write_failed` where there can be no file: a controller that records nothing does not start */
  async start(): Promise<void> {
    await this.#store.open()
    this.#trim.start()
  }

  /** Writes what waits, then lets the file go. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#trim.stop()
    await this.flush()
    this.#timer?.cancel()
    const records = this.#batches.size()
    if (records > 0) this.#log.error('audit_records_lost', { records, because: 'stopped' })
    this.#lostLine.close()
    this.#reader.close()
    await this.#store.close()
  }

  add(record: AuditRecord, isAwaited = false): Promise<void> {
    const { queue_rows: most, wait_ms: waitMs } = this.#limits
    const kept = isAwaited ? 0 : Math.ceil(most / PARTS_OF_QUEUE)
    if (this.#isStopped || this.#batches.size() >= most - kept) {
      this.#lost++
      this.#lostLine.note({})
      return isAwaited ? NEVER : Promise.resolve()
    }
    const nowMs = this.#clock.monotonicMs()
    const row = rowOfRecord(record)
    if (isAwaited) this.#rows.set(record, row)
    const { done } = this.#batches.add(row, isAwaited ? nowMs : nowMs + waitMs)
    this.#pump()
    return done.promise
  }

  late(record: AuditRecord): void {
    const { action, outcome } = record.facts ?? { action: record.path, outcome: 'done' as const }
    const late: AuditRecord = { ...record, status: 500, facts: { action, outcome, detail: LATE } }
    const row = this.#rows.get(record)
    if (row === undefined) void this.add(late)
    // What the disk is taking cannot be changed any more, unless it does not take it.
    else if (this.#onTheWay?.rows.includes(row) === true) this.#lateOnTheWay.set(row, late)
    else row.splice(0, row.length, ...rowOfRecord(late))
  }

  /** The disk has answered: what was found late meanwhile is changed where it comes again, and else told by another record. */
  #tellLate(isWritten: boolean): void {
    this.#onTheWay = undefined
    for (const [row, late] of this.#lateOnTheWay)
      if (isWritten) void this.add(late)
      else row.splice(0, row.length, ...rowOfRecord(late))
    this.#lateOnTheWay.clear()
  }

  takes(): boolean {
    return !this.#isFailing && !this.#isStopped && this.#batches.size() < this.#limits.queue_rows
  }

  /** Resolves when what waits now is on the disk, or when the disk takes nothing. */
  async flush(): Promise<void> {
    let isDone = true
    const last = this.#batches.hurry(this.#clock.monotonicMs())
    if (last) {
      isDone = false
      void last.done.promise.then(() => {
        isDone = true
      })
    }
    this.#pump()
    while (this.#writing && !(isDone && last)) await this.#writing
  }

  /** What has happened since the start, and what waits now. */
  counts(): { written: number; lost: number; waiting: number; isFailing: boolean } {
    return { written: this.#written, lost: this.#lost, waiting: this.#batches.size(), isFailing: this.#isFailing }
  }

  scan(visit: (row: Row) => boolean, beforeId?: number): Promise<void> {
    return this.#reader.scan(visit, beforeId)
  }

  pieces(isNewestFirst: boolean): AsyncIterable<readonly Row[]> {
    return this.#reader.pieces(isNewestFirst)
  }

  list(search: AuditSearch): Promise<{ rows: readonly Row[]; next: number | null }> {
    return this.#reader.list(search)
  }

  /** Writes the first batch when it is due, or sees to it that somebody looks again then. */
  #pump(): void {
    const dueMs = this.#batches.dueMs()
    if (this.#writing || this.#isFailing || dueMs === undefined) return
    if (this.#timer && this.#timerDueMs <= dueMs) return
    this.#timer?.cancel()
    this.#timer = undefined
    const waitMs = dueMs - this.#clock.monotonicMs()
    if (waitMs > 0) this.#lookAgain(waitMs, dueMs)
    else this.#writing = this.#writeNext()
  }

  #lookAgain(waitMs: number, dueMs: number): void {
    this.#timerDueMs = dueMs
    this.#timer = this.#clock.after(waitMs, () => {
      this.#timer = undefined
      this.#pump()
    })
  }

  /** Goes on at once with what has come to be due meanwhile. */
  async #writeNext(): Promise<void> {
    const batch = this.#batches.take()
    if (batch) await this.#write(batch)
    this.#writing = undefined
    this.#pump()
  }

  async #write(batch: AuditBatch): Promise<void> {
    this.#onTheWay = batch
    try {
      await this.#store.write(batch.rows)
    } catch (fault) {
      this.#tellLate(false)
      this.#batches.putBack(batch)
      this.#failed(fault)
      return
    }
    this.#tellLate(true)
    this.#written += batch.rows.length
    batch.done.resolve()
    if (this.#isFailing) this.#log.notice('audit_written_again', { waiting: this.#batches.size() })
    this.#isFailing = false
    this.#backoff.reset()
  }

  /** What could not be written stays and is tried again; what comes meanwhile waits behind it, within the bound. */
  #failed(fault: unknown): void {
    const retryMs = this.#backoff.next()
    if (!this.#isFailing) this.#log.error('audit_failing', { fault, retryMs })
    this.#isFailing = true
    this.#timer?.cancel()
    this.#timer = this.#clock.after(retryMs, () => {
      this.#timer = undefined
      this.#writing = this.#writeNext()
    })
  }
}
