/** Which reads a point table takes: neighbours are read together, unless a device will not have it. */
import { modbusFunctions } from '../wire/modbus-functions.ts'
import { sizeOf } from '../wire/point-value.ts'
import type { PointDefinition } from './point-record.ts'

/** One read of a plan. */
export interface ReadBlock {
  /** The same for the same read in another plan. */
  key: string
  unitId: number
  fc: number
  address: number
  quantity: number
  periodMs: number
  points: readonly PointDefinition[]
}

export interface PlanLimits {
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
