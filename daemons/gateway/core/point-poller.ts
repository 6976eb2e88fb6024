/** Reads the points of a line at their instants, neighbours together, never twice at once. */
import type { Clock, Timer } from '#kit/clock.ts'
import { type Fault, faultOf } from '#kit/fault.ts'
import type { ModbusAsker } from './modbus-ask.ts'
import { PlanCuts, type PlanLimits, planReads } from './point-plan.ts'
import type { PointDefinition } from './point-record.ts'
import type { PollingView } from './points-face.ts'
import { type GridEntry, PollGrid } from './poll-grid.ts'
import type { WrittenPlace } from './written-place.ts'

export interface PollerParts {
  clock: Clock
  limits: PlanLimits
  /** Reads handed to the bus at once; the others wait here, in order of their instants. */
  window: number
  /** Between two reads of the same for the sake of writes; 0: writes are not followed. */
  rereadMs: number
  /** A read came to nothing. `refused`: the unit answered that it has no such value. */
  onFailed(points: readonly PointDefinition[], event: 'refused' | 'unanswered', fault: Fault): void
}

/** What a poller asks by. */
export type PollAsker = Pick<ModbusAsker, 'ask'>

/** Exceptions by which a unit refuses the extent of a read, or one place in it. @source Modbus Application Protocol V1.1b3, 7 */
const REFUSES_EXTENT: readonly number[] = [2, 3]
/** Exceptions that pass: it works on it, is busy, or a gateway does not reach it. Others say that there is no value. */
const PASSES: readonly number[] = [5, 6, 10, 11]

/** Lives as long as its port; asks from `start` to `stop`. What answers refresh is not its business: see PointTable. */
export class PointPoller {
  readonly #parts: PollerParts
  readonly #grid = new PollGrid()
  readonly #counts = { pollReads: 0, pollFailures: 0, pollOverruns: 0, pollSplits: 0, pollRereads: 0 }
  #points: readonly PointDefinition[] = []
  #cuts = new PlanCuts()
  /** Due, and not yet handed to the bus: one for each read at most. */
  #waiting: { entry: GridEntry; dueMs: number | undefined }[] = []
  /** From one `start` to the next `stop`. `outside`: reads handed to the bus and not yet answered. */
  #run: { asker: PollAsker; outside: number } | undefined
  #timer: Timer | undefined

  constructor(parts: PollerParts) {
    this.#parts = parts
  }

  /** Plans anew; reads that stay the same keep their instants, and what units taught is kept where it still applies. */
  set(points: readonly PointDefinition[]): void {
    this.#points = points
    this.#cuts.keep(points)
    this.#grid.set(this.#plan(), this.#parts.clock.monotonicMs())
    this.#forgetGone()
    this.#arm()
  }

  /** The line is open: the first read goes at once. */
  start(asker: PollAsker): void {
    this.#run = { asker, outside: 0 }
    this.#cuts = new PlanCuts()
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
  readAgain(place: WrittenPlace): void {
    const { clock, rereadMs } = this.#parts
    if (!this.#run || rereadMs === 0) return
    this.#grid.readAgain(place, clock.monotonicMs(), rereadMs)
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
    return planReads(this.#points, this.#parts.limits, this.#cuts)
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
  #queue(entry: GridEntry, dueMs: number | undefined): void {
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
  async #read(run: { asker: PollAsker; outside: number }, entry: GridEntry, dueMs?: number): Promise<void> {
    const { unitId, fc, address, quantity } = entry.block
    this.#counts.pollReads++
    const fault = await run.asker.ask({ unitId, fc, address, quantity }, { priority: 'poll' }).then(
      () => undefined,
      (error) => faultOf(error, 'modbus_codec', `The read of unit ${unitId} failed.`),
    )
    run.outside--
    if (this.#run !== run) return
    entry.isPending = false
    if (!fault && dueMs !== undefined) this.#grid.answered(entry, dueMs, this.#parts.clock.monotonicMs())
    if (fault) this.#failed(entry, fault)
    this.#pump()
  }

  #failed(entry: GridEntry, fault: Fault): void {
    this.#counts.pollFailures++
    if (!this.#grid.has(entry)) return
    const { block } = entry
    const code = exceptionOf(fault)
    const isPassing = code === undefined || PASSES.includes(code)
    if (code !== undefined && REFUSES_EXTENT.includes(code) && this.#cuts.learn(block)) this.#split(entry)
    else this.#parts.onFailed(block.points, isPassing ? 'unanswered' : 'refused', fault)
  }

  /** The parts are read at once, and then at the instants of the whole. */
  #split(whole: GridEntry): void {
    this.#counts.pollSplits++
    const nowMs = this.#parts.clock.monotonicMs()
    for (const entry of this.#grid.cut(this.#plan(), whole)) this.#queue(entry, nowMs)
    this.#forgetGone()
    this.#arm()
  }
}

function exceptionOf({ code, details }: Fault): number | undefined {
  if (code !== 'modbus_exception') return undefined
  return (details?.exception as { code: number } | undefined)?.code
}
