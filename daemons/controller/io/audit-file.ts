/** The audit on disk: records are written in batches, one commit each, and the oldest rows are trimmed. */
import { join } from 'node:path'
import type { Clock, Timer } from '#kit/clock.ts'
import type { Log } from '#kit/log.ts'
import { Backoff, createLogGate } from '#kit/pure/pace.ts'
import type { AuditBook, AuditReader, AuditRecord, AuditSearch } from '../core/audit.ts'
import type { AuditConfig } from '../core/keys.ts'
import type { Row } from '../core/site/book.ts'
import { createAuditReader, type OpenReader } from './audit-reader.ts'
import { type AuditStore, type AuditTask, createAuditStore, rowOfRecord, type SqlRow } from './audit-store.ts'

// Batches: records that wait for the disk. Each batch is one commit, and its records become durable together.

/** Rows that become durable together. */
interface AuditBatch {
  rows: SqlRow[]
  /** Latest time to write it, in monotonic ms; at once if an answer waits for one of its rows. */
  dueMs: number
  done: PromiseWithResolvers<void>
}

/** The queue of batches, oldest first. */
interface AuditBatches {
  /** @returns the batch that the row was added to */
  add(row: SqlRow, dueMs: number): AuditBatch
  /** Removes the first batch: nothing is added to it afterwards. */
  take(): AuditBatch | undefined
  /** Puts a batch that could not be written back at the front. */
  putBack(batch: AuditBatch): void
  /** When the first batch is due; undefined if the queue is empty. */
  dueMs(): number | undefined
  /** Makes all batches due now. @returns the last one, if there is any */
  hurry(nowMs: number): AuditBatch | undefined
  /** Number of queued rows. */
  size(): number
}

/** @param mostRows most rows of one batch */
function createAuditBatches(mostRows: number): AuditBatches {
  const batches: AuditBatch[] = []
  let size = 0
  /** The only batch that may still grow: one that was put back stays as it is. */
  let open: AuditBatch | undefined

  return {
    add(row, dueMs) {
      if (!open || open.rows.length >= mostRows) {
        open = { rows: [], dueMs, done: Promise.withResolvers() }
        batches.push(open)
      }
      open.rows.push(row)
      // A full batch is due at once.
      open.dueMs = open.rows.length >= mostRows ? Number.NEGATIVE_INFINITY : Math.min(open.dueMs, dueMs)
      size++
      return open
    },
    take() {
      const batch = batches.shift()
      if (batch === open) open = undefined
      size -= batch?.rows.length ?? 0
      return batch
    },
    putBack(batch) {
      batches.unshift(batch)
      size += batch.rows.length
    },
    dueMs: () => batches[0]?.dueMs,
    hurry(nowMs) {
      for (const batch of batches) batch.dueMs = Math.min(batch.dueMs, nowMs)
      return batches.at(-1)
    },
    size: () => size,
  }
}

// Trimming: removes the oldest rows, a few at a time, and never because a clock was wrong.

/** Trims periodically until it is stopped. */
interface AuditTrim {
  start(): void
  stop(): void
}

const DAY_MS = 86_400_000

/** If the wall clock deviates from the monotonic one by more than this, somebody has set it. */
const STEP_MS = 3_600_000

/** Pause between two steps of one trim, so that writes need not wait. */
const PAUSE_MS = 50

/**
 * Trims by age only after the clock has been steady for a day of this run: otherwise a box without a battery that wakes
 * in 2038 would delete everything. Trims by number always.
 * @param by `run` executes one task; its errors are logged, and it is retried in the next period
 */
function createAuditTrim(by: {
  clock: Clock
  log: Log
  limits: Pick<AuditConfig, 'keep_days' | 'most_rows' | 'trim_ms' | 'trim_rows'>
  run: (task: AuditTask) => Promise<boolean>
}): AuditTrim {
  const { clock, limits } = by
  // What the clock did before the start is unknown: a box without a battery wakes with any time.
  let steadySinceMs = clock.monotonicMs()
  let offsetMs = clock.epochMs() - clock.monotonicMs()
  let timer: Timer | undefined
  let isStopped = false

  /** Rows older than this, in epoch ms, may go; 0 while their age is uncertain. */
  function oldest(): number {
    const nowMs = clock.monotonicMs()
    const offset = clock.epochMs() - nowMs
    if (Math.abs(offset - offsetMs) > STEP_MS) {
      steadySinceMs = nowMs
      offsetMs = offset
    }
    return nowMs - steadySinceMs < DAY_MS ? 0 : clock.epochMs() - limits.keep_days * DAY_MS
  }

  async function trim(): Promise<void> {
    const task = { kind: 'trim', beforeAt: oldest(), most: limits.most_rows, step: limits.trim_rows } as const
    const hasMore = await by.run(task).catch((fault) => {
      by.log.warning('audit_not_trimmed', { fault })
      return false
    })
    if (!isStopped) timer = clock.after(hasMore ? PAUSE_MS : limits.trim_ms, () => void trim())
  }

  return {
    start: () => void trim(),
    stop() {
      isStopped = true
      timer?.cancel()
    },
  }
}

// The file: records gather in a bounded queue while a batch is written.
interface AuditNeeds {
  /** The daemon's state folder. */
  folder: string
  clock: Clock
  log: Log
  limits: AuditConfig
  /** The disk takes no record; undefined: it takes them again. */
  onFailing?: (fault: unknown) => void
}

const LOST_LINE_MS = 10_000

/** A quarter of the queue is reserved for records that an answer waits for. */
const PARTS_OF_QUEUE = 4

/** Returned for an awaited record that found no room: the waiting answer has a timeout of its own. */
const NEVER: Promise<void> = new Promise(() => {})

/** Detail of a call that was carried out but answered with 500. */
const LATE = 'the answer was 500, as this record did not reach the disk in time'

/** The file's name in the state folder. */
export const AUDIT_FILE = 'audit.db'

export class AuditFile implements AuditBook, AuditReader {
  readonly #clock: Clock
  readonly #log: Log
  readonly #limits: AuditConfig
  readonly #onFailing: (fault: unknown) => void
  readonly #batches: AuditBatches
  readonly #store: AuditStore
  readonly #reader: OpenReader
  readonly #trim: AuditTrim
  readonly #backoff: Backoff
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

  constructor({ folder, clock, log, limits, onFailing = () => {} }: AuditNeeds) {
    const file = join(folder, AUDIT_FILE)
    this.#clock = clock
    this.#log = log
    this.#limits = limits
    this.#onFailing = onFailing
    this.#batches = createAuditBatches(limits.batch_rows)
    this.#store = createAuditStore({ file, log, onPutAside: () => this.#reader.close() })
    this.#trim = createAuditTrim({ clock, log, limits, run: (task) => this.#store.ask(task) })
    this.#backoff = new Backoff({ firstMs: limits.retry_ms, maxMs: limits.retry_max_ms })
    const { scan_rows: chunkRows, search_rows: lookRows } = limits
    this.#reader = createAuditReader({ file, flush: () => this.flush(), limits: { chunkRows, lookRows } })
    this.#lostLine = createLogGate(clock, LOST_LINE_MS, (records) =>
      log.error('audit_records_lost', { records, limit: limits.queue_rows }),
    )
  }

  /**
   * @throws Fault `audit_write_failed` if the file cannot be created: a controller that cannot record does not start
   */
  async start(): Promise<void> {
    await this.#store.open()
    this.#trim.start()
  }

  /** Writes what is queued, then closes the file. */
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
    // A row that is being written cannot be changed any more, unless the write fails.
    else if (this.#onTheWay?.rows.includes(row) === true) this.#lateOnTheWay.set(row, late)
    else row.splice(0, row.length, ...rowOfRecord(late))
  }

  /**
   * Called after a write. Late records in the batch are changed if it will be written again; otherwise another record
   * reports them.
   */
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

  /** Resolves when everything queued now is on disk, or when writing fails. */
  async flush(): Promise<void> {
    // Where nothing waits it is the one on its way: those behind it came later, and there may be no end of them.
    const last = this.#batches.hurry(this.#clock.monotonicMs()) ?? this.#onTheWay
    let isDone = last === undefined
    void last?.done.promise.then(() => {
      isDone = true
    })
    this.#pump()
    while (this.#writing && !isDone) await this.#writing
  }

  /** Counts since the start, and the present queue. */
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

  /** Writes the first batch if it is due, else sets a timer for it. */
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

  /** Continues at once with whatever has become due in the meantime. */
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
    if (this.#isFailing) {
      this.#log.notice('audit_written_again', { waiting: this.#batches.size() })
      this.#onFailing(undefined)
    }
    this.#isFailing = false
    this.#backoff.reset()
  }

  /** The failed batch stays first and is retried; new records queue behind it, up to the limit. */
  #failed(fault: unknown): void {
    const retryMs = this.#backoff.next()
    if (!this.#isFailing) {
      this.#log.error('audit_failing', { fault, retryMs })
      this.#onFailing(fault)
    }
    this.#isFailing = true
    this.#timer?.cancel()
    this.#timer = this.#clock.after(retryMs, () => {
      this.#timer = undefined
      this.#writing = this.#writeNext()
    })
  }
}
