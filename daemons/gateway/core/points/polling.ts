/** Polls points on a time grid: few requests, spread evenly, and points that were just written come first. */

import type { Clock, Timer } from '#kit/clock.ts'
import { type Fault, faultOf } from '#kit/pure/fault.ts'
import type { AskHow } from '../bus/transactions.ts'
import type { PlannedRead, PointBase, PointProtocol, ReadPlanner } from './definition.ts'
import type { PollingView } from './values.ts'

// When each read of a plan is due: start + n * period, whatever happens on the line.

/** One read and its due times, by the monotonic clock. */
interface GridEntry<Point extends PointBase, Request> {
  block: PlannedRead<Point, Request>
  /** Its next due time on the grid. */
  dueMs: number
  /** It was due and has no reply yet: it is queued or in flight. */
  isPending: boolean
  /** For reads beside the grid: when one is due (undefined: none is), and when the last one was (undefined: never). */
  extraDueMs: number | undefined
  extraMs: number | undefined
  /** The pending read is one beside the grid. */
  isExtra: boolean
  /** How late its last reply came after the due time, and by how much that differs from the reply before. */
  lateMs: number | undefined
  slipMs: number | undefined
}

/** The reads that are due now. */
interface Due<Point extends PointBase, Request> {
  /** Sorted by due time. `isExtra`: beside the grid. */
  reads: { entry: GridEntry<Point, Request>; dueMs: number; isExtra: boolean }[]
  /** Due times that were skipped, because the previous read was still pending or the grid was looked at too late. */
  overruns: number
}

/** The time between the first due times of two reads, so that other requests fit between them. */
const SPREAD_MS = 20

/**
 * The part of the shortest period in which all first due times lie. The rest stays free in one piece, so that the
 * timeout of a dead unit fits in; there would be no such gap if the reads were spread over the whole period.
 */
const SPREAD_SHARE = 1 / 4

/** One entry per read of the plan. */
class PollGrid<Point extends PointBase, Request> {
  #entries = new Map<string, GridEntry<Point, Request>>()

  get size(): number {
    return this.#entries.size
  }

  has(entry: GridEntry<Point, Request>): boolean {
    return this.#entries.get(entry.block.key) === entry
  }

  clear(): void {
    this.#entries.clear()
  }

  /** Reads that stay keep their due times; new ones start now, shortly one after another. */
  set(blocks: readonly PlannedRead<Point, Request>[], nowMs: number): void {
    const shortestMs = Math.min(...blocks.map(({ periodMs }) => periodMs))
    const spreadMs = Math.min(SPREAD_MS, Math.floor((SPREAD_SHARE * shortestMs) / blocks.length))
    for (const [at, entry] of this.#replace(blocks).entries()) entry.dueMs = nowMs + at * spreadMs
  }

  /** Some reads were split: the parts are due when the whole read was. @returns the new entries */
  cut(blocks: readonly PlannedRead<Point, Request>[], whole: GridEntry<Point, Request>): GridEntry<Point, Request>[] {
    const dueMs = new Map([...this.#entries.values()].flatMap(duesOf))
    const fresh = this.#replace(blocks)
    for (const entry of fresh) entry.dueMs = dueMs.get(entry.block.points[0]?.name ?? '') ?? whole.dueMs
    return fresh
  }

  /** Takes what is due and sets the next due times. */
  collect(nowMs: number): Due<Point, Request> {
    const due: Due<Point, Request> = { reads: [], overruns: 0 }
    for (const entry of this.#entries.values()) {
      if (entry.dueMs <= nowMs) this.#collectDue(entry, nowMs, due)
      else if (entry.extraDueMs !== undefined && entry.extraDueMs <= nowMs) {
        if (!entry.isPending) due.reads.push({ entry, dueMs: entry.extraDueMs, isExtra: true })
        entry.extraDueMs = undefined
        entry.extraMs = nowMs
      }
    }
    due.reads.sort((a, b) => a.dueMs - b.dueMs)
    return due
  }

  /**
   * Reads the written points once, beside the grid: now, or `rereadMs` after the last such read. A read that is pending
   * needs no repetition, as it reaches the line only after the write.
   */
  readAgain(isTouched: (point: Point) => boolean, nowMs: number, rereadMs: number): void {
    for (const entry of this.#entries.values()) {
      if (entry.isPending || !entry.block.points.some(isTouched)) continue
      entry.extraDueMs ??= Math.max(nowMs, (entry.extraMs ?? Number.NEGATIVE_INFINITY) + rereadMs)
    }
  }

  /** The next due time; Infinity if there is nothing to read. */
  nextMs(): number {
    const dues = [...this.#entries.values()].map(({ dueMs, extraDueMs = dueMs }) => Math.min(dueMs, extraDueMs))
    return Math.min(...dues)
  }

  /** The reply to the read that was due at `dueMs` came. */
  answered(entry: GridEntry<Point, Request>, dueMs: number, nowMs: number): void {
    const lateMs = nowMs - dueMs
    if (entry.lateMs !== undefined) entry.slipMs = Math.abs(lateMs - entry.lateMs)
    entry.lateMs = lateMs
  }

  /** Jitter: the worst deviation of the latest period between two replies; null before there are two. */
  slipMs(): number | null {
    const slips = [...this.#entries.values()].flatMap(({ slipMs }) => (slipMs === undefined ? [] : [slipMs]))
    return slips.length === 0 ? null : Math.round(10 * Math.max(...slips)) / 10
  }

  /**
   * A pending read beside the grid also counts as the one that is due now, and the due read as the one beside the grid.
   */
  #collectDue(entry: GridEntry<Point, Request>, nowMs: number, due: Due<Point, Request>): void {
    const { periodMs } = entry.block
    const missed = Math.floor((nowMs - entry.dueMs) / periodMs)
    const dueMs = entry.dueMs + missed * periodMs
    entry.dueMs = dueMs + periodMs
    due.overruns += missed + (entry.isPending && !entry.isExtra ? 1 : 0)
    if (!entry.isPending) due.reads.push({ entry, dueMs, isExtra: false })
    entry.extraDueMs = undefined
    entry.isExtra = false
  }

  /** @returns the entries that are new */
  #replace(blocks: readonly PlannedRead<Point, Request>[]): GridEntry<Point, Request>[] {
    const before = this.#entries
    this.#entries = new Map()
    const fresh: GridEntry<Point, Request>[] = []
    for (const block of blocks) {
      const kept = before.get(block.key)
      const entry = kept ?? newEntry(block)
      entry.block = block
      this.#entries.set(block.key, entry)
      if (!kept) fresh.push(entry)
    }
    return fresh
  }
}

function newEntry<Point extends PointBase, Request>(block: PlannedRead<Point, Request>): GridEntry<Point, Request> {
  return {
    block,
    dueMs: 0,
    isPending: false,
    extraDueMs: undefined,
    extraMs: undefined,
    isExtra: false,
    lateMs: undefined,
    slipMs: undefined,
  }
}

function duesOf<Point extends PointBase, Request>({ block, dueMs }: GridEntry<Point, Request>): [string, number][] {
  return block.points.map(({ name }) => [name, dueMs])
}

interface PollerParts<Point extends PointBase, Request> {
  clock: Clock
  planner: ReadPlanner<Point, Request>
  /** See `PointProtocol`. */
  verdict: PointProtocol<Point, Request, unknown, unknown>['verdict']
  /** How many reads are handed to the bus at once; the others wait here, sorted by due time. */
  window: number
  /** The least time between two reads of the same points because of writes; 0: no reads because of writes. */
  rereadMs: number
  /** A read failed. `refused`: the unit answered that it has no such value. */
  onFailed(points: readonly Point[], event: 'refused' | 'unanswered', fault: Fault): void
}

/** How a poller sends its requests. */
export interface PollAsker<Request> {
  /** Rejects with the refusal of the unit, if it refuses. */
  ask(request: Request, how: AskHow): Promise<unknown>
}

/** Lives as long as its port; polls from `start` to `stop`. It does not handle values: see PointTable. */
export class PointPoller<Point extends PointBase, Request extends { readonly unitId: number }> {
  readonly #parts: PollerParts<Point, Request>
  readonly #grid = new PollGrid<Point, Request>()
  readonly #counts = { pollReads: 0, pollFailures: 0, pollOverruns: 0, pollSplits: 0, pollRereads: 0 }
  #points: readonly Point[] = []
  /** Due and not yet handed to the bus; at most one per read. */
  #waiting: { entry: GridEntry<Point, Request>; dueMs: number | undefined }[] = []
  /** One run, from `start` to `stop`. `outside`: how many reads are handed to the bus and not yet answered. */
  #run: { asker: PollAsker<Request>; outside: number } | undefined
  #timer: Timer | undefined

  constructor(parts: PollerParts<Point, Request>) {
    this.#parts = parts
  }

  /**
   * Plans anew. Reads that stay the same keep their due times, and what was learned of units is kept where it still
   * applies.
   */
  set(points: readonly Point[]): void {
    this.#points = points
    this.#parts.planner.keep(points)
    this.#grid.set(this.#plan(), this.#parts.clock.monotonicMs())
    this.#forgetGone()
    this.#arm()
  }

  /** The line is open: the first read is sent at once. */
  start(asker: PollAsker<Request>): void {
    this.#run = { asker, outside: 0 }
    this.#parts.planner.forget()
    this.#grid.clear()
    this.#grid.set(this.#plan(), this.#parts.clock.monotonicMs())
    this.#arm()
  }

  /** The line is gone: replies that still come are ignored. */
  stop(): void {
    this.#run = undefined
    this.#waiting = []
    this.#arm()
  }

  /**
   * Something was written: whoever wrote it sees the new value without waiting for the grid, which does not move.
   * Deferred, because the line is between two transactions during this call.
   */
  readAgain(isTouched: (point: Point) => boolean): void {
    const { clock, rereadMs } = this.#parts
    if (!this.#run || rereadMs === 0) return
    this.#grid.readAgain(isTouched, clock.monotonicMs(), rereadMs)
    this.#arm()
  }

  /** Milliseconds until the next read is due; 0 if one is queued, Infinity if nothing is polled. */
  idleMs(): number {
    if (!this.#run) return Number.POSITIVE_INFINITY
    if (this.#waiting.length > 0) return 0
    return Math.max(0, this.#grid.nextMs() - this.#parts.clock.monotonicMs())
  }

  view(): PollingView {
    const reads = this.#grid.size
    return {
      reads,
      pointsPerRead: reads === 0 ? null : Math.round((100 * this.#points.length) / reads) / 100,
      periodSlipMs: this.#grid.slipMs(),
      overruns: this.#counts.pollOverruns,
    }
  }

  /**
   * Counts since it was made: reads sent, reads that failed, due times skipped because the previous read was still
   * pending, merged reads that were split after a refusal, and reads beside the grid because of a write.
   */
  counts(): Record<string, number> {
    return { ...this.#counts }
  }

  #plan() {
    return this.#parts.planner.plan(this.#points)
  }

  #arm(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (!this.#run || this.#grid.size === 0) return
    const { clock } = this.#parts
    this.#timer = clock.after(this.#grid.nextMs() - clock.monotonicMs(), () => {
      const { reads, overruns } = this.#grid.collect(clock.monotonicMs())
      this.#counts.pollOverruns += overruns
      for (const { entry, dueMs, isExtra } of reads) this.#queue(entry, isExtra ? undefined : dueMs)
      this.#arm()
      this.#pump()
    })
  }

  /** @param dueMs its due time; undefined for a read beside the grid */
  #queue(entry: GridEntry<Point, Request>, dueMs: number | undefined): void {
    entry.isPending = true
    entry.isExtra = dueMs === undefined
    if (entry.isExtra) this.#counts.pollRereads++
    this.#waiting.push({ entry, dueMs })
  }

  #forgetGone(): void {
    this.#waiting = this.#waiting.filter(({ entry }) => this.#grid.has(entry))
  }

  #pump(): void {
    const run = this.#run
    while (run && run.outside < this.#parts.window) {
      const next = this.#waiting.shift()
      if (!next) return
      run.outside++
      void this.#read(run, next.entry, next.dueMs)
    }
  }

  /** Never rejects. */
  async #read(
    run: { asker: PollAsker<Request>; outside: number },
    entry: GridEntry<Point, Request>,
    dueMs?: number,
  ): Promise<void> {
    const { request } = entry.block
    this.#counts.pollReads++
    const fault = await run.asker.ask(request, { priority: 'poll' }).then(
      () => undefined,
      (error) => faultOf(error, 'poll_failed', `The read of unit ${request.unitId} failed.`),
    )
    run.outside--
    if (this.#run !== run) return
    entry.isPending = false
    if (!fault && dueMs !== undefined) this.#grid.answered(entry, dueMs, this.#parts.clock.monotonicMs())
    if (fault) this.#failed(entry, fault)
    this.#pump()
  }

  #failed(entry: GridEntry<Point, Request>, fault: Fault): void {
    this.#counts.pollFailures++
    if (!this.#grid.has(entry)) return
    const { block } = entry
    const verdict = this.#parts.verdict(fault)
    if (verdict === 'extent' && this.#parts.planner.learn(block)) this.#split(entry)
    else this.#parts.onFailed(block.points, verdict === 'unanswered' ? verdict : 'refused', fault)
  }

  /** The parts are read at once, and then whenever the whole read was due. */
  #split(whole: GridEntry<Point, Request>): void {
    this.#counts.pollSplits++
    const nowMs = this.#parts.clock.monotonicMs()
    for (const entry of this.#grid.cut(this.#plan(), whole)) this.#queue(entry, nowMs)
    this.#forgetGone()
    this.#arm()
  }
}
