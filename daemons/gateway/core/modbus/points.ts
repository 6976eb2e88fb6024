/** Points in registers, coils and inputs: plans their reads, takes values from replies, finds those a write touches. */
import type { Fault } from '#kit/pure/fault.ts'
import { type ModbusRequest, modbusFunctions, type WrittenPlace, writtenPlace } from '../../wire/modbus-request.ts'
import { createPointReader, pointLength } from '../../wire/point-value.ts'
import type { PlannedRead, PointDefinition, PointProtocol, ReadPlanner } from '../points/definition.ts'
import type { ModbusReply } from './protocol.ts'

/** Registers or bits as a unit returned them. `fc` is 1 to 4. */
export interface ReadValues {
  unitId: number
  fc: number
  address: number
  values: readonly number[]
}

/** The Modbus functions that a port with points needs. @param limits of one read */
export function registerPoints(
  limits: PlanLimits,
): PointProtocol<PointDefinition, ModbusRequest, ModbusReply, ReadValues> {
  return {
    takes: 'registers',
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

/**
 * The coils, inputs or registers in a reply that is no exception; undefined if nothing was read.
 * Function 23 reads the same registers as 3.
 */
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

/** Whether two definitions read the same value from the same place; their other fields are for people. */
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

// Finds the points that a write touches.

/** Whether any part of the point's value lies in the written range. */
export function isTouched(point: PointDefinition, { unitId, fc, address, quantity }: WrittenPlace): boolean {
  if (point.fc !== fc || (unitId !== 0 && point.unitId !== unitId)) return false
  return point.address < address + quantity && address < point.address + pointLength(point)
}

/**
 * Exceptions with which a unit refuses the range of a read, or one address in it.
 * @source Modbus Application Protocol V1.1b3, 7
 */
const REFUSES_EXTENT: readonly number[] = [2, 3]
/** Temporary exceptions: still working, busy, or not reached by a gateway. All others mean that there is no value. */
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

// Plans the reads of a point table: neighbours are read together, unless a device refuses.

/** One read of a plan. */
type ReadBlock = PlannedRead<PointDefinition, ModbusRequest>

interface PlanLimits {
  /** The most unused registers between two points that are read along with them. */
  mergeGap: number
  /** The most registers of one read. */
  mergeRegisters: number
}

/** A bit takes a sixteenth of a register on the line. */
export const BITS_OF_REGISTER = 16

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
    // Overlapping points share one read wherever they fit, as they look at the same register.
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

/** Places that a device refuses to read across. What one device teaches applies to all of its template. */
export class PlanCuts {
  readonly #cuts = new Set<string>()

  has(point: PointDefinition): boolean {
    return this.#cuts.has(keyOf(point))
  }

  /**
   * Learns from a refused merged read: cuts it in two.
   * @returns false if the read has no place where it can be cut
   */
  learn(block: ReadBlock): boolean {
    const at = cutOf(block)
    if (at) this.#cuts.add(keyOf(at))
    return at !== undefined
  }

  /** Forgets the cuts that belong to none of these points. */
  keep(points: readonly PointDefinition[]): void {
    const known = new Set(points.map(keyOf))
    for (const cut of this.#cuts) if (!known.has(cut)) this.#cuts.delete(cut)
  }
}

function keyOf({ template, unitId, fc, address }: PointDefinition): string {
  return `${template ?? `unit ${unitId}`} ${fc} ${address}`
}

/** Cuts at the widest gap, the likeliest reason; without gaps in the middle, which finds the place in fewest steps. */
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

/** The read planner of one line, with the cuts learned from its units. */
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
