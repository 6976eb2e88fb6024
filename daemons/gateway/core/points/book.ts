/** The points of every port: checks and stores them, and changes them one by one or as a table. */

import { Fault } from '#kit/pure/fault.ts'
import { counted } from '#kit/pure/text.ts'
import { isUnitOfMeter } from '../../wire/meter-number.ts'
import { pointLength } from '../../wire/point-value.ts'
import type { AdapterFaces } from '../lines/adapter.ts'
import { requireFace } from '../lines/port-registry.ts'
import {
  type AnyPoint,
  isRecordPoint,
  type PointDefinition,
  type PointKind,
  pointRevision,
  type TemplateLibrary,
  type TemplatePoint,
  tableRevision,
} from './definition.ts'
import type { PointsFace, PointView, PollingView } from './values.ts'

// Checks that the fields of each point agree, and that all names differ.

/** One fault of one field, by its path in the body: `points[3].address`. */
interface PointFault {
  field: string
  message: string
}

/** Faults beyond this many are counted, not listed. */
const MOST_LISTED = 32

/**
 * Every fault of a list; the schema has already checked each field.
 * @param points undefined: a point that does not fit its schema, so it is not checked further
 */
export function pointFaults(points: readonly (AnyPoint | TemplatePoint | undefined)[]): PointFault[] {
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

/** Throws Fault `bad_fields` with every fault at once; does nothing if the points are valid. */
export function refuseBadPoints(points: readonly AnyPoint[], takes?: PointKind): void {
  const faults = takes ? points.flatMap((point, at) => kindFaults(point, takes, `points[${at}].`)) : []
  if (faults.length === 0) faults.push(...pointFaults(points))
  if (faults.length > 0) throw badPoints(faults)
}

/** The same for one point, whose fields are named without a path. */
function refuseBadPoint(point: AnyPoint, takes: PointKind): void {
  const kind = kindFaults(point, takes, '')
  const faults = kind.length > 0 ? kind : faultsOf(point, '')
  if (faults.length > 0) throw badPoints(faults)
}

/** Fields that only points of the other kind have. */
const ofRegisters = ['fc', 'address', 'type', 'wordOrder', 'byteOrder', 'bit', 'length', 'maxRegisters', 'noValue']

/** A change of single fields may leave a point with some of both kinds. */
function kindFaults(point: AnyPoint, takes: PointKind, path: string): PointFault[] {
  const isRecord = isRecordPoint(point)
  if (takes === 'registers')
    return isRecord
      ? [{ field: `${path}record`, message: 'is of points of M-Bus meters; this port reads registers' }]
      : []
  if (!isRecord)
    return [{ field: `${path}record`, message: 'is missing; this port reads records of meters by their name' }]
  const alien = ofRegisters.filter((name) => name in point)
  return alien.map((name) => ({ field: path + name, message: 'is of points in registers; a record has its own' }))
}

/** Field faults in the form in which the HTTP layer reports those of a body. */
export function badPoints(faults: readonly PointFault[]): Fault {
  const sentences = faults.slice(0, 3).map(({ field, message }) => `${field} ${message}`)
  const more = faults.length - sentences.length
  const sentence = sentences.join('; ') + (more > 0 ? `; and ${more} more` : '')
  return new Fault('bad_fields', sentence, { details: { fields: faults.slice(0, MOST_LISTED) } })
}

type Refuse = (field: keyof TemplatePoint | 'unitId', message: string) => void

function faultsOf(point: AnyPoint | TemplatePoint, path: string): PointFault[] {
  const faults: PointFault[] = []
  const refuse: Refuse = (field, message) => faults.push({ field: path + field, message })
  if (isRecordPoint(point)) {
    checkScale(point, refuse)
    if (!isUnitOfMeter(point.unitId))
      refuse('unitId', `is ${point.unitId}, the number of no meter; take that of a reading or a scan`)
    return faults
  }
  // The schema of a change does not know which kind of point it changes.
  if ('unitId' in point && (point.unitId < 1 || point.unitId > 247))
    refuse('unitId', `is ${point.unitId}, expected a whole number from 1 to 247`)
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
  const size = pointLength({ type, length })
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

/** Checks the fields that only numbers have. */
function checkNumber(point: TemplatePoint, refuse: Refuse): void {
  const { type, wordOrder } = point
  checkScale(point, refuse)
  if (type === 'string' && wordOrder !== 'big')
    refuse('wordOrder', 'is little; a text is in the order of its registers')
  if (type === 'string' || type === 'bit') checkNoNumber(point, refuse)
  else checkNoValue(point, refuse)
}

function checkScale({ scale }: Pick<TemplatePoint, 'scale'>, refuse: Refuse): void {
  // A smaller scale is a typing mistake, and its decimals would be longer than any value.
  if (Math.abs(scale) < 1e-12) refuse('scale', `is ${scale}; it is at least 1e-12 on either side of 0`)
}

function checkNoNumber(point: TemplatePoint, refuse: Refuse): void {
  const { noValue, type } = point
  const plain = { scale: 1, offset: 0, deadband: 0, decimals: null }
  for (const key of ['scale', 'offset', 'deadband', 'decimals'] as const)
    if (point[key] !== plain[key]) refuse(key, `is ${point[key]}; ${type} is not a number`)
  if (noValue.length > 0) refuse('noValue', `has ${noValue.length} entries; ${type} is not a number`)
}

function checkNoValue(point: TemplatePoint, refuse: Refuse): void {
  const digits = 4 * pointLength(point)
  const odd = point.noValue.find((hex) => hex.length !== digits)
  if (odd !== undefined) refuse('noValue', `holds ${odd} with ${odd.length} digits; ${point.type} has ${digits}`)
}

/** What the book needs from the registry. Every operation throws Fault `unknown_port` if the port is not configured. */
interface PointKeeper {
  port(path: string): { path: string; adapter: { readonly faces?: AdapterFaces } }
  list(path: string): readonly AnyPoint[]
  /** Stores the points that `apply` returns. @throws Fault `store_write_failed`, and what `apply` throws */
  change(path: string, apply: (points: readonly AnyPoint[]) => AnyPoint[]): Promise<void>
  /** The number of points of all ports. */
  total(): number
}

interface PointBookParts {
  keeper: PointKeeper
  templates: TemplateLibrary
  /** Keys `points.max` of one port and `points.total` of all. */
  limits: { max: number; total: number }
}

/** A device to add from a template. */
interface NewDevice {
  template: string
  unitId: number
  /** Put before each name. */
  prefix?: string
  /** Replaces the template's own period. */
  pollMs?: number
}

export interface PointList {
  /** The revision of all definitions in their order; a new table may be based on it. */
  revision: string
  points: PointView[]
  polling: PollingView
}

/** Called at the moment of a change with the current revision; if it throws, the change is cancelled. */
type ExpectedRevision = (revision: string) => void

/** Every operation throws Fault `unknown_port`, and `wrong_protocol` if the port has no points. */
export interface PointBook {
  list(port: string): PointList
  /** @throws Fault `bad_fields`, `too_many_points`, `store_write_failed` */
  replace(port: string, points: AnyPoint[], expected?: ExpectedRevision): Promise<PointList>
  /** @throws Fault `unknown_template`, `point_exists`, `bad_fields`, `too_many_points`, `store_write_failed` */
  add(port: string, device: NewDevice): Promise<PointList>
  /**
   * Adds one point.
   * @param at its index, from 0; the end if omitted or beyond the list
   * @throws Fault `point_exists`, `bad_fields`, `too_many_points`, `store_write_failed`
   */
  insert(port: string, point: AnyPoint, at?: number): Promise<PointView>
  /** @throws Fault `unknown_point`, `point_exists`, `bad_fields`, `store_write_failed` */
  change(port: string, name: string, change: Partial<AnyPoint>, expected?: ExpectedRevision): Promise<PointView>
  /** @throws Fault `unknown_point`, `store_write_failed` */
  remove(port: string, name: string, expected?: ExpectedRevision): Promise<void>
}

/** Points of the other kind are left from another protocol; they go with the next change. */
function ofKind(points: readonly AnyPoint[], takes: PointKind): AnyPoint[] {
  return points.filter((point) => isRecordPoint(point) === (takes === 'records'))
}

/** Longest name of a point. */
const NAME_LENGTH = 64

export function createPointBook({ keeper, templates, limits }: PointBookParts): PointBook {
  const faceOf = (port: string) => requireFace(keeper.port(port), 'points') as PointsFace

  function listed(port: string): PointList {
    const face = faceOf(port)
    const revision = tableRevision(ofKind(keeper.list(port), face.takes))
    return { revision, points: face.list(), polling: face.polling() }
  }

  /** The line reads the new points only after they are stored. */
  async function applied(
    port: string,
    apply: (points: readonly AnyPoint[], takes: PointKind) => AnyPoint[],
  ): Promise<void> {
    const { takes } = faceOf(port)
    await keeper.change(port, (before) => {
      const after = apply(ofKind(before, takes), takes)
      refuseBadPoints(after, takes)
      refuseBeyond(after.length, keeper.total() - before.length + after.length)
      return after
    })
    // The port may have got another protocol meanwhile; its points then stay in its record.
    const face = keeper.port(port).adapter.faces?.points
    if (face?.takes === takes) face.set(keeper.list(port))
  }

  function refuseBeyond(count: number, total: number): void {
    if (count > limits.max)
      throw new Fault('too_many_points', `The port would have ${count} points; points.max allows ${limits.max}.`)
    if (total > limits.total)
      throw new Fault('too_many_points', `There would be ${total} points; points.total allows ${limits.total}.`)
  }

  return {
    list: listed,
    async replace(port, points, expected) {
      await applied(port, (before) => {
        expected?.(tableRevision(before))
        return points
      })
      return listed(port)
    },
    async add(port, device) {
      if (faceOf(port).takes !== 'registers')
        throw new Fault('wrong_protocol', `${port} reads records of meters; templates are of registers.`)
      const added = pointsOf(device, await templates.list())
      await applied(port, (before) => {
        const names = new Set(before.map(({ name }) => name))
        const twice = added.filter(({ name }) => names.has(name)).map(({ name }) => name)
        if (twice.length > 0) throw pointExists(twice, 'give the device a prefix')
        return [...before, ...added]
      })
      return listed(port)
    },
    async insert(port, point, at) {
      await applied(port, (before, takes) => withOneMore(before, point, takes, at))
      return viewOf(faceOf(port), point.name)
    },
    async change(port, name, change, expected) {
      await applied(port, (before, takes) => {
        const at = expectedAt(before, name, expected)
        const after = { ...before[at], ...change } as AnyPoint
        if (before.some((point, index) => index !== at && point.name === after.name))
          throw pointExists([after.name], 'give this one another name')
        refuseBadPoint(after, takes)
        return before.with(at, after)
      })
      return viewOf(faceOf(port), change.name ?? name)
    },
    remove: (port, name, expected) =>
      applied(port, (before) => before.toSpliced(expectedAt(before, name, expected), 1)),
  }
}

function viewOf(face: PointsFace, name: string): PointView {
  const view = face.list().find((point) => point.name === name)
  if (!view) throw unknownPoint(name)
  return view
}

function withOneMore(before: readonly AnyPoint[], point: AnyPoint, takes: PointKind, at?: number): AnyPoint[] {
  if (before.some(({ name }) => name === point.name)) throw pointExists([point.name], 'give this one another name')
  refuseBadPoint(point, takes)
  return before.toSpliced(at ?? before.length, 0, point)
}

function pointsOf(device: NewDevice, templates: Awaited<ReturnType<TemplateLibrary['list']>>): PointDefinition[] {
  const { prefix = '', unitId, pollMs } = device
  const template = templates.find(({ id }) => id === device.template)
  if (!template) throw new Fault('unknown_template', `There is no template ${device.template}.`)
  const tooLong = template.points.find(({ name }) => prefix.length + name.length > NAME_LENGTH)
  if (tooLong)
    throw badPoints([
      {
        field: 'prefix',
        message: `has ${counted(prefix.length, 'character')}; with "${tooLong.name}" that is over ${NAME_LENGTH}`,
      },
    ])
  return template.points.map((point) => ({
    ...point,
    name: prefix + point.name,
    pollMs: pollMs ?? point.pollMs,
    maxRegisters: point.maxRegisters ?? template.maxRegisters ?? null,
    unitId,
    template: template.id,
  }))
}

function expectedAt(points: readonly AnyPoint[], name: string, expected?: ExpectedRevision): number {
  const point = requirePoint(points, name)
  expected?.(pointRevision(point))
  return points.indexOf(point)
}

/** @throws Fault `unknown_point` */
export function requirePoint(points: readonly AnyPoint[], name: string): AnyPoint {
  const point = points.find((each) => each.name === name)
  if (!point) throw unknownPoint(name)
  return point
}

function pointExists(names: readonly string[], remedy: string): Fault {
  return new Fault('point_exists', `The port has a point "${names[0]}" already; ${remedy}.`, { details: { names } })
}

function unknownPoint(name: string): Fault {
  return new Fault('unknown_point', `The port has no point "${name}".`)
}
