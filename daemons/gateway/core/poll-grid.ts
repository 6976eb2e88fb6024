/** When each read of a plan is due: start + n * period, whatever happens on the line. */
import type { ReadBlock } from './point-plan.ts'
import { isTouched, type WrittenPlace } from './written-place.ts'

/** One read and its instants, by the monotonic clock. */
export interface GridEntry {
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
export interface Due {
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
export class PollGrid {
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
