/** Reads points on a grid of time: few requests, spread evenly, what was just written first. */

import type { Clock, Timer } from '#kit/clock.ts'
import { type Fault, faultOf } from '#kit/pure/fault.ts'
import { modbusFunctions } from '../../wire/modbus-request.ts'
import { sizeOf } from '../../wire/point-value.ts'
import type { ModbusAsker } from '../modbus/transactions.ts'
import { isTouched, type PointDefinition, type WrittenPlace } from './definition.ts'
import type { PollingView } from './values.ts'

// Which reads a point table takes: neighbours are read together, unless a device will not have it.

/** One read of a plan. */
interface ReadBlock {
  /** The same for the same read in another plan. */
  key: string
  unitId: number
  fc: number
  address: number
  quantity: number
  periodMs: number
  points: readonly PointDefinition[]
}

interface PlanLimits {
  /** Registers that nobody asked for, read along between two points. */
  mergeGap: number
  /** Registers of one read at most. */
  mergeRegisters: number
}

/** Bits cost the line a sixteenth of a register. */
const BITS_OF_REGISTER = 16

/** @returns reads that cover every point once, each within what its function may ask, in order of unit, fc, address */
export function planReads(points: readonly PointDefinition[], limits: PlanLimits, cuts: PlanCuts): ReadBlock[] {
  const groups = Map.groupBy(points, ({ unitId, fc, pollMs }) => `${unitId} ${fc} ${pollMs}`)
  return [...groups.values()]
    .flatMap((group) => blocksOf(group, limits, cuts))
    .sort((a, b) => a.unitId - b.unitId || a.fc - b.fc || a.address - b.address || a.periodMs - b.periodMs)
}

/** Of one unit, function and period. */
function blocksOf(group: readonly PointDefinition[], limits: PlanLimits, cuts: PlanCuts): ReadBlock[] {
  const runs: PointDefinition[][] = []
  let run: PointDefinition[] = []
  let end = 0
  let most = 0
  for (const point of inOrder(group)) {
    const [first = point] = run
    const { maxGap, maxSpan } = reachOf(point, limits)
    const pointEnd = point.address + sizeOf(point)
    const isNear = point.address - end <= maxGap && Math.max(end, pointEnd) - first.address <= Math.min(most, maxSpan)
    // What overlaps is in one read with what it overlaps, wherever it fits: two looks at one register.
    const isCut = point.address >= end && cuts.has(point)
    if (run.length === 0 || !isNear || isCut) {
      run = []
      runs.push(run)
      end = 0
      most = maxSpan
    }
    run.push(point)
    most = Math.min(most, maxSpan)
    end = Math.max(end, pointEnd)
  }
  return runs.map(blockOf)
}

function blockOf(points: readonly PointDefinition[]): ReadBlock {
  const [first] = points
  if (!first) throw new RangeError('a read is of at least one point')
  const { unitId, fc, address, pollMs: periodMs } = first
  const quantity = endOf(points) - address
  return { key: `${unitId} ${fc} ${address} ${quantity} ${periodMs}`, unitId, fc, address, quantity, periodMs, points }
}

function reachOf({ fc, maxRegisters }: PointDefinition, limits: PlanLimits): { maxGap: number; maxSpan: number } {
  const most = modbusFunctions.get(fc)?.maxQuantity ?? 1
  const registers = Math.min(limits.mergeRegisters, maxRegisters ?? limits.mergeRegisters)
  const unit = fc <= 2 ? BITS_OF_REGISTER : 1
  return { maxGap: limits.mergeGap * unit, maxSpan: Math.min(most, registers * unit) }
}

function inOrder(points: readonly PointDefinition[]): PointDefinition[] {
  return [...points].sort((a, b) => a.address - b.address || sizeOf(b) - sizeOf(a))
}

function endOf(points: readonly PointDefinition[]): number {
  return Math.max(...points.map((point) => point.address + sizeOf(point)))
}

/** Where devices will not be read across. What one device of a template taught holds for all of it. */
export class PlanCuts {
  readonly #cuts = new Set<string>()

  has(point: PointDefinition): boolean {
    return this.#cuts.has(keyOf(point))
  }

  /**
   * Learns from a merged read that was refused: cuts it in two.
   * @returns false where the read is of one place alone, which cannot be cut
   */
  learn(block: ReadBlock): boolean {
    const at = cutOf(block)
    if (at) this.#cuts.add(keyOf(at))
    return at !== undefined
  }

  /** Forgets what is about none of these. */
  keep(points: readonly PointDefinition[]): void {
    const known = new Set(points.map(keyOf))
    for (const cut of this.#cuts) if (!known.has(cut)) this.#cuts.delete(cut)
  }
}

function keyOf({ template, unitId, fc, address }: PointDefinition): string {
  return `${template ?? `unit ${unitId}`} ${fc} ${address}`
}

/** The widest gap is the likeliest reason; where there is none, the middle finds the place in the fewest steps. */
function cutOf({ points }: ReadBlock): PointDefinition | undefined {
  let best: { point: PointDefinition; gap: number; fromMiddle: number } | undefined
  let end = 0
  const sorted = inOrder(points)
  for (const [at, point] of sorted.entries()) {
    const gap = point.address - end
    const fromMiddle = Math.abs(at - sorted.length / 2)
    const isBetter = !best || gap > best.gap || (gap === best.gap && fromMiddle < best.fromMiddle)
    if (at > 0 && gap >= 0 && isBetter) best = { point, gap, fromMiddle }
    end = Math.max(end, point.address + sizeOf(point))
  }
  return best?.point
}

// When each read of a plan is due: start + n * period, whatever happens on the line.

/** One read and its instants, by the monotonic clock. */
interface GridEntry {
  block: ReadBlock
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
interface Due {
  /** In order of their instants. `isExtra`: beside the grid. */
  reads: { entry: GridEntry; dueMs: number; isExtra: boolean }[]
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
class PollGrid {
  #entries = new Map<string, GridEntry>()

  get size(): number {
    return this.#entries.size
  }

  has(entry: GridEntry): boolean {
    return this.#entries.get(entry.block.key) === entry
  }

  clear(): void {
    this.#entries.clear()
  }

  /** Reads that stay keep their instants; new ones begin now, one soon after another. */
  set(blocks: readonly ReadBlock[], nowMs: number): void {
    const shortestMs = Math.min(...blocks.map(({ periodMs }) => periodMs))
    const spreadMs = Math.min(SPREAD_MS, Math.floor((SPREAD_SHARE * shortestMs) / blocks.length))
    for (const [at, entry] of this.#replace(blocks).entries()) entry.dueMs = nowMs + at * spreadMs
  }

  /** Reads were cut into parts: these are due at the instants of what they were cut from. @returns the new ones */
  cut(blocks: readonly ReadBlock[], whole: GridEntry): GridEntry[] {
    const dueMs = new Map([...this.#entries.values()].flatMap(duesOf))
    const fresh = this.#replace(blocks)
    for (const entry of fresh) entry.dueMs = dueMs.get(entry.block.points[0]?.name ?? '') ?? whole.dueMs
    return fresh
  }

  /** Takes what is due and sets its next instant. */
  collect(nowMs: number): Due {
    const due: Due = { reads: [], overruns: 0 }
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
  readAgain(place: WrittenPlace, nowMs: number, rereadMs: number): void {
    for (const entry of this.#entries.values()) {
      if (entry.isPending || !entry.block.points.some((point) => isTouched(point, place))) continue
      entry.extraDueMs ??= Math.max(nowMs, (entry.extraMs ?? Number.NEGATIVE_INFINITY) + rereadMs)
    }
  }

  /** Infinity where there is nothing to read. */
  nextMs(): number {
    const dues = [...this.#entries.values()].map(({ dueMs, extraDueMs = dueMs }) => Math.min(dueMs, extraDueMs))
    return Math.min(...dues)
  }

  /** The answer of a read that was due at `dueMs` came. */
  answered(entry: GridEntry, dueMs: number, nowMs: number): void {
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
  #collectDue(entry: GridEntry, nowMs: number, due: Due): void {
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
  #replace(blocks: readonly ReadBlock[]): GridEntry[] {
    const before = this.#entries
    this.#entries = new Map()
    const fresh: GridEntry[] = []
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

function newEntry(block: ReadBlock): GridEntry {
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

function duesOf({ block, dueMs }: GridEntry): [string, number][] {
  return block.points.map(({ name }) => [name, dueMs])
}

interface PollerParts {
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
