/** What must fit together in points: fields of one, names of all. */
import { Fault } from '#kit/fault.ts'
import { sizeOf } from '../wire/point-value.ts'
import type { PointDefinition, TemplatePoint } from './point-record.ts'

/** One fault of one field, by its path in the body: `points[3].address`. */
export interface PointFault {
  field: string
  message: string
}

/** Faults beyond this many are counted, not listed. */
const MOST_LISTED = 32

/**
 * Every fault of a list whose fields are each checked by their schema already.
 * @param points undefined: one that does not fit its schema, of which nothing more can be said
 */
export function pointFaults(points: readonly (TemplatePoint | undefined)[]): PointFault[] {
  const faults = points.flatMap((point, at) => (point ? faultsOf(point, `points[${at}].`) : []))
  const firstOf = new Map<string, number>()
  for (const [at, point] of points.entries()) {
    if (!point) continue
    const first = firstOf.get(point.name)
    if (first === undefined) firstOf.set(point.name, at)
    else faults.push({ field: `points[${at}].name`, message: `is "${point.name}", as is that of points[${first}]` })
  }
  return faults
}

/** Throws Fault `bad_fields` with every fault at once; does nothing where the points are in order. */
export function refuseBadPoints(points: readonly PointDefinition[]): void {
  const faults = pointFaults(points)
  if (faults.length > 0) throw badPoints(faults)
}

/** The same of one point, whose fields are named without a path. */
export function refuseBadPoint(point: PointDefinition): void {
  const faults = faultsOf(point, '')
  if (faults.length > 0) throw badPoints(faults)
}

/** The shape in which the HTTP layer answers faults of a body's fields. */
export function badPoints(faults: readonly PointFault[]): Fault {
  const sentences = faults.slice(0, 3).map(({ field, message }) => `${field} ${message}`)
  const more = faults.length - sentences.length
  const sentence = sentences.join('; ') + (more > 0 ? `; and ${more} more` : '')
  return new Fault('bad_fields', sentence, { details: { fields: faults.slice(0, MOST_LISTED) } })
}

type Refuse = (field: keyof TemplatePoint, message: string) => void

function faultsOf(point: TemplatePoint, path: string): PointFault[] {
  const faults: PointFault[] = []
  const refuse: Refuse = (field, message) => faults.push({ field: path + field, message })
  checkPlace(point, refuse)
  checkBit(point, refuse)
  if (point.type === 'string' && point.length === null)
    refuse('length', 'is missing; a text says how many registers it has, 1 to 125')
  if (point.type !== 'string' && point.length !== null)
    refuse('length', `is ${point.length}; only a text has a length, ${point.type} has its own`)
  checkNumber(point, refuse)
  return faults
}

function checkPlace({ address, fc, length, maxRegisters, type }: TemplatePoint, refuse: Refuse): void {
  const size = sizeOf({ type, length })
  if (address + size > 65_536) refuse('address', `is ${address}; with ${size} from there the last is beyond 65535`)
  if (maxRegisters !== null && size > maxRegisters)
    refuse('maxRegisters', `is ${maxRegisters}; the point alone has ${size}`)
  if (fc <= 2 && type !== 'bit') refuse('type', `is ${type}; coils and discrete inputs (fc 1 and 2) are of type bit`)
}

function checkBit({ bit, fc, type }: TemplatePoint, refuse: Refuse): void {
  const wantsBit = type === 'bit' && fc > 2
  if (wantsBit && bit === null) refuse('bit', 'is missing; of a register it takes one bit, 0 (lowest) to 15')
  if (wantsBit || bit === null) return
  const why = type === 'bit' ? 'a coil or discrete input is one bit as it is' : `${type} has no single bit`
  refuse('bit', `is ${bit}; ${why}`)
}

/** What only numbers have. */
function checkNumber(point: TemplatePoint, refuse: Refuse): void {
  const { scale, type, wordOrder } = point
  // Below this, a scale is a slip of the hand, and its decimals are longer than any value.
  if (Math.abs(scale) < 1e-12) refuse('scale', `is ${scale}; it is at least 1e-12 on either side of 0`)
  if (type === 'string' && wordOrder !== 'big')
    refuse('wordOrder', 'is little; a text is in the order of its registers')
  if (type === 'string' || type === 'bit') checkNoNumber(point, refuse)
  else checkNoValue(point, refuse)
}

function checkNoNumber(point: TemplatePoint, refuse: Refuse): void {
  const { noValue, type } = point
  const plain = { scale: 1, offset: 0, deadband: 0, decimals: null }
  for (const key of ['scale', 'offset', 'deadband', 'decimals'] as const)
    if (point[key] !== plain[key]) refuse(key, `is ${point[key]}; ${type} is no number`)
  if (noValue.length > 0) refuse('noValue', `has ${noValue.length} entries; ${type} is no number`)
}

function checkNoValue(point: TemplatePoint, refuse: Refuse): void {
  const digits = 4 * sizeOf(point)
  const odd = point.noValue.find((hex) => hex.length !== digits)
  if (odd !== undefined) refuse('noValue', `holds ${odd} with ${odd.length} digits; ${point.type} has ${digits}`)
}
