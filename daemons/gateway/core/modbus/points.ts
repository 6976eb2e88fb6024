/** Points that stand in registers, coils and inputs: which reads they take, what an answer says of them, what a write touches. */
import type { Fault } from '#kit/pure/fault.ts'
import { type ModbusRequest, modbusFunctions, type WrittenPlace, writtenPlace } from '../../wire/modbus-request.ts'
import { createPointReader, pointLength } from '../../wire/point-value.ts'
import type { PlannedRead, PointDefinition, PointProtocol, ReadPlanner } from '../points/definition.ts'
import type { ModbusReply } from './protocol.ts'

/** Registers or bits as a unit gave them. `fc` 1 to 4. */
export interface ReadValues {
  unitId: number
  fc: number
  address: number
  values: readonly number[]
}

/** What a port with points needs of Modbus. @param limits of one read */
export function registerPoints(
  limits: PlanLimits,
): PointProtocol<PointDefinition, ModbusRequest, ModbusReply, ReadValues> {
  return {
    planner: () => registerPlanner(limits),
    verdict,
    readingOf,
    groupOf: placeOf,
    groupOfReading: placeOf,
    reader: readerOf,
    isReadAlike,
    isTouchedBy(point, request) {
      const place = writtenPlace(request)
      return place !== undefined && isTouched(point, place)
    },
  }
}

/** What a reply, no exception, tells of coils, inputs or registers; undefined where nothing was read. Function 23 reads what 3 reads. */
function readingOf({ unitId, fc, address }: ModbusRequest, { values }: ModbusReply): ReadValues | undefined {
  if (fc >= 1 && fc <= 4) return { unitId, fc, address, values: values as readonly number[] }
  return fc === 23 ? { unitId, fc: 3, address, values: values as readonly number[] } : undefined
}

function readerOf(point: PointDefinition) {
  const read = createPointReader(point)
  const size = pointLength(point)
  return ({ address, values }: ReadValues) => {
    const at = point.address - address
    return at < 0 || at + size > values.length ? undefined : read(values.slice(at, at + size))
  }
}

function placeOf({ unitId, fc }: { unitId: number; fc: number }): number {
  return unitId * 8 + fc
}

/** Whether two definitions read the same value from the same place: what else they say is for people. */
function isReadAlike(a: PointDefinition, b: PointDefinition): boolean {
  const keys = [
    'unitId',
    'fc',
    'address',
    'type',
    'wordOrder',
    'byteOrder',
    'bit',
    'length',
    'scale',
    'offset',
  ] as const
  return keys.every((key) => a[key] === b[key]) && a.noValue.join() === b.noValue.join()
}

// Which places a write touches.

/** Whether the point has a part of its value there. */
export function isTouched(point: PointDefinition, { unitId, fc, address, quantity }: WrittenPlace): boolean {
  if (point.fc !== fc || (unitId !== 0 && point.unitId !== unitId)) return false
  return point.address < address + quantity && address < point.address + pointLength(point)
}

/** Exceptions by which a unit refuses the extent of a read, or one place in it. @source Modbus Application Protocol V1.1b3, 7 */
const REFUSES_EXTENT: readonly number[] = [2, 3]
/** Exceptions that pass: it works on it, is busy, or a gateway does not reach it. Others say that there is no value. */
const PASSES: readonly number[] = [5, 6, 10, 11]

/** A read failed. @returns whether it may be cut in two, the unit says that there is no value, or nothing was said */
function verdict(fault: Fault): 'extent' | 'refused' | 'unanswered' {
  const code = exceptionOf(fault)
  if (code !== undefined && REFUSES_EXTENT.includes(code)) return 'extent'
  return code === undefined || PASSES.includes(code) ? 'unanswered' : 'refused'
}

function exceptionOf({ code, details }: Fault): number | undefined {
  if (code !== 'modbus_exception') return undefined
  return (details?.exception as { code: number } | undefined)?.code
}

// Which reads a point table takes: neighbours are read together, unless a device will not have it.

/** One read of a plan. */
type ReadBlock = PlannedRead<PointDefinition, ModbusRequest>

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
    .sort((a, b) => byPlace(a.request, b.request) || a.periodMs - b.periodMs)
}

function byPlace(a: ModbusRequest, b: ModbusRequest): number {
  return a.unitId - b.unitId || a.fc - b.fc || a.address - b.address
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
    const pointEnd = point.address + pointLength(point)
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
  const key = `${unitId} ${fc} ${address} ${quantity} ${periodMs}`
  return { key, request: { unitId, fc, address, quantity }, periodMs, points }
}

function reachOf({ fc, maxRegisters }: PointDefinition, limits: PlanLimits): { maxGap: number; maxSpan: number } {
  const most = modbusFunctions.get(fc)?.maxQuantity ?? 1
  const registers = Math.min(limits.mergeRegisters, maxRegisters ?? limits.mergeRegisters)
  const unit = fc <= 2 ? BITS_OF_REGISTER : 1
  return { maxGap: limits.mergeGap * unit, maxSpan: Math.min(most, registers * unit) }
}

function inOrder(points: readonly PointDefinition[]): PointDefinition[] {
  return [...points].sort((a, b) => a.address - b.address || pointLength(b) - pointLength(a))
}

function endOf(points: readonly PointDefinition[]): number {
  return Math.max(...points.map((point) => point.address + pointLength(point)))
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
    end = Math.max(end, point.address + pointLength(point))
  }
  return best?.point
}

/** The plan of one line, with what its units taught. */
export function registerPlanner(limits: PlanLimits): ReadPlanner<PointDefinition, ModbusRequest> {
  let cuts = new PlanCuts()
  return {
    plan: (points) => planReads(points, limits, cuts),
    learn: (read) => cuts.learn(read),
    keep: (points) => cuts.keep(points),
    forget() {
      cuts = new PlanCuts()
    },
  }
}
