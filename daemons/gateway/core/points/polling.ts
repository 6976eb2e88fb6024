/** Reads points on a grid of time: few requests, spread evenly, what was just written first. */

import type { Clock, Timer } from '#kit/clock.ts'
import { type Fault, faultOf } from '#kit/pure/fault.ts'
import type { AskHow } from '../bus/transactions.ts'
import type { PlannedRead, PointBase, PointProtocol, ReadPlanner } from './definition.ts'
import type { PollingView } from './values.ts'

// When each read of a plan is due: start + n * period, whatever happens on the line.

/** One read and its instants, by the monotonic clock. */
interface GridEntry<Point extends PointBase, Request> {
  block: PlannedRead<Point, Request>
  /** Next instant of its grid. */
  dueMs: number
  /** It was due and has no answer yet: it waits, or is on the bus. */
  isPending: boolean
  /** Out of turn: when it is read beside its grid, and when it last was; undefined where it is not to be, or never was. */
  extraDueMs: number | undefined
  extraMs: number | undefined
  /** What is pending was asked out of turn. */
  isExtra: boolean
  /** How late its last answer came after its instant, and by how much that differs from the answer before. */
  lateMs: number | undefined
  slipMs: number | undefined
}

/** What is due now. */
interface Due<Point extends PointBase, Request> {
  /** In order of their instants. `isExtra`: beside the grid. */
  reads: { entry: GridEntry<Point, Request>; dueMs: number; isExtra: boolean }[]
  /** Instants that are left out, since the read before was still out or the clock was looked at too late. */
  overruns: number
}

/** Between the first instants of two reads, so that others find a place between them. */
const SPREAD_MS = 20

/**
 * In which part of the shortest period all first instants lie. The rest stays free in one piece: what a dead unit costs
 * has room there, and nowhere between reads that lie evenly.
 */
const SPREAD_SHARE = 1 / 4

/** Holds one entry a read of the plan. */
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

  /** Reads that stay keep their instants; new ones begin now, one soon after another. */
  set(blocks: readonly PlannedRead<Point, Request>[], nowMs: number): void {
    const shortestMs = Math.min(...blocks.map(({ periodMs }) => periodMs))
    const spreadMs = Math.min(SPREAD_MS, Math.floor((SPREAD_SHARE * shortestMs) / blocks.length))
    for (const [at, entry] of this.#replace(blocks).entries()) entry.dueMs = nowMs + at * spreadMs
  }

  /** Reads were cut into parts: these are due at the instants of what they were cut from. @returns the new ones */
  cut(blocks: readonly PlannedRead<Point, Request>[], whole: GridEntry<Point, Request>): GridEntry<Point, Request>[] {
    const dueMs = new Map([...this.#entries.values()].flatMap(duesOf))
    const fresh = this.#replace(blocks)
    for (const entry of fresh) entry.dueMs = dueMs.get(entry.block.points[0]?.name ?? '') ?? whole.dueMs
    return fresh
  }

  /** Takes what is due and sets its next instant. */
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
   * Reads what was written to, once, beside the grid: now, or `rereadMs` after it last was for that reason. What waits
   * or is out already is on the line only after the write, and will do.
   */
  readAgain(isTouched: (point: Point) => boolean, nowMs: number, rereadMs: number): void {
    for (const entry of this.#entries.values()) {
      if (entry.isPending || !entry.block.points.some(isTouched)) continue
      entry.extraDueMs ??= Math.max(nowMs, (entry.extraMs ?? Number.NEGATIVE_INFINITY) + rereadMs)
    }
  }

  /** Infinity where there is nothing to read. */
  nextMs(): number {
    const dues = [...this.#entries.values()].map(({ dueMs, extraDueMs = dueMs }) => Math.min(dueMs, extraDueMs))
    return Math.min(...dues)
  }

  /** The answer of a read that was due at `dueMs` came. */
  answered(entry: GridEntry<Point, Request>, dueMs: number, nowMs: number): void {
    const lateMs = nowMs - dueMs
    if (entry.lateMs !== undefined) entry.slipMs = Math.abs(lateMs - entry.lateMs)
    entry.lateMs = lateMs
  }

  /** By how much the last period between two answers was off, at worst; null before there are two. */
  slipMs(): number | null {
    const slips = [...this.#entries.values()].flatMap(({ slipMs }) => (slipMs === undefined ? [] : [slipMs]))
    return slips.length === 0 ? null : Math.round(10 * Math.max(...slips)) / 10
  }

  /** What is still out, asked out of turn, stands for what is due now; what was to be read again is read now. */
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

  /** @returns what was not there before */
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
  /** As `PointProtocol` has it. */
  verdict: PointProtocol<Point, Request, unknown, unknown>['verdict']
  /** Reads handed to the bus at once; the others wait here, in order of their instants. */
  window: number
  /** Between two reads of the same for the sake of writes; 0: writes are not followed. */
  rereadMs: number
  /** A read came to nothing. `refused`: the unit answered that it has no such value. */
  onFailed(points: readonly Point[], event: 'refused' | 'unanswered', fault: Fault): void
}

/** What a poller asks by. */
export interface PollAsker<Request> {
  /** A refusal is thrown. */
  ask(request: Request, how: AskHow): Promise<unknown>
}

/** Lives as long as its port; asks from `start` to `stop`. What answers refresh is not its business: see PointTable. */
export class PointPoller<Point extends PointBase, Request extends { readonly unitId: number }> {
  readonly #parts: PollerParts<Point, Request>
  readonly #grid = new PollGrid<Point, Request>()
  readonly #counts = { pollReads: 0, pollFailures: 0, pollOverruns: 0, pollSplits: 0, pollRereads: 0 }
  #points: readonly Point[] = []
  /** Due, and not yet handed to the bus: one for each read at most. */
  #waiting: { entry: GridEntry<Point, Request>; dueMs: number | undefined }[] = []
  /** From one `start` to the next `stop`. `outside`: reads handed to the bus and not yet answered. */
  #run: { asker: PollAsker<Request>; outside: number } | undefined
  #timer: Timer | undefined

  constructor(parts: PollerParts<Point, Request>) {
    this.#parts = parts
  }

  /** Plans anew; reads that stay the same keep their instants, and what units taught is kept where it still applies. */
  set(points: readonly Point[]): void {
    this.#points = points
    this.#parts.planner.keep(points)
    this.#grid.set(this.#plan(), this.#parts.clock.monotonicMs())
    this.#forgetGone()
    this.#arm()
  }

  /** The line is open: the first read goes at once. */
  start(asker: PollAsker<Request>): void {
    this.#run = { asker, outside: 0 }
    this.#parts.planner.forget()
    this.#grid.clear()
    this.#grid.set(this.#plan(), this.#parts.clock.monotonicMs())
    this.#arm()
  }

  /** The line is gone: answers that still come count for nothing. */
  stop(): void {
    this.#run = undefined
    this.#waiting = []
    this.#arm()
  }

  /**
   * Something was written: whoever wrote it sees it without waiting for the next instant of the grid, which stays what
   * it is. Not within the call: the line is between two transactions.
   */
  readAgain(isTouched: (point: Point) => boolean): void {
    const { clock, rereadMs } = this.#parts
    if (!this.#run || rereadMs === 0) return
    this.#grid.readAgain(isTouched, clock.monotonicMs(), rereadMs)
    this.#arm()
  }

  /** Milliseconds until the next read is due, 0 where one waits, Infinity where nothing is polled. */
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
   * Since it was made: reads sent, those that failed, instants left out since the read before was still out, merged
   * reads that a unit refused and that are two since, and reads beside the grid for the sake of a write.
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

  /** @param dueMs its instant; undefined for a read beside the grid */
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

  /** The parts are read at once, and then at the instants of the whole. */
  #split(whole: GridEntry<Point, Request>): void {
    this.#counts.pollSplits++
    const nowMs = this.#parts.clock.monotonicMs()
    for (const entry of this.#grid.cut(this.#plan(), whole)) this.#queue(entry, nowMs)
    this.#forgetGone()
    this.#arm()
  }
}
